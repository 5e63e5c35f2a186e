"""Ask a git history and change it forward: revert, restore, commit, discard, rename, tag. History is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c
from agentenv.tasks.terminal.families import _git_parts as parts
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._draw import Draw, levels
from agentenv.tasks.terminal.families._git_build import Repository
from agentenv.tasks.terminal.families._parts import Part
from agentenv.tasks.terminal.scenario import Family, Scenario

__all__ = ["FAMILY"]

_VERBS = ("add", "fix", "tune", "change", "check", "improve", "review", "adjust")
_ROLES = ("undone", "restored", "edited", "discarded", "renamed", "removed", "rest")


@dataclass(frozen=True, kw_only=True)
class _World(parts.World):
    """A repository whose parts each have a file of their own, so that they can be done in any order."""

    names: Mapping[str, str]  # what a file is for -> its name
    old: Mapping[str, str]  # contents at the tag
    new: Mapping[str, str]  # contents at the tip
    pending: Mapping[str, str]  # uncommitted contents
    subjects: Mapping[str, str]  # what a commit is for -> its subject
    commits: Mapping[str, str]  # subject -> hash
    authors: Mapping[str, str]  # subject -> author, oldest first
    version: str
    tagged: str  # subject of the tagged commit


def _world(draw: Draw) -> _World:
    repo, version = draw.directory(), parts.version(draw)
    people, words = [draw.new(_words.USERS) for _ in range(3)], draw.words(8)
    names = parts.file_names(draw, _ROLES)
    old = {role: draw.body(2) for role in _ROLES}
    new = {**old, **{role: draw.body(3) for role in ("undone", "restored", "edited")}}
    repository = Repository(repo)
    commits: dict[str, str] = {}
    authors: dict[str, str] = {}
    tree: dict[str, str] = {}

    def commit(word: str, changes: Sequence[str], contents: Mapping[str, str]) -> str:
        subject, author = f"{draw.one(_VERBS)} {word}", draw.one(people)
        tree.update({names[role]: contents[role] for role in changes})
        commits[subject] = repository.commit(tree, subject, author, list(commits.values())[-1:])
        authors[subject] = author
        return subject

    first = draw.shuffled(_ROLES)
    commit(words[0], first[:3], old)
    commit(words[1], first[3:5], old)
    tagged = commit(words[2], first[5:], old)
    later = draw.shuffled(("undone", "restored", "edited"))
    subjects = {role: commit(word, [role], new) for role, word in zip(later, words[3:], strict=False)}
    tip = list(commits.values())[-1]
    repository.refs["refs/heads/main"] = tip
    repository.refs[f"refs/tags/{version}"] = commits[tagged]
    pending = {role: draw.body(2) for role in ("edited", "discarded")}
    return _World(
        repo=repo,
        files=repository.start_files({names[role]: text for role, text in pending.items()}),
        tip=tip,
        rest=(names["rest"], new["rest"]),
        names=names,
        old=old,
        new=new,
        pending=pending,
        subjects=subjects,
        commits=commits,
        authors=authors,
        version=version,
        tagged=tagged,
    )


def _revert(draw: Draw, world: _World) -> Part:
    repo, name, subject = world.repo, world.names["undone"], world.subjects["undone"]
    other = next(known for known in list(world.subjects.values())[::-1] if known != subject)
    text = world.old["undone"]
    return parts.part(
        draw,
        (
            f'revert the commit "{subject}" with a new commit',
            f'undo the commit "{subject}" by reverting it, in a new commit',
        ),
        do=(f'git -C {repo} revert --no-edit ":/{subject}"',),
        instead=(
            f'cd {repo} && git show -R ":/{subject}" | git apply',
            f"git commit -m 'undo {subject}' {name} && cd ..",
        ),
        wrong=(
            (f'git -C {repo} revert --no-edit ":/{other}"',),
            (f'git -C {repo} reset --hard ":/{subject}"',),
            (f'git -C {repo} revert --no-commit ":/{subject}"',),
        ),
        goals=(
            c.check("file reverted", world.here(name, text), world.kept),
            c.check("revert committed", world.here(name, text), world.committed(name, text)),
            c.check("only this reverted", world.committed(name, text), world.untouched),
        ),
    )


def _restore(draw: Draw, world: _World) -> Part:
    repo, name, text = world.repo, world.names["restored"], world.old["restored"]
    return parts.part(
        draw,
        (
            f"bring {name} back to its content at tag {world.version} and commit it",
            f"commit {name} with the content that it had at tag {world.version}",
        ),
        do=(f"git -C {repo} checkout {world.version} -- {name}", f"git -C {repo} commit -m 'restore {name}'"),
        instead=(f"cd {repo} && git show {world.version}:{name} > {name}", f"git commit -m old {name} && cd .."),
        wrong=(
            (f"git -C {repo} checkout {world.version}",),
            (f"git -C {repo} reset --hard {world.version}",),
            (f"git -C {repo} checkout {world.version} -- {name}",),
        ),
        goals=(
            c.check("content restored", world.here(name, text), world.kept),
            c.check("content committed", world.here(name, text), world.committed(name, text)),
            c.check("only this restored", world.committed(name, text), world.untouched),
        ),
    )


def _commit(draw: Draw, world: _World) -> Part:
    repo, name, text, message = world.repo, world.names["edited"], world.pending["edited"], " ".join(draw.words(2))
    other = world.names["discarded"]

    def said(view: StateView) -> bool:
        return any(commit.subject == message for commit in world.git(view).commits_with("main", name, text))

    def alone(view: StateView) -> bool:
        return not world.git(view).commits_with("main", other, world.pending["discarded"])

    done = world.committed(name, text)
    return parts.part(
        draw,
        (
            f'commit the pending change of {name}, and only that, with the message "{message}"',
            f'commit only the modified file {name}; message: "{message}"',
        ),
        do=(f"git -C {repo} commit -m '{message}' {name}",),
        instead=(f"cd {repo} && git add {name}", f'git commit -q -m "{message}" && cd ..'),
        wrong=(
            (f"git -C {repo} commit -a -m '{message}'",),
            (f"git -C {repo} commit -m '{message.split()[0]}' {name}",),
            (f"git -C {repo} add {name}",),
        ),
        goals=(
            c.check("change committed", done),
            c.check("message", done, said),
            c.check("nothing else committed", done, said, alone, world.untouched),
        ),
    )


def _discard(draw: Draw, world: _World) -> Part:
    repo, name, text = world.repo, world.names["discarded"], world.new["discarded"]
    right = (world.here(name, text), world.committed(name, text))
    return parts.part(
        draw,
        (f"discard the uncommitted change of {name}", f"throw away the uncommitted change in the file {name}"),
        do=(f"git -C {repo} checkout -- {name}",),
        instead=(f"cd {repo} && git show HEAD:{name} > {name} && cd ..",),
        wrong=(
            (f"git -C {repo} commit -m drop {name}",),
            (f"rm {repo}/{name}",),
            (f"git -C {repo} checkout -- .",),
        ),
        goals=(
            c.check("change discarded", *right),
            c.check("history as it was", *right, world.kept, world.untouched),
            c.check("other change kept", *right, _edit_lives(world)),
        ),
    )


def _edit_lives(world: _World) -> c.Condition:
    """The pending edit is in the working tree, or was since committed."""
    return world.here(world.names["edited"], world.pending["edited"])


def _rename(draw: Draw, world: _World) -> Part:
    repo, name, text = world.repo, world.names["renamed"], world.new["renamed"]
    new = draw.file(name.rpartition(".")[2])
    moved = (world.here(new, text), c.absent(f"{repo}/{name}"))
    return parts.part(
        draw,
        (f"rename {name} to {new} and commit", f"give {name} the name {new}, and commit that"),
        do=(f"git -C {repo} mv {name} {new}", f"git -C {repo} commit -m 'rename {name}'"),
        instead=(f"cd {repo} && mv {name} {new} && git add {new}", f"git rm -q {name} && git commit -m move && cd .."),
        wrong=(
            (f"cp {repo}/{name} {repo}/{new}", f"git -C {repo} add {new}", f"git -C {repo} commit -m copy"),
            (f"git -C {repo} mv {name} {new}",),
        ),
        goals=(
            c.check("file renamed", *moved),
            c.check("new name committed", *moved, world.committed(new, text)),
            c.check("old name gone", *moved, world.committed(new, text), world.committed(name, None), world.untouched),
        ),
    )


def _remove(draw: Draw, world: _World) -> Part:
    repo, name = world.repo, world.names["removed"]
    gone = c.absent(f"{repo}/{name}")
    return parts.part(
        draw,
        (f"remove {name} and commit that", f"delete the tracked file {name} in a commit"),
        do=(f"git -C {repo} rm {name}", f"git -C {repo} commit -m 'remove {name}'"),
        instead=(f"rm {repo}/{name}", f"git -C {repo} commit -m gone {name}"),
        wrong=((f"rm {repo}/{name}",), (f"git -C {repo} rm --cached {name}",), (f"git -C {repo} rm {name}",)),
        goals=(
            c.check("file removed", gone, world.kept, world.untouched),
            c.check("removal committed", gone, world.committed(name, None), world.untouched),
            c.check("removed in a new commit", gone, world.committed(name, None), world.kept),
        ),
    )


def _tag(draw: Draw, world: _World) -> Part:
    repo, subject, tag = world.repo, draw.one(list(world.commits)[:2]), f"{draw.word()}-{draw.number(1, 9)}"

    right = world.tag_at(tag, world.commits[subject])
    return parts.part(
        draw,
        (f'tag the commit "{subject}" as {tag}', f'put the tag {tag} on the commit "{subject}"'),
        do=(f'git -C {repo} tag {tag} ":/{subject}"',),
        instead=(f"git -C {repo} tag -a -m note {tag} $(git -C {repo} log --format=%H --grep='{subject}')",),
        wrong=((f"git -C {repo} tag {tag}",), (f'git -C {repo} branch {tag} ":/{subject}"',)),
        goals=(
            c.check("tag made", world.has(f"refs/tags/{tag}")),
            c.check("tag on the commit", right),
            c.check("history kept", right, world.kept, world.untouched),
        ),
    )


def _query(
    draw: Draw, world: _World, what: Sequence[str], answer: str, do: str, instead: str, wrong: Sequence[str]
) -> Part:
    """Writes an answer of the history to a file outside of the repository."""
    kept = ("from kept history", c.all_of(world.kept, world.untouched))
    return parts.query(
        draw,
        world,
        what,
        lambda path: c.has_lines(path, answer.split("\n")),
        kept,
        do=do,
        instead=instead,
        wrong=wrong,
    )


def _author(draw: Draw, world: _World) -> Part:
    subject, git = draw.one(list(world.commits)[:3]), f"git -C {world.repo}"
    who = world.authors[subject]
    return _query(
        draw,
        world,
        (f'the author name of the commit "{subject}"',),
        who,
        f'{git} log -1 --format=%an ":/{subject}"',
        f"git log --format='%s/%an' | grep '^{subject}/' | cut -d/ -f2",
        (f'{git} log -1 --format=%ae ":/{subject}"', f'{git} log -1 --format="%an <%ae>" ":/{subject}"'),
    )


def _hash(draw: Draw, world: _World) -> Part:
    subject, git = draw.one(list(world.commits)[:3]), f"git -C {world.repo}"
    return _query(
        draw,
        world,
        (f'the full hash of the commit "{subject}"',),
        world.commits[subject],
        f'{git} rev-parse ":/{subject}"',
        f"git log --format='%H %s' | grep ' {subject}$' | cut -c 1-40",
        (f"{git} rev-parse HEAD", f'{git} rev-parse --short ":/{subject}"'),
    )


def _count(draw: Draw, world: _World) -> Part:
    who, git = draw.one(sorted(set(world.authors.values()))), f"git -C {world.repo}"
    count = sum(author == who for author in world.authors.values())
    return _query(
        draw,
        world,
        (f"the number of commits by {who}", f"how many commits {who} has made (a number)"),
        str(count),
        f"{git} log --author={who} --oneline | wc -l",
        f"git log --format=%an | grep -c '^{who}$'",
        (f"{git} log --author={who} --format=%s", f"{git} log --author={who} --oneline | wc -w"),
    )


def _old_content(draw: Draw, world: _World) -> Part:
    role, git = draw.one(("restored", "undone", "edited")), f"git -C {world.repo}"
    name, version = world.names[role], world.version
    return _query(
        draw,
        world,
        (f"the content of {name} at tag {version}", f"what {name} held at tag {version}"),
        world.old[role].removesuffix("\n"),
        f"{git} show {version}:{name}",
        f"git cat-file blob {version}:{name}",
        (f"{git} show {version} -- {name}", f"cat {world.repo}/{world.names['rest']}"),
    )


def _tagged_subject(draw: Draw, world: _World) -> Part:
    git, version = f"git -C {world.repo}", world.version
    return _query(
        draw,
        world,
        (f"the subject of the commit that tag {version} names", f"the message of the commit tagged {version}"),
        world.tagged,
        f"{git} log -1 --format=%s {version}",
        f"git show -s --format=%B {version} | head -n 1",
        (f"{git} log -1 --format=%s", f"{git} log --format=%s {version}"),
    )


def _touched(draw: Draw, world: _World) -> Part:
    role, git = draw.one(("restored", "undone", "edited")), f"git -C {world.repo}"
    subject = world.subjects[role]
    return _query(
        draw,
        world,
        (f'the name of the file that the commit "{subject}" changed',),
        world.names[role],
        f'{git} log -1 --grep="^{subject}$" --name-only --format=',
        f'git diff-tree --no-commit-id --name-only -r $(git log -1 --grep="^{subject}$" --format=%H)',
        (f'{git} log -1 --grep="^{subject}$" --name-only', f"ls {world.repo}"),
    )


_Kind = Callable[[Draw, _World], Part]
_CHANGES: tuple[_Kind, ...] = (_revert, _restore, _commit, _rename, _remove, _tag)
_QUERIES: tuple[_Kind, ...] = (_author, _hash, _count, _old_content, _tagged_subject, _touched)


def _easy(draw: Draw) -> Scenario:
    return parts.scenario(draw, _world, [draw.one((*_CHANGES, _discard, *_QUERIES))], 3)


def _medium(draw: Draw) -> Scenario:
    kinds = [draw.one((*_CHANGES, _discard)), *draw.some(_QUERIES, draw.number(1, 2))]
    return parts.scenario(draw, _world, draw.shuffled(kinds), 2)


def _hard(draw: Draw) -> Scenario:
    kinds = [*draw.some(_CHANGES, draw.number(2, 3)), *draw.some(_QUERIES, draw.number(2, 2))]
    return parts.scenario(draw, _world, draw.shuffled(kinds), 2)


FAMILY = Family(
    "git_history",
    levels(_easy, _medium, _hard),
    "ask a git history; revert, restore, commit, discard, rename and tag",
)
