"""What agents without a model do in an environment: the ends of every leaderboard, declared by the environment itself.

Invariant: an action depends on what the agent was shown and on the generator, and on nothing that a grader knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Scripts", "some_words"]

_ENDS = 8


def some_words(text: str, rng: np.random.Generator, most: int = 3) -> Sequence[str]:
    """One to `most` words of a text at random, punctuation left out; "." of a text without any.

    >>> some_words("make it.", np.random.default_rng(0), 1) == ["it"]
    True
    """
    words = [stripped for word in text.split() if (stripped := word.strip("`'\".,:;!?()[]<>"))] or ["."]
    return [words[int(rng.integers(len(words)))] for _ in range(int(rng.integers(1, most + 1)))]


def _words_or_submit(observation: str, rng: np.random.Generator) -> str:
    return "submit" if rng.random() < 1 / _ENDS else " ".join(some_words(observation, rng))


@dataclass(frozen=True)
class Scripts:
    """How agents without a model act in an environment.

    Args:
        noop: What ends an episode, or lets it run out, with nothing done.
        random: An action at random, given the latest observation.
        careless: What a sensible agent does that takes no care, given the first and the latest observation; None where
            nobody wrote one.

    >>> Scripts().noop
    'submit'
    """

    noop: str = "submit"
    random: Callable[[str, np.random.Generator], str] = _words_or_submit
    careless: Callable[[str, str], str] | None = None
