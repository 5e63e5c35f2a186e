"""Tells whether a service serves, by starting it on a fork and asking it. Nothing is told from its files alone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._runs import Runs, Step

__all__ = ["answers", "pairs"]

# Starts a program, waits until it listens, and prints its replies as they came. It gives up early on a program that
# fails, or that listens elsewhere; one that ends with 0 may have left a server behind. It does without the modules that
# would take longer to load than the rest takes.
_CLIENT = """
import _socket, os, sys, time
program, port, pages = sys.argv[1], int(sys.argv[2]), sys.argv[3:]

def listening():
    found = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = [line.split() for line in open(name)][1:]
        except OSError:
            continue
        found |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
    return found

def whole(data):
    head, end, body = data.partition(b"\\r\\n\\r\\n")
    for line in head.lower().split(b"\\r\\n") if end else ():
        name, _, value = line.partition(b":")
        if name == b"content-length" and value.strip().isdigit() and len(value) < 9:
            return len(body) >= int(value)
    return False

def ask(page):
    link = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    link.settimeout(5)
    data = b""
    try:
        link.connect(("127.0.0.1", port))
        link.sendall(f"GET {page} HTTP/1.0\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n".encode())
        while len(data) < 4096 and not whole(data):
            more = link.recv(4096)
            if not more:
                break
            data += more
    except OSError:
        pass
    link.close()
    return data[:4096].hex()

def alive():
    try:
        os.killpg(started, 0)
    except OSError:
        return False
    return True

before = listening()
quiet = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDWR, 0), (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
command = ["/bin/bash", "-c", '"$0"', program]
# Python ignores SIGPIPE and SIGXFSZ; what it starts must not.
started = os.posix_spawn(command[0], command, os.environ, file_actions=quiet, setsid=True, setsigdef=[13, 25])
end, ended, code = time.monotonic() + 10, False, None
while time.monotonic() < end:
    new = listening() - before
    if not ended:
        pid, status = os.waitpid(started, os.WNOHANG)
        ended, code = pid != 0, os.waitstatus_to_exitcode(status) if pid else None
    if code or port in new:
        break
    if new or (ended and not alive()):
        end = min(end, time.monotonic() + 1)
    time.sleep(0.004)
if port in listening() - before:
    for page in pages:
        print("reply", ask(page))
try:
    os.killpg(started, 9)
except OSError:
    pass
"""


def answers(
    runs: Runs, program: str, port: int, pages: Mapping[str, str | None], before: str, ready: c.Condition
) -> c.Condition:
    """The program, if it is `ready`, serves the pages (None: any answer of 200).

    It is started in /workspace, after the bash lines `before`.
    """
    words = " ".join(map(shlex.quote, (f"/workspace/{program}", str(port), *pages)))
    client = f"exec timeout -k 1 20 python3 -I -S -E - {words} << 'END OF CLIENT'{_CLIENT}END OF CLIENT"
    step = Step(f'{before}\n: > "$d.ran"\n{client}\n')
    settled = c.all_of(c.is_file(program), ready)

    def steps(view: StateView) -> list[Step]:
        return [step] if settled(view) else []

    booking = runs.book(steps)

    def holds(view: StateView) -> bool:
        if not settled(view):
            return False
        [outcome] = booking.outcomes(view)
        lines = outcome.out.decode("ascii", "replace").splitlines()
        replies = [line.removeprefix("reply ") for line in lines if line.startswith("reply ")]
        return len(replies) == len(pages) and all(map(_fits, replies, pages.values()))

    return holds


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
    """The two sides of a mark in each line of a file that has it, read as a Python program reads text."""
    text = c.text_of(view, path).replace("\r\n", "\n").replace("\r", "\n")
    lines = (line.partition(mark) for line in text.splitlines())
    return {left: right for left, found, right in lines if found}
