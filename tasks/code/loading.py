"""The task set that a string names. Invariant: a string decides the tasks, nothing else does.

    bundled         (options: category, difficulty)

Options follow a `?`, as in an URL: `bundled?category=strings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import parse_qsl

from agentenv.errors import ConfigurationError, UnknownTaskError, did_you_mean
from agentenv.tasks.code.base import CodeTasks
from agentenv.tasks.code.bundled.loading import BundledTasks

__all__ = ["KNOWN", "load"]

#: Names of task sets, and the options of each.
KNOWN = {"bundled": ("category", "difficulty")}
_KEPT = 8


def load(tasks: str, *, difficulty: str | None = None) -> CodeTasks:
    """The task set that a string names; the same object again for the same arguments.

    Args:
        tasks: See the module's own text.
        difficulty: Only tasks of this band, "1" (easiest) to "5"; the same as the option of this name.

    Raises:
        UnknownTaskError: If no task set has this name.
        ConfigurationError: On an unknown option or value, or a difficulty that is given twice.

    >>> load("bundled?category=strings").task("strings-slug").split in ("train", "val", "test")
    True
    >>> load("bundeld")
    Traceback (most recent call last):
    agentenv.errors.UnknownTaskError: tasks='bundeld' is not a known task set. Did you mean 'bundled'? Known: bundled
    """
    name, _, tail = tasks.partition("?")
    if name not in KNOWN:
        raise UnknownTaskError(
            f"tasks={tasks!r} is not a known task set.{did_you_mean(name, KNOWN)} Known: {', '.join(KNOWN)}"
        )
    pairs = _options(name, tail)
    if difficulty is not None:
        if any(key == "difficulty" for key, _ in pairs):
            raise ConfigurationError(f"difficulty={difficulty!r} is given in tasks={tasks!r}, too")
        pairs.append(("difficulty", difficulty))
    return _bundled(tuple(sorted(pairs)))


# A task set is made of immutable values, so that one may serve every environment of a process.
@lru_cache(maxsize=_KEPT)
def _bundled(pairs: Sequence[tuple[str, str]]) -> BundledTasks:
    return BundledTasks(**dict(pairs))


def _options(name: str, tail: str) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(tail, keep_blank_values=True, strict_parsing=bool(tail))
    except ValueError:
        raise ConfigurationError(f"options {tail!r} of {name!r} are not of the form key=value&key=value") from None
    if len(dict(pairs)) != len(pairs):
        raise ConfigurationError(f"an option stands twice in {tail!r}")
    for key, value in pairs:
        if key not in KNOWN[name]:
            raise ConfigurationError(
                f"option {key!r} of {name!r} is not known.{did_you_mean(key, KNOWN[name])} "
                f"Known: {', '.join(KNOWN[name])}"
            )
        if not value:
            raise ConfigurationError(f"option {key!r} of {name!r} has no value")
    return pairs
