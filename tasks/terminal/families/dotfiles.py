"""Configuration in the home directory: ssh, git, vim, bash, per-program files, links into a directory of dotfiles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._parts import Part, directory, file, join
from agentenv.tasks.terminal.families._settings import ini_entries, ini_sections
from agentenv.tasks.terminal.families._shells import acts, says
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_HOME = "/home/agent"
_SSH = f"{_HOME}/.ssh/config"
_VIM = {"nu": "number", "ts": "tabstop", "sw": "shiftwidth", "et": "expandtab", "ic": "ignorecase", "tw": "textwidth"}
_VIM_NUMBERS = ("tabstop", "shiftwidth", "textwidth")
_VIM_FLAGS = ("number", "expandtab", "ignorecase")
_ALIASES = {
    "gs": "git status",
    "gd": "git diff",
    "ll": "ls -l",
    "la": "ls -a",
    "lt": "ls -t",
    "dfh": "df -h",
    "dus": "du -s",
}


def _ssh_settings(view: StateView, host: str) -> dict[str, str]:
    """What ssh would take from the config for a host: for each key, the first value of a block that matches."""
    found: dict[str, str] = {}
    matches = True
    for raw in c.lines_of(view, _SSH):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        split = re.fullmatch(r"(\w+)(?:\s*=\s*|\s+)(.+)", line)
        if split is None:
            raise NotInStateError(f"{_SSH}: not a setting: {line[:60]!r}")
        key, value = split[1].lower(), split[2].strip().strip('"')
        if key == "host":
            patterns = value.split()
            hit = any(fnmatchcase(host, pattern) for pattern in patterns if not pattern.startswith("!"))
            matches = hit and not any(fnmatchcase(host, pattern[1:]) for pattern in patterns if pattern.startswith("!"))
        elif matches:
            found.setdefault(key, value)
    return found


def _ssh_is(hosts: Mapping[str, Mapping[str, str]]) -> c.Condition:
    """Each of these hosts has exactly these settings."""
    return lambda view: all(_ssh_settings(view, host) == settings for host, settings in hosts.items())


def _ssh_hosts(draw: Draw, count: int) -> dict[str, dict[str, str]]:
    hosts = draw.some(_words.HOSTS, count)
    return {
        host: {"hostname": f"10.0.{draw.number(1, 9)}.{draw.number(2, 250)}", "user": draw.new(_words.USERS)}
        for host in hosts
    }


def _ssh_text(hosts: Mapping[str, Mapping[str, str]]) -> str:
    return "\n".join(
        f"Host {host}\n  HostName {found['hostname']}\n  User {found['user']}\n" for host, found in hosts.items()
    )


def _ssh_add(draw: Draw) -> Part:
    hosts = _ssh_hosts(draw, 3)
    new = list(hosts)[2]
    old = {host: hosts[host] for host in list(hosts)[:2]}
    address, user = hosts[new]["hostname"], hosts[new]["user"]
    block = f"Host {new}\\n  HostName {address}\\n  User {user}\\n"
    there, all_there = _ssh_is({new: hosts[new]}), _ssh_is(hosts)
    return Part(
        ask=draw.one(
            (
                f"add the host {new} to ~/.ssh/config, with HostName {address} and User {user}",
                f"in ~/.ssh/config add a Host {new} (HostName {address}, User {user})",
            )
        ),
        files=(file(_SSH, _ssh_text(old), 0o600),),
        do=(f"printf '{block}' >> ~/.ssh/config",),
        instead=("cd ~/.ssh", f"sed -i '1i Host {new}\\nHostName={address}\\nUser={user}\\n' config", "cd /workspace"),
        wrong=(
            (f"printf '{block}' > ~/.ssh/config",),
            (f"printf 'Host {new}\\n  HostName {address}\\n' >> ~/.ssh/config",),
            (f"printf 'HostName {address}\\nUser {user}\\n' >> ~/.ssh/config",),
        ),
        goals=(
            c.check(f"{new} address", lambda view: _ssh_settings(view, new).get("hostname") == address),
            c.check(f"{new} user", there),
            c.check("other hosts kept", all_there),
        ),
    )


def _ssh_set(draw: Draw) -> Part:
    hosts = _ssh_hosts(draw, 3)
    (host, other), user = draw.some(list(hosts), 2), draw.new(_words.USERS)
    right = {**hosts, host: {**hosts[host], "user": user}}
    others = {name: settings for name, settings in hosts.items() if name != host}
    user_is = _ssh_is({host: right[host]})
    return Part(
        ask=draw.one(
            (
                f"change the User of host {host} in ~/.ssh/config to {user}",
                f"in ~/.ssh/config set User to {user} for the host {host} only",
            )
        ),
        files=(file(_SSH, _ssh_text(hosts), 0o600),),
        do=(f"sed -i '/^Host {host}$/,/^$/s/User .*/User {user}/' ~/.ssh/config",),
        instead=(f"sed -i '/^Host {host}$/a User {user}' ~/.ssh/config",),
        wrong=(
            (f"sed -i 's/User .*/User {user}/' ~/.ssh/config",),
            (f"sed -i '/^Host {other}$/,/^$/s/User .*/User {user}/' ~/.ssh/config",),
            (f"printf 'Host {host}\\n  User {user}\\n' >> ~/.ssh/config",),
        ),
        goals=(
            c.check(f"{host} user", lambda view: _ssh_settings(view, host).get("user") == user),
            c.check(f"{host} address kept", user_is),
            c.check("other hosts kept", user_is, _ssh_is(others)),
        ),
    )


def _ssh_modes(draw: Draw) -> Part:
    where, key = f"{_HOME}/.ssh", f"id_{draw.word()}"
    path, body = f"{where}/{key}", draw.body(3)
    right = c.mode_is(where, 0o700), c.mode_is(path, 0o600)
    return Part(
        ask=draw.one(
            (
                f"set the modes of ~/.ssh to 700 and of ~/.ssh/{key} to 600",
                f"give ~/.ssh the mode 700 and the key ~/.ssh/{key} the mode 600",
            )
        ),
        files=(directory(where, 0o755), file(path, body, 0o644)),
        do=("chmod 700 ~/.ssh", f"chmod 600 ~/.ssh/{key}"),
        instead=(f"chmod go= ~/.ssh ~/.ssh/{key}",),
        wrong=(("chmod 700 ~/.ssh",), (f"chmod 700 ~/.ssh ~/.ssh/{key}",), ("chmod -R 600 ~/.ssh",)),
        goals=(
            c.check("directory mode", right[0]),
            c.check("key mode", right[1]),
            c.check("key kept", *right, c.has_bytes(path, body)),
        ),
    )


def _git_config(draw: Draw) -> Part:
    path, user = f"{_HOME}/.gitconfig", draw.new(_words.USERS)
    start = {("user", "name"): draw.new(_words.USERS), ("core", "editor"): draw.one(("vi", "nano", "ed"))}
    section, key, value = draw.one(
        (
            ("user", "email", f"{user}@{draw.word()}.org"),
            ("user", "name", user),
            ("core", "editor", draw.one(("vim", "emacs", "micro"))),
            ("init", "defaultbranch", draw.word()),
            ("alias", draw.word(), draw.one(("status", "branch", "checkout", "diff"))),
        )
    )
    name = "defaultBranch" if key == "defaultbranch" else key
    right = {**start, (section, key): value}
    text = "".join(f"[{part}]\n\t{field} = {content}\n" for (part, field), content in start.items())

    def read(view: StateView) -> dict[tuple[str, str], str]:
        return {(part.lower(), field.lower()): content for part, field, content in ini_entries(c.text_of(view, path))}

    return Part(
        ask=draw.one(
            (
                f"set {section}.{name} to {value} in the global git configuration (~/.gitconfig)",
                f"in ~/.gitconfig set {section}.{name} to {value}",
            )
        ),
        files=(file(path, text),),
        do=(f"git config --global {section}.{name} {value}",),
        instead=(f"printf '[{section}]\\n{name} = {value}\\n' >> ~/.gitconfig",),
        wrong=(
            (f"git config --global {section}.{name}x {value}",),
            (f"printf '[{section}]\\n{name} = {value}\\n' > ~/.gitconfig",),
            (f"echo '{section}.{name} = {value}' >> ~/.gitconfig",),
        ),
        goals=(
            c.check(f"{name} set", lambda view: read(view).get((section, key)) == value),
            c.check(f"{name} and nothing else", lambda view: read(view) == right),
            c.check("a regular file", lambda view: read(view) == right, c.is_file(path)),
        ),
        requires=("git",),
    )


def _vim_options(view: StateView, path: str) -> dict[str, str]:
    """The options that a vimrc sets, under their long names; a switch that is on holds "on"."""
    found: dict[str, str] = {}
    for raw in c.lines_of(view, path):
        line = raw.strip().lstrip(":")
        if not line or line.startswith('"'):
            continue
        word, _, rest = line.partition(" ")
        if word not in ("set", "se"):
            found[f"other {line}"] = "on"
            continue
        for option in rest.split():
            name, sign, value = option.partition("=")
            if name.startswith("no"):
                found[_VIM.get(name[2:], name[2:])] = "off"
            else:
                found[_VIM.get(name, name)] = value if sign else "on"
    return found


def _vim(draw: Draw) -> Part:
    path, flag, other, number = f"{_HOME}/.vimrc", *draw.some(_VIM_FLAGS, 2), draw.one(_VIM_NUMBERS)
    width = draw.number(2, 120)
    text = f'" {draw.word()}\nset {other}\n'
    right = {other: "on", flag: "on", number: str(width)}
    return Part(
        ask=draw.one(
            (
                f"add set {flag} and set {number}={width} to ~/.vimrc",
                f"make ~/.vimrc also set {flag} and {number}={width}",
            )
        ),
        files=(file(path, text),),
        do=(f"printf 'set {flag}\\nset {number}={width}\\n' >> ~/.vimrc",),
        instead=(f"sed -i '$a set {number}={width} {flag}' ~/.vimrc",),
        wrong=(
            (f"printf 'set {flag}\\nset {number}={width}\\n' > ~/.vimrc",),
            (f"echo 'set {flag}' >> ~/.vimrc",),
            (f"printf '{flag}\\n{number}={width}\\n' >> ~/.vimrc",),
        ),
        goals=(
            c.check(f"{flag} set", lambda view: _vim_options(view, path).get(flag) == "on"),
            c.check(f"{number} set", lambda view: _vim_options(view, path).get(number) == str(width)),
            c.check("options right", lambda view: _vim_options(view, path) == right),
        ),
    )


def _alias(draw: Draw) -> Part:
    path, name = f"{_HOME}/.bashrc", draw.one(list(_ALIASES))
    command, (key, value) = _ALIASES[name], draw.words(2)
    text = f"{key.upper()}={value}\n"
    known = [f"{text}alias {name}={quote}{command}{quote}\n" for quote in ("'", '"')]
    source = "shopt -s expand_aliases; . ~/.bashrc > /dev/null"
    set_right = acts(path, text, known, says(f"{source}; alias {name}", f"alias {name}='{command}'"))
    both = says(f"{source}; alias {name}; echo ${key.upper()}", f"alias {name}='{command}'\n{value}")
    kept = acts(path, text, known, both)
    return Part(
        ask=draw.one(
            (
                f'add the alias {name} for "{command}" to ~/.bashrc',
                f'in ~/.bashrc define {name} as an alias of "{command}"',
            )
        ),
        files=(file(path, text),),
        do=(f"echo \"alias {name}='{command}'\" >> ~/.bashrc",),
        instead=(f"sed -i '1i alias {name}=\"{command}\"' ~/.bashrc",),
        wrong=(
            (f"echo 'alias {name}={command}' >> ~/.bashrc",),
            (f"echo \"alias {name}='{command}'\" > ~/.bashrc",),
            (f"alias {name}='{command}'",),
        ),
        goals=(
            c.check(f"alias {name}", set_right),
            c.check("bashrc else kept", kept),
            c.check("a regular file", kept, c.is_file(path)),
        ),
    )


def _program(draw: Draw) -> Part:
    where, key, value = f".config/{draw.word()}", draw.one(("theme", "editor", "shell", "font", "color")), draw.word()
    path = f"{_HOME}/{where}/config.ini"

    def right(view: StateView) -> bool:
        return ini_sections(c.text_of(view, path)) in ({"": {key: value}}, {"main": {key: value}})

    def sectioned(view: StateView) -> bool:
        return right(view) and "main" in ini_sections(c.text_of(view, path))

    return Part(
        ask=draw.one(
            (
                f"make ~/{where}/config.ini with {key} = {value} in the section main",
                f"create ~/{where}/config.ini: a section main with {key} = {value}",
            )
        ),
        files=(),
        do=(f"mkdir -p ~/{where}", f"printf '[main]\\n{key} = {value}\\n' > ~/{where}/config.ini"),
        instead=(
            f"install -D -m 644 /dev/null ~/{where}/config.ini",
            f"printf '[main]\\n{key}={value}' > ~/{where}/config.ini",
        ),
        wrong=(
            (f"mkdir -p ~/{where}", f"echo '{key} = {value}' > ~/{where}/config.ini"),
            (f"mkdir -p ~/{where}", f"printf '[main]\\n' > ~/{where}/config.ini"),
            (f"mkdir -p {where}", f"printf '[main]\\n{key} = {value}\\n' > {where}/config.ini"),
        ),
        goals=(
            c.check("directory made", c.is_directory(f"{_HOME}/{where}")),
            c.check(f"{key} set", right),
            c.check("in its section", sectioned),
        ),
    )


def _backup(draw: Draw) -> Part:
    name, body = f".{draw.word()}rc", draw.body(3)
    path = f"{_HOME}/{name}"
    copied, kept = c.has_bytes(f"{path}.bak", body), c.has_bytes(path, body)
    return Part(
        ask=draw.one((f"copy ~/{name} to ~/{name}.bak", f"make a backup of ~/{name} as ~/{name}.bak")),
        files=(file(path, body),),
        do=(f"cp ~/{name} ~/{name}.bak",),
        instead=("cd ~", f"cat {name} > {name}.bak", "cd /workspace"),
        wrong=((f"mv ~/{name} ~/{name}.bak",), (f"cp ~/{name} {name}.bak",), (f"ln -s ~/{name} ~/{name}.bak",)),
        goals=(
            c.check(f"{name} backed up", copied),
            c.check(f"{name} kept", copied, kept),
            c.check("backup independent", copied, kept, c.separate_files(path, f"{path}.bak")),
        ),
    )


def _link(draw: Draw) -> Part:
    where, name, body = draw.directory(), f"{draw.word()}rc", draw.body(3)
    path, target = f"{_HOME}/.{name}", f"{where}/{name}"
    linked = c.link_to(path, target)
    return Part(
        ask=draw.one(
            (
                f"make ~/.{name} a symbolic link to /workspace/{target}",
                f"link ~/.{name} symbolically to /workspace/{target}",
            )
        ),
        files=(file(target, body),),
        do=(f"ln -s /workspace/{target} ~/.{name}",),
        instead=("cd ~", f"ln -s ../../workspace/{target} .{name}", "cd /workspace"),
        wrong=((f"cp {target} ~/.{name}",), (f"ln -s {target} ~/.{name}",), (f"ln -s /workspace/{target} ~/{name}",)),
        goals=(
            c.check(f".{name} is a link", c.is_link(path)),
            c.check(f".{name} linked", linked),
            c.check(f"{name} kept", linked, c.has_bytes(target, body)),
        ),
    )


def _install(draw: Draw) -> Part:
    where, name, body = draw.directory(), f"{draw.word()}rc", draw.body(3)
    path, source = f"{_HOME}/.{name}", f"{where}/{name}"
    arrived, gone = c.has_bytes(path, body), c.absent(source)
    return Part(
        ask=draw.one((f"move {source} to ~/.{name}", f"move the file {source} home, as ~/.{name}")),
        files=(file(source, body), file(f"{where}/README", draw.body(2))),
        do=(f"mv {source} ~/.{name}",),
        instead=(f"cp {source} ~/.{name}", f"rm {source}"),
        wrong=((f"cp {source} ~/.{name}",), (f"mv {source} ~/{name}",), (f"mv {source} {where}/.{name}",)),
        goals=(
            c.check(f".{name} arrived", arrived),
            c.check(f"{name} left", arrived, gone),
            c.check("README stayed", arrived, gone, c.is_file(f"{where}/README")),
        ),
    )


_Kind = Callable[[Draw], Part]
_ONE_STEP: tuple[_Kind, ...] = (_git_config, _vim, _alias, _backup, _link, _install)
_TWO_STEPS: tuple[_Kind, ...] = (_ssh_modes, _program)


def _easy(draw: Draw) -> Scenario:
    return join(draw, [draw.one((*_ONE_STEP, *_TWO_STEPS, _ssh_add, _ssh_set))(draw)])


def _medium(draw: Draw) -> Scenario:
    first = draw.one((_ssh_add, _ssh_set, *_ONE_STEP[:3]))
    rest = [kind for kind in _ONE_STEP if kind is not first]
    kinds = draw.one(([*draw.some(rest, 1), draw.one(_TWO_STEPS)], draw.some(rest, 2), draw.some(rest, 1)))
    return join(draw, [kind(draw) for kind in draw.shuffled([first, *kinds])])


def _hard(draw: Draw) -> Scenario:
    kinds = [draw.one((_ssh_add, _ssh_set)), *draw.some(_ONE_STEP, draw.number(2, 3)), draw.one(_TWO_STEPS)]
    return join(draw, [kind(draw) for kind in draw.shuffled(kinds)])


FAMILY = Family(
    "dotfiles",
    levels(_easy, _medium, _hard),
    "ssh, git, vim, bash and program settings in the home directory",
)
