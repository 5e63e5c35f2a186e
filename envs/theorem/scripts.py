"""What agents without a model do with a theorem (`agentenv.scripts`): nothing, tactics at random, and the obvious ones.

The careless one does what the goal's outermost sign says, and takes the first hypothesis that fits: enough for easy
propositions, and for no induction or choice of a side.
"""

from __future__ import annotations

import re

import numpy as np

from agentenv.scripts import Scripts

__all__ = ["THEOREM"]

_LEAN = (
    "intro h", "intro n", "constructor", "assumption", "rfl", "left", "right", "contradiction", "apply h", "exact h",
    "cases h", "exists 0", "exfalso",
)  # fmt: skip
_COQ = (
    "intros.", "split.", "assumption.", "reflexivity.", "left.", "right.", "contradiction.", "simpl.", "exists 0.",
    "exfalso.", "discriminate.",
)  # fmt: skip
_COQ_GOAL = re.compile(r"^ *={10,} *$", re.MULTILINE)


def _at_random(observation: str, rng: np.random.Generator) -> str:
    """Any of the usual tactics; `undo` one time in eight."""
    if rng.random() < 1 / 8:
        return "undo"
    known = _COQ if _COQ_GOAL.search(observation) else _LEAN
    return known[int(rng.integers(len(known)))]


def _carelessly(first: str, latest: str) -> str:
    """What the outermost sign of the first goal asks for."""
    shown = latest if re.search(r"^\d+ goals?:$", latest, re.MULTILINE) else first
    if "Error" in latest or "refused" in latest:
        return "restart"
    if _COQ_GOAL.search(shown):
        target = _COQ_GOAL.split(shown)[1].strip().split("\n\n")[0]
        if target.startswith("forall") or "->" in target:
            return "intros."
        return "split." if "/\\" in target or "<->" in target else "auto."
    found = re.search(r"⊢ (.*)", shown)
    target = found.group(1) if found else ""
    if target.startswith(("∀", "¬")) or "→" in target:
        return "intro h"
    if "∧" in target or "↔" in target:
        return "constructor"
    return "left" if "∨" in target else "rfl" if "=" in target else "assumption"


THEOREM = Scripts(noop="undo", random=_at_random, careless=_carelessly)
