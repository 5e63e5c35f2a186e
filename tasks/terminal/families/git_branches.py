"""Make, rename, merge, delete and tag git branches; pick and take single changes from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._git_build import Repository
from agentenv.tasks.terminal.families._git_read import GitView
from agentenv.tasks.terminal.families._parts import Part, join
from agentenv.tasks.terminal.scenario import Family, Scenario, StartFile

__all__ = ["FAMILY"]

_KINDS = ("feature", "fix", "topic", "work")
_VERBS = ("add", "fix", "tune", "change", "improve")
_BASE = ("rest", "merged", "picked", "taken", "worked")


@dataclass(frozen=True)
class _World:
    """A repository with five branches beside `main`; parts use different ones, so that they can be done in any order.

    `merged` and `picked` grew two commits each, `taken` and `worked` one, `stale` is a part of main.
    """

    repo: str
    files: tuple[StartFile, ...]
    branches: Mapping[str, str]  # role -> branch name
    tips: Mapping[str, str]  # role (or "main", or the tag) -> hash
    names: Mapping[str, str]  # what a file is for -> its name
    texts: Mapping[str, str]  # name -> content at main
    changes: Mapping[str, str]  # role -> content of its file on its branch
    extra: Mapping[str, tuple[str, str]]  # role -> the file that its first commit adds
    subjects: Mapping[str, str]  # role -> subject of its first commit
    version: str

    def on_main(self, *wanted: tuple[str, str]) -> c.Condition:
        """`main` and the working tree have these files, on top of the old history, and the others as they were."""

        def holds(view: StateView) -> bool:
            git = GitView(view, self.repo)
            tip = git.branch("main")
            found = git.files(tip)
            rest = self.names["rest"]
            expected = [*wanted, (rest, self.texts[rest])]
            right = all(found.get(name) == text.encode() for name, text in expected)
            here = all(c.has_bytes(f"{self.repo}/{name}", text)(view) for name, text in expected)
            return right and here and self.tips["main"] in git.history(tip)

        return holds

    def at(self, branch: str, role: str) -> c.Condition:
        """A branch has the tip that a role's branch (or the tag) had at the start."""
        return lambda view: GitView(view, self.repo).branch(branch) == self.tips[role]

    def no_branch(self, branch: str) -> c.Condition:
        """There is no such branch."""
        return lambda view: not GitView(view, self.repo).has(f"refs/heads/{branch}")

    def head_is(self, branch: str) -> c.Condition:
        """The branch is checked out."""
        return lambda view: GitView(view, self.repo).head_branch() == branch

    def main_has(self, role: str) -> c.Condition:
        """The role's first tip is a part of main's history."""

        def holds(view: StateView) -> bool:
            git = GitView(view, self.repo)
            return self.tips[role] in git.history(git.branch("main"))

        return holds

    def main_kept(self, view: StateView) -> bool:
        """Main's old tip is still a part of main."""
        return self.main_has("main")(view)


def _world(draw: Draw) -> _World:
    repo, version = draw.directory(), f"v{draw.number(0, 9)}.{draw.number(0, 9)}"
    branches = {role: f"{draw.one(_KINDS)}/{draw.word()}" for role in (*_BASE[1:], "stale")}
    names = {role: draw.file(draw.one(("txt", "md", "cfg", "csv"))) for role in (*_BASE, "stale")}
    extra = {role: (draw.file("txt"), draw.body(2)) for role in _BASE[1:]}
    people = [draw.new(_words.USERS) for _ in range(3)]
    subjects = {role: f"{draw.one(_VERBS)} {draw.word()}" for role in _BASE[1:]}
    texts = {names[role]: draw.body(2) for role in (*_BASE, "stale")}
    changes = {role: draw.body(3) for role in _BASE}
    repository = Repository(repo)

    def commit(tree: dict[str, str], subject: str, parent: str = "") -> str:
        return repository.commit(tree, subject, draw.one(people), [parent] if parent else [])

    first_tree = {names[role]: texts[names[role]] for role in _BASE}
    first = commit(first_tree, "start")
    tree = {**first_tree, names["stale"]: texts[names["stale"]]}
    second = commit(tree, f"add {names['stale']}", first)
    tips = {"stale": second, version: first}
    for role, base, parent in (
        ("merged", first_tree, first),
        ("picked", tree, second),
        ("taken", tree, second),
        ("worked", tree, second),
    ):
        path, text = extra[role]
        grown = {**base, path: text}
        tips[role] = commit(grown, subjects[role], parent)
        if role in ("merged", "picked"):
            tips[role] = commit({**grown, names[role]: changes[role]}, f"update {names[role]}", tips[role])
        if role == "taken":
            tips[role] = commit({**grown, names[role]: changes[role]}, f"rework {names[role]}", tips[role])
    texts[names["rest"]] = changes["rest"]
    tips["main"] = commit({**tree, names["rest"]: changes["rest"]}, f"update {names['rest']}", second)
    repository.refs["refs/heads/main"] = tips["main"]
    repository.refs[f"refs/tags/{version}"] = first
    for role, branch in branches.items():
        repository.refs[f"refs/heads/{branch}"] = tips[role]
    files = repository.start_files()
    return _World(repo, files, branches, tips, names, texts, changes, extra, subjects, version)


def _merge(draw: Draw, world: _World) -> Part:
    git, branch = f"git -C {world.repo}", world.branches["merged"]
    both = [world.extra["merged"], (world.names["merged"], world.changes["merged"])]
    return Part(
        ask=draw.one((f"merge the branch {branch} into main", f"bring {branch} into main by a merge")),
        files=(),
        do=(f"{git} merge --no-edit {branch}",),
        instead=(f"cd {world.repo}", f"git merge --no-ff -m 'join {branch}' {branch} && cd .."),
        wrong=(
            (f"{git} merge --squash {branch}", f"{git} commit -m squashed"),
            (f"{git} cherry-pick {branch}",),
            (f"{git} merge --no-edit {world.branches['taken']}",),
            (f"{git} merge --no-commit {branch}",),
        ),
        goals=(
            c.check("branch in main", world.main_has("merged"), world.main_kept),
            c.check("merged files", world.main_has("merged"), world.on_main(*both)),
            c.check("merged branch kept", world.on_main(*both), world.at(branch, "merged")),
        ),
        requires=("git",),
    )


def _pick(draw: Draw, world: _World) -> Part:
    git, branch, subject = f"git -C {world.repo}", world.branches["picked"], world.subjects["picked"]
    name, text = world.names["picked"], world.texts[world.names["picked"]]
    picked = world.on_main(world.extra["picked"])
    alone = world.on_main(world.extra["picked"], (name, text))
    return Part(
        ask=draw.one(
            (
                f'cherry-pick the commit "{subject}" of {branch} onto main',
                f'apply only the commit "{subject}" of the branch {branch} to main',
            )
        ),
        files=(),
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
            c.check("picked, not merged", alone, lambda view: not world.main_has("picked")(view)),
        ),
        requires=("git",),
    )


def _take(draw: Draw, world: _World) -> Part:
    git, branch, name = f"git -C {world.repo}", world.branches["taken"], world.names["taken"]
    text, (other, _) = world.changes["taken"], world.extra["taken"]

    def alone(view: StateView) -> bool:
        found = GitView(view, world.repo)
        return other not in found.files(found.branch("main"))

    taken = world.on_main((name, text))
    return Part(
        ask=draw.one(
            (
                f"take only the file {name} from the branch {branch} and commit it on main",
                f"commit on main {name} as it is on {branch}, without its other changes",
            )
        ),
        files=(),
        do=(f"{git} checkout {branch} -- {name}", f"{git} commit -m 'take {name}'"),
        instead=(f"cd {world.repo} && git show {branch}:{name} > {name}", f"git commit -m new {name} && cd .."),
        wrong=(
            (f"{git} merge --no-edit {branch}",),
            (f"{git} show {branch}:{name} > {world.repo}/{name}",),
            (f"{git} checkout {branch} -- {name}",),
        ),
        goals=(
            c.check("file here", c.has_bytes(f"{world.repo}/{name}", text), world.main_kept, alone),
            c.check("file on main", taken),
            c.check("only this file", taken, alone),
        ),
        requires=("git",),
    )


def _create(draw: Draw, world: _World) -> Part:
    git, new = f"git -C {world.repo}", f"{draw.one(_KINDS)}/{draw.word()}"
    role = draw.one((world.version, "picked", "taken"))
    start = f"tag {role}" if role == world.version else f"the branch {world.branches[role]}"
    point = role if role == world.version else world.branches[role]
    right = world.at(new, role)
    return Part(
        ask=draw.one(
            (
                f"create the branch {new} at {start}, main staying checked out",
                f"make a branch {new} that starts at {start}; stay on main",
            )
        ),
        files=(),
        do=(f"{git} branch {new} {point}",),
        instead=(f"{git} checkout -q -b {new} {point}", f"{git} checkout -q main"),
        wrong=((f"{git} branch {new}",), (f"{git} checkout -q -b {new} {point}",), (f"{git} tag {new} {point}",)),
        goals=(
            c.check("branch made", lambda view: GitView(view, world.repo).has(f"refs/heads/{new}")),
            c.check("branch starts right", right),
            c.check("main checked out", right, world.head_is("main"), world.main_kept),
        ),
        requires=("git",),
    )


def _rename(draw: Draw, world: _World) -> Part:
    git, old, new = f"git -C {world.repo}", world.branches["stale"], f"{draw.one(_KINDS)}/{draw.word()}"
    right = world.at(new, "stale")
    return Part(
        ask=draw.one((f"rename the branch {old} to {new}", f"give the branch {old} the name {new}")),
        files=(),
        do=(f"{git} branch -m {old} {new}",),
        instead=(f"{git} branch {new} {old}", f"{git} branch -D {old}"),
        wrong=((f"{git} branch {new} {old}",), (f"{git} branch -m {new}",), (f"{git} branch -D {old}",)),
        goals=(
            c.check("new name", right),
            c.check("old name gone", right, world.no_branch(old)),
            c.check("main as it was", right, world.no_branch(old), world.main_kept, world.head_is("main")),
        ),
        requires=("git",),
    )


def _delete(draw: Draw, world: _World) -> Part:
    git, branch = f"git -C {world.repo}", world.branches["stale"]
    gone = world.no_branch(branch)
    others = [world.at(world.branches[role], role) for role in ("picked", "taken", "merged")]
    return Part(
        ask=draw.one((f"delete the branch {branch}, already part of main", f"remove only the merged branch {branch}")),
        files=(),
        do=(f"{git} branch -d {branch}",),
        instead=(f"cd {world.repo}", f"git update-ref -d refs/heads/{branch}", "cd .."),
        wrong=(
            (f"{git} branch -m {branch} {draw.word()}-old", f"{git} branch -D {world.branches['taken']}"),
            (f"{git} branch -D {world.branches['merged']}",),
            (f"{git} checkout -q {branch}",),
        ),
        goals=(
            c.check("branch deleted", gone, world.main_kept),
            c.check("main checked out", gone, world.main_kept, world.head_is("main")),
            c.check("others kept", gone, world.main_kept, *others),
        ),
        requires=("git",),
    )


def _tag(draw: Draw, world: _World) -> Part:
    git, role, tag = (
        f"git -C {world.repo}",
        draw.one(("merged", "picked", "taken")),
        f"{draw.word()}-{draw.number(1, 9)}",
    )
    branch, message = world.branches[role], " ".join(draw.words(2))

    def right(view: StateView) -> bool:
        return GitView(view, world.repo).tag(tag).commit == world.tips[role]

    def said(view: StateView) -> bool:
        return GitView(view, world.repo).tag(tag).message == message

    return Part(
        ask=draw.one(
            (
                f'tag the tip of {branch} as {tag}, annotated with "{message}"',
                f'put the annotated tag {tag} with the message "{message}" on {branch}',
            )
        ),
        files=(),
        do=(f"{git} tag -a -m '{message}' {tag} {branch}",),
        instead=(f"echo '{message}' | {git} tag -a -F - {tag} $({git} rev-parse {branch})",),
        wrong=(
            (f"{git} tag {tag} {branch}",),
            (f"{git} tag -a -m '{message}' {tag}",),
            (f"{git} tag -a -m '{message.split()[0]}' {tag} {branch}",),
        ),
        goals=(
            c.check("tag made", lambda view: GitView(view, world.repo).has(f"refs/tags/{tag}")),
            c.check("tag on the tip", right),
            c.check("tag annotated", right, said),
        ),
        requires=("git",),
    )


def _work(draw: Draw, world: _World) -> Part:
    git, branch, name, text = (
        f"git -C {world.repo}",
        world.branches["worked"],
        draw.file("txt"),
        " ".join(draw.words(2)),
    )

    def on_branch(view: StateView) -> bool:
        found = GitView(view, world.repo)
        tip = found.branch(branch)
        body = found.files(tip).get(name, b"").removesuffix(b"\n")
        return body == text.encode() and world.tips["worked"] in found.history(tip)

    def not_main(view: StateView) -> bool:
        found = GitView(view, world.repo)
        return name not in found.files(found.branch("main")) and world.main_kept(view)

    return Part(
        ask=f"on the branch {branch}, commit a new file {name} with the line {text}; end on main",
        files=(),
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
        requires=("git",),
    )


def _switch(draw: Draw, world: _World) -> Part:
    git, role = f"git -C {world.repo}", draw.one(("picked", "taken", "worked"))
    branch, (name, text) = world.branches[role], world.extra[role]
    here = (world.head_is(branch), world.at(branch, role))
    return Part(
        ask=draw.one((f"switch to the branch {branch}", f"check out the branch {branch}")),
        files=(),
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
            c.check("main left as it was", *here, world.at("main", "main")),
        ),
        requires=("git",),
    )


def _query(draw: Draw, world: _World, what: str, answer: str, do: str, instead: str, wrong: Sequence[str]) -> Part:
    """Writes an answer about the branches to a file outside of the repository."""
    name = draw.file("txt")
    out, right = f"/workspace/{name}", c.has_lines_in_any_order(name, answer.split("\n"))
    return Part(
        ask=draw.one((f"write {what} to {out}", f"in {out} put {what}")),
        files=(),
        do=(f"git -C {world.repo} {do} > {out}",),
        instead=(f"cd {world.repo}", f"git {instead} > ../{name}", "cd .."),
        wrong=tuple((f"git -C {world.repo} {command} > {out}",) for command in wrong),
        goals=(
            c.check(f"{name} written", c.is_file(name)),
            c.check(f"{name} right", right),
            c.check(f"{name} and main kept", right, world.main_kept),
        ),
        requires=("git",),
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


def _scenario(draw: Draw, kinds: Sequence[_Kind], most_goals: int) -> Scenario:
    """Joins parts of one world. `most_goals` of each are kept, the strictest: later ones imply those before.

    The last mistake of a part may leave its change staged; beside other parts, their commits would put it right.
    """
    world = _world(draw)
    parts = [kind(draw, world) for kind in kinds]
    if len(parts) > 1:
        parts = [replace(part, wrong=part.wrong[:-1]) for part in parts]
    parts = [replace(part, goals=part.goals[-most_goals:]) for part in parts]
    parts[0] = replace(parts[0], files=world.files)
    return join(draw, parts, f"In the git repository {world.repo}:")


def _easy(draw: Draw) -> Scenario:
    return _scenario(draw, [draw.one((*_ONE_STEP, _take, _switch, *_QUERIES))], 3)


def _changes(draw: Draw, count: int) -> list[_Kind]:
    """Different changes that do not touch one branch twice."""
    return draw.some((*_ONE_STEP[:4], draw.one((_rename, _delete))), count)


def _medium(draw: Draw) -> Scenario:
    kinds = draw.one((_changes(draw, 2), [*_changes(draw, 1), _take], [*_changes(draw, 2), draw.one(_QUERIES)]))
    return _scenario(draw, draw.shuffled(kinds), 2)


def _hard(draw: Draw) -> Scenario:
    if draw.chance(1 / 3):  # work leaves main for a while: what is checked on main comes after it
        return _scenario(draw, [_work, *_changes(draw, 2)], 2)
    kinds = draw.one(([*_changes(draw, 3), _take], [*_changes(draw, 3), *_QUERIES[:2]]))
    return _scenario(draw, draw.shuffled(kinds), 2)


FAMILY = Family(
    "git_branches",
    levels(_easy, _medium, _hard),
    "make, merge, pick from, rename, delete and tag git branches",
)
