"""Services are judged by what they answer."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from agentenv.tasks.terminal.families import _servers, _serving
from agentenv.tasks.terminal.families._runs import Runs
from agentenv.tasks.terminal.scenario import StartFile
from tests.tasks.terminal.fake_view import FakeBox

needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
# A server that listens anew for each connection, as `nc` does.
ANEW = """\
import socket, sys
while True:
    with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
        link = server.accept()[0]
    link.recv(9999)
    link.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nhere\\n")
    link.close()
"""


@pytest.mark.parametrize(
    ("reply", "fits"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nyes\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes and more", True),
        (b"HTTP/1.0 404 Not Found\r\n\r\nyes", False),
        (b"HTTP/1.0 200 OK\r\n\r\nno", False),
        (b"HTTP/1.0 200 OK\r\nyes", False),
        (b"yes", False),
        (b"", False),
    ],
)
def test_reply_fits_with_status_200_and_the_right_body(reply: bytes, fits: bool) -> None:
    assert _serving._fits(reply.hex(), "yes\n") is fits


@pytest.fixture
def ports() -> list[int]:
    """Two ports that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return [one.getsockname()[1], other.getsockname()[1]]


def _box(root: Path, programs: dict[str, str]) -> FakeBox:
    box = FakeBox(root)
    for name, text in programs.items():
        box.place(StartFile(name, text, 0o755))
    for name, text in {"serve.pl": _servers.DIRECTORY, "anew.py": ANEW, "site/page": "here\n"}.items():
        box.place(StartFile(name, text))
    return box


def _serves(programs: dict[str, str], ports: list[int], root: Path) -> list[bool]:
    """Whether each program serves the page on its port; all are started in one fork."""
    runs = Runs()
    asked = [_serving.started(runs, name, port, ["/page"], ":") for name, port in zip(programs, ports, strict=False)]
    conditions = [ask({"/page": "here"}) for ask in asked]
    box = _box(root, programs)
    return [condition(box) for condition in conditions]


@needs_perl
@pytest.mark.parametrize(
    ("program", "serves"),
    [
        ("perl serve.pl site {port}", True),
        ("#!/bin/sh\nexec perl serve.pl site {port}", True),
        ("perl serve.pl site {port} &\nwait", True),
        ("setsid perl serve.pl site {port} &\nsleep 0.1", True),
        ("(setsid perl serve.pl site {port} &)", True),
        ("python3 anew.py {port}", True),
        ("perl serve.pl . {port}", False),
        ("perl serve.pl site {other}", False),
        ("exit 0", False),
        ("exit 1", False),
        ("kill -9 $$", False),
        ("#!/no/such/shell\n", False),
        ("", False),
    ],
)
def test_program_serves_however_it_starts(program: str, serves: bool, ports: list[int], tmp_path: Path) -> None:
    text = program.format(port=ports[0], other=ports[1])
    assert _serves({"start.sh": text}, ports, tmp_path) == [serves]


@needs_perl
def test_what_another_program_serves_does_not_count(ports: list[int], tmp_path: Path) -> None:
    both = "".join(f"perl serve.pl site {port} &\n" for port in ports)
    assert _serves({"both.sh": f"{both}wait\n", "none.sh": "sleep 0.5\n"}, ports, tmp_path) == [True, False]


@needs_perl
def test_services_of_one_port_take_turns(ports: list[int], tmp_path: Path) -> None:
    program = f"exec perl serve.pl site {ports[0]}\n"
    assert _serves({"one.sh": program, "other.sh": program}, [ports[0]] * 2, tmp_path) == [True, True]


@needs_perl
def test_service_that_hangs_takes_no_other_with_it(ports: list[int], tmp_path: Path) -> None:
    good = f"perl serve.pl site {ports[1]}\n"
    assert _serves({"bad.sh": "sleep 0.5; kill 0\n", "good.sh": good}, ports, tmp_path) == [False, True]
