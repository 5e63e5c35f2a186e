"""`UnicodeText`: a Gymnasium space that holds every real string, in vector environments and shared memory too.

Gymnasium's own ``Text`` wants a fixed charset and comes back blank through shared memory; this space refuses only
lone surrogates (which no UTF-8 file, socket or tokenizer can carry) and strings longer than `max_bytes`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_char
from multiprocessing.sharedctypes import SynchronizedString
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)

from agentenv.errors import ConfigurationError, TextTooLongError

__all__ = ["BatchedText", "UnicodeText", "is_encodable"]

_HEADER_BYTES = 8
_SAMPLE_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789 .,;:-_/\\'\"|&<>(){}[]$#!?*~`\n\t",
    "äöüßéèñçøåœ ΑΒΓαβγ Дж",
    "日本語中文字한국어",
    "∀∃∈ℝ→⟨⟩∑√≤≠",
    "😀🚀🔥👩‍🔬",
    "\x00\x01\x07\x1b\x7f",
)


def is_encodable(text: str) -> bool:
    """Whether the text is free of lone surrogates.

    >>> is_encodable("emoji 😀"), is_encodable("\\ud800")
    (True, False)
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class UnicodeText(Space[str]):
    """All strings of at most `max_bytes` bytes of UTF-8.

    Args:
        max_bytes: The longest member, in UTF-8 bytes; shared memory reserves this much per environment.
        seed: Seeds `sample`.

    Raises:
        ConfigurationError: If `max_bytes` is not positive.

    >>> space = UnicodeText()
    >>> "" in space, "日本 😀 \\n \\x00" in space, "\\ud800" in space, b"bytes" in space
    (True, True, False, False)
    """

    def __init__(self, max_bytes: int = 1 << 18, seed: int | np.random.Generator | None = None) -> None:
        if max_bytes < 1:
            raise ConfigurationError(f"max_bytes must be positive, got {max_bytes}")
        self.max_bytes = int(max_bytes)
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no fixed-size vector form."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random string of mixed alphabets (masks are not supported)."""
        if mask is not None or probability is not None:
            raise ConfigurationError("UnicodeText.sample takes neither mask nor probability")
        length = int(self.np_random.integers(0, 24))
        pieces: list[str] = []
        for _ in range(length):
            alphabet = _SAMPLE_ALPHABETS[int(self.np_random.integers(len(_SAMPLE_ALPHABETS)))]
            pieces.append(alphabet[int(self.np_random.integers(len(alphabet)))])
        text = "".join(pieces)
        while len(text.encode("utf-8")) > self.max_bytes:
            text = text[:-1]
        return text

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string without lone surrogates that fits."""
        return isinstance(x, str) and is_encodable(x) and len(x.encode("utf-8")) <= self.max_bytes

    def to_jsonable(self, sample_n: Any) -> list[str]:
        """Strings are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: Any) -> list[str]:
        """The inverse of `to_jsonable`."""
        return list(sample_n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_bytes == self.max_bytes

    def __hash__(self) -> int:
        return hash(("UnicodeText", self.max_bytes))

    def __repr__(self) -> str:
        return f"UnicodeText(max_bytes={self.max_bytes})"


class BatchedText(Space[tuple[str, ...]]):
    """What a vector environment's text spaces batch to: a tuple of `n` strings.

    >>> ("a", "b") in BatchedText(UnicodeText(), 2)
    True
    """

    def __init__(self, single: UnicodeText, n: int, seed: int | np.random.Generator | None = None) -> None:
        self.single, self.n = single, n
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no fixed-size vector form."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> tuple[str, ...]:
        """`n` independent samples of the single space."""
        seeds = self.np_random.integers(0, 2**31 - 1, size=self.n)
        return tuple(UnicodeText(self.single.max_bytes, seed=int(s)).sample(mask, probability) for s in seeds)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a sequence of `n` members of the single space."""
        return isinstance(x, (tuple, list, SharedTexts)) and len(x) == self.n and all(text in self.single for text in x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchedText) and (other.single, other.n) == (self.single, self.n)

    def __hash__(self) -> int:
        return hash((self.single, self.n))

    def __repr__(self) -> str:
        return f"BatchedText({self.single!r}, {self.n})"


@batch_space.register(UnicodeText)
def _batch_space(space: UnicodeText, n: int = 1) -> BatchedText:
    return BatchedText(space, n, seed=copy.deepcopy(space.np_random))  # sampling one must not advance the other


def _iterate(space: BatchedText, items: Iterable[str]) -> Iterator[str]:
    return iter(tuple(items))


iterate.register(BatchedText, _iterate)


@create_empty_array.register(UnicodeText)
def _create_empty_array(space: UnicodeText, n: int = 1, fn: Any = np.zeros) -> tuple[str, ...]:
    return ("",) * n


@concatenate.register(UnicodeText)
def _concatenate(space: UnicodeText, items: Iterable[str], out: Any) -> tuple[str, ...]:
    return tuple(items)


@create_shared_memory.register(UnicodeText)
def _create_shared_memory(space: UnicodeText, n: int = 1, ctx: Any = None) -> SynchronizedString:
    import multiprocessing

    context = ctx if ctx is not None else multiprocessing
    return context.Array(c_char, n * (_HEADER_BYTES + space.max_bytes))


@write_to_shared_memory.register(UnicodeText)
def _write_to_shared_memory(space: UnicodeText, index: int, value: str, shared_memory: SynchronizedString) -> None:
    encoded = value.encode("utf-8")
    if len(encoded) > space.max_bytes:
        raise TextTooLongError(
            f"a text of {len(encoded)} bytes does not fit the {space.max_bytes} bytes that shared memory holds; make "
            f"the space with UnicodeText(max_bytes={len(encoded)}) or more, or shorten observations (LimitObservation)"
        )
    start = index * (_HEADER_BYTES + space.max_bytes)
    view = memoryview(shared_memory.get_obj()).cast("B")
    view[start : start + _HEADER_BYTES] = len(encoded).to_bytes(_HEADER_BYTES, "little")
    view[start + _HEADER_BYTES : start + _HEADER_BYTES + len(encoded)] = encoded


@read_from_shared_memory.register(UnicodeText)
def _read_from_shared_memory(space: UnicodeText, shared_memory: SynchronizedString, n: int = 1) -> SharedTexts:
    return SharedTexts(space, shared_memory, n)


class SharedTexts(Sequence[str]):
    """The texts in shared memory, decoded when looked at; a deep copy is a plain tuple.

    `AsyncVectorEnv` reads its shared memory once, when it is made, and hands out (copies of) what it got: as for
    arrays, that has to be a live view.
    """

    def __init__(self, space: UnicodeText, shared_memory: SynchronizedString, n: int) -> None:
        self._slot_bytes = _HEADER_BYTES + space.max_bytes
        self._memory = shared_memory
        self._n = n

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._n)))
        if not -self._n <= index < self._n:
            raise IndexError(f"text {index} of {self._n}")
        view = memoryview(self._memory.get_obj()).cast("B")
        start = (index % self._n) * self._slot_bytes
        length = int.from_bytes(view[start : start + _HEADER_BYTES], "little")
        return bytes(view[start + _HEADER_BYTES : start + _HEADER_BYTES + length]).decode("utf-8")

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"SharedTexts({tuple(self)!r})"
