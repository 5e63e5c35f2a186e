"""Reads the goals that Coq shows. Invariant: a goal may be shown as more than there is, never as less.

The numbers of goals are Coq's own and come in order; a text inside a goal that looks like a further goal breaks the
order, or adds one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentenv.envs.theorem.provers.base import Goal, TacticFailed

__all__ = ["Shown", "read_goal", "read_goals"]

_HEAD = re.compile(r"^(\d+) (?:focused )?goals?\b(.*)$", re.MULTILINE)
_ID = re.compile(r"\(ID (\d+)\)")
_SHELVED = re.compile(r"shelved: (\d+)")
_OTHER = re.compile(r"^goal (\d+) \(ID (\d+)\) is:$", re.MULTILINE)
_LINE = re.compile(r"^ *={10,} *$", re.MULTILINE)
_HYPOTHESIS = re.compile(r"  (\S.*?) :=? (.*)", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """What `Show.` said: the goals' own numbers, the goals (without hypotheses but for the first), the hidden ones."""

    ids: tuple[int, ...]
    goals: tuple[Goal, ...]
    hidden: int


def read_goals(output: str) -> Shown:
    r"""Reads the answer to `Show.`.

    Raises:
        TacticFailed: If it cannot be read.

    >>> shown = read_goals("2 goals (ID 7)\n  \n  n : nat\n  ====================\n  n = n\n\ngoal 2 (ID 8) is:\n True")
    >>> shown.ids, shown.goals[0].hypotheses, shown.goals[1].target, shown.hidden
    ((7, 8), (('n', 'nat'),), 'True', 0)
    """
    if "No more goals." in output.split("\n", 1)[0]:
        return Shown((), (), 0)
    head = _HEAD.search(output)
    if head is None:
        # Coq says so where nothing is left to do but evars, or goals given up.
        return Shown((), (), 1)
    others = list(_OTHER.finditer(output))
    first = _ID.search(head.group(2))
    numbers = [int(found.group(1)) for found in others]
    start = 2 if first is not None else 1
    focused = int(head.group(1))
    if numbers != list(range(start, start + len(numbers))) or len(numbers) + (first is not None) < focused:
        raise TacticFailed("the goals that it leaves cannot be told apart")
    if "remaining goals are on the shelf" in output[: head.start()]:
        return Shown((), (), focused)
    ids: list[int] = []
    goals: list[Goal] = []
    if first is not None:
        end = others[0].start() if others else len(output)
        ids.append(int(first.group(1)))
        goals.append(read_goal(output[head.end() : end].replace("*** Unfocused goals:", "")))
    for place, found in enumerate(others):
        end = others[place + 1].start() if place + 1 < len(others) else len(output)
        ids.append(int(found.group(2)))
        goals.append(read_goal(output[found.end() : end].replace("*** Unfocused goals:", "")))
    shelved = _SHELVED.search(head.group(2))
    return Shown(tuple(ids), tuple(goals), int(shelved.group(1)) if shelved else 0)


def read_goal(text: str) -> Goal:
    """One goal: hypotheses, a line, the target; or the target alone."""
    text = text.strip("\n")
    parts = _LINE.split(text, maxsplit=1)
    target = " ".join(parts[-1].split())
    shown = "\n".join(line.rstrip() for line in text.split("\n") if line.strip())
    if len(parts) == 1:
        return Goal((), target, f"  ============================\n  {target}")
    found = [_HYPOTHESIS.match(one) for one in re.split(r"\n(?=  \S)", f"\n{parts[0].strip(chr(10))}")]
    hypotheses = tuple((one.group(1).replace(",", ""), " ".join(one.group(2).split())) for one in found if one)
    return Goal(hypotheses, target, shown)
