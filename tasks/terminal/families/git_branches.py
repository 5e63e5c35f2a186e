"""Make, rename, merge, delete and tag git branches; pick and take single changes from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _git_parts as parts
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._git_build import Repository
from agentenv.tasks.terminal.families._parts import Part
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_KINDS = ("feature", "fix", "topic", "work")
_VERBS = ("add", "fix", "tune", "change", "improve")
_BASE = ("rest", "merged", "picked", "taken", "worked")


@dataclass(frozen=True, kw_only=True)
class _World(parts.World):
    """A repository with five branches beside `main`; parts use different ones, so that they can be done in any order.

    `merged` and `picked` grew two commits each, `taken` and `worked` one, `stale` is a part of main.
    """

    branches: Mapping[str, str]  # role -> branch name
    tips: Mapping[str, str]  # role (or the tag) -> hash
    names: Mapping[str, str]  # what a file is for -> its name
    texts: Mapping[str, str]  # role -> content of its file at main
    changes: Mapping[str, str]  # role -> content of its file on its branch
    extra: Mapping[str, tuple[str, str]]  # role -> the file that its first commit adds
    subjects: Mapping[str, str]  # role -> subject of its first commit
    version: str

    def on_main(self, *wanted: tuple[str, str]) -> c.Condition:
        """`main` and the working tree have these files, on top of the old history, and the others as they were."""
        both = [condition for file in wanted for condition in (self.committed(*file), self.here(*file))]
        return c.all_of(*both, self.untouched)


def _world(draw: Draw) -> _World:
    repo, version = draw.directory(), parts.version(draw)
    branches = {role: f"{draw.one(_KINDS)}/{draw.word()}" for role in (*_BASE[1:], "stale")}
    names = parts.file_names(draw, (*_BASE, "stale"))
    extra = {role: (draw.file("txt"), draw.body(2)) for role in _BASE[1:]}
    people = [draw.new(_words.USERS) for _ in range(3)]
    subjects = {role: f"{draw.one(_VERBS)} {draw.word()}" for role in _BASE[1:]}
    texts = {role: draw.body(2) for role in (*_BASE, "stale")}
    changes = {role: draw.body(3) for role in _BASE}
    repository = Repository(repo)

    def commit(tree: dict[str, str], subject: str, parent: str = "") -> str:
        return repository.commit(tree, subject, draw.one(people), [parent] if parent else [])

    first_tree = {names[role]: texts[role] for role in _BASE}
    first = commit(first_tree, "start")
    tree = {**first_tree, names["stale"]: texts["stale"]}
    second = commit(tree, f"add {names['stale']}", first)
    tips = {"stale": second, version: first}
    for role in _BASE[1:]:
        base, parent = (first_tree, first) if role == "merged" else (tree, second)
        path, text = extra[role]
        grown = {**base, path: text}
        tips[role] = commit(grown, subjects[role], parent)
        if role != "worked":
            verb = "rework" if role == "taken" else "update"
            tips[role] = commit({**grown, names[role]: changes[role]}, f"{verb} {names[role]}", tips[role])
    tip = commit({**tree, names["rest"]: changes["rest"]}, f"update {names['rest']}", second)
    repository.refs["refs/heads/main"] = tip
    repository.refs[f"refs/tags/{version}"] = first
    for role, branch in branches.items():
        repository.refs[f"refs/heads/{branch}"] = tips[role]
    return _World(
        repo=repo,
        files=repository.start_files(),
        tip=tip,
        rest=(names["rest"], changes["rest"]),
        branches=branches,
        tips=tips,
        names=names,
        texts=texts,
        changes=changes,
        extra=extra,
        subjects=subjects,
        version=version,
    )


def _merge(draw: Draw, world: _World) -> Part:
    git, branch = f"git -C {world.repo}", world.branches["merged"]
    both = [world.extra["merged"], (world.names["merged"], world.changes["merged"])]
    joined = world.in_main(world.tips["merged"])
    return parts.part(
        draw,
        (f"merge the branch {branch} into main", f"bring {branch} into main by a merge"),
        do=(f"{git} merge --no-edit {branch}",),
        instead=(f"cd {world.repo}", f"git merge --no-ff -m 'join {branch}' {branch} && cd .."),
        wrong=(
            (f"{git} merge --squash {branch}", f"{git} commit -m squashed"),
            (f"{git} cherry-pick {branch}",),
            (f"{git} merge --no-edit {world.branches['taken']}",),
            (f"{git} merge --no-commit {branch}",),
        ),
        goals=(
            c.check("branch in main", joined, world.kept),
            c.check("merged files", joined, world.on_main(*both)),
            c.check("merged branch kept", world.on_main(*both), world.branch_at(branch, world.tips["merged"])),
        ),
    )


def _pick(draw: Draw, world: _World) -> Part:
    git, branch, subject = f"git -C {world.repo}", world.branches["picked"], world.subjects["picked"]
    name, text = world.names["picked"], world.texts["picked"]
    picked, merged = world.on_main(world.extra["picked"]), world.in_main(world.tips["picked"])
    alone = world.on_main(world.extra["picked"], (name, text))
    return parts.part(
        draw,
        (
            f'cherry-pick the commit "{subject}" of {branch} onto main',
            f'apply only the commit "{subject}" of the branch {branch} to main',
        ),
        do=(f'{git} cherry-pick ":/{subject}"',),
        instead=(f"cd {world.repo}", f"git format-patch -1 --stdout {branch}~1 | git am", "cd .."),
        wrong=(
            (f"{git} cherry-pick {branch}",),
            (f"{git} merge --no-edit {branch}",),
            (f'{git} cherry-pick --no-commit ":/{subject}"',),
        ),
        goals=(
            c.check("change on main", picked),
            c.check("only this change", alone),
            c.check("picked, not merged", alone, lambda view: not merged(view)),
        ),
    )


def _take(draw: Draw, world: _World) -> Part:
    git, branch, name = f"git -C {world.repo}", world.branches["taken"], world.names["taken"]
    text, (other, _) = world.changes["taken"], world.extra["taken"]
    taken, alone = world.on_main((name, text)), world.committed(other, None)
    return parts.part(
        draw,
        (
            f"take only the file {name} from the branch {branch} and commit it on main",
            f"commit on main {name} as it is on {branch}, without its other changes",
        ),
        do=(f"{git} checkout {branch} -- {name}", f"{git} commit -m 'take {name}'"),
        instead=(f"cd {world.repo} && git show {branch}:{name} > {name}", f"git commit -m new {name} && cd .."),
        wrong=(
            (f"{git} merge --no-edit {branch}",),
            (f"{git} show {branch}:{name} > {world.repo}/{name}",),
            (f"{git} checkout {branch} -- {name}",),
        ),
        goals=(
            c.check("file here", c.has_bytes(f"{world.repo}/{name}", text), world.kept, alone),
            c.check("file on main", taken),
            c.check("only this file", taken, alone),
        ),
    )


def _create(draw: Draw, world: _World) -> Part:
    git, new = f"git -C {world.repo}", f"{draw.one(_KINDS)}/{draw.word()}"
    role = draw.one((world.version, "picked", "taken"))
    start = f"tag {role}" if role == world.version else f"the branch {world.branches[role]}"
    point = role if role == world.version else world.branches[role]
    right = world.branch_at(new, world.tips[role])
    return parts.part(
        draw,
        (
            f"create the branch {new} at {start}, main staying checked out",
            f"make a branch {new} that starts at {start}; stay on main",
        ),
        do=(f"{git} branch {new} {point}",),
        instead=(f"{git} checkout -q -b {new} {point}", f"{git} checkout -q main"),
        wrong=((f"{git} branch {new}",), (f"{git} checkout -q -b {new} {point}",), (f"{git} tag {new} {point}",)),
        goals=(
            c.check("branch made", world.has(f"refs/heads/{new}")),
            c.check("branch starts right", right),
            c.check("main checked out", right, world.head_is("main"), world.kept),
        ),
    )


def _rename(draw: Draw, world: _World) -> Part:
    git, old, new = f"git -C {world.repo}", world.branches["stale"], f"{draw.one(_KINDS)}/{draw.word()}"
    right = world.branch_at(new, world.tips["stale"])
    return parts.part(
        draw,
        (f"rename the branch {old} to {new}", f"give the branch {old} the name {new}"),
        do=(f"{git} branch -m {old} {new}",),
        instead=(f"{git} branch {new} {old}", f"{git} branch -D {old}"),
        wrong=((f"{git} branch {new} {old}",), (f"{git} branch -m {new}",), (f"{git} branch -D {old}",)),
        goals=(
            c.check("new name", right),
            c.check("old name gone", right, world.no_branch(old)),
            c.check("main as it was", right, world.no_branch(old), world.kept, world.head_is("main")),
        ),
    )


def _delete(draw: Draw, world: _World) -> Part:
    git, branch = f"git -C {world.repo}", world.branches["stale"]
    gone = world.no_branch(branch)
    others = [world.branch_at(world.branches[role], world.tips[role]) for role in ("picked", "taken", "merged")]
    ask = draw.one((f"delete the branch {branch}, already part of main", f"remove only the merged branch {branch}"))
    return parts.part(
        draw,
        (ask,),
        do=(f"{git} branch -d {branch}",),
        instead=(f"cd {world.repo}", f"git update-ref -d refs/heads/{branch}", "cd .."),
        wrong=(
            (f"{git} branch -m {branch} {draw.word()}-old", f"{git} branch -D {world.branches['taken']}"),
            (f"{git} branch -D {world.branches['merged']}",),
            (f"{git} checkout -q {branch}",),
        ),
        goals=(
            c.check("branch deleted", gone, world.kept),
            c.check("main checked out", gone, world.kept, world.head_is("main")),
            c.check("others kept", gone, world.kept, *others),
        ),
    )


def _tag(draw: Draw, world: _World) -> Part:
    git, role = f"git -C {world.repo}", draw.one(("merged", "picked", "taken"))
    tag = f"{draw.word()}-{draw.number(1, 9)}"
    branch, message = world.branches[role], " ".join(draw.words(2))
    right = world.tag_at(tag, world.tips[role])
    return parts.part(
        draw,
        (
            f'tag the tip of {branch} as {tag}, annotated with "{message}"',
            f'put the annotated tag {tag} with the message "{message}" on {branch}',
        ),
        do=(f"{git} tag -a -m '{message}' {tag} {branch}",),
        instead=(f"echo '{message}' | {git} tag -a -F - {tag} $({git} rev-parse {branch})",),
        wrong=(
            (f"{git} tag {tag} {branch}",),
            (f"{git} tag -a -m '{message}' {tag}",),
            (f"{git} tag -a -m '{message.split()[0]}' {tag} {branch}",),
        ),
        goals=(
            c.check("tag made", world.has(f"refs/tags/{tag}")),
            c.check("tag on the tip", right),
            c.check("tag annotated", right, world.tag_says(tag, message)),
        ),
    )


def _work(draw: Draw, world: _World) -> Part:
    git, branch = f"git -C {world.repo}", world.branches["worked"]
    name, text = draw.file("txt"), " ".join(draw.words(2))
    on_branch = world.branch_has(branch, name, text, world.tips["worked"])
    not_main = world.committed(name, None)
    return parts.part(
        draw,
        (f"on the branch {branch}, commit a new file {name} with the line {text}; end on main",),
        do=(
            f"{git} checkout {branch}",
            f"echo {text} > {world.repo}/{name}",
            f"{git} add {name}",
            f"{git} commit -m 'add {name}'",
            f"{git} checkout main",
        ),
        instead=(
            f"{git} worktree add -q /workspace/{name}.d {branch} && cd /workspace/{name}.d",
            f"printf '{text}' > {name}",
            f"git add {name} && git commit -qm new",
            f"cd /workspace && {git} worktree remove /workspace/{name}.d",
        ),
        wrong=(
            (f"echo {text} > {world.repo}/{name}", f"{git} add {name}", f"{git} commit -m 'add {name}'"),
            (f"{git} checkout {branch}", f"echo {text} > {world.repo}/{name}", f"{git} checkout main"),
        ),
        goals=(
            c.check("file on the branch", on_branch),
            c.check("not on main", on_branch, not_main),
            c.check("main checked out", on_branch, not_main, world.head_is("main")),
        ),
    )


def _switch(draw: Draw, world: _World) -> Part:
    git, role = f"git -C {world.repo}", draw.one(("picked", "taken", "worked"))
    branch, (name, text) = world.branches[role], world.extra[role]
    here = (world.head_is(branch), world.branch_at(branch, world.tips[role]))
    return parts.part(
        draw,
        (f"switch to the branch {branch}", f"check out the branch {branch}"),
        do=(f"{git} checkout {branch}",),
        instead=(f"cd {world.repo}", f"git switch -q {branch}"),
        wrong=(
            (f"{git} branch {branch}-2",),
            (f"{git} checkout --detach {branch}",),
            (f"{git} checkout -b {branch}-new",),
        ),
        goals=(
            c.check("branch checked out", *here),
            c.check("its files are here", *here, c.has_bytes(f"{world.repo}/{name}", text)),
            c.check("main left as it was", *here, world.branch_at("main", world.tip)),
        ),
    )


def _query(draw: Draw, world: _World, what: str, answer: str, do: str, instead: str, wrong: Sequence[str]) -> Part:
    """Writes an answer about the branches to a file outside of the repository."""
    return parts.query(
        draw,
        world,
        (what,),
        lambda path: c.has_lines_in_any_order(path, answer.split("\n")),
        ("and main kept", world.kept),
        do=f"git -C {world.repo} {do}",
        instead=f"git {instead}",
        wrong=[f"git -C {world.repo} {command}" for command in wrong],
    )


def _names(draw: Draw, world: _World) -> Part:
    role = draw.one(("taken", "merged"))
    branch = world.branches[role]
    names = [world.names[known] for known in (*_BASE, *(("stale",) if role != "merged" else ()))]
    return _query(
        draw,
        world,
        f"the names of the files on {branch}, one a line",
        "\n".join([*names, world.extra[role][0]]),
        f"ls-tree --name-only {branch}",
        f"ls-tree -r {branch} | cut -f 2",
        ("ls-tree --name-only main", f"ls-tree {branch}"),
    )


def _ahead(draw: Draw, world: _World) -> Part:
    branch = world.branches["picked"]
    return _query(
        draw,
        world,
        f"how many commits of {branch} are not in main",
        "2",
        f"rev-list --count main..{branch}",
        f"log --format=%h {branch} --not main | wc -l",
        (f"rev-list --count {branch}", f"rev-list --count {branch}..main"),
    )


def _content(draw: Draw, world: _World) -> Part:
    role = draw.one(("picked", "taken", "merged"))
    branch, name = world.branches[role], world.names[role]
    return _query(
        draw,
        world,
        f"the content of {name} on {branch}",
        world.changes[role].removesuffix("\n"),
        f"show {branch}:{name}",
        f"cat-file blob {branch}:{name}",
        (f"show {branch} -- {name}", f"show main:{world.names['rest']}"),
    )


_Kind = Callable[[Draw, _World], Part]
_ONE_STEP: tuple[_Kind, ...] = (_merge, _pick, _create, _tag, _rename, _delete)
_QUERIES: tuple[_Kind, ...] = (_names, _ahead, _content)


def _easy(draw: Draw) -> Scenario:
    return parts.scenario(draw, _world, [draw.one((*_ONE_STEP, _take, _switch, *_QUERIES))], 3)


def _changes(draw: Draw, count: int) -> list[_Kind]:
    """Different changes that do not touch one branch twice."""
    return draw.some((*_ONE_STEP[:4], draw.one((_rename, _delete))), count)


def _medium(draw: Draw) -> Scenario:
    kinds = draw.one((_changes(draw, 2), [*_changes(draw, 1), _take], [*_changes(draw, 2), draw.one(_QUERIES)]))
    return parts.scenario(draw, _world, draw.shuffled(kinds), 2)


def _hard(draw: Draw) -> Scenario:
    if draw.chance(1 / 3):  # work leaves main for a while: what is checked on main comes after it
        return parts.scenario(draw, _world, [_work, *_changes(draw, 2)], 2)
    kinds = draw.one(([*_changes(draw, 3), _take], [*_changes(draw, 3), *_QUERIES[:2]]))
    return parts.scenario(draw, _world, draw.shuffled(kinds), 2)


FAMILY = Family(
    "git_branches", levels(_easy, _medium, _hard), "make, merge, pick from, rename, delete and tag git branches"
)
