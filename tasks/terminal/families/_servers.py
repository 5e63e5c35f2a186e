"""Programs of small HTTP services that tasks are given.

They are started anew at every check, so that what counts is how fast they start. Perl that loads no module takes 2 ms,
with `Socket` (whose constants are numbers here) it takes 7, and Python with `http.server` 40.
"""

from __future__ import annotations

__all__ = ["APP", "DIRECTORY"]

_ANSWERING = r"""
# The numbers of Linux.
my ($AF_INET, $SOCK_STREAM, $SOL_SOCKET, $SO_REUSEADDR) = (2, 1, 1, 2);
socket my $server, $AF_INET, $SOCK_STREAM, 0 or die "socket: $!\n";
setsockopt $server, $SOL_SOCKET, $SO_REUSEADDR, 1;
bind $server, pack 'S n C4 x8', $AF_INET, $port, split /[.]/, $host or die "port $port: $!\n";
listen $server, 8 or die "port $port: $!\n";
$SIG{PIPE} = 'IGNORE';
while (accept my $client, $server) {
    my ($path) = (<$client> // '') =~ m{^GET (/[^\s?]*)};
    while (<$client>) { last if /^\r?$/ }
    my $page = defined $path ? page($path) : undef;
    my $status = defined $page ? '200 OK' : '404 Not Found';
    $page //= "no such page\n";
    print $client "HTTP/1.0 $status\r\nContent-Length: ", length $page, "\r\n\r\n", $page;
}
"""

APP = (
    r"""# Answers / with the title in server.ini, and the paths in routes.txt with their texts.
use strict;

(my $here = $0) =~ s{[^/]*$}{};

sub pairs {
    my ($name, $mark) = @_;
    open my $file, '<', "$here$name" or die "$name: $!\n";
    return map { s/\r?\n\z//; split /$mark/, $_, 2 } grep { /$mark/ } <$file>;
}

my %settings = pairs('server.ini', '=');
my %routes = pairs('routes.txt', ' ');
for (qw(host port title)) { die "server.ini sets no $_\n" if !defined $settings{$_} }
my ($host, $port) = @settings{qw(host port)};

sub page {
    my ($path) = @_;
    my $text = $path eq '/' ? $settings{title} : $routes{$path};
    return defined $text ? "$text\n" : undef;
}
"""
    + _ANSWERING
)

DIRECTORY = (
    r"""# Serves the files of a directory: perl serve.pl DIRECTORY PORT
use strict;

die "usage: serve.pl DIRECTORY PORT\n" if @ARGV != 2;
my ($top, $port) = @ARGV;
my $host = '0.0.0.0';
-d $top or die "no directory $top\n";

sub page {
    my ($path) = @_;
    return undef if grep { $_ eq '..' } split m{/}, $path;
    if (opendir my $directory, "$top$path") { return join '', map { "$_\n" } sort grep { !/^\./ } readdir $directory }
    return undef if !-f "$top$path" || !open my $file, '<', "$top$path";
    local $/;
    return <$file>;
}
"""
    + _ANSWERING
)
