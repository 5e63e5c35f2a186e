"""Write maintenance scripts, and the crontab files that run them.

Scripts are judged by running them on directories they have not seen; the command of a crontab line is run as cron
would run it (`/bin/sh -c`, from the home directory), after the directory's files were replaced by others.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._cron import jobs_of, when
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.families._runs import Runs, Step
from agentenv.tasks.terminal.families._scripts import Case, case_in_place, cases_hold, written_script
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_KINDS = ("tmp", "log", "bak", "out", "dat", "csv", "txt")


@dataclass(frozen=True)
class _Chore:
    """What a script does to the directory that is its first argument.

    `cases` are pairs of the files in it before, and those that must (or, with None, must not) be there after.
    """

    does: str
    body: str
    other: str
    wrong: tuple[str, ...]
    cases: tuple[tuple[Mapping[str, str], Mapping[str, str | None]], ...]


def _clean(draw: Draw) -> _Chore:
    kind, spared = draw.some(_KINDS, 2)
    cases = []
    for count in (1, 3):
        gone = {draw.file(kind): draw.body(1) for _ in range(count)}
        kept = {draw.file(spared): draw.body(1)}
        cases.append(({**gone, **kept}, {**dict.fromkeys(gone), **kept}))
    return _Chore(
        f"deletes the .{kind} files in the directory given as first argument",
        f'rm -f "$1"/*.{kind}',
        f'find "$1" -type f -name "*.{kind}" -delete',
        ('rm -f "$1"/*', f'rm -f "$1"/*.{spared}', f"rm -f *.{kind}"),
        tuple(cases),
    )


def _rotate(draw: Draw) -> _Chore:
    name, older = draw.file("log"), draw.body(1)
    texts = [draw.body(2), draw.body(3)]
    return _Chore(
        f"renames {name} in the directory given as first argument to {name}.1 and makes a new empty {name} there",
        f'cd "$1"; mv {name} {name}.1; touch {name}',
        f'cp "$1/{name}" "$1/{name}.1"; : > "$1/{name}"',
        (f'cd "$1"; mv {name} {name}.1', f'cd "$1"; cp {name} {name}.1', f"mv {name} {name}.1; touch {name}"),
        (
            ({name: texts[0]}, {name: "", f"{name}.1": texts[0]}),
            ({name: texts[1], f"{name}.1": older}, {name: "", f"{name}.1": texts[1]}),
        ),
    )


def _keep_newest(draw: Draw) -> _Chore:
    kind, count = draw.one(_KINDS), draw.number(2, 4)
    cases = []
    for more in (1, draw.number(2, 3)):
        days = sorted(draw.some(range(10, 29), count + more))
        names = [f"2024-03-{day}.{kind}" for day in days]
        files = {name: draw.body(1) for name in names}
        cases.append((files, {name: files[name] if name in names[-count:] else None for name in names}))
    return _Chore(
        f"deletes all but the last {count} (by name) .{kind} files in the directory given as first argument",
        f'cd "$1"; ls *.{kind} | head -n -{count} | xargs rm -f',
        f'ls -r "$1"/*.{kind} | tail -n +{count + 1} | while read f; do rm "$f"; done',
        (
            f'cd "$1"; ls *.{kind} | tail -n {count} | xargs rm -f',
            f'cd "$1"; ls *.{kind} | head -n {count} | xargs rm -f',
            f'cd "$1"; ls *.{kind} | head -n -{count + 1} | xargs rm -f',
        ),
        tuple(cases),
    )


def _note(draw: Draw) -> _Chore:
    name, word = draw.file(), draw.word()
    before = draw.body(2)
    return _Chore(
        f"appends the line {word} to {name} in the directory given as first argument",
        f'echo {word} >> "$1/{name}"',
        f'cd "$1" && printf "{word}\\n" | tee -a {name}',
        (f'echo {word} > "$1/{name}"', f"echo {word} >> {name}", f'echo "{word} {word}" >> "$1/{name}"'),
        (({name: before}, {name: f"{before}{word}\n"}), ({"README": before}, {name: word, "README": before})),
    )


def _count(draw: Draw) -> _Chore:
    kind, spared = draw.some(_KINDS, 2)
    name = draw.file("count")
    cases = []
    for count in (1, draw.number(2, 5)):
        files = {f"{word}.{kind}": draw.body(1) for word in draw.some(_words.CITIES, count)}
        cases.append(({**files, draw.file(spared): draw.body(1)}, {**files, name: str(count)}))
    return _Chore(
        f"writes the number of .{kind} files in the directory given as first argument to {name} in it",
        f'ls "$1"/*.{kind} | wc -l > "$1/{name}"',
        f'find "$1" -name "*.{kind}" | grep -c . > "$1/{name}"',
        (f'ls "$1" | wc -l > "$1/{name}"', f'ls "$1"/*.{kind} | wc -l > {name}', f'ls "$1"/*.{kind} > "$1/{name}"'),
        tuple(cases),
    )


def _shorten(draw: Draw) -> _Chore:
    name, count = draw.file("log"), draw.number(2, 5)
    cases = []
    for more in (2, draw.number(3, 6)):
        lines = draw.lines(count + more, draw.some(_words.WORDS, 8))
        text, short = ("".join(f"{line}\n" for line in part) for part in (lines, lines[-count:]))
        cases.append(({name: text}, {name: short}))
    return _Chore(
        f"cuts {name} in the directory given as first argument down to its last {count} lines",
        f'cd "$1"; tail -n {count} {name} > new; mv new {name}',
        f'last=$(tail -n {count} "$1/{name}"); echo "$last" > "$1/{name}"',
        (
            f'cd "$1"; head -n {count} {name} > new; mv new {name}',
            f'cd "$1"; tail -n {count + 1} {name} > new; mv new {name}',
            f'cd "$1"; tail -n {count} {name}',
        ),
        tuple(cases),
    )


def _save(draw: Draw) -> _Chore:
    name = draw.file()
    texts = [draw.body(2), draw.body(3)]
    return _Chore(
        f"copies {name} in the directory given as first argument to {name}.bak in the same directory",
        f'cd "$1"; cp {name} {name}.bak',
        f'cat "$1/{name}" > "$1/{name}.bak"',
        (f'cd "$1"; mv {name} {name}.bak', f'cp "$1/{name}" {name}.bak', f'touch "$1/{name}.bak"'),
        tuple(({name: text}, {name: text, f"{name}.bak": text}) for text in texts),
    )


_CHORES = (_clean, _rotate, _keep_newest, _note, _count, _shorten, _save)


def _script(draw: Draw, path: str, chore: _Chore, *, whole: bool) -> Part:
    cases = []
    for where, (before, after) in zip(draw.some(_words.CITIES, 2), chore.cases, strict=True):
        inside = {f"{where}/{name}": text for name, text in before.items()}
        cases.append(Case((where,), inside, after={f"{where}/{name}": text for name, text in after.items()}))
    ask = draw.one((f"write an executable script {path} that {chore.does}", f"make {path}, a script that {chore.does}"))
    ask += "" if "executable" in ask else ", and make it executable"
    return written_script(draw.runs, path, ask, chore.body, chore.other, chore.wrong, cases, whole=whole)


def _schedule(draw: Draw) -> tuple[str, str, str, str]:
    """A schedule in words, its five fields, the same in another way, and five fields that are not the same."""
    minute, hour, day = draw.number(1, 59), draw.number(1, 22), draw.number(0, 6)
    swapped = f"{hour} {minute} * * *" if hour != minute else f"{hour} {minute + 1} * * *"
    at = f"{hour:02}:{minute:02}"
    step, month_day = draw.one((5, 10, 15, 20, 30)), draw.number(2, 28)
    weekday = (day + 1) % 7
    return draw.one(
        (
            (
                f"every day at {at}",
                f"{minute} {hour} * * *",
                f"{minute:02} {hour:02} * 1-12 *",
                swapped,
            ),
            (f"every day at {at}", f"{minute} {hour} * * *", f"{minute} {hour} * * 0-6", f"{minute} {hour + 1} * * *"),
            (f"every {step} minutes", f"*/{step} * * * *", f"0-59/{step} * * * *", f"{step} * * * *"),
            (f"every hour at minute {minute}", f"{minute} * * * *", f"{minute} 0-23 * * *", f"*/{minute} * * * *"),
            (
                f"every {_DAYS[day]} at {at}",
                f"{minute} {hour} * * {weekday}",
                f"{minute} {hour} * * {_DAYS[day][:3].upper()}",
                f"{minute} {hour} * * {(weekday + 1) % 7}",
            ),
            (
                f"on day {month_day} of each month at {at}",
                f"{minute} {hour} {month_day} * *",
                f"{minute:02} {hour:02} {month_day} * *",
                f"{minute} {hour} * {month_day % 12 + 1} *",
            ),
        )
    )


def _works(runs: Runs, table: str, where: str, chore: _Chore) -> c.Condition:
    """The only job's command does the chore to files in /workspace/where that the agent has never seen."""
    before, after = chore.cases[-1]
    case = Case(files=before, after=after)

    def steps(view: StateView) -> list[Step]:
        jobs = jobs_of(view, table)
        if len(jobs) != 1:
            return []
        command = f"/bin/sh -c {shlex.quote(jobs[0].command)}"
        return [case_in_place(command, case, where, [where], "/home/agent")]

    return cases_hold(runs.book(steps), [case])[0]


def _table(draw: Draw, path: str, chore: _Chore, where: str, *, given: bool) -> Part:
    """A crontab file of one job; the script is given, or left to another part."""
    table = draw.file("cron")
    said, fields, same, wrong = _schedule(draw)
    command, wanted = f"/workspace/{path} /workspace/{where}", when(fields)

    def one_job(view: StateView) -> bool:
        return len(jobs_of(view, table)) == 1

    return Part(
        ask=draw.one(
            (
                f"write a crontab file {table} that runs {command} {said}",
                f"put one line into the crontab file {table} to run {command} {said}",
            )
        ),
        files=(
            *((file(path, f"#!/bin/sh\n{chore.body}\n", 0o755),) if given else ()),
            *(file(f"{where}/{name}", text) for name, text in chore.cases[0][0].items()),
        ),
        do=(f"echo '{fields} {command}' > {table}",),
        instead=(f"printf '%s\\n' '# {draw.word()}' '{same} {command}' > {table}",),
        wrong=(
            (f"echo '{wrong} {command}' > {table}",),
            (f"echo '{fields} {path} {where}' > {table}",),
            (f"echo '{fields} /workspace/{path}' > {table}",),
            (f"echo '{command}' > {table}",),
        ),
        goals=(
            c.check(f"{table} has one job", one_job),
            c.check(f"{table} schedule", one_job, lambda view: jobs_of(view, table)[0].when == wanted),
            c.check(f"{table} command works", _works(draw.runs, table, where, chore)),
        ),
    )


def _old_table(draw: Draw) -> tuple[str, list[tuple[str, str]], str]:
    """A crontab file's name, its three jobs (fields and script), and its text."""
    table = draw.file("cron")
    scripts = [f"{draw.new(_words.SERVICES)}.sh" for _ in range(3)]
    jobs = [(f"{draw.number(0, 59)} {draw.number(0, 23)} * * *", script) for script in scripts]
    return table, jobs, "".join(f"{fields} /opt/bin/{script}\n" for fields, script in jobs)


def _holds_jobs(table: str, jobs: list[tuple[str, str]]) -> c.Condition:
    expected = [(when(fields), f"/opt/bin/{script}") for fields, script in jobs]

    def holds(view: StateView) -> bool:
        found = [(job.when, job.command) for job in jobs_of(view, table)]
        return len(found) == len(expected) and all(job in found for job in expected)

    return holds


def _reschedule(draw: Draw) -> Part:
    table, jobs, text = _old_table(draw)
    place = draw.number(0, 2)
    old, script = jobs[place]
    said, fields, same, wrong = draw.until(lambda: _schedule(draw), lambda made: when(made[1]) != when(old))
    result, wanted = [(fields if name == script else kept, name) for kept, name in jobs], when(fields)
    return Part(
        ask=draw.one(
            (
                f"in the crontab file {table} change only the job of {script}, to run {said}",
                f"let {script} in the crontab file {table} run {said}, and leave the other jobs",
            )
        ),
        files=(file(table, text),),
        do=(f"sed -i '/{script}/s|^.* |{fields} |' {table}",),
        instead=(
            f"grep -v {script} {table} > /tmp/jobs",
            f"echo '{same} /opt/bin/{script}' >> /tmp/jobs; cp /tmp/jobs {table}",
        ),
        wrong=(
            (f"sed -i 's|^.* |{fields} |' {table}",),
            (f"sed -i '/{script}/s|^.* |{wrong} |' {table}",),
            (f"echo '{fields} /opt/bin/{script}' >> {table}",),
            (f"echo '{fields} /opt/bin/{script}' > {table}",),
        ),
        goals=(
            c.check(
                f"{script} runs at the new time",
                lambda view: any(job.when == wanted and script in job.command for job in jobs_of(view, table)),
            ),
            c.check(f"{table} otherwise the same", _holds_jobs(table, result)),
        ),
    )


def _disable(draw: Draw) -> Part:
    table, jobs, text = _old_table(draw)
    script = draw.one(jobs)[1]
    line = next(line for line in text.splitlines() if script in line)
    rest = [(fields, name) for fields, name in jobs if name != script]

    def commented(view: StateView) -> bool:
        return any(found.lstrip("# ") == line and found.lstrip().startswith("#") for found in c.lines_of(view, table))

    return Part(
        ask=draw.one(
            (
                f"comment out the job of {script} in the crontab file {table}",
                f"turn off {script} in the crontab file {table} by making its line a comment",
            )
        ),
        files=(file(table, text),),
        do=(f"sed -i '/{script}/s/^/#/' {table}",),
        instead=(f"perl -pi -e 's/^/# / if /{script}/' {table}",),
        wrong=((f"sed -i '/{script}/d' {table}",), (f"sed -i 's/^/#/' {table}",), (f"echo '#{script}' >> {table}",)),
        goals=(
            c.check(f"{script} is a comment", commented),
            c.check(f"{table} other jobs on", _holds_jobs(table, rest), commented),
        ),
    )


_Change = Callable[[Draw], Part]
_CHANGES: tuple[_Change, ...] = (_reschedule, _disable)


def _path(draw: Draw) -> str:
    return f"{draw.directory()}/{draw.stem()}.sh"


def _given_table(draw: Draw) -> Part:
    return _table(draw, _path(draw), draw.one(_CHORES)(draw), draw.directory(), given=True)


def _script_and_table(draw: Draw) -> list[Part]:
    path, chore = _path(draw), draw.one(_CHORES)(draw)
    return [_script(draw, path, chore, whole=True), _table(draw, path, chore, draw.directory(), given=False)]


def _easy(draw: Draw) -> Scenario:
    if draw.chance():
        return join(draw, [_given_table(draw)])
    return join(draw, [_script(draw, _path(draw), draw.one(_CHORES)(draw), whole=False)])


def _medium(draw: Draw) -> Scenario:
    if draw.chance():
        return join(draw, _script_and_table(draw))
    parts = [_given_table(draw), *(kind(draw) for kind in draw.some(_CHANGES, draw.number(1, 2)))]
    return join(draw, draw.shuffled(parts))


def _hard(draw: Draw) -> Scenario:
    parts = [*_script_and_table(draw), draw.one(_CHANGES)(draw)]
    if draw.chance():
        parts.append(_given_table(draw))
    return join(draw, parts)


FAMILY = Family(
    "cron_scripts", levels(_easy, _medium, _hard), "write maintenance scripts and the crontabs that run them"
)
