"""Services that are told from their files alone are those that a start would show to serve; all others are started."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _serving, services
from agentenv.tasks.terminal.scenario import StartFile
from tests.tasks.terminal import family_suite as suite
from tests.tasks.terminal.fake_view import FakeBox, replay

SERVER, START = "serve()\n", "#!/bin/sh\nexec python3 server.py\n"
INI, TABLE = "host=127.0.0.1\nport=1234\n", "/a one\n/b two\n"


def _app(root: Path) -> FakeBox:
    box = FakeBox(root)
    files = {"server.py": SERVER, "start.sh": START, "server.ini": INI, "routes.txt": TABLE}
    for name, text in files.items():
        box.place(StartFile(f"app/{name}", text, 0o755))
    return box


def _serves_pages(box: StateView) -> bool:
    known = {"server.py": SERVER, "start.sh": START}
    return _serving.serves_pages(box, "app", known, {"port": "1234"}, {"/a": "one"})


def test_known_programs_with_the_right_settings_serve(tmp_path: Path) -> None:
    assert _serves_pages(_app(tmp_path))


@pytest.mark.parametrize(
    "spoil",
    [
        "echo >> app/server.py",
        "echo >> app/start.sh",
        "sed -i s/1234/1235/ app/server.ini",
        "sed -i s/one/other/ app/routes.txt",
        "echo /a other >> app/routes.txt",
        "echo print > app/http.py",
        "mkdir app/http",
        "chmod 400 app/routes.txt",
        "chmod 500 app",
        "mv app x && ln -s x app",
        "mv app/server.ini x && ln -s ../x app/server.ini",
    ],
)
def test_any_doubt_about_a_known_program_is_settled_by_a_start(spoil: str, tmp_path: Path) -> None:
    box = _app(tmp_path)
    assert box.act(spoil) == 0
    assert not _serves_pages(box)


def _site(root: Path, script: str) -> FakeBox:
    box = FakeBox(root)
    box.place(StartFile("site/a.html", "page\n"))
    box.place(StartFile("bin/run.sh", script, 0o755))
    return box


def _serves_directory(box: StateView) -> bool:
    return _serving.serves_directory(box, "bin/run.sh", 1234, "site", {"a.html": "page\n"})


@pytest.mark.parametrize(
    "script",
    [
        "python3 -m http.server 1234 -d site\n",
        "#!/bin/bash\nexec python3 -m http.server 1234 --directory site/",
        "#!/bin/sh\ncd site && exec python3 -m http.server 1234\n",
        "#!/bin/sh\ncd site\npython3 -m http.server 1234\n",
    ],
)
def test_usual_ways_to_serve_a_directory_are_known(script: str, tmp_path: Path) -> None:
    assert _serves_directory(_site(tmp_path, script))


@pytest.mark.parametrize(
    "script",
    [
        "python3 -m http.server 1235 -d site\n",
        "python3 -m http.server 1234\n",
        "python3 -m http.server 1234 -d other\n",
        "cd site; python3 -m http.server 1234 -d site\n",
        "exit; python3 -m http.server 1234 -d site\n",
        "#!/bin/false\npython3 -m http.server 1234 -d site\n",
        "python3 -m http.server 1234 -d site &\nkill %1\n",
    ],
)
def test_other_scripts_are_started(script: str, tmp_path: Path) -> None:
    assert not _serves_directory(_site(tmp_path, script))


@pytest.mark.parametrize(
    "spoil",
    [
        "echo x > http.py",
        "mkdir http && touch http/__init__.py",
        "ln -s /nowhere socketserver",
        "echo other > site/a.html",
        "echo x > site/index.html",
        "chmod 000 site/a.html",
        "chmod 300 site",
    ],
)
def test_any_doubt_about_a_directory_is_settled_by_a_start(spoil: str, tmp_path: Path) -> None:
    box = _site(tmp_path, "python3 -m http.server 1234 -d site\n")
    assert box.act(spoil) == 0
    assert not _serves_directory(box)
    box.act("chmod 755 site")


@pytest.mark.parametrize(("difficulty", "seed"), [*(("easy", seed) for seed in range(6)), ("medium", 0), ("hard", 0)])
def test_a_start_shows_what_files_tell(
    difficulty: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("serves_pages", "serves_directory"):
        monkeypatch.setattr(services, name, lambda *rest: False)
    scenario = suite.build(services.FAMILY, difficulty, seed)
    suite.skip_without_programs(scenario)
    for number, actions in enumerate((scenario.oracle, *scenario.alternatives)):
        done = suite.progress(scenario, replay(scenario, actions, tmp_path / str(number)))
        assert done.success, (actions, done.evidence)


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
