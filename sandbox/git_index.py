"""Git's index without what only the clock and the disk decide. Invariant: what git itself acts on is all there.

An index entry repeats the file's times, device, inode, owner and size, so that git can skip unchanged files. Two equal
work trees therefore have different index bytes; a state hash over them would tell equal states apart.
"""

from __future__ import annotations

__all__ = ["canonical_index"]

_HEADER = 12
_STAT = 24  # ctime, mtime, device, inode: 6 words, before the mode
_MODE = 4
_OWNER_AND_SIZE = 12
_HASH = 20
_FIXED = _STAT + _MODE + _OWNER_AND_SIZE + _HASH + 2
_EXTENDED = 0x4000
_CACHES = (b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT")


def canonical_index(content: bytes) -> bytes | None:
    """Mode, object, flags and path of each entry, and the extensions that are not caches; None for anything else.

    Reads versions 2 and 3 (git's defaults); the caller hashes other bytes as they are.

    >>> canonical_index(b"not an index") is None
    True
    """
    if len(content) < _HEADER + _HASH or content[:4] != b"DIRC":
        return None
    version, count = int.from_bytes(content[4:8], "big"), int.from_bytes(content[8:12], "big")
    if version not in (2, 3):
        return None
    end = len(content) - _HASH
    kept = [content[:_HEADER]]
    position = _HEADER
    for _ in range(count):
        start = position
        if start + _FIXED > end:
            return None
        flags_at = start + _FIXED - 2
        extended = int.from_bytes(content[flags_at : flags_at + 2], "big") & _EXTENDED
        name_at = flags_at + (4 if extended else 2)
        name_end = content.find(b"\0", name_at, end)
        if name_end < 0:
            return None
        mode_at = start + _STAT
        object_at = mode_at + _MODE + _OWNER_AND_SIZE
        kept += [content[mode_at : mode_at + _MODE], content[object_at : name_end + 1]]
        position = start + (name_end - start + 8) // 8 * 8
    while position < end:
        size = int.from_bytes(content[position + 4 : position + 8], "big")
        after = position + 8 + size
        if after > end:
            return None
        if content[position : position + 4] not in _CACHES:
            kept.append(content[position:after])
        position = after
    return b"".join(kept)
