"""Tells whether a service serves, by starting it on a fork and asking it. Nothing is told from its files alone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._runs import Runs, Step

__all__ = ["Answers", "pairs", "started"]

# Starts a program, tries its port until something answers there, and prints its replies as they came. Services of other
# cases run beside it, so what answers must be a descendant of this process; a daemon is one by PR_SET_CHILD_SUBREAPER.
# It gives up early on a program that fails, leaves nothing running, or listens elsewhere. It loads no module, and reads
# the kernel's tables of sockets as seldom as it can, since either takes longer than all the rest.
_CLIENT = r"""
my ($machine, $program, $port, @pages) = @ARGV;
my %prctl = (x86_64 => 157, i686 => 172, aarch64 => 167, riscv64 => 167, arm => 172, s390x => 172, powerpc64le => 171);

sub descendants {
    my %children;
    opendir my $all, '/proc' or return;
    for my $pid (grep { /^\d+$/ } readdir $all) {
        open my $file, '<', "/proc/$pid/stat" or next;
        my $stat = do { local $/; <$file> } // '';
        push @{ $children{$1} }, $pid if $stat =~ /.*\) [^ZX] (\d+)/s;
    }
    my @found = @{ $children{$$} || [] };
    for my $pid (@found) { push @found, @{ $children{$pid} || [] } }
    return @found;
}

# The ports that a table of sockets has as listened on (and ours as connected to): those of descendants, and of others.
sub ports {
    my ($table) = @_;
    my (%ports, %own);
    open my $rows, '<', $table or return ([], []);
    while (<$rows>) {
        my (undef, $local, undef, $state, @more) = split;
        my $local_port = hex substr $local, -4;
        $ports{"socket:[$more[5]]"} = $local_port if $state eq '0A' || ($state eq '01' && $local_port == $port);
    }
    for my $pid (descendants()) {
        opendir my $open, "/proc/$pid/fd" or next;
        for (readdir $open) {
            my $link = readlink "/proc/$pid/fd/$_" // next;
            $own{$link} = delete $ports{$link} if exists $ports{$link};
        }
    }
    return ([values %own], [values %ports]);
}

sub count { my ($ports) = @_; return scalar grep { $_ == $port } @$ports }

# Whether descendants are the only ones who serve the port.
sub is_own {
    for my $table ('/proc/net/tcp', '/proc/net/tcp6') {
        my ($own, $others) = ports($table);
        return 0 if count($others);
        return 1 if count($own);
    }
    return 0;
}

sub listens_elsewhere {
    for my $table ('/proc/net/tcp', '/proc/net/tcp6') { return 1 if @{ (ports($table))[0] } }
    return 0;
}

sub connection {
    socket my $link, 2, 1, 0 or return;
    connect $link, pack 'S n C4 x8', 2, $port, 127, 0, 0, 1 or return;
    return $link;
}

sub whole {
    my ($head, $body) = split /\r\n\r\n/, $_[0], 2;
    return defined $body && $head =~ /^content-length:[ \t]*(\d{1,8})[ \t]*\r?$/mi && length $body >= $1;
}

sub ask {
    my ($link, $page) = @_;
    my $data = '';
    $link or return $data;
    syswrite $link, "GET $page HTTP/1.0\r\nHost: 127.0.0.1:$port\r\n\r\n";
    while (length $data < 4096 && !whole($data)) {
        my $ready = '';
        vec($ready, fileno $link, 1) = 1;
        select($ready, undef, undef, 5) > 0 && sysread $link, $data, 4096, length $data or last;
    }
    return substr $data, 0, 4096;
}

alarm 20;
syscall $prctl{$machine}, 36, 1 if $prctl{$machine};
defined(my $started = fork) or exit 1;
if (!$started) {
    setpgrp;
    open STDIN, '<', '/dev/null';
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', '/dev/null';
    # What names no interpreter is run by bash, as bash would.
    open my $file, '<', $program;
    read $file, my $start, 4;
    my @command = $start =~ /^(#!|\x7fELF)/ ? $program : ('/bin/bash', $program);
    exec { $command[0] } @command if -x $program;
    exit 127;
}
$SIG{PIPE} = 'IGNORE';
my ($end, $tries, $ended, $failed, $link) = time + 10;
while (time < $end) {
    if (!$ended && waitpid($started, 1) > 0) { ($ended, $failed) = (1, $?) }
    # The first page is asked for on this very connection: a server may end after so many.
    $link = connection();
    last if $link && is_own();
    $link = undef;
    # Looked for twice: a process may slip through one look while its parent ends.
    last if $failed || ($ended && !descendants() && !descendants());
    if (++$tries % 400 == 0 && $end > time + 2 && listens_elsewhere()) { $end = time + 2 }
    select undef, undef, undef, 0.0005;
}
if ($link) {
    for (@pages) {
        $link //= connection();
        print 'reply ', unpack('H*', ask($link, $_)), "\n";
        $link = undef;
    }
}
kill 9, -$started, descendants();
"""


Answers = Callable[[Mapping[str, str | None]], c.Condition]


def started(
    runs: Runs, program: str, port: int, pages: Sequence[str], before: str, ready: c.Condition = lambda _: True
) -> Answers:
    """Starts a program in /workspace, once it is `ready`, after the bash lines `before`, and asks it for all the pages.

    The result makes a condition of some pages and their texts (None: any answer of 200).
    """
    words = " ".join(map(shlex.quote, (f"/workspace/{program}", str(port), *pages)))
    client = f"exec perl - \"$HOSTTYPE\" {words} << 'END OF CLIENT'{_CLIENT}END OF CLIENT"
    step = Step(f'{before}\n: > "$d.ran"\n{client}\n', port=port)
    settled = c.all_of(c.is_file(program), ready)

    def steps(view: StateView) -> list[Step]:
        return [step] if settled(view) else []

    booking = runs.book(steps)

    def answers(texts: Mapping[str, str | None]) -> c.Condition:
        def holds(view: StateView) -> bool:
            if not settled(view):
                return False
            [outcome] = booking.outcomes(view)
            lines = outcome.out.decode("ascii", "replace").splitlines()
            replies = [line.removeprefix("reply ") for line in lines if line.startswith("reply ")]
            if len(replies) != len(pages):
                return False
            found = dict(zip(pages, replies, strict=True))
            return all(_fits(found[page], text) for page, text in texts.items())

        return holds

    return answers


def _fits(reply: str, text: str | None) -> bool:
    """Whether an HTTP reply, in hexadecimal, has status 200 and the text as its body (None: any)."""
    try:
        data = bytes.fromhex(reply)
    except ValueError:
        return False
    head, _, body = data.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split()
    if len(status) < 2 or not status[0].startswith(b"HTTP/1.") or status[1] != b"200":
        return False
    length = re.search(rb"(?im)^content-length:[ \t]*([0-9]{1,8})[ \t]*\r?$", head)
    body = body[: int(length[1])] if length else body
    return text is None or body.rstrip(b"\n") == text.rstrip("\n").encode()


def pairs(view: StateView, path: str, mark: str) -> dict[str, str]:
    """The two sides of a mark in each line of a file that has it, read as the given services do."""
    lines = (line.removesuffix("\r").partition(mark) for line in c.text_of(view, path).split("\n"))
    return {left: right for left, found, right in lines if found}
