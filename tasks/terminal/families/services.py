"""Configure, repair and start small HTTP services. They are judged by starting, on a fork, what the agent left.

Requests go to the port that was asked for; a page is put there that the agent has never seen. Where the instruction
names a file to edit, its content is looked at first, so that an unfinished state costs no start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _servers, _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.families._runs import laid
from agentenv.tasks.terminal.families._scripts import is_runnable
from agentenv.tasks.terminal.families._serving import pairs, started
from agentenv.tasks.terminal.scenario import Family, Scenario, StartFile

__all__ = ["FAMILY"]

_START = '#!/bin/sh\nexec perl "${{0%start.sh}}{program}"\n'


def _may_run(program: str) -> str:
    return f"[ -r /workspace/{program} ] && [ -x /workspace/{program} ] || /bin/chmod u+rx /workspace/{program}"


def _port(draw: Draw) -> int:
    return draw.number(1100, 9899)


class _App:
    """A given service: its directory, port, title and routes."""

    def __init__(self, draw: Draw) -> None:
        self.runs = draw.runs
        self.where = draw.directory()
        self.port, self.title = _port(draw), draw.word()
        self.routes = {f"/{draw.word()}": draw.word() for _ in range(2)}
        # A page that only checks add: a start script that fakes the service does not know it.
        self.hidden = {f"/{draw.word()}": draw.word()}
        self.start = f"{self.where}/start.sh"
        self.ini = f"{self.where}/server.ini"
        self.table = f"{self.where}/routes.txt"

    def files(self, *, without: str = "", program: str = "server.pl", mode: int = 0o755) -> tuple[StartFile, ...]:
        """Its start files; `without` is a setting that is missing."""
        settings = {"host": "127.0.0.1", "port": str(self.port), "title": self.title}
        return (
            file(f"{self.where}/server.pl", _servers.APP),
            file(self.ini, "".join(f"{key}={value}\n" for key, value in settings.items() if key != without)),
            file(self.table, "".join(f"{path} {text}\n" for path, text in self.routes.items())),
            file(self.start, _START.format(program=program), mode),
        )

    def serves(self, port: int, pages: Mapping[str, str], *ready: c.Condition) -> c.Condition:
        """Once `ready`, on the port, it answers with these pages, its routes, and a page added just now."""
        [(path, text)] = self.hidden.items()
        added = f"echo >> {self.table}; echo '{path} {text}' >> {self.table}"
        given = (f"{self.where}/server.pl", self.ini, self.table, self.start)
        asked = {**pages, **self.routes, **self.hidden}
        ask = started(self.runs, self.start, port, tuple(asked), added, c.all_of(*map(c.is_file, given), *ready))
        return ask(asked)

    def settings(self, view: StateView) -> dict[str, str]:
        """Its settings, read as the server does."""
        return pairs(view, self.ini, "=")

    def says(self, key: str, value: str) -> c.Condition:
        """A setting has this value."""
        return lambda view: self.settings(view).get(key) == value

    def lists(self, routes: Mapping[str, str]) -> c.Condition:
        """Its table holds these routes."""

        def holds(view: StateView) -> bool:
            found = {path: text.strip() for path, text in pairs(view, self.table, " ").items()}
            return all(found.get(path) == text for path, text in routes.items())

        return holds


def _serve_directory(draw: Draw, *, whole: bool = True) -> Part:
    where, site, port = draw.directory(), draw.directory(), _port(draw)
    program, page, other = f"{where}/{draw.stem()}.sh", draw.file("html"), draw.file("html")
    server = f"{where}/serve.pl"
    text, hidden = draw.body(1), draw.body(2)
    before = f"{_may_run(program)}\ncd /workspace/{site}\n{laid({other: hidden})}\ncd /workspace"
    name = program.rpartition("/")[2]
    serves = started(draw.runs, program, port, ("/", f"/{page}", f"/{other}"), before)
    usage = f"perl {server} DIRECTORY PORT"
    return Part(
        ask=draw.one(
            (
                f"write an executable script {program} that, run from here, serves the directory {site} by HTTP on "
                f"port {port} ({usage} does it)",
                f"make {program}, an executable script which starts an HTTP server for the files of {site} on port "
                f"{port} (it is run from here), for instance by {usage}",
            )
        ),
        files=(
            file(f"{site}/{page}", text),
            file(server, _servers.DIRECTORY),
            file(f"{where}/README", f"start: {name}\n"),
        ),
        do=(f"echo 'perl {server} {site} {port}' > {program}", f"chmod +x {program}"),
        instead=(
            f"printf '%s\\n' '#!/bin/sh' 'cd {site} && exec python3 -m http.server {port}' > {program}",
            f"chmod 755 {program}",
        ),
        wrong=(
            (f"echo 'perl {server} {site} {port}' > {program}",),
            (f"echo 'perl {server} {site} {port + 1}' > {program}", f"chmod +x {program}"),
            (f"echo 'perl {server} . {port}' > {program}", f"chmod +x {program}"),
        ),
        goals=(
            *(() if whole else (c.check(f"{name} answers", serves({"/": None})),)),
            c.check(
                f"{name} serves {site}",
                serves({f"/{page}": text, f"/{other}": hidden}),
            ),
            c.check(f"{name} is executable", is_runnable(program)),
        ),
        requires=("perl", "python3"),
    )


def _set_port(draw: Draw) -> Part:
    app, port = _App(draw), _port(draw)
    done = app.says("port", str(port))
    return Part(
        ask=draw.one(
            (
                f"let the service in {app.where} listen on port {port}: set it in {app.ini}",
                f"change the port in {app.ini} to {port}, so that {app.start} serves there",
            )
        ),
        files=app.files(),
        do=(f"sed -i 's/^port=.*/port={port}/' {app.ini}",),
        instead=(f"grep -v ^port {app.ini} > /tmp/ini; echo port={port} >> /tmp/ini; cp /tmp/ini {app.ini}",),
        wrong=(
            (f"sed -i 's/^port=.*/port: {port}/' {app.ini}",),
            (f"sed -i 's/^port=.*/port={port + 1}/' {app.ini}",),
            (f"echo port={port} > {app.ini}",),
        ),
        goals=(
            c.check(f"{app.where} port set", done),
            c.check(
                f"{app.where} other settings kept", done, app.says("title", app.title), app.says("host", "127.0.0.1")
            ),
            c.check(f"{app.where} serves on {port}", app.serves(port, {"/": app.title}, done)),
        ),
        requires=("perl",),
    )


def _set_title(draw: Draw) -> Part:
    app, title = _App(draw), draw.word()
    done = app.says("title", title)
    return Part(
        ask=draw.one(
            (
                f"let the service in {app.where} answer / with {title}: it is the title in {app.ini}",
                f"set title in {app.ini} to {title}, so that the service of {app.start} shows it at /",
            )
        ),
        files=app.files(),
        do=(f"sed -i 's/^title=.*/title={title}/' {app.ini}",),
        instead=(f"perl -pi -e 's/^(title)=.*/$1={title}/' {app.ini}",),
        wrong=(
            (f"echo title={title} > {app.ini}",),
            (f"echo '/ {title}' >> {app.table}",),
            (f"sed -i 's/^title=.*/title={title} {app.title}/' {app.ini}",),
        ),
        goals=(
            c.check(f"{app.where} title set", done),
            c.check(f"{app.where} other settings kept", done, app.says("port", str(app.port))),
            c.check(f"{app.where} shows the title", app.serves(app.port, {"/": title}, done)),
        ),
        requires=("perl",),
    )


def _add_route(draw: Draw) -> Part:
    app, path, text = _App(draw), f"/{draw.word()}", draw.word()
    new = {path: text}
    return Part(
        ask=draw.one(
            (
                f"let the service in {app.where} answer {path} with {text}: add the route to {app.table}",
                f"add a route from {path} to the text {text} to {app.table}, keeping the others",
            )
        ),
        files=app.files(),
        do=(f"echo '{path} {text}' >> {app.table}",),
        instead=(f"sed -i '1i {path} {text}' {app.table}",),
        wrong=(
            (f"echo '{path} {text}' > {app.table}",),
            (f"echo '{path[1:]} {text}' >> {app.table}",),
            (f"echo '{path}={text}' >> {app.ini}",),
        ),
        goals=(
            c.check(f"{path} added", app.lists(new)),
            c.check(f"{path} beside the others", app.lists(new), app.lists(app.routes)),
            c.check(f"{app.where} answers {path}", app.serves(app.port, new, app.lists(new))),
        ),
        requires=("perl",),
    )


def _missing_port(draw: Draw) -> Part:
    app = _App(draw)
    done = app.says("port", str(app.port))
    return Part(
        ask=draw.one(
            (
                f"let {app.start} serve on port {app.port}: it fails, since {app.ini} sets no port",
                f"add the missing port, {app.port}, to {app.ini}, so that the service in {app.where} starts",
            )
        ),
        files=app.files(without="port"),
        do=(f"echo port={app.port} >> {app.ini}",),
        instead=(f"sed -i '/^host=/a port={app.port}' {app.ini}",),
        wrong=(
            (f"echo port={app.port} > {app.ini}",),
            (f"echo port {app.port} >> {app.ini}",),
            (f"echo port={app.port + 1} >> {app.ini}",),
        ),
        goals=(
            c.check(f"{app.where} port set", done),
            c.check(f"{app.where} other settings kept", done, app.says("title", app.title)),
            c.check(f"{app.where} serves on {app.port}", app.serves(app.port, {"/": app.title}, done)),
        ),
        requires=("perl",),
    )


def _wrong_program(draw: Draw) -> Part:
    app, missing = _App(draw), f"{draw.new(_words.SERVICES)}.py"

    def renamed(view: StateView) -> bool:
        return re.search(rf"\b{re.escape(missing)}\b", c.text_of(view, app.start)) is None

    return Part(
        ask=draw.one(
            (
                f"let {app.start} start server.pl: it names {missing}, which is missing",
                f"repair {app.start}: instead of {missing}, which does not exist, it has to start server.pl",
            )
        ),
        files=app.files(program=missing),
        do=(f"sed -i 's/{missing}/server.pl/' {app.start}",),
        instead=(f"perl -pi -e 's/\\Q{missing}/server.pl/' {app.start}",),
        wrong=(
            (f"sed -i 's/{missing}/serve.py/' {app.start}",),
            (f"cp {app.where}/server.pl {app.where}/{missing}",),
            (f"sed -i '/{missing}/d' {app.start}",),
        ),
        goals=(
            c.check(f"{app.start} names no {missing}", renamed, lambda view: "server.pl" in c.text_of(view, app.start)),
            c.check(f"{app.start} still executable", renamed, is_runnable(app.start)),
            c.check(f"{app.where} starts", app.serves(app.port, {"/": app.title}, renamed, is_runnable(app.start))),
        ),
        requires=("perl",),
    )


def _not_executable(draw: Draw) -> Part:
    app, mode = _App(draw), draw.one((0o644, 0o600, 0o640, 0o664))
    runnable = is_runnable(app.start)
    return Part(
        ask=draw.one(
            (
                f"make {app.start} executable, so that the service in {app.where} starts on port {app.port}",
                f"let the service on port {app.port} be started by running {app.start}: the script is not executable",
            )
        ),
        files=app.files(mode=mode),
        do=(f"chmod +x {app.start}",),
        instead=(f"install -m 755 {app.start} /tmp/start.new && mv -f /tmp/start.new {app.start}",),
        wrong=((f"chmod +r {app.start}",), (f"chmod +x {app.where}/server.pl",), (f"bash -n {app.start}",)),
        goals=(
            c.check(f"{app.start} is executable", runnable),
            c.check(f"{app.start} still the same", runnable, c.has_text(app.start, _START.format(program="server.pl"))),
            c.check(f"{app.where} starts", app.serves(app.port, {"/": app.title}, runnable)),
        ),
        requires=("perl",),
    )


def _rework(draw: Draw) -> Part:
    """Port, title and a route of one service: as much to do as for three, and one to start."""
    app, port, title, path, text = _App(draw), _port(draw), draw.word(), f"/{draw.word()}", draw.word()
    moved, titled, new = app.says("port", str(port)), app.says("title", title), {path: text}
    kept = c.all_of(app.says("host", "127.0.0.1"), app.lists(app.routes))
    edits = (
        f"sed -i 's/^port=.*/port={port}/' {app.ini}",
        f"sed -i 's/^title=.*/title={title}/' {app.ini}",
        f"echo '{path} {text}' >> {app.table}",
    )
    return Part(
        ask=draw.one(
            (
                f"let the service in {app.where} listen on port {port}, answer / with {title} ({app.ini} says both), "
                f"and answer {path} with {text}, which takes a route in {app.table}",
                f"change {app.ini} to port {port} and title {title}, and add a route from {path} to the text {text} to "
                f"{app.table}, so that {app.start} serves all that",
            )
        ),
        files=app.files(),
        do=edits,
        instead=(
            f"printf 'host=127.0.0.1\\nport={port}\\ntitle={title}\\n' > {app.ini}",
            f"sed -i '1i {path} {text}' {app.table}",
        ),
        wrong=(
            edits[:2],
            edits[1:],
            (*edits[:2], f"echo '{path} {text}' > {app.table}"),
            (f"echo port={port} > {app.ini}; echo title={title} >> {app.ini}", edits[2]),
        ),
        goals=(
            c.check(f"{app.where} port set", moved),
            c.check(f"{app.where} title set", titled),
            c.check(f"{path} added", app.lists(new)),
            c.check(f"{app.where} otherwise the same", moved, titled, app.lists(new), kept),
            c.check(
                f"{app.where} serves all on {port}",
                app.serves(port, {"/": title, **new}, moved, titled, app.lists(new)),
            ),
        ),
        requires=("perl",),
    )


_Kind = Callable[[Draw], Part]
_ONE_STEP: tuple[_Kind, ...] = (_set_port, _set_title, _add_route, _missing_port, _wrong_program, _not_executable)


def _several(draw: Draw, kinds: Sequence[_Kind]) -> Scenario:
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _easy(draw: Draw) -> Scenario:
    kinds = (*_ONE_STEP, lambda draw: _serve_directory(draw, whole=False))
    return join(draw, [draw.one(kinds)(draw)])


def _medium(draw: Draw) -> Scenario:
    return _several(draw, draw.some((*_ONE_STEP, _serve_directory), 2))


def _hard(draw: Draw) -> Scenario:
    return _several(draw, [_serve_directory, _rework])


FAMILY = Family("services", levels(_easy, _medium, _hard), "configure, repair and start small HTTP services")
