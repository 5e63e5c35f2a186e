"""Git repositories made as start files. Invariant: the same bytes and hashes anywhere, whatever git or zlib is there.

Objects are written here, not by a git process: a start state then needs no setup, and checks know every hash.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence

from agentenv.tasks.terminal.scenario import StartFile

__all__ = ["Repository"]

_FIRST_COMMIT = 1_700_000_000
_APART = 5_400
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
Tree = Mapping[str, str]


class Repository:
    """A repository under construction; `main` is checked out.

    >>> repository = Repository("app")
    >>> first = repository.commit({"a.txt": "one"}, "add a", "ann")
    >>> repository.refs["refs/heads/main"] = first
    >>> [entry.path for entry in repository.start_files()][:2]
    ['app/.git/HEAD', 'app/.git/config']
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.refs: dict[str, str] = {}
        self.trees: dict[str, dict[str, str]] = {}
        self._objects: dict[str, bytes] = {}

    def commit(self, tree: Tree, subject: str, author: str, parents: Sequence[str] = ()) -> str:
        """Adds a commit of this whole tree (path to content), 90 minutes after the last one; returns its hash."""
        when = _FIRST_COMMIT + _APART * len(self.trees)
        person = f"{author} <{author}@example.com> {when} +0000"
        head = [f"tree {self._tree(tree)}", *(f"parent {parent}" for parent in parents)]
        text = "\n".join([*head, f"author {person}", f"committer {person}", "", subject, ""])
        name = self._store("commit", text.encode())
        self.trees[name] = dict(tree)
        return name

    def start_files(self, edits: Tree | None = None) -> tuple[StartFile, ...]:
        """The repository's files; `edits` are uncommitted changes of the working tree."""
        tree = self.trees[self.refs["refs/heads/main"]]
        git = f"{self.where}/.git"
        directories = [f"{git}/{name}" for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags")]
        objects = [StartFile(f"{git}/objects/{name[:2]}/{name[2:]}", data, 0o444) for name, data in self._sorted()]
        return (
            StartFile(f"{git}/HEAD", "ref: refs/heads/main\n"),
            StartFile(f"{git}/config", _CONFIG),
            StartFile(f"{git}/index", self._index(tree)),
            *map(StartFile, directories),
            *(StartFile(f"{git}/{ref}", f"{name}\n") for ref, name in self.refs.items()),
            *objects,
            *(StartFile(f"{self.where}/{path}", text) for path, text in {**tree, **(edits or {})}.items()),
        )

    def _sorted(self) -> list[tuple[str, bytes]]:
        return [(name, _stored(self._objects[name])) for name in sorted(self._objects)]

    def _store(self, kind: str, body: bytes) -> str:
        data = f"{kind} {len(body)}\0".encode() + body
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        self._objects[name] = data
        return name

    def _tree(self, tree: Tree) -> str:
        """Stores a flat tree or, through `/` in paths, a nested one."""
        inner: dict[str, dict[str, str]] = {}
        entries: list[tuple[str, str, str]] = []
        for path, text in tree.items():
            top, nested, rest = path.partition("/")
            if nested:
                inner.setdefault(top, {})[rest] = text
            else:
                entries.append((path, "100644", self._store("blob", text.encode())))
        entries += [(f"{name}/", "40000", self._tree(below)) for name, below in inner.items()]
        rows = [
            f"{mode} {name.rstrip('/')}\0".encode() + bytes.fromhex(object_name)
            for name, mode, object_name in sorted(entries)
        ]
        return self._store("tree", b"".join(rows))

    def _index(self, tree: Tree) -> bytes:
        """An index of the tree whose file times are unknown: git compares contents at its next look."""
        rows = []
        for path, text in sorted(tree.items()):
            name = path.encode()
            blob = bytes.fromhex(self._store("blob", text.encode()))
            entry = struct.pack(">10L20sH", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0, blob, len(name)) + name
            rows.append(entry + b"\0" * (8 - len(entry) % 8))
        data = b"DIRC" + struct.pack(">LL", 2, len(rows)) + b"".join(rows)
        return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _stored(data: bytes) -> bytes:
    """A zlib stream that stores its data as it is: compressors differ between machines, this does not."""
    size = len(data)
    return b"\x78\x01\x01" + struct.pack("<HH", size, size ^ 0xFFFF) + data + struct.pack(">L", zlib.adler32(data))
