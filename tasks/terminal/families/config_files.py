"""Edit configuration files: INI, KEY=value, indented key: value, and directives. Judged after parsing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from agentenv.progress import Check
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.families._settings import assignments, directives, indented, ini_sections
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_SECTIONS = ("server", "client", "cache", "database", "logging", "mail", "auth", "queue", "proxy", "metrics")
_NUMBERS = ("port", "timeout", "retries", "workers", "limit", "size", "depth", "interval")
_NAMES = ("host", "level", "mode", "owner", "region", "backend", "format", "prefix")
_FLAGS = ("debug", "verbose", "secure", "strict", "quiet", "enabled")
_DIRECTIVES = ("listen", "root", "user", "workers", "timeout", "charset", "index", "gzip")

Settings = Mapping[str, Mapping[str, str]]
T = TypeVar("T")


def _value(draw: Draw, key: str) -> str:
    if key in _NUMBERS:
        return str(draw.number(10, 99) * 10)
    return draw.one(("yes", "no")) if key in _FLAGS else draw.word()


def _settings(draw: Draw, sections: int = 3) -> dict[str, dict[str, str]]:
    """Sections that share their keys: the right key in the wrong section is a mistake."""
    keys = [*draw.some(_NUMBERS, 2), *draw.some(_NAMES, 1)]
    return {name: {key: _value(draw, key) for key in keys} for name in draw.some(_SECTIONS, sections)}


def _ini(settings: Settings) -> str:
    return "\n".join(f"[{name}]\n{_rows('{} = {}', keys)}" for name, keys in settings.items())


def _yaml(settings: Settings) -> str:
    return "".join(f"{name}:\n{_rows('  {}: {}', keys)}" for name, keys in settings.items())


def _rows(form: str, keys: Mapping[str, str]) -> str:
    return "".join(f"{form.format(key, value)}\n" for key, value in keys.items())


def _with(settings: Settings, section: str, key: str, value: str | None) -> dict[str, dict[str, str]]:
    """The settings after one key was set, or deleted (None)."""
    changed = {name: dict(keys) for name, keys in settings.items()}
    changed[section].pop(key, None) if value is None else changed[section].update({key: value})
    return changed


def _reads(read: Callable[[str], T], path: str, right: Callable[[T], bool]) -> c.Condition:
    """A file parses, and what it says is right."""
    return lambda view: right(read(c.text_of(view, path)))


def _goals(what: str, done: c.Condition, whole: c.Condition, kept: tuple[c.Condition, ...]) -> tuple[Check, ...]:
    return (
        c.check(what, done),
        c.check(f"{what}, nothing else", done, whole),
        c.check(f"{what}, other files kept", done, whole, *kept),
    )


def _ini_set(draw: Draw) -> Part:
    path, twin, settings = f"{draw.directory()}/{draw.file('ini')}", draw.file("ini"), _settings(draw)
    section, other = draw.some(list(settings), 2)
    key = draw.one(list(settings[section]))
    old = settings[section][key]
    new = draw.until(lambda: _value(draw, key), lambda value: value != old)
    beside = f"{path.partition('/')[0]}/{twin}"
    return Part(
        ask=draw.one(
            (
                f"in {path} set {key} of section {section} to {new}",
                f"change {key} in the section {section} of {path} to {new}",
            )
        ),
        files=(file(path, _ini(settings)), file(beside, _ini(settings))),
        do=(f"sed -i '/^\\[{section}\\]/,/^$/s/^{key} = .*/{key} = {new}/' {path}",),
        instead=(
            f'awk \'/^.{section}/ {{s = 1}} !$0 {{s = 0}} s && $1 == "{key}" {{$3 = "{new}"}} 1\' {path} > new.tmp',
            f"mv new.tmp {path}",
        ),
        wrong=(
            (f"sed -i 's/^{key} = .*/{key} = {new}/' {path}",),
            (f"sed -i '/^\\[{other}\\]/,/^$/s/^{key} = .*/{key} = {new}/' {path}",),
            (f"sed -i '/^\\[{section}\\]/,/^$/s/^{key} = {old}/{key} = {new}0/' {path}",),
        ),
        goals=_goals(
            f"{key} set",
            _reads(ini_sections, path, lambda found: found.get(section, {}).get(key) == new),
            _reads(ini_sections, path, lambda found: found == _with(settings, section, key, new)),
            (c.has_bytes(beside, _ini(settings)),),
        ),
    )


def _ini_add(draw: Draw) -> Part:
    path, settings = f"{draw.directory()}/{draw.file('ini')}", _settings(draw, 2)
    section, key, new = draw.one(list(settings)), draw.one(_FLAGS), draw.one(("yes", "no"))
    right = _with(settings, section, key, new)
    return Part(
        ask=draw.one(
            (
                f"add {key} = {new} to the section {section} of {path}",
                f"in {path}, section {section}, add the key {key} with the value {new}",
            )
        ),
        files=(file(path, _ini(settings)),),
        do=(f"sed -i '/^\\[{section}\\]/a {key} = {new}' {path}",),
        instead=(
            f'awk \'{{print}} $0 == "[{section}]" {{print "{key}={new}"}}\' {path} > {path}.new',
            f"mv {path}.new {path}",
        ),
        wrong=(
            (f"sed -i '/^\\[/a {key} = {new}' {path}",),
            (f"sed -i '1i {key} = {new}' {path}",),
            (f"printf '[{section}]\\n{key} = {new}\\n' > {path}",),
        ),
        goals=_goals(
            f"{key} added",
            _reads(ini_sections, path, lambda found: found.get(section, {}).get(key) == new),
            _reads(ini_sections, path, lambda found: found == right),
            (c.names_in(path.partition("/")[0], [path.partition("/")[2]]),),
        ),
    )


def _ini_drop(draw: Draw) -> Part:
    path, settings = f"{draw.directory()}/{draw.file('ini')}", _settings(draw)
    section, other = draw.some(list(settings), 2)
    left = {name: keys for name, keys in settings.items() if name != section}
    start, rest = f"/^\\[{section}\\]/", f"/^\\[{other}\\]/"
    return Part(
        ask=draw.one(
            (f"delete the section {section} with its keys from {path}", f"remove the whole section {section} of {path}")
        ),
        files=(file(path, _ini(settings) + "\n"),),
        do=(f"sed -i '{start},/^$/d' {path}",),
        instead=(f"awk '/^\\[/ {{skip = ($0 == \"[{section}]\")}} !skip' {path} > {path}.new", f"mv {path}.new {path}"),
        wrong=((f"sed -i '{start}d' {path}",), (f"sed -i '{rest},/^$/d' {path}",)),
        goals=_goals(
            f"{section} deleted",
            _reads(ini_sections, path, lambda found: section not in found and {*found} == {*left}),
            _reads(ini_sections, path, lambda found: found == left),
            (c.names_in(path.partition("/")[0], [path.partition("/")[2]]),),
        ),
    )


def _env_set(draw: Draw) -> Part:
    path, names = f"{draw.directory()}/{draw.stem()}.env", draw.words(2)
    key = f"{names[0]}_{draw.one(_NUMBERS)}".upper()
    settings = {name: str(draw.number(100, 999)) for name in (f"OLD_{key}", key, names[1].upper())}
    new = str(draw.number(1000, 9999))
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    right = {**settings, key: new}
    return Part(
        ask=draw.one((f"set {key} to {new} in {path}", f"in {path} change the value of {key} to {new}")),
        files=(file(path, text),),
        do=(f"sed -i 's/^{key}=.*/{key}={new}/' {path}",),
        instead=(f"grep -v '^{key}=' {path} > {path}.new", f"echo {key}={new} >> {path}.new", f"mv {path}.new {path}"),
        wrong=(
            (f"sed -i 's/{key}=.*/{key}={new}/' {path}",),
            (f"sed -i 's/^{key}=.*/{key}: {new}/' {path}",),
            (f"echo {key}={new} > {path}",),
        ),
        goals=_goals(
            f"{key} set",
            _reads(assignments, path, lambda found: found.get(key) == new),
            _reads(assignments, path, lambda found: found == right),
            (c.names_in(path.partition("/")[0], [path.partition("/")[2]]),),
        ),
    )


def _yaml_set(draw: Draw) -> Part:
    path, settings = f"{draw.directory()}/{draw.file('yml')}", _settings(draw)
    section, other = draw.some(list(settings), 2)
    key = draw.one(list(settings[section]))
    new = draw.until(lambda: _value(draw, key), lambda value: value != settings[section][key])
    right = _with(settings, section, key, new)
    return Part(
        ask=draw.one(
            (f"in {path} set {key} under {section} to {new}", f"change {key} below {section} in {path} to {new}")
        ),
        files=(file(path, _yaml(settings)),),
        do=(f"sed -i '/^{section}:/,/^[a-z]/s/  {key}: .*/  {key}: {new}/' {path}",),
        instead=(
            f'awk \'/^[a-z]/ {{s = $1}} s == "{section}:" && $1 == "{key}:" {{$2 = "{new}"}} 1\' {path} > new.tmp',
            f"sed 's/^ *{key}:/  {key}:/' new.tmp > {path}; rm new.tmp",
        ),
        wrong=(
            (f"sed -i 's/  {key}: .*/  {key}: {new}/' {path}",),
            (f"sed -i '/^{other}:/,/^[a-z]/s/  {key}: .*/  {key}: {new}/' {path}",),
            (f"echo '{section}.{key}: {new}' >> {path}",),
        ),
        goals=_goals(
            f"{key} set",
            _reads(indented, path, lambda found: found.get(section, {}).get(key) == new),
            _reads(indented, path, lambda found: found == right),
            (c.names_in(path.partition("/")[0], [path.partition("/")[2]]),),
        ),
    )


def _uncomment(draw: Draw) -> Part:
    path, keys = f"{draw.directory()}/{draw.file('conf')}", draw.some(_DIRECTIVES, 5)
    lines = {key: draw.word() for key in keys}
    on, off, both = keys[0], keys[1], draw.chance()
    was = "".join(f"{'#' if key in (on, keys[4]) else ''}{key} {value}\n" for key, value in lines.items())
    shown = {key: value for key, value in lines.items() if key != keys[4]}
    if both:
        del shown[off]
    ask = f"in {path} enable the directive {on} (remove its # mark)"
    do = [f"sed -i 's/^#{on} /{on} /' {path}"]
    if both:
        ask, do = f"{ask} and comment out {off} with #", [*do, f"sed -i 's/^{off} /#{off} /' {path}"]
    everything = set(lines.items())

    def nothing_lost(text: str) -> bool:
        return {tuple(line.lstrip("# ").split(None, 1)) for line in text.splitlines() if line.strip("# ")} == everything

    return Part(
        ask=ask,
        files=(file(path, was),),
        do=tuple(do),
        instead=(
            f'awk \'/^#{on}/ {{sub(/#/, "")}} {both:d} && /^{off}/ {{$0 = "# " $0}} 1\' {path} > new.tmp',
            f"mv new.tmp {path}",
        ),
        wrong=((f"sed -i 's/^#//' {path}",), (f"sed -i 's/^{off} /#{off} /' {path}",), (f"echo {on} >> {path}",)),
        goals=_goals(
            f"{on} enabled",
            _reads(directives, path, lambda found: found.get(on) == [lines[on]]),
            _reads(directives, path, lambda found: found == {key: [value] for key, value in shown.items()}),
            (_reads(str, path, nothing_lost),),
        ),
    )


def _hosts_add(draw: Draw) -> Part:
    path, hosts = f"{draw.directory()}/hosts", draw.some(_words.HOSTS, 3)
    address = [f"10.0.{draw.number(0, 9)}.{number}" for number in draw.some(range(2, 250), 3)]
    entries = dict(zip(hosts, address, strict=True))
    new = hosts[2]
    text = "".join(f"{entries[host]} {host}\n" for host in hosts[:2])

    def right(text: str) -> bool:
        rows = [line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        return sorted(rows) == sorted([entries[host], host] for host in hosts)

    def there(text: str) -> bool:
        return any(line.split() == [entries[new], new] for line in text.splitlines())

    return Part(
        ask=draw.one(
            (
                f"add the host {new} with the address {entries[new]} to {path}",
                f"map {new} to {entries[new]} in {path}, keeping the others",
            )
        ),
        files=(file(path, text),),
        do=(f"echo '{entries[new]} {new}' >> {path}",),
        instead=(f"sed -i '1i {entries[new]}\t{new}' {path}",),
        wrong=(
            (f"echo '{new} {entries[new]}' >> {path}",),
            (f"echo '{entries[new]} {new}' > {path}",),
            (f"sed -i 's/^{address[0]} /{entries[new]} /' {path}",),
        ),
        goals=_goals(
            f"{new} added",
            _reads(str, path, there),
            _reads(str, path, right),
            (c.names_in(path.partition("/")[0], ["hosts"]),),
        ),
    )


def _env_make(draw: Draw) -> Part:
    where, name, keys = draw.directory(), f"{draw.stem()}.env", [word.upper() for word in draw.words(2)]
    path, values = f"{where}/{name}", [draw.word(), str(draw.number(100, 9999))]
    settings = dict(zip(keys, values, strict=True))
    first, second = (f"{key}={value}" for key, value in settings.items())

    def holds(keys: list[str]) -> c.Condition:
        return _reads(assignments, path, lambda found: all(found.get(key) == settings[key] for key in keys))

    return Part(
        ask=draw.one(
            (
                f"make {path} with the lines {first} and {second}",
                f"create the file {path} that sets {first} and {second}",
            )
        ),
        files=(),
        do=(f"mkdir {where}", f"printf '{first}\\n{second}\\n' > {path}"),
        instead=(f"mkdir -p {where} && cd {where}", f"echo {second} > {name}", f"echo {first} >> {name}", "cd .."),
        wrong=(
            (f"mkdir {where}", f"echo {first} {second} > {path}"),
            (f"mkdir {where}", f"echo {first} > {path}", f"echo {second} > {path}"),
        ),
        goals=(
            c.check(f"{where} made", c.is_directory(where)),
            c.check(f"{keys[0]} set", holds(keys[:1])),
            c.check(f"{keys[1]} set", holds(keys), _reads(assignments, path, lambda found: found == settings)),
        ),
    )


_EDITS = (_ini_set, _ini_add, _ini_drop, _env_set, _yaml_set, _hosts_add)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one((*_EDITS, _uncomment, _env_make))(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = draw.one((draw.some(_EDITS, 2), draw.some(_EDITS, 3), [*draw.some(_EDITS, 1), _uncomment]))
    kinds = [*kinds, _env_make] if len(kinds) == 2 and _uncomment not in kinds and draw.chance() else kinds
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_EDITS, draw.number(2, 3)), _uncomment, _env_make]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "config_files",
    levels(_easy, _medium, _hard),
    "edit INI, KEY=value, YAML, hosts and directive files",
)
