"""Edit, repair, write and query JSON files. Values are judged after parsing: layout and key order do not count."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_NUMBERS = ("port", "limit", "timeout", "workers", "retries", "width", "height", "depth", "rate", "weight", "age")
_STRINGS = ("host", "owner", "mode", "level", "color", "theme", "region", "format", "label", "backend", "prefix")
_FLAGS = ("debug", "verbose", "enabled", "cached", "secure", "public", "strict", "active", "quiet", "dryrun")
_LISTS = ("tags", "users", "groups", "topics", "paths", "colors")
_ABSENT = object()


def _canonical(value: Any) -> str:
    """Text that is equal for equal JSON values only: `1`, `1.0`, `true` and `"1"` all differ."""
    return json.dumps(value, sort_keys=True)


def _same(path: str, expected: Any) -> c.Condition:
    wanted = _canonical(expected)
    return lambda view: _canonical(c.json_of(view, path)) == wanted


def _at(view: StateView, path: str, key: str) -> Any:
    found = c.json_of(view, path)
    return found.get(key, _ABSENT) if isinstance(found, dict) else _ABSENT


def _is(path: str, key: str, value: Any) -> c.Condition:
    def holds(view: StateView) -> bool:
        found = _at(view, path, key)
        return found is not _ABSENT and _canonical(found) == _canonical(value)

    return holds


def _path(draw: Draw) -> str:
    return f"{draw.directory()}/{draw.file('json')}"


def _config(draw: Draw) -> dict[str, Any]:
    """An object of a number, a string, a flag and a list, and a last key that no task touches."""
    words = draw.some(_words.WORDS, 4)
    pairs: list[tuple[str, Any]] = [
        (draw.one(_NUMBERS), draw.number(2, 900)),
        (draw.one(_STRINGS), words[0]),
        (draw.one(_FLAGS), draw.chance()),
        (draw.one(_LISTS), words[1:3]),
    ]
    return {**dict(draw.shuffled(pairs)), "version": draw.number(1, 9)}


def _key_of(config: Mapping[str, Any], kind: type) -> str:
    return next(key for key, value in config.items() if type(value) is kind)


def _dump(config: Mapping[str, Any]) -> str:
    """One key a line."""
    rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in config.items())
    return f"{{\n{rows}\n}}\n"


def _load(path: str) -> str:
    """The beginning of a Python command on the value `d` of a file; the closing quote is left to the caller."""
    return f"python3 -c \"import json; p = '{path}'; d = json.load(open(p))"


def _python(path: str, change: str) -> str:
    return f"{_load(path)}; {change}; json.dump(d, open(p, 'w'))\""


def _edited(name: str, path: str, key: str, expected: Mapping[str, Any], *early: c.Condition) -> tuple[c.Check, ...]:
    """Checks of an edit: the key, and then all the rest, which `expected` holds too."""
    return (
        c.check(f"{key} {name}", *early),
        c.check(f"{key} {name} in valid JSON", _same(path, expected)),
    )


def _set(draw: Draw) -> Part:
    path, config = _path(draw), _config(draw)
    kind = draw.one((int, str, bool))
    key = _key_of(config, kind)
    old = config[key]
    new: Any = {int: draw.number(1000, 9999), str: draw.word(), bool: not old}[kind]
    said = f'the string "{new}"' if kind is str else f"the number {new}" if kind is int else json.dumps(new)
    pattern = {int: "[0-9]*", str: '"[a-z]*"', bool: json.dumps(old)}[kind]
    expected = {**config, key: new}
    wrong_type = new if kind is str else f'"{json.dumps(new)}"'
    return Part(
        ask=draw.one((f"set {key} in {path} to {said}", f"in {path} change the value of {key} to {said}")),
        files=(file(path, _dump(config)),),
        do=(f'sed -i \'s/"{key}": {pattern}/"{key}": {json.dumps(new)}/\' {path}',),
        instead=(_python(path, f"d['{key}'] = {new!r}"),),
        wrong=(
            (f'sed -i \'s/"{key}": {pattern}/"{key}": {wrong_type}/\' {path}',),
            (f"echo '{{\"{key}\": {json.dumps(new)}}}' > {path}",),
            (_python(path, f"d['{key}s'] = {new!r}"),),
        ),
        goals=(
            c.check(f"{key} no longer {json.dumps(old)}", lambda view: not _is(path, key, old)(view), _has(path, key)),
            *_edited("set", path, key, expected, _is(path, key, new)),
        ),
        requires=("python3",),
    )


def _has(path: str, key: str) -> c.Condition:
    return lambda view: _at(view, path, key) is not _ABSENT


def _lacks(path: str, key: str) -> c.Condition:
    def holds(view: StateView) -> bool:
        found = c.json_of(view, path)
        return isinstance(found, dict) and key not in found

    return holds


def _rename_key(draw: Draw) -> Part:
    path, config = _path(draw), _config(draw)
    key = draw.one([key for key in config if key != "version"])
    new = draw.word()
    # The old name is also a value, which must stay.
    config = {**config, "version": key}
    expected = {new if name == key else name: value for name, value in config.items()}
    return Part(
        ask=draw.one(
            (
                f"rename the key {key} of {path} to {new}, keeping its value",
                f"in {path} give the key {key} the new name {new}",
            )
        ),
        files=(file(path, _dump(config)),),
        do=(f'sed -i \'s/"{key}":/"{new}":/\' {path}',),
        instead=(_python(path, f"d['{new}'] = d.pop('{key}')"),),
        wrong=(
            (f"sed -i 's/{key}/{new}/' {path}",),
            (_python(path, f"d['{new}'] = d['{key}']"),),
            (_python(path, f"d['{key}'] = '{new}'"),),
        ),
        goals=(
            c.check(f"{new} there", _is(path, new, config[key])),
            *_edited("renamed", path, key, expected, _lacks(path, key), _is(path, new, config[key])),
        ),
        requires=("python3",),
    )


def _remove_key(draw: Draw) -> Part:
    path, config = _path(draw), _config(draw)
    key = draw.one([key for key in config if key != "version"])
    expected = {name: value for name, value in config.items() if name != key}
    gone = _lacks(path, key)
    return Part(
        ask=draw.one((f"remove the key {key} from {path}", f"delete {key} and its value from {path}")),
        files=(file(path, _dump(config)),),
        do=(f"sed -i '/\"{key}\":/d' {path}",),
        instead=(_python(path, f"del d['{key}']"),),
        wrong=((_python(path, f"d['{key}'] = None"),), (f"echo '{{}}' > {path}",), (f"sed -i 's/\"{key}\"//' {path}",)),
        goals=(
            c.check(f"{key} gone", gone),
            c.check(f"version kept without {key}", gone, _is(path, "version", config["version"])),
            c.check(f"{key} removed from valid JSON", _same(path, expected)),
        ),
        requires=("python3",),
    )


def _add_key(draw: Draw) -> Part:
    path, config = _path(draw), _config(draw)
    key, number = draw.word(), draw.number(2, 999)
    text = draw.chance()
    value: Any = draw.word() if text else number
    said = f'the string "{value}"' if text else f"the number {value}"
    expected = {**config, key: value}
    return Part(
        ask=draw.one(
            (f"add the key {key} with {said} to {path}", f"give the object in {path} a key {key} with {said}")
        ),
        files=(file(path, _dump(config)),),
        do=(f"sed -i '1a \"{key}\": {json.dumps(value)},' {path}",),
        instead=(_python(path, f"d['{key}'] = {value!r}"),),
        wrong=(
            (f"echo '\"{key}\": {json.dumps(value)}' >> {path}",),
            (f"sed -i '1a \"{key}\": {json.dumps(f'{value}.' if text else str(value))},' {path}",),
            (f"sed -i '1a \"{key}\": {json.dumps(value)}' {path}",),
        ),
        goals=(
            c.check(f"{key} there", _has(path, key)),
            *_edited("added", path, key, expected, _is(path, key, value)),
        ),
        requires=("python3",),
    )


def _append(draw: Draw) -> Part:
    path, config = _path(draw), _config(draw)
    key, item = _key_of(config, list), draw.word()
    expected = {**config, key: [*config[key], item]}

    def listed(view: StateView) -> bool:
        found = _at(view, path, key)
        return isinstance(found, list) and item in found

    return Part(
        ask=draw.one(
            (f"append {item} to the list {key} in {path}", f"add {item} at the end of the list {key} in {path}")
        ),
        files=(file(path, _dump(config)),),
        do=(f'sed -i \'/"{key}"/s/]/, "{item}"]/\' {path}',),
        instead=(_python(path, f"d['{key}'].append('{item}')"),),
        wrong=(
            (f'sed -i \'/"{key}"/s/\\[/["{item}", /\' {path}',),
            (f"sed -i '/\"{key}\"/s/]/, {item}]/' {path}",),
            (_python(path, f"d['{key}'] = ['{item}']"),),
        ),
        goals=(
            c.check(f"{item} listed", listed),
            *_edited("extended", path, key, expected, _is(path, key, expected[key])),
        ),
        requires=("python3",),
    )


def _create(draw: Draw) -> Part:
    path, other = _path(draw), draw.file()
    text, number = draw.one(_STRINGS), draw.one(_NUMBERS)
    word, value, body = draw.word(), draw.number(2, 9999), draw.body()
    expected = {text: word, number: value}
    return Part(
        ask=draw.one(
            (
                f'create {path}: a JSON object with {text} = the string "{word}" and {number} = the number {value}',
                f'write a JSON object with {text} "{word}" and {number} {value} (a number) to {path}',
            )
        ),
        files=(file(f"{path.partition('/')[0]}/{other}", body),),
        do=(f"echo '{json.dumps(expected)}' > {path}",),
        instead=(
            f"python3 -c \"import json; print(json.dumps({{'{number}': {value}, '{text}': '{word}'}}))\" > {path}",
        ),
        wrong=(
            (f"echo '{json.dumps({text: word, number: str(value)})}' > {path}",),
            (f"echo \"{{'{text}': '{word}', '{number}': {value}}}\" > {path}",),
            (f"echo '{json.dumps({text: word})}' > {path}",),
        ),
        goals=(
            c.check(f"{text} written", _is(path, text, word)),
            c.check(f"{number} written", _is(path, number, value)),
            c.check("object complete", _same(path, expected)),
        ),
        requires=("python3",),
    )


def _repair(draw: Draw) -> Part:
    path, config = _path(draw), _config(draw)
    key = draw.one([key for key in config if key != "version"])
    broken = "".join(
        f"{line[:-2]}\n" if line.strip().startswith(f'"{key}"') else line
        for line in _dump(config).splitlines(keepends=True)
    )
    other = next(name for name in config if name not in (key, "version"))
    return Part(
        ask=draw.one(
            (
                f"make {path} valid JSON again: the comma after the value of {key} is missing",
                f"put the comma that is missing after the value of {key} into {path}, so that the JSON is valid",
            )
        ),
        files=(file(path, broken),),
        do=(f"sed -i '/\"{key}\"/s/$/,/' {path}",),
        instead=(f"perl -0pi -e 's/(\"{key}\": [^\\n]*)\\n/$1,\\n/' {path}",),
        wrong=((f"sed -i '/\"{key}\"/d' {path}",), (f"sed -i 's/$/,/' {path}",), (f"echo '{{}}' > {path}",)),
        goals=(
            c.check("JSON repaired", _has(path, other)),
            c.check(f"{key} kept", _is(path, key, config[key])),
            c.check("everything kept", _same(path, config)),
        ),
    )


def _extract(draw: Draw) -> Part:
    path, config, out = _path(draw), _config(draw), draw.file("txt")
    key = _key_of(config, draw.one((str, int)))
    other = _key_of(config, bool)
    cut = "tr -dc 0-9" if isinstance(config[key], int) else "cut -d'\"' -f4"
    return Part(
        ask=draw.one(
            (f"write the value of {key} in {path} to {out}", f"put the value that {key} has in {path} into {out}")
        ),
        files=(file(path, _dump(config)),),
        do=(f"grep '\"{key}\"' {path} | {cut} > {out}",),
        instead=(f"{_load(path)}; print(d['{key}'])\" > {out}",),
        wrong=(
            (f"grep {key} {path} > {out}",),
            (f"grep '\"{other}\"' {path} | {cut} > {out}",),
            (f"grep '\"{key}\"' {path} | {cut}",),
        ),
        goals=(c.check(f"{key} extracted", _text_value(out, str(config[key])), _same(path, config)),),
        requires=("python3",),
    )


def _text_value(out: str, value: str) -> c.Condition:
    """The value as plain text or as JSON prints it; white space around it does not matter."""
    return lambda view: c.text_of(view, out).strip() in (value, json.dumps(value))


def _people(draw: Draw, key: str, groups: Sequence[str]) -> tuple[list[dict[str, str]], str]:
    people = [
        {"name": name, key: group} for name, group in zip(draw.some(_words.USERS, len(groups)), groups, strict=True)
    ]
    return people, "[\n" + ",\n".join(f"  {json.dumps(person)}" for person in people) + "\n]\n"


def _groups(draw: Draw) -> tuple[str, list[str]]:
    """A group, and a list that holds it two to four times among others."""
    group, others = draw.word(), draw.words(2)
    return group, draw.shuffled([*[group] * draw.number(2, 4), others[0], *[others[1]] * draw.number(1, 2)])


def _count(draw: Draw) -> Part:
    path, out, key = _path(draw), draw.file("txt"), draw.one(("team", "role", "office", "shift"))
    group, groups = _groups(draw)
    _, body = _people(draw, key, groups)
    return Part(
        ask=draw.one(
            (
                f'write how many objects in {path} have {key} "{group}" to {out}',
                f'count the objects of {path} whose {key} is "{group}" and write the number to {out}',
            )
        ),
        files=(file(path, body),),
        do=(f'grep -c \'"{key}": "{group}"\' {path} > {out}',),
        instead=(f"{_load(path)}; print(sum(x['{key}'] == '{group}' for x in d))\" > {out}",),
        wrong=(
            (f"grep -c {key} {path} > {out}",),
            (f"grep '\"{group}\"' {path} > {out}",),
            (f"wc -l < {path} > {out}",),
        ),
        goals=(c.check(f"{group} counted", c.has_number(out, groups.count(group)), c.has_bytes(path, body)),),
        requires=("python3",),
    )


def _select(draw: Draw) -> Part:
    path, out, key = _path(draw), draw.file("txt"), draw.one(("team", "role", "office", "shift"))
    group, groups = _groups(draw)
    people, body = _people(draw, key, groups)
    names = [person["name"] for person in people if person[key] == group]
    return Part(
        ask=draw.one(
            (
                f'write the names of the objects in {path} with {key} "{group}" to {out}, one a line',
                f'list in {out}, one a line, each name in {path} whose {key} is "{group}"',
            )
        ),
        files=(file(path, body),),
        do=(f"grep '\"{group}\"' {path} | cut -d'\"' -f4 > {out}",),
        instead=(f"{_load(path)}; [print(x['name']) for x in d if x['{key}'] == '{group}']\" > {out}",),
        wrong=(
            (f"grep '\"{group}\"' {path} > {out}",),
            (f"cut -d'\"' -f4 {path} > {out}",),
            (f"grep -v '\"{group}\"' {path} | cut -d'\"' -f4 > {out}",),
        ),
        goals=(c.check(f"names of {group}", c.has_lines_in_any_order(out, names), c.has_bytes(path, body)),),
        requires=("python3",),
    )


_Kind = Callable[[Draw], Part]
_EDITS: tuple[_Kind, ...] = (_set, _rename_key, _remove_key, _add_key, _append, _create, _repair)
_QUERIES: tuple[_Kind, ...] = (_extract, _count, _select)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one(_EDITS)(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = [*draw.some(_EDITS, draw.number(1, 2)), draw.one(_QUERIES)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_EDITS, draw.number(2, 3)), *draw.some(_QUERIES, 2)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family("json_files", levels(_easy, _medium, _hard), "edit, repair, write and query JSON files")
