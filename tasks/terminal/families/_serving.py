"""Tells whether a service serves: from its files where these leave no doubt, else by starting it on a fork.

A start takes a tenth of a second, most of it in Python's own imports. `serves_pages` and `serves_directory` are True
only where a start would show the same: what runs is known to the byte, nothing lies where Python could load it instead,
and what is served follows from files. Wherever they say False, it is started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._runs import Runs, Step, unpacked

__all__ = ["answers", "pairs", "serves_directory", "serves_pages"]

_FOLDER = r"[A-Za-z0-9_][A-Za-z0-9_./-]*"
_SCRIPT = re.compile(
    rf"(?:#! ?/bin/(?:ba)?sh\n+)?(?:cd (?P<into>{_FOLDER})(?: ?&& ?|; ?|\n))?(?:exec )?python3 -m http\.server "
    rf"(?P<port>[0-9]+)(?: (?:-d |--directory[ =])(?P<folder>{_FOLDER}))?\n*"
)
_LOADABLE = re.compile(r"\.(?:py|pyc|so)$")
# Starts a program, waits until it listens, and prints the answers. It gives up early on a program that fails, or that
# listens elsewhere; one that ends with 0 may have left a server behind.
_CLIENT = """
import base64, http.client, json, os, signal, subprocess, sys, time
program, port, pages = json.loads(sys.argv[1])

def listening():
    found = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = [line.split() for line in open(name)][1:]
        except OSError:
            continue
        found |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
    return found

def ask(page):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    link.request("GET", page)
    reply = link.getresponse()
    return reply.status, base64.b64encode(reply.read(65536)).decode()

def alive():
    try:
        os.killpg(started.pid, 0)
    except OSError:
        return False
    return True

before = listening()
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
started = subprocess.Popen(["/bin/bash", "-c", '"$0"', program], start_new_session=True, **quiet)
end = time.monotonic() + 10
while time.monotonic() < end:
    new, code = listening() - before, started.poll()
    if code or port in new:
        break
    if new or (code == 0 and not alive()):
        end = min(end, time.monotonic() + 1)
    time.sleep(0.02)
try:
    if port in listening() - before:
        print(json.dumps([ask(page) for page in pages]))
except (OSError, http.client.HTTPException):
    pass
try:
    os.killpg(started.pid, signal.SIGKILL)
except OSError:
    pass
"""


def answers(
    runs: Runs, program: str, port: int, pages: Mapping[str, str | None], before: str, ready: c.Condition,
    plainly: c.Condition,
) -> c.Condition:  # fmt: skip
    """The program serves the pages (None: any answer of 200).

    It does not unless it is `ready`; when it `plainly` does, no start is needed. Else it is started in /workspace,
    after the bash lines `before`.
    """
    request = json.dumps([f"/workspace/{program}", port, list(pages)])
    client = f"exec timeout -k 1 20 python3 -I -S -E - '{request}' << 'END OF CLIENT'{_CLIENT}END OF CLIENT"
    step = Step(f'{before}\n: > "$d.ran"\n{client}\n')
    settled = c.all_of(c.is_file(program), ready)

    def sure(view: StateView) -> bool:
        try:
            return plainly(view)
        except NotInStateError:
            return False

    def steps(view: StateView) -> list[Step]:
        return [step] if settled(view) and not sure(view) else []

    booking = runs.book(steps)

    def holds(view: StateView) -> bool:
        if not settled(view) or sure(view):
            return settled(view)
        [outcome] = booking.outcomes(view)
        lines = outcome.out.decode("utf-8", "replace").splitlines()
        try:
            replies = json.loads(lines[-1]) if lines else []
        except (ValueError, RecursionError):
            return False
        if not isinstance(replies, list) or len(replies) != len(pages):
            return False
        return all(_fits(reply, text) for reply, text in zip(replies, pages.values(), strict=True))

    return holds


def _fits(reply: object, text: str | None) -> bool:
    if not (isinstance(reply, list) and len(reply) == 2 and reply[0] == 200 and isinstance(reply[1], str)):
        return False
    return text is None or unpacked(reply[1]).rstrip(b"\n") == text.rstrip("\n").encode()


def serves_pages(view: StateView, where: str, known: Mapping[str, str], settings: Mapping[str, str],
                 routes: Mapping[str, str]) -> bool:  # fmt: skip
    """Whether a directory holds the known files, server.ini and routes.txt, nothing else, and the two say this much."""
    files = [*known, "server.ini", "routes.txt"]
    if sorted(view.listdir(where)) != sorted(files) or not all(_open(view, folder, 0o700) for folder in _down(where)):
        return False
    if not all(_open(view, f"{where}/{name}", 0o600) for name in files):
        return False
    if any(c.text_of(view, f"{where}/{name}") != text for name, text in known.items()):
        return False
    said, listed = pairs(view, f"{where}/server.ini", "="), pairs(view, f"{where}/routes.txt", " ")
    return {**said, **settings} == said and {**listed, **routes} == listed


def serves_directory(view: StateView, program: str, port: int, site: str, pages: Mapping[str, str]) -> bool:
    """Whether a script is one of the usual ways to serve a directory on the port, which holds these pages only."""
    found = _SCRIPT.fullmatch(c.text_of(view, program))
    if found is None or found["port"] != str(port):
        return False
    if [place.rstrip("/") for place in (found["into"], found["folder"]) if place is not None] != [site]:
        return False
    folders = (*_down(site), *_down(program.rpartition("/")[0]))
    if not all(_open(view, folder, 0o700) for folder in folders) or sorted(view.listdir(site)) != sorted(pages):
        return False
    if any(not _open(view, f"{site}/{page}", 0o400) for page in pages):
        return False
    if any(c.text_of(view, f"{site}/{page}").rstrip("\n") != text.rstrip("\n") for page, text in pages.items()):
        return False
    # `python3 -m` looks for modules in the directory that it is started in first.
    start = site if found["into"] is not None else "/workspace"
    return not any(_could_be_module(view, f"{start}/{name}") for name in view.listdir(start))


def pairs(view: StateView, path: str, mark: str) -> dict[str, str]:
    """The two sides of a mark in each line of a file that has it, read as a Python program reads text."""
    text = c.text_of(view, path).replace("\r\n", "\n").replace("\r", "\n")
    lines = (line.partition(mark) for line in text.splitlines())
    return {left: right for left, found, right in lines if found}


def _open(view: StateView, path: str, mode: int) -> bool:
    """Whether this is a file or a directory, not a link, that its owner may use so."""
    found = view.stat(path)
    return found.kind in ("file", "directory") and found.mode & mode == mode


def _down(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/workspace", *("/".join(parts[: place + 1]) for place in range(len(parts)))]


def _could_be_module(view: StateView, path: str) -> bool:
    kind = view.stat(path).kind
    if kind == "directory":
        return any(name.startswith("__init__.") for name in view.listdir(path))
    return kind != "file" or _LOADABLE.search(path) is not None
