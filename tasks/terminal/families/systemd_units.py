"""Write and change systemd units: services, timers, sockets, targets, drop-ins. Units are judged after parsing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, file, join
from agentenv.tasks.terminal.families._settings import ini_entries
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

Entry = tuple[str, str, str]

_RESTARTS = ("always", "on-failure", "on-abnormal")
_TYPES = ("simple", "exec", "forking", "oneshot")
_CALENDARS = ("hourly", "daily", "weekly", "monthly")
_AFTER = ("network.target", "network-online.target", "time-sync.target", "local-fs.target")
_LISTS = ("After", "ExecStart", "Environment", "OnCalendar", "WantedBy")
_SERVICE_KEYS = ("User", "WorkingDirectory", "RestartSec", "Nice", "TimeoutStopSec", "UMask")


def _entries(view: StateView, path: str) -> list[Entry]:
    """What a unit says, sorted: of a key with one value the last line counts, lists keep all that are given."""
    found = ini_entries(c.text_of(view, path), unit=True)
    last = {(section, key): value for section, key, value in found if key not in _LISTS}
    lists = [(section, key, value.strip('"')) for section, key, value in found if key in _LISTS]
    return sorted([*lists, *((section, key, value) for (section, key), value in last.items())])


def _says(path: str, wanted: Sequence[Entry]) -> c.Condition:
    """A unit that says exactly this."""
    return lambda view: _entries(view, path) == sorted(wanted)


def _has(path: str, wanted: Entry) -> c.Condition:
    """A unit that says this, among other things."""
    return lambda view: wanted in _entries(view, path)


def _text(entries: Sequence[Entry]) -> str:
    sections = list(dict.fromkeys(section for section, _, _ in entries))
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key}={value}\n" for section, key, value in entries if section == name)
        for name in sections
    )


def _service(draw: Draw, name: str) -> list[Entry]:
    """A service's start content."""
    return [
        ("Unit", "Description", f"{name} {draw.word()}"),
        ("Unit", "After", draw.one(_AFTER)),
        ("Service", "Type", draw.one(_TYPES)),
        ("Service", "ExecStart", f"/usr/bin/{draw.word()} --port {draw.number(1000, 9999)}"),
        ("Service", "Restart", draw.one(_RESTARTS)),
        ("Install", "WantedBy", "multi-user.target"),
    ]


def _new_value(draw: Draw, key: str) -> str:
    if key == "User":
        return draw.new(_words.USERS)
    if key == "WorkingDirectory":
        return f"/srv/{draw.word()}"
    return {"UMask": draw.one(("0022", "0027", "0077"))}.get(key, str(draw.number(1, 60)))


def _unit(draw: Draw) -> tuple[str, str]:
    """A path and a name of a service unit; names differ within a scenario."""
    name = draw.new(_words.SERVICES)
    return f"{draw.directory()}/{name}.service", name


def _write_service(draw: Draw) -> Part:
    path, name = _unit(draw)
    program, restart = f"/usr/bin/{draw.word()}", draw.one(_RESTARTS)
    wanted = [("Unit", "Description", name), ("Service", "ExecStart", program), ("Service", "Restart", restart)]
    where, _, base = path.partition("/")
    return Part(
        ask=draw.one(
            (
                f"write {path} with only Description={name}, ExecStart={program} and Restart={restart}",
                f"create the unit {path}: Description={name}, ExecStart={program}, Restart={restart}, nothing else",
            )
        ),
        files=(file(f"{where}/README", draw.body(2)),),
        do=(
            f"printf '[Unit]\\nDescription={name}\\n' > {path}",
            f"printf '[Service]\\nExecStart={program}\\nRestart={restart}\\n' >> {path}",
        ),
        instead=(
            f"printf '[Service]\\nRestart = {restart}\\nExecStart = {program}\\n\\n' > {path}",
            f"printf '[Unit]\\nDescription = {name}\\n' >> {path}",
        ),
        wrong=(
            (f"printf '[Unit]\\nDescription={name}\\nExecStart={program}\\nRestart={restart}\\n' > {path}",),
            (f"printf '[Unit]\\nDescription={name}\\n[Service]\\nExecStart={program}\\n' > {path}",),
            (f"printf '[Unit]\\nDescription={name}\\n' > {base}",),
        ),
        goals=(
            c.check(f"{name} described", _has(path, wanted[0])),
            c.check(f"{name} started", _has(path, wanted[1])),
            c.check(f"{name} complete", _says(path, wanted)),
        ),
    )


def _write_timer(draw: Draw) -> Part:
    where, name, when = draw.directory(), draw.new(_words.SERVICES), draw.one(_CALENDARS)
    path, persistent = f"{where}/{name}.timer", draw.one(("true", "false"))
    wanted = [
        ("Timer", "OnCalendar", when),
        ("Timer", "Persistent", persistent),
        ("Install", "WantedBy", "timers.target"),
    ]
    return Part(
        ask=draw.one(
            (
                f"write {path} with OnCalendar={when}, Persistent={persistent} and WantedBy=timers.target only",
                f"create the timer {path}: OnCalendar={when}, Persistent={persistent}, WantedBy=timers.target only",
            )
        ),
        files=(file(f"{where}/README", draw.body(2)),),
        do=(
            f"printf '[Timer]\\nOnCalendar={when}\\nPersistent={persistent}\\n' > {path}",
            f"printf '[Install]\\nWantedBy=timers.target\\n' >> {path}",
        ),
        instead=(
            f"printf '# {name}\\n[Install]\\nWantedBy = timers.target\\n\\n[Timer]\\n' > {path}",
            f"printf 'Persistent = {persistent}\\nOnCalendar = {when}' >> {path}",
        ),
        wrong=(
            (f"printf '[Timer]\\nOnCalendar={when}\\nPersistent={persistent}\\n' > {path}",),
            (f"printf '[Timer]\\nOnCalendar={when}\\n[Install]\\nWantedBy=timers.target\\n' > {path}",),
            (f"printf '[Unit]\\nOnCalendar={when}\\nPersistent={persistent}\\nWantedBy=timers.target\\n' > {path}",),
        ),
        goals=(
            c.check(f"{name} calendar", _has(path, wanted[0])),
            c.check(f"{name} persistence", _has(path, wanted[1])),
            c.check(f"{name} timer complete", _says(path, wanted)),
        ),
    )


def _edit(
    draw: Draw,
    path: str,
    name: str,
    ask: str,
    start: Sequence[Entry],
    wanted: Sequence[Entry],
    ways: tuple[str, str, Sequence[str]],
) -> Part:
    """A change of one service unit beside another one that must stay as it is."""
    do, instead, wrong = ways
    other = f"{path.partition('/')[0]}/{draw.new(_words.SERVICES)}.service"
    body = _text(_service(draw, other))
    changed = [entry for entry in wanted if entry not in start] or [entry for entry in start if entry not in wanted]
    added = changed[0] in wanted
    first = _has(path, changed[0]) if added else (lambda view: changed[0] not in _entries(view, path))
    return Part(
        ask=ask,
        files=(file(path, _text(start)), file(other, body)),
        do=(do,),
        instead=(instead,),
        wrong=tuple((command,) for command in wrong),
        goals=(
            c.check(f"{name} {changed[0][1]}", first),
            c.check(f"{name} right", _says(path, wanted)),
            c.check(f"{name} alone changed", _says(path, wanted), c.has_bytes(other, body)),
        ),
    )


def _set_key(draw: Draw) -> Part:
    path, name = _unit(draw)
    start = _service(draw, name)
    key, choices = draw.one((("Restart", _RESTARTS), ("Type", _TYPES)))
    old = next(value for _, known, value in start if known == key)
    new = draw.one([choice for choice in choices if choice != old])
    wanted = [("Service", key, new) if entry[1] == key else entry for entry in start]
    return _edit(
        draw,
        path,
        name,
        draw.one((f"set {key} to {new} in {path}", f"change {key} of the unit {path} to {new}")),
        start,
        wanted,
        (
            f"sed -i 's/^{key}=.*/{key}={new}/' {path}",
            f"sed -i '/^{key}=/d; /^.Service.$/a {key}={new}' {path}",
            (
                f"echo '{key}={new}' >> {path}",
                f"sed -i 's/^{key}=.*/{key} {new}/' {path}",
                f"echo {key}={new} > {path}",
            ),
        ),
    )


def _add_key(draw: Draw) -> Part:
    path, name = _unit(draw)
    key, start = draw.one(_SERVICE_KEYS), _service(draw, name)
    value = _new_value(draw, key)
    return _edit(
        draw,
        path,
        name,
        draw.one(
            (f"add {key}={value} to the Service section of {path}", f"in {path}, section Service, add {key}={value}")
        ),
        start,
        [*start, ("Service", key, value)],
        (
            f"sed -i '/^\\[Service\\]/a {key}={value}' {path}",
            f"awk '{{print}} /^Type=/ {{print \"{key} = {value}\"}}' {path} > new.tmp && mv new.tmp {path}",
            (
                f"echo '{key}={value}' >> {path}",
                f"sed -i '/^\\[Unit\\]/a {key}={value}' {path}",
                f"sed -i '/^\\[/a {key}={value}' {path}",
            ),
        ),
    )


def _misplaced(draw: Draw) -> Part:
    path, name = _unit(draw)
    key = draw.one(_SERVICE_KEYS)
    value = _new_value(draw, key)
    good = _service(draw, name)
    start = [good[0], ("Unit", key, value), *good[1:]]
    return _edit(
        draw,
        path,
        name,
        draw.one(
            (
                f"{key} is in the wrong section of {path}: move it to Service",
                f"move the line {key}={value} of {path} from Unit to its right section, Service",
            )
        ),
        start,
        [*good, ("Service", key, value)],
        (
            f"sed -i '/^{key}=/d; /^\\[Service\\]/a {key}={value}' {path}",
            f"grep -v ^{key}= {path} | sed 's|^Type=|{key}={value}\\n&|' > new.tmp && mv new.tmp {path}",
            (
                f"sed -i '/^\\[Service\\]/a {key}={value}' {path}",
                f"sed -i '/^{key}=/d' {path}",
                f"sed -i '/^{key}=/d; /^\\[Install\\]/a {key}={value}' {path}",
            ),
        ),
    )


def _drop_key(draw: Draw) -> Part:
    path, name = _unit(draw)
    start = _service(draw, name)
    key = draw.one(("After", "Restart", "Type"))
    return _edit(
        draw,
        path,
        name,
        draw.one((f"remove the setting {key} from {path}", f"delete {key} from the unit {path}")),
        start,
        [entry for entry in start if entry[1] != key],
        (
            f"sed -i '/^{key}=/d' {path}",
            f"grep -v '^{key}=' {path} > new.tmp && mv new.tmp {path}",
            (f"sed -i 's/^{key}=.*/{key}=/' {path}", f"sed -i '/Description=/d' {path}", f"echo '{key}=' >> {path}"),
        ),
    )


def _drop_in(draw: Draw) -> Part:
    path, name = _unit(draw)
    start, (key, value) = _text(_service(draw, name)), ("Environment", f"{draw.word().upper()}={draw.word()}")
    where = f"{path}.d"
    wanted, kept = ("Service", key, value), c.has_bytes(path, start)
    return Part(
        ask=draw.one(
            (
                f"write the drop-in {where}/override.conf that adds {key}={value} to Service; leave the unit alone",
                f"set {key}={value} for Service by the drop-in file {where}/override.conf, not in the unit",
            )
        ),
        files=(file(path, start),),
        do=(f"mkdir {where}", f"printf '[Service]\\n{key}={value}\\n' > {where}/override.conf"),
        instead=(
            f"install -D -m 644 /dev/null {where}/override.conf",
            f"printf '# more\\n[Service]\\n{key} = {value}\\n' >> {where}/override.conf",
        ),
        wrong=(
            (f"mkdir {where}", f"echo '{key}={value}' > {where}/override.conf"),
            (f"sed -i '/^\\[Service\\]/a {key}={value}' {path}",),
            (f"mkdir {where}", f"printf '[Unit]\\n{key}={value}\\n' > {where}/override.conf"),
        ),
        goals=(
            c.check(f"{name} drop-in directory", c.is_directory(where)),
            c.check(f"{name} drop-in", _has(f"{where}/override.conf", wanted)),
            c.check(f"{name} unit kept", _says(f"{where}/override.conf", [wanted]), kept),
        ),
    )


def _enable(draw: Draw) -> Part:
    path, name = _unit(draw)
    where, _, base = path.partition("/")
    text, wants = _text(_service(draw, name)), f"{where}/multi-user.target.wants"
    linked = c.link_to(f"{wants}/{base}", path)
    return Part(
        ask=draw.one(
            (
                f"enable {path} by hand: make the directory {wants} and in it the symlink {base} to the unit",
                f"make the directory {wants} with a symbolic link {base} that leads to {path}",
            )
        ),
        files=(file(path, text),),
        do=(f"mkdir {wants}", f"ln -s ../{base} {wants}/{base}"),
        instead=(f"mkdir -p {wants}", f"ln -s /workspace/{path} {wants}/"),
        wrong=(
            (f"mkdir {wants}", f"cp {path} {wants}/"),
            (f"mkdir {wants}", f"ln -s {path} {wants}/{base}"),
            (f"mkdir {wants}", f"mv {path} {wants}/"),
        ),
        goals=(
            c.check(f"{name} wants directory", c.is_directory(wants)),
            c.check(f"{name} linked", linked),
            c.check(f"{name} link alone", linked, c.names_in(wants, [base]), c.has_bytes(path, text)),
        ),
    )


_Kind = Callable[[Draw], Part]
_EDITS: tuple[_Kind, ...] = (_set_key, _add_key, _misplaced, _drop_key)
_MAKES: tuple[_Kind, ...] = (_write_service, _write_timer, _drop_in, _enable)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one((*_EDITS, *_MAKES))(draw)])


def _medium(draw: Draw) -> Scenario:
    kinds = draw.one((draw.some(_EDITS, 2), [*draw.some(_EDITS, 1), *draw.some(_MAKES, 1)], draw.some(_EDITS, 3)))
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_EDITS, 2), *draw.some(_MAKES, draw.number(1, 2))]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "systemd_units",
    levels(_easy, _medium, _hard),
    "write, change, override and enable systemd units",
    ood=True,
)
