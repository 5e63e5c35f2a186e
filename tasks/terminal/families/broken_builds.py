"""Repair small builds: Makefiles, build scripts and Python programs that fail.

They are judged by building, on a fork, from sources that were replaced by others: what the agent's own build left does
not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.families._runs import Runs, Step
from agentenv.tasks.terminal.families._scripts import Case, case_in_place, cases_hold
from agentenv.tasks.terminal.scenario import Family, Scenario, StartFile

__all__ = ["FAMILY"]


@dataclass(frozen=True)
class _Recipe:
    """A shell command from IN to OUT, and what it does to lines."""

    command: str
    result: Callable[[Sequence[str]], Sequence[str]]


_RECIPES = (
    _Recipe("sort IN > OUT", sorted),
    _Recipe("sort -r IN > OUT", lambda lines: sorted(lines, reverse=True)),
    _Recipe("tr a-z A-Z < IN > OUT", lambda lines: [line.upper() for line in lines]),
    _Recipe("wc -l < IN > OUT", lambda lines: [str(len(lines))]),
    _Recipe("head -n 2 IN > OUT", lambda lines: lines[:2]),
    _Recipe("tail -n 2 IN > OUT", lambda lines: lines[-2:]),
    _Recipe("cut -d' ' -f1 IN > OUT", lambda lines: [line.split(" ")[0] for line in lines]),
)


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _fresh(draw: Draw) -> list[str]:
    return draw.lines(draw.number(4, 7), draw.some(_words.WORDS, 9))


def _in_project(runs: Runs, where: str, command: str, case: Case, gone: Iterable[str]) -> c.Condition:
    """A case that runs in the project itself, once `gone` are removed from it."""
    step = case_in_place(command, case, where, [f"{where}/{name}" for name in gone])

    def steps(view: StateView) -> list[Step]:
        return [step] if view.stat(where).kind == "directory" else []

    return cases_hold(runs.book(steps), [case])[0]


def _builds(
    runs: Runs, where: str, command: str, sources: Mapping[str, Sequence[str]], results: Mapping[str, str]
) -> c.Condition:
    """With its sources replaced by others and its results removed, the project builds, with exit code 0."""
    # Sources are laid into the project itself, newer than anything that was built.
    case = Case(files={name: _text(lines) for name, lines in sources.items()}, code=0, after=results)
    return _in_project(runs, where, command, case, (*results, *sources))


class _Make:
    """A project of one Makefile, one source and one result."""

    def __init__(self, draw: Draw) -> None:
        self.runs = draw.runs
        self.where = draw.directory()
        self.source, self.result = draw.file("txt"), draw.file("out")
        self.recipe = draw.one(_RECIPES)
        self.lines, self.fresh = _fresh(draw), _fresh(draw)
        self.makefile = f"{self.where}/Makefile"
        self.command = self.recipe.command.replace("IN", self.source).replace("OUT", self.result)

    def text(self) -> str:
        """The Makefile as it should be."""
        return f"all: {self.result}\n\n{self.result}: {self.source}\n\t{self.command}\n"

    def files(self, makefile: str) -> tuple[StartFile, ...]:
        """Start files with this Makefile."""
        return (file(self.makefile, makefile), file(f"{self.where}/{self.source}", _text(self.lines)))

    def builds(self, target: str = "all") -> c.Condition:
        """`make` makes the right result of sources it has not seen."""
        result = {self.result: _text(list(self.recipe.result(self.fresh)))}
        return _builds(self.runs, self.where, f"make -s {target}", {self.source: self.fresh}, result)


def _goals(project: _Make, name: str, *edited: c.Condition) -> tuple[c.Check, ...]:
    made = f"{project.where}/{project.result}"
    return (
        c.check(f"{project.where} {name}", *edited),
        c.check(f"{project.where} builds", *edited, project.builds()),
        c.check(
            f"{project.result} is built",
            *edited,
            c.has_text(made, _text(list(project.recipe.result(project.lines)))),
            c.has_text(f"{project.where}/{project.source}", _text(project.lines)),
        ),
    )


def _holds(path: str, *present: str) -> c.Condition:
    return lambda view: all(part in c.text_of(view, path) for part in present)


def _lacks(path: str, *gone: str) -> c.Condition:
    return lambda view: not any(part in c.text_of(view, path) for part in gone)


def _spaces(draw: Draw) -> Part:
    project = _Make(draw)
    blanks = " " * draw.one((2, 4, 8))
    broken = project.text().replace("\t", blanks)
    tool = project.command.split(" ", 1)[0]
    return Part(
        ask=draw.one(
            (
                f"repair {project.makefile}, whose recipe starts with spaces, not a tab, and make {project.where}",
                f"put a tab for the spaces before {tool} in {project.makefile}, then run make in {project.where}",
            )
        ),
        files=project.files(broken),
        do=(rf"sed -i 's/^  */\t/' {project.makefile}", f"make -C {project.where}"),
        instead=(rf"perl -pi -e 's/^ +/\t/' {project.makefile}", f"cd {project.where} && make; cd .."),
        wrong=(
            (rf"sed -i 's/^  */\t/' {project.makefile}",),
            (f"sed -i 's/^  *//' {project.makefile}", f"make -C {project.where}"),
            (f"touch {project.where}/{project.result}",),
        ),
        goals=_goals(project, "recipe has a tab", lambda view: f"\n\t{tool}" in c.text_of(view, project.makefile)),
        requires=("make",),
    )


def _wrong_source(draw: Draw) -> Part:
    project, wrong = _Make(draw), draw.file("txt")
    broken = project.text().replace(project.source, wrong)
    return Part(
        ask=draw.one(
            (
                f"repair {project.makefile}: it names {wrong}, but the file is {project.source}; then run make there",
                f"let {project.makefile} use {project.source} instead of {wrong}, and run make in {project.where}",
            )
        ),
        files=project.files(broken),
        do=(f"sed -i 's/{wrong}/{project.source}/' {project.makefile}", f"make -C {project.where}"),
        instead=(
            f"perl -pi -e 's/\\Q{wrong}/{project.source}/g' {project.makefile}",
            f"cd {project.where}; make; cd ..",
        ),
        wrong=(
            (f"cp {project.where}/{project.source} {project.where}/{wrong}", f"make -C {project.where}"),
            (f"sed -i 's/{wrong}/{project.source}/' {project.makefile}",),
            (f"sed -i '3s/{wrong}/{project.source}/' {project.makefile}", f"make -C {project.where}"),
        ),
        goals=_goals(
            project, f"names no {wrong}", _lacks(project.makefile, wrong), _holds(project.makefile, project.source)
        ),
        requires=("make",),
    )


def _missing_variable(draw: Draw) -> Part:
    where, result, name = draw.directory(), draw.file("out"), draw.one(("VERSION", "NAME", "OWNER", "STAGE", "TITLE"))
    value, host, makefile, settings = draw.word(), draw.word(), f"{where}/Makefile", f"{where}/config.mk"
    text = (
        f"include config.mk\n\nall: {result}\n\n{result}: config.mk\n"
        f'\ttest -n "$({name})"\n\techo $({name}) $(HOST) > {result}\n'
    )
    done = c.all_of(_holds(settings, name, value), c.has_text(makefile, text))
    return Part(
        ask=draw.one(
            (
                f"let make succeed in {where}: set the missing {name} to {value} in {settings}, and build",
                f"set {name} to {value} in {settings}, without which the build of {where} fails, and run make there",
            )
        ),
        files=(file(makefile, text), file(settings, f"HOST = {host}\n")),
        do=(f"echo '{name} = {value}' >> {settings}", f"make -C {where}"),
        instead=(f"sed -i '1i {name}={value}' {settings}", f"cd {where} && make; cd .."),
        wrong=(
            (f"echo '{name} = {value}' > {settings}", f"make -C {where}"),
            (f"make -C {where} {name}={value}",),
            (f"echo '{name} = {value}' >> {settings}",),
        ),
        goals=(
            c.check(f"{name} set", done),
            c.check(f"{where} builds", done, _builds(draw.runs, where, "make -s", {}, {result: f"{value} {host}"})),
            c.check(f"{result} is built", done, c.has_text(f"{where}/{result}", f"{value} {host}")),
        ),
        requires=("make",),
    )


def _missing_target(draw: Draw) -> Part:
    project = _Make(draw)
    target = draw.one(("clean", "clear", "reset", "tidy"))
    made = f"{project.where}/{project.result}"

    case = Case(
        files={project.result: "built\n"},
        code=0,
        after={project.result: None, project.source: _text(project.lines)},
    )
    removes = _in_project(draw.runs, project.where, f"make -s {target}", case, [project.result])
    listed = _holds(project.makefile, f"{target}:")
    return Part(
        ask=draw.one(
            (
                f"add a target {target} to {project.makefile} that removes {project.result}, keeping the rest",
                f"give {project.makefile} one more target, {target}, which deletes {project.result}",
            )
        ),
        files=project.files(project.text()),
        do=(rf"printf '{target}:\n\trm -f {project.result}\n' >> {project.makefile}",),
        instead=(f"echo '{target}: ; rm -rf {project.result}' >> {project.makefile}",),
        wrong=(
            (rf"printf '{target}:\n    rm -f {project.result}\n' >> {project.makefile}",),
            (rf"printf '{target}:\n\trm -f {project.result}\n' > {project.makefile}",),
            (f"rm -f {made}",),
        ),
        goals=(
            c.check(f"{target} listed", listed),
            c.check(f"{target} removes {project.result}", listed, removes),
            c.check(f"{project.where} still builds", listed, project.builds()),
        ),
        requires=("make",),
    )


def _script(draw: Draw) -> tuple[str, str, str, str, _Recipe]:
    """A build script's directory, path, source, result and recipe."""
    where = draw.directory()
    return where, f"{where}/build.sh", draw.file("txt"), draw.file("out"), draw.one(_RECIPES)


def _unfinished_script(draw: Draw) -> Part:
    where, path, source, result, recipe = _script(draw)
    lines, fresh = _fresh(draw), _fresh(draw)
    word, start, inner = draw.one((("fi", "if", f"[ -f {source} ]; then"), ("done", "for", "n in 1 2; do")))
    command = recipe.command.replace("IN", source).replace("OUT", result)
    broken = f'#!/bin/sh\nset -e\ncd "$(dirname "$0")"\n{start} {inner}\n  {command}\n'
    expected = {result: _text(list(recipe.result(fresh)))}
    ended = c.all_of(_holds(path, f"\n{word}"), _holds(path, command))
    return Part(
        ask=draw.one(
            (
                f"repair {path}, which lacks its closing {word}, and run it",
                f"add the missing {word} at the end of {path}, then run the script",
            )
        ),
        files=(file(path, broken, 0o755), file(f"{where}/{source}", _text(lines))),
        do=(f"echo {word} >> {path}", path),
        instead=(f"sed -i '$a {word}' {path}", f"sh {path}"),
        wrong=(
            (f"echo {word} >> {path}",),
            (f"sed -i '/^{start}/d' {path}", f"sh {path}"),
            (f"echo {'done' if word == 'fi' else 'fi'} >> {path}", f"sh {path}"),
        ),
        goals=(
            c.check(f"{path} ends with {word}", ended),
            c.check(
                f"{path} builds", ended, _builds(draw.runs, where, "/bin/sh ./build.sh", {source: fresh}, expected)
            ),
            c.check(f"{result} is built", ended, c.has_text(f"{where}/{result}", _text(list(recipe.result(lines))))),
        ),
    )


_ANSWERS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "total": sum,
    "average": lambda rows: sum(rows) // len(rows),
    "largest": max,
    "count": len,
}


def _python(draw: Draw) -> Part:
    where = draw.directory()
    path, name, source = (
        f"{where}/{draw.stem()}.py",
        draw.one(("total", "average", "largest", "count")),
        draw.file("txt"),
    )
    bodies = {"total": "sum(rows)", "average": "sum(rows) // len(rows)", "largest": "max(rows)", "count": "len(rows)"}
    whole = (
        f"import sys\n\n\ndef {name}(rows):\n    return {bodies[name]}\n\n\n"
        f"numbers = [int(line) for line in open(sys.argv[1])]\nprint({name}(numbers))\n"
    )
    fault = draw.one(("colon", "import", "name"))
    called = name[:-1]
    broken, said, do, instead, wrong = {
        "colon": (
            whole.replace(f"def {name}(rows):", f"def {name}(rows)"),
            f"the line with def {name} lacks its colon",
            f"sed -i '/^def {name}/s/$/:/' {path}",
            f"perl -pi -e 's/^(def {name}.*)$/$1:/' {path}",
            f"sed -i 's/$/:/' {path}",
        ),
        "import": (
            whole.replace("import sys\n", ""),
            "it does not import sys",
            f"sed -i '1i import sys' {path}",
            f"echo 'import sys' | cat - {path} > /tmp/new.py; cp /tmp/new.py {path}",
            f"echo 'import sys' >> {path}",
        ),
        "name": (
            whole.replace(f"print({name}(", f"print({called}("),
            f"it calls {called}, which is named {name}",
            f"sed -i 's/{called}(n/{name}(n/' {path}",
            f"perl -pi -e 's/\\b{called}\\(numbers/{name}(numbers/' {path}",
            f"sed -i 's/def {name}/def {called[:-1]}/' {path}",
        ),
    }[fault]
    result, numbers, fresh = draw.file("out"), draw.some(range(10, 99), 4), draw.some(range(100, 999), 5)
    answer = _ANSWERS[name]
    command = f"python3 {path.rpartition('/')[2]} {source}"
    case = Case(files={source: _text([str(number) for number in fresh])}, out=str(answer(fresh)), code=0)
    program = c.all_of(lambda view: c.text_of(view, path) != broken, _holds(path, f"def {name}"))

    runs = _in_project(draw.runs, where, command, case, [source])
    return Part(
        ask=draw.one(
            (
                f"repair {path} ({said}) and write what it prints for {where}/{source} to {result}",
                f"let {path} run again: {said}; then write its output for {where}/{source} to {result}",
            )
        ),
        files=(file(path, broken), file(f"{where}/{source}", _text([str(number) for number in numbers]))),
        do=(do, f"python3 {path} {where}/{source} > {result}"),
        instead=(instead, f"cd {where}; {command} > ../{result}; cd .."),
        wrong=(
            (do,),
            (wrong, f"python3 {path} {where}/{source} > {result}"),
            (f"echo {answer(numbers)} > {result}",),
        ),
        goals=(
            c.check(f"{path} edited", program),
            c.check(f"{path} runs", program, runs),
            c.check(f"{result} written", program, c.has_number(result, answer(numbers))),
        ),
        requires=("python3",),
    )


_Kind = Callable[[Draw], Part]
_KINDS: tuple[_Kind, ...] = (_spaces, _wrong_source, _missing_variable, _missing_target, _unfinished_script, _python)


def _several(draw: Draw, count: int) -> Scenario:
    return join(draw, [kind(draw) for kind in draw.some(_KINDS, count)])


def _easy(draw: Draw) -> Scenario:
    return _several(draw, 1)


def _medium(draw: Draw) -> Scenario:
    return _several(draw, 2)


def _hard(draw: Draw) -> Scenario:
    return _several(draw, 3)


FAMILY = Family("broken_builds", levels(_easy, _medium, _hard), "repair Makefiles, build scripts and Python programs")
