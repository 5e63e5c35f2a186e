"""Environment variables and PATH: env files, login shells, wrappers, lookups. Judged by running shells."""

from __future__ import annotations

from collections.abc import Callable

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.families._shells import acts, says
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_HOME = "/home/agent"


def _runs(path: str) -> c.Condition:
    """A file, or a link to one, whose owner may run it."""

    def holds(view: StateView) -> bool:
        found = view.stat(path)
        return found.kind == "link" or (found.kind == "file" and bool(found.mode & 0o100))

    return holds


def _value(draw: Draw) -> Part:
    path, out = f"{draw.directory()}/{draw.stem()}.env", draw.file("txt")
    base, key = (word.upper() for word in draw.words(2))
    root, rest = draw.word(), draw.word()
    text = f"{base}=/srv/{root}\n{key}=${base}/{rest}\n{key}_MAX={draw.number(10, 99)}\n"
    right = c.has_text(out, f"/srv/{root}/{rest}")
    return Part(
        ask=draw.one(
            (
                f"write the value that {key} has after sourcing {path} to {out}",
                f"source {path} and put the value of {key} in {out}",
            )
        ),
        files=(file(path, text),),
        do=(f". {path} && echo ${key} > {out}",),
        instead=(f"bash -c 'source {path}; printf %s ${key}' > {out}",),
        wrong=((f"grep ^{key}= {path} > {out}",), (f"grep ^{key}= {path} | cut -d= -f2 > {out}",)),
        goals=(
            c.check(f"{out} written", c.is_file(out)),
            c.check(f"value of {key}", right),
            c.check("env file kept", right, c.has_bytes(path, text)),
        ),
    )


def _export(draw: Draw) -> Part:
    path, (key, other) = f"{draw.directory()}/{draw.stem()}.env", (word.upper() for word in draw.words(2))
    value, kept = draw.one((draw.word(), " ".join(draw.words(2)))), draw.word()
    text = f"export {other}={kept}\n"
    quotes = ("'", '"') if " " in value else ("", "'", '"')
    known = [f"{text}export {key}={quote}{value}{quote}\n" for quote in quotes]
    source = f"{{ . ./{path}; }} > /dev/null && /usr/bin/env"
    seen = says(f"{source} | grep ^{key}=", f"{key}={value}")
    lines = "\n".join(sorted((f"{key}={value}", f"{other}={kept}")))
    both = says(f"{source} | grep -E '^({key}|{other})=' | sort", lines)
    return Part(
        ask=draw.one(
            (
                f'add the line to {path} that exports {key} with the value "{value}"',
                f'make {path} also export {key}, set to "{value}"',
            )
        ),
        files=(file(path, text),),
        do=(f"echo 'export {key}=\"{value}\"' >> {path}",),
        instead=(f"printf '%s=\"%s\"\\n' {key} '{value}' >> {path}", f"echo export {key} >> {path}"),
        wrong=(
            (f"echo '{key}=\"{value}\"' >> {path}",),
            (f"echo 'export {key}=\"{value}\"' > {path}",),
            (f"export {key}='{value}'",),
        ),
        goals=(
            c.check(f"{key} seen", acts(path, text, known, seen)),
            c.check(f"{other} kept too", acts(path, text, known, both)),
            c.check("file in place", c.mode_is(path, 0o644), acts(path, text, known, both)),
        ),
    )


def _unset(draw: Draw) -> Part:
    path, (key, other) = f"{draw.directory()}/{draw.stem()}.env", (word.upper() for word in draw.words(2))
    lines = [f"{other}={draw.word()}", f"{key}={draw.word()}", f"MY_{key}={draw.word()}", f"{key}_DIR={draw.word()}"]
    text = "".join(f"export {line}\n" for line in lines)
    left = "\n".join(sorted(line for line in lines if not line.startswith(f"{key}=")))
    known = ["".join(f"export {line}\n" for line in lines if not line.startswith(f"{key}="))]
    found = f"{{ . ./{path}; }} > /dev/null && /usr/bin/env | grep -E '^(MY_)?({key}|{other})(_DIR)?=' | sort"
    right = acts(path, text, known, says(found, left))
    return Part(
        ask=draw.one(
            (f"make {path} no longer set {key}, the rest as before", f"remove the variable {key} from {path}")
        ),
        files=(file(path, text),),
        do=(f"sed -i '/^export {key}=/d' {path}",),
        instead=(f"grep -v '^export {key}=' {path} > {path}.new", f"mv {path}.new {path}"),
        wrong=((f"sed -i '/{key}/d' {path}",), (f"sed -i 's/^export {key}=.*/export {key}=/' {path}",)),
        goals=(
            c.check(f"{key} gone", acts(path, text, known, says(f"{found} | grep -c ^{key}= || true", "0"))),
            c.check("rest kept", right),
            c.check("file in place", c.mode_is(path, 0o644), right),
        ),
    )


def _login_path(draw: Draw) -> Part:
    short, profile, (name, fresh, old) = draw.directory(), f"{_HOME}/.profile", draw.words(3)
    where, key, text = f"{_HOME}/{short}", old.upper(), f"export {old.upper()}={fresh}\n"
    paths = [f"{quote}{home}/{short}:$PATH{quote}" for home in ("$HOME", "~", where) for quote in ("", '"')]
    known = [f"{text}export PATH={path}\n" for path in paths if path[:2] != '"~']
    shadow = f"printf 'echo {fresh}' > {where}/ls; chmod 755 {where}/ls; bash -lc"
    first = acts(profile, text, known, says(f"{shadow} ls", fresh))
    rest = acts(profile, text, known, says(f"{shadow} '{name}; ls; echo ${key} | sort'", f"{old}\n{fresh}\n{fresh}"))
    return Part(
        ask=draw.one(
            (
                f"make login shells find the programs in ~/{short} before all others (~/.profile)",
                f"put ~/{short} first in the PATH of login shells, in ~/.profile",
            )
        ),
        files=(file(profile, text), file(f"{where}/{name}", f"#!/bin/sh\necho {old}\n", 0o755)),
        do=(f"echo 'export PATH=$HOME/{short}:$PATH' >> ~/.profile",),
        instead=(f"printf 'PATH=\"$HOME/%s:$PATH\"\\nexport PATH\\n' {short} >> ~/.profile",),
        wrong=(
            (f"echo 'export PATH=$PATH:$HOME/{short}' >> ~/.profile",),
            (f"echo 'export PATH=$HOME/{short}' >> ~/.profile",),
            (f"echo 'export PATH=$HOME/{short}:$PATH' > ~/.profile",),
        ),
        goals=(
            c.check(f"{short} first", first),
            c.check("profile else as before", rest),
            c.check(f"{name} kept", c.mode_is(f"{where}/{name}", 0o755), rest),
        ),
    )


def _wrapper(draw: Draw) -> Part:
    where, tool, name = draw.directory(), f"{draw.directory()}/{draw.stem()}.sh", draw.word()
    key, value, (one, two, three) = draw.word().upper(), draw.word(), draw.words(3)
    path, text = f"{where}/{name}", f'#!/bin/bash\necho "${key} $# $*"\n'
    clean = f"PATH=/workspace/{where}:/usr/local/bin:/usr/bin:/bin"
    first = says(f"{clean} {name} {one} {two}", f"{value} 2 {one} {two}")
    second = says(f"{clean} {name} '{two} {three}'", f"{value} 1 {two} {three}")
    kept = c.has_bytes(tool, text)
    return Part(
        ask=draw.one(
            (
                f"write an executable {path} that runs {tool} with {key}={value} and its own arguments",
                f"make {path}, an executable script that sets {key}={value} for {tool} and passes on all arguments",
            )
        )
        + " (run from /workspace)",
        files=(file(tool, text, 0o755), file(f"{where}/README", draw.body(2))),
        do=(f"echo '{key}={value} exec {tool} \"$@\"' > {path}", f"chmod +x {path}"),
        instead=(f"printf '#!/bin/sh\\nexport {key}={value}\\n{tool} \"$@\"\\n' > {path}", f"chmod 755 {path}"),
        wrong=(
            (f"echo '{key}={value} {tool}' > {path}", f"chmod +x {path}"),
            (f"echo '{key}={value} exec {tool} \"$@\"' > {path}",),
            (f"echo '{key}={value} exec {tool} $1 $2 $3' > {path}", f"chmod +x {path}"),
        ),
        goals=(
            c.check(f"{name} written", c.is_file(path)),
            c.check(f"{name} runs", _runs(path), first, kept),
            c.check(f"{name} passes arguments", _runs(path), second, kept),
        ),
    )


def _command(draw: Draw) -> Part:
    where, tool, name, word = draw.directory(), f"{draw.directory()}/{draw.stem()}.sh", draw.word(), draw.word()
    text = f"#!/bin/bash\necho {word} $1\n"
    linked, runs = c.link_to(f"{where}/{name}", tool), c.all_of(c.mode_is(tool, 0o100, 0o100), c.has_bytes(tool, text))
    return Part(
        ask=draw.one(
            (
                f"make {tool} executable and {where}/{name} a symbolic link to it",
                f"let {tool} be executable, and {where}/{name} a symlink that leads to it",
            )
        ),
        files=(file(tool, text, 0o644), file(f"{where}/README", draw.body(2))),
        do=(f"chmod +x {tool}", f"ln -s ../{tool} {where}/{name}"),
        instead=(f"ln -s /workspace/{tool} {where}/{name}", f"chmod 755 {tool}"),
        wrong=(
            (f"chmod +x {tool}", f"ln -s {tool} {where}/{name}"),
            (f"ln -s ../{tool} {where}/{name}",),
            (f"chmod +x {tool}", f"cp {tool} {where}/{name}"),
        ),
        goals=(
            c.check(f"{tool.rpartition('/')[2]} executable", runs),
            c.check(f"{name} linked", linked),
            c.check(f"{name} runs", linked, runs),
        ),
    )


def _which(draw: Draw) -> Part:
    (first, second), out = (draw.directory(), draw.directory()), draw.file("txt")
    name = draw.word()
    hidden = draw.chance()
    right = f"{second if hidden else first}/{name}"

    def holds(view: StateView) -> bool:
        return c.lines_of(view, out) in ([right], [f"./{right}"], [f"/workspace/{right}"])

    wrong_place = first if hidden else second
    return Part(
        ask=draw.one(
            (
                f"write the path of the {name} that runs when {first} and then {second} lead PATH to {out}",
                f"with {first}:{second} in front of PATH, which file does {name} run? Write its path to {out}",
            )
        ),
        files=(
            file(f"{first}/{name}", f"#!/bin/sh\necho {draw.word()}\n", 0o644 if hidden else 0o755),
            file(f"{second}/{name}", f"#!/bin/sh\necho {draw.word()}\n", 0o755),
        ),
        do=(f"PATH={first}:{second}:$PATH command -v {name} > {out}",),
        instead=(f"for d in {second} {first}; do [ -x $d/{name} ] && echo $d/{name} > {out}; done",),
        wrong=((f"echo {wrong_place}/{name} > {out}",), (f"PATH={first}:{second} {name} > {out}",)),
        goals=(
            c.check(f"{out} written", c.is_file(out)),
            c.check(f"{name} found", holds),
            c.check("programs as they were", holds, c.mode_is(right, 0o755), c.is_file(f"{first}/{name}")),
        ),
    )


def _order(draw: Draw) -> Part:
    path, (first, second) = f"{draw.directory()}/{draw.stem()}.env", (draw.directory(), draw.directory())
    name, good, bad = draw.words(3)
    text = f"export PATH={first}:{second}:$PATH\n"
    known = [f"export PATH={quote}{second}:{first}:$PATH{quote}\n" for quote in ("", '"')]
    leads = acts(path, text, known, says(f". ./{path}; {name}", good))
    both = f". ./{path}; {name}; rm {second}/{name}; hash -r; {name}; sort /dev/null"
    follows = acts(path, text, known, says(both, f"{good}\n{bad}"))
    programs = [c.mode_is(f"{where}/{name}", 0o755) for where in (first, second)]
    return Part(
        ask=draw.one(
            (
                f"change {path} so that its PATH has {second} before {first}",
                f"in {path} swap {first} and {second} in PATH",
            )
        ),
        files=(
            file(path, text),
            file(f"{first}/{name}", f"#!/bin/sh\necho {bad}\n", 0o755),
            file(f"{second}/{name}", f"#!/bin/sh\necho {good}\n", 0o755),
        ),
        do=(f"sed -i 's/{first}:{second}/{second}:{first}/' {path}",),
        instead=(f"echo 'export PATH={second}:{first}:$PATH' > {path}",),
        wrong=(
            (f"sed -i 's/{first}:{second}/{second}/' {path}",),
            (f"sed -i 's/{second}:$PATH/$PATH:{second}/' {path}",),
            (f"rm {first}/{name}",),
        ),
        goals=(
            c.check(f"{second} first", leads),
            c.check(f"{first} still there", follows),
            c.check("programs kept", follows, *programs),
        ),
    )


_ONE_STEP: tuple[Callable[[Draw], Part], ...] = (_export, _unset, _which, _order, _value, _login_path)
_TWO_STEPS: tuple[Callable[[Draw], Part], ...] = (_wrapper, _command)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_ONE_STEP + _TWO_STEPS)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = draw.one((draw.some(_ONE_STEP, 2), [*draw.some(_ONE_STEP, 1), *draw.some(_TWO_STEPS, 1)]))
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_ONE_STEP, draw.number(2, 3)), *draw.some(_TWO_STEPS, draw.number(1, 2))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "env_path",
    levels(_easy, _medium, _hard),
    "environment files, PATH, login shells, wrapper scripts",
)
