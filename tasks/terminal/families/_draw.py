"""Drawing the parameters of one scenario. Invariant: everything comes from the one generator that was passed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from agentenv.errors import ConfigurationError, did_you_mean
from agentenv.tasks.terminal.families import _words
from agentenv.tasks.terminal.families._runs import Runs
from agentenv.tasks.terminal.scenario import DIFFICULTIES, Build, Scenario

__all__ = ["Draw", "levels"]

T = TypeVar("T")


class Draw:
    """Draws choices and names; no name of a scenario is drawn twice, or contains another one.

    `runs` is where the scenario's checks book what they run, so that all of it runs in one fork.

    The second half keeps tasks honest: replacing the word "log" must not touch a file called "catalog".

    >>> draw = Draw(np.random.default_rng(0))
    >>> draw.directory() != draw.directory()
    True
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.runs = Runs()
        self._used: list[str] = []

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float = 0.5) -> bool:
        """True with the given probability."""
        return float(self.rng.random()) < probability

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self.rng.integers(len(options)))]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """`count` options from different places of the sequence, in random order."""
        return [options[int(place)] for place in self.rng.permutation(len(options))[:count]]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All the options in random order."""
        return self.some(options, len(options))

    def until(self, make: Callable[[], T], good: Callable[[T], bool]) -> T:
        """The first value made that is good.

        Raises:
            ConfigurationError: When a thousand in a row are not.
        """
        for _ in range(1000):
            value = make()
            if good(value):
                return value
        raise ConfigurationError("no good value in 1000 draws: the condition can hardly ever hold")

    def new(self, words: Sequence[str]) -> str:
        """A word that neither holds, nor is held by, a word drawn before.

        Raises:
            ConfigurationError: When the list has no such word left.
        """
        free = [word for word in words if not any(word in used or used in word for used in self._used)]
        if not free:
            raise ConfigurationError(f"no unused word left of {len(words)}; used: {self._used}")
        word = self.one(free)
        self._used.append(word)
        return word

    def directory(self) -> str:
        """A new directory name."""
        return self.new(_words.DIRECTORIES)

    def stem(self) -> str:
        """A new file name without extension."""
        return self.new(_words.STEMS)

    def extension(self) -> str:
        """An extension, not necessarily new."""
        return self.one(_words.EXTENSIONS)

    def file(self, extension: str | None = None) -> str:
        """A new file name, with the given or a drawn extension."""
        return f"{self.stem()}.{extension or self.extension()}"

    def word(self) -> str:
        """A new ordinary word."""
        return self.new(_words.WORDS)

    def words(self, count: int) -> list[str]:
        """`count` new ordinary words."""
        return [self.word() for _ in range(count)]

    def lines(self, count: int, vocabulary: Sequence[str] | None = None) -> list[str]:
        """`count` different lines of three words, from the vocabulary or from eight new words."""
        known = list(vocabulary) if vocabulary is not None else self.words(8)
        lines: list[str] = []
        while len(lines) < count:
            line = " ".join(self.some(known, 3))
            if line not in lines:
                lines.append(line)
        return lines

    def body(self, count: int = 0) -> str:
        """A small text file's content: `count` lines (0: two to four), each ended by a newline."""
        return "".join(f"{line}\n" for line in self.lines(count or self.number(2, 4), self.some(_words.WORDS, 8)))


Level = Callable[[Draw], Scenario]


def levels(easy: Level, medium: Level, hard: Level) -> Build:
    """A family's `build` from one function a difficulty.

    Raises:
        ConfigurationError: From the returned function, for an unknown difficulty.
    """
    known = dict(zip(DIFFICULTIES, (easy, medium, hard), strict=True))

    def build(rng: np.random.Generator, difficulty: str) -> Scenario:
        if difficulty not in known:
            raise ConfigurationError(
                f"difficulty {difficulty!r} is not one of {DIFFICULTIES}.{did_you_mean(difficulty, DIFFICULTIES)}"
            )
        return known[difficulty](Draw(rng))

    return build
