"""What the git families share: conditions on a repository, queries, and how parts become a scenario.

Invariant: conditions of one verification read each object once, however many of them there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from weakref import WeakKeyDictionary

from agentenv.progress import Check, StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families._draw import Draw
from agentenv.tasks.terminal.families._git_read import GitView, Objects
from agentenv.tasks.terminal.families._parts import Part, join
from agentenv.tasks.terminal.scenario import Scenario, StartFile

__all__ = ["World", "file_names", "part", "query", "scenario", "version"]

_EXTENSIONS = ("txt", "md", "cfg", "csv")


@dataclass(frozen=True, kw_only=True)
class World:
    """A repository with `main` checked out, as it is at the start, and conditions on what becomes of it.

    Args:
        repo: Its directory.
        files: Its start files.
        tip: The hash of `main`.
        rest: A file that no part is about, and its content.
    """

    repo: str
    files: tuple[StartFile, ...]
    tip: str
    rest: tuple[str, str]
    _objects: WeakKeyDictionary[StateView, Objects] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def git(self, view: StateView) -> GitView:
        """The repository in a state; what was read through the same view is not read again."""
        return GitView(view, self.repo, self._objects.setdefault(view, Objects()))

    def in_main(self, commit: str) -> c.Condition:
        """The commit is a part of main's history."""

        def holds(view: StateView) -> bool:
            git = self.git(view)
            return commit in git.history(git.branch("main"))

        return holds

    def kept(self, view: StateView) -> bool:
        """The history of main that was there is still there."""
        return self.in_main(self.tip)(view)

    def committed(self, path: str, content: str | None) -> c.Condition:
        """`main` has this content at a path (None: has no such path), on top of the old history."""

        def holds(view: StateView) -> bool:
            git = self.git(view)
            found = git.files(git.branch("main")).get(path)
            return found == (None if content is None else content.encode()) and self.kept(view)

        return holds

    def here(self, path: str, content: str) -> c.Condition:
        """The working tree has this content at a path of the repository."""
        return c.has_bytes(f"{self.repo}/{path}", content)

    def untouched(self, view: StateView) -> bool:
        """Whether the file that no part is about is as it was, in `main` and in the working tree."""
        git, (path, content) = self.git(view), self.rest
        return git.files(git.branch("main")).get(path) == content.encode() and self.here(path, content)(view)

    def has(self, ref: str) -> c.Condition:
        """The full ref name (`refs/tags/v1`) exists."""
        return lambda view: self.git(view).has(ref)

    def no_branch(self, branch: str) -> c.Condition:
        """There is no such branch."""
        return lambda view: not self.git(view).has(f"refs/heads/{branch}")

    def branch_has(self, branch: str, path: str, text: str, base: str) -> c.Condition:
        """The branch has this text (a newline more does not matter) at a path, on top of the commit `base`."""

        def holds(view: StateView) -> bool:
            git = self.git(view)
            tip = git.branch(branch)
            found = git.files(tip).get(path, b"").removesuffix(b"\n")
            return found == text.encode() and base in git.history(tip)

        return holds

    def branch_at(self, branch: str, commit: str) -> c.Condition:
        """The branch has this tip."""
        return lambda view: self.git(view).branch(branch) == commit

    def tag_at(self, tag: str, commit: str) -> c.Condition:
        """The tag, of either kind, names this commit."""
        return lambda view: self.git(view).tag(tag).commit == commit

    def tag_says(self, tag: str, message: str) -> c.Condition:
        """The tag is annotated with this message."""
        return lambda view: self.git(view).tag(tag).message == message

    def head_is(self, branch: str) -> c.Condition:
        """The branch is checked out."""
        return lambda view: self.git(view).head_branch() == branch


W = TypeVar("W", bound=World)


def version(draw: Draw) -> str:
    """A version to tag."""
    return f"v{draw.number(0, 9)}.{draw.number(0, 9)}"


def file_names(draw: Draw, roles: Iterable[str]) -> dict[str, str]:
    """A new file name for each role."""
    return {role: draw.file(draw.one(_EXTENSIONS)) for role in roles}


def part(
    draw: Draw,
    asks: Sequence[str],
    *,
    do: tuple[str, ...],
    instead: tuple[str, ...],
    wrong: tuple[tuple[str, ...], ...],
    goals: tuple[Check, ...],
) -> Part:
    """A part about a repository, asked for in one of several ways."""
    return Part(draw.one(asks), (), do, instead, wrong, goals, requires=("git",))


def query(
    draw: Draw,
    world: World,
    what: Sequence[str],
    right: Callable[[str], c.Condition],
    kept: tuple[str, c.Condition],
    *,
    do: str,
    instead: str,
    wrong: Sequence[str],
) -> Part:
    """The part of writing what a repository tells to a new file outside of it.

    Args:
        draw: Where names come from.
        world: The repository.
        what: Ways to name what is asked for.
        right: The condition that the file at a path holds the answer.
        kept: What must have stayed in the repository, and a name for that.
        do: A command that prints the answer, in /workspace.
        instead: Another one, in the repository.
        wrong: Commands that print something else.
    """
    name = draw.file("txt")
    out, answered = f"/workspace/{name}", right(name)
    return part(
        draw,
        (f"write {draw.one(what)} to {out}", f"in {out} put {draw.one(what)}"),
        do=(f"{do} > {out}",),
        instead=(f"cd {world.repo}", f"{instead} > ../{name}", "cd .."),
        wrong=tuple((f"{command} > {out}",) for command in wrong),
        goals=(
            c.check(f"{name} written", c.is_file(name)),
            c.check(f"{name} right", answered),
            c.check(f"{name} {kept[0]}", answered, kept[1]),
        ),
    )


def scenario(
    draw: Draw, make: Callable[[Draw], W], kinds: Sequence[Callable[[Draw, W], Part]], most_goals: int
) -> Scenario:
    """Joins parts of one world. `most_goals` of each are kept, the strictest: later ones imply those before.

    The last mistake of a part may leave its change staged; beside other parts, their commits would put it right.
    """
    world = make(draw)
    parts = [kind(draw, world) for kind in kinds]
    if len(parts) > 1:
        parts = [replace(part, wrong=part.wrong[:-1]) for part in parts]
    parts = [replace(part, goals=part.goals[-most_goals:]) for part in parts]
    parts[0] = replace(parts[0], files=world.files)
    return join(draw, parts, f"In the git repository {world.repo}:")
