"""Reads a git repository that an agent left. Invariant: an object counts only when its content has its hash.

Refs and loose objects are read from their files, without a process. Only where objects were packed does git itself
run, on a throw-away fork, once for all checks that share `Objects`; what it prints is checked in the same way.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from dataclasses import dataclass, field

from agentenv.errors import NotInStateError
from agentenv.progress import StateView
from agentenv.tasks.terminal.families import _checks as c

__all__ = ["Commit", "GitView", "Objects", "Tag"]

_MOST_BYTES = 1 << 20
_MOST_BYTES_OF_ALL = 32 << 20
_MOST_COMMITS = 300
_MOST_FILES = 300
_HASH = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Commit:
    """A commit's tree, parents and message."""

    tree: str
    parents: tuple[str, ...]
    message: str

    @property
    def subject(self) -> str:
        """The message's first line."""
        return self.message.strip().partition("\n")[0].strip()


@dataclass(frozen=True)
class Tag:
    """What a tag names, and its message (None: a lightweight tag)."""

    commit: str
    message: str | None


@dataclass
class Objects:
    """Objects of one repository, read through one view: hash to kind and body."""

    loose: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    packed: dict[str, tuple[str, bytes]] | None = None
    size: int = 0

    def add(self, name: str, kind: str, body: bytes) -> None:
        """Keeps a loose object. Raises `NotInStateError` for more than a check reads."""
        self.size += len(body)
        if self.size > _MOST_BYTES_OF_ALL:
            raise NotInStateError("the repository holds more than a check reads")
        self.loose[name] = kind, body


class GitView:
    """The repository at a path. Every method raises `NotInStateError` for what is missing or malformed.

    Args:
        view: A state.
        where: The repository's directory.
        objects: What was read of it through this very view; by default nothing.
    """

    def __init__(self, view: StateView, where: str, objects: Objects | None = None) -> None:
        self._view = view
        self._where = where
        self._git = f"{where}/.git"
        self._objects = objects if objects is not None else Objects()

    def head_branch(self) -> str:
        """The branch that is checked out."""
        text = self._text("HEAD")
        if not text.startswith("ref: refs/heads/"):
            raise NotInStateError(f"{self._where} has no branch checked out")
        return text.removeprefix("ref: refs/heads/")

    def has(self, ref: str) -> bool:
        """Whether the full ref name (`refs/heads/main`) exists."""
        try:
            return bool(self.tip(ref))
        except NotInStateError:
            return False

    def tip(self, ref: str) -> str:
        """The hash that a full ref name leads to."""
        for _ in range(5):
            text = self._text(ref) if self._view.exists(f"{self._git}/{ref}") else self._packed(ref)
            if _HASH.fullmatch(text):
                return text
            if not text.startswith("ref: refs/"):
                break
            ref = text.removeprefix("ref: ")
        raise NotInStateError(f"{ref} of {self._where} leads nowhere")

    def branch(self, name: str) -> str:
        """The hash of a branch's tip."""
        return self.tip(f"refs/heads/{name}")

    def tag(self, name: str) -> Tag:
        """What a tag names, lightweight or annotated."""
        tip = self.tip(f"refs/tags/{name}")
        kind, body = self._object(tip)
        if kind != "tag":
            return Tag(tip, None)
        head, _, message = body.decode("utf-8", "replace").partition("\n\n")
        found = re.match(r"object ([0-9a-f]{40})\ntype commit\n", head)
        if found is None:
            raise NotInStateError(f"tag {name} names no commit")
        return Tag(found[1], message.strip())

    def commit(self, name: str) -> Commit:
        """The commit of a hash."""
        head, _, message = self._body(name, "commit").decode("utf-8", "replace").partition("\n\n")
        lines = [line.split(" ") for line in head.split("\n")]
        trees = [line[1] for line in lines if line[0] == "tree" and len(line) == 2]
        parents = tuple(line[1] for line in lines if line[0] == "parent" and len(line) == 2)
        if len(trees) != 1:
            raise NotInStateError(f"commit {name} is malformed")
        return Commit(trees[0], parents, message)

    def history(self, name: str) -> dict[str, Commit]:
        """A commit and all its ancestors, by hash."""
        found: dict[str, Commit] = {}
        todo = [name]
        while todo:
            name = todo.pop()
            if name in found:
                continue
            if len(found) >= _MOST_COMMITS:
                raise NotInStateError(f"{self._where} has more commits than a check reads")
            found[name] = self.commit(name)
            todo.extend(found[name].parents)
        return found

    def files(self, commit: str) -> dict[str, bytes]:
        """Path to content of every file in a commit's tree."""
        found: dict[str, bytes] = {}
        entries, todo = 0, [("", self.commit(commit).tree)]
        while todo:
            above, tree = todo.pop()
            rest = self._body(tree, "tree")
            while rest:
                head, _, rest = rest.partition(b"\0")
                mode, _, raw = head.partition(b" ")
                name, path = rest[:20].hex(), f"{above}{raw.decode('utf-8', 'replace')}"
                rest = rest[20:]
                entries += 1  # of directories too: few trees can name each other very often
                if entries > _MOST_FILES or path.count("/") > 20:
                    raise NotInStateError(f"{self._where} has more files than a check reads")
                if mode == b"40000":
                    todo.append((f"{path}/", name))
                else:
                    found[path] = self._body(name, "blob") if mode in (b"100644", b"100755") else b""
        return found

    def commits_with(self, branch: str, path: str, content: str) -> list[Commit]:
        """The commits in a branch's history in which the file at a path has this content."""
        history = self.history(self.branch(branch))
        return [commit for name, commit in history.items() if self.files(name).get(path) == content.encode()]

    def _body(self, name: str, kind: str) -> bytes:
        found, body = self._object(name)
        if found != kind:
            raise NotInStateError(f"{name} is a {found}, not a {kind}")
        return body

    def _object(self, name: str) -> tuple[str, bytes]:
        if name not in self._objects.loose:
            if not _HASH.fullmatch(name):
                raise NotInStateError(f"{name[:60]!r} is no object name")
            path = f"{self._git}/objects/{name[:2]}/{name[2:]}"
            if not self._view.exists(path):
                return self._packed_object(name)
            self._objects.add(name, *self._loose_object(name, path))
        return self._objects.loose[name]

    def _loose_object(self, name: str, path: str) -> tuple[str, bytes]:
        inflate = zlib.decompressobj()
        try:
            data = inflate.decompress(c.regular(self._view, path), _MOST_BYTES)
        except zlib.error as fault:
            raise NotInStateError(f"object {name} is damaged: {fault}") from fault
        head, _, body = data.partition(b"\0")
        kind, _, size = head.partition(b" ")
        if hashlib.sha1(data, usedforsecurity=False).hexdigest() != name or size != str(len(body)).encode():
            raise NotInStateError(f"object {name} is damaged")
        return kind.decode("ascii", "replace"), body

    def _packed_object(self, name: str) -> tuple[str, bytes]:
        if self._objects.packed is None:
            self._objects.packed = self._packs()
        found = self._objects.packed.get(name)
        if found is None:
            raise NotInStateError(f"object {name} is not in {self._where}")
        return found

    def _packs(self) -> dict[str, tuple[str, bytes]]:
        if not any(name.endswith(".pack") for name in self._view.listdir(f"{self._git}/objects/pack")):
            return {}
        script = f"git -C '{self._where}' cat-file --batch --batch-all-objects | base64 -w 0"
        try:
            rest = base64.b64decode(self._view.run(script).stdout, validate=True)
        except (binascii.Error, ValueError):
            return {}  # longer than a check reads, or written by something else: nothing in it counts
        found: dict[str, tuple[str, bytes]] = {}
        while rest:
            head, _, rest = rest.partition(b"\n")
            match = re.fullmatch(rb"([0-9a-f]{40}) ([a-z]+) ([0-9]{1,9})", head)
            if match is None:
                break
            size = int(match[3])
            body, rest = rest[:size], rest[size + 1 :]
            name, kind = match[1].decode(), match[2].decode()
            data = f"{kind} {size}\0".encode() + body
            if hashlib.sha1(data, usedforsecurity=False).hexdigest() == name:
                found[name] = (kind, body)
        return found

    def _text(self, name: str) -> str:
        return c.text_of(self._view, f"{self._git}/{name}").strip()

    def _packed(self, ref: str) -> str:
        for line in c.lines_of(self._view, f"{self._git}/packed-refs"):
            name, _, found = line.partition(" ")
            if found == ref:
                return name
        raise NotInStateError(f"{ref} is not in {self._where}")
