r"""The sound measure of a partial proof. Invariant: it rises only when one of the statement's own conjuncts is proved.

The measure splits along the statement's own structure and nothing else. The root stands for the whole statement. Where
a goal is still the statement itself (only its own variables and premises were introduced, or facts added beside it)
and is a conjunction or an equivalence, splitting it gives its two sides a *position* each. Every other tactic that
makes several goals (a case analysis, an induction, `have`, `suffices`, `apply`, a swap, a duplicate) leaves all of
them at the position that they came from. A position is proved when no goal is open at it, above it or below it; the
measure is the share of the positions that are proved, each weighted by the statement alone.

So a branch that the agent made counts nothing by itself, however easy: the least of the branches counts. Why a credited
conjunct `A` of `A ∧ B` is a theorem: let E be what stands beside the statement where it was split, in each place. There
`E → A` was proved, and open is at most `E → B`; all else is closed, so that from all the `E → B` follows the statement.
If they all hold, so does A. If one does not, its E holds, and so does A. (Induction is left out of the tactics after
which a goal is still the statement itself: its hypothesis would bring in the other conjunct, unproved.)

Goals are followed by what the prover says of them before and after each tactic. Where that is ambiguous (a tactic that
works on several goals, goals that read the same), they get the position that all candidates lie below, which counts
less, never more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from agentenv.envs.theorem.provers.base import Goal, ProofState

__all__ = ["Account", "Share", "charge", "measure", "opened"]

Position = tuple[int, ...]

# What may act on more than the goal in front, or do several things in one.
_COMPOUND = re.compile(
    r";|=>|\|\||\n|ltac:|\b(?:all_goals|any_goals|first|try|repeat|do|iterate|solve|progress|once|case|on_goal|by)\b"
)
_INTRODUCE = re.compile(r"(?:intros?|rintro)\b[^%]*")
_SPLIT = re.compile(
    r"(?:e?split|e?constructor|apply And\.intro|apply Iff\.intro|apply conj|refine ⟨\?_, ?\?_⟩"
    r"|refine \(conj _ _\)|refine And\.intro \?_ \?_)"
)
# Tactics that add to, or work on, what stands beside the target. Only children with the very same target count.
_BESIDE = re.compile(
    r"(?:destruct|rcases|cases|by_cases|obtain|have|assert|pose proof|specialize|clear|injection|subst|inversion)\b.*"
    r"|(?:simpl|cbn|unfold|rewrite|rw|simp|simp only|apply|eapply|change|symmetry)\b.* (?:in|at) [\w' ]+"
)
_OWN_PROOF = re.compile(r"\bby\b.*", re.DOTALL)
_WEAKER = frozenset({"→", "->", "∨", "\\/", "↔", "<->", "=>", "forall", "exists", "fun", "let", "match", "if"})
_MARKS = re.compile(r"^(?:[·.{-]\s*)+|\s*\.$")


@dataclass(frozen=True)
class Share:
    """What an open goal stands for.

    Args:
        position: Which part of the statement must wait for it: the sides (0, 1) taken from the root on.
        own: Whether the goal is that part of the statement itself.
    """

    position: Position = ()
    own: bool = False


@dataclass(frozen=True)
class Account:
    """What the open goals of a state stand for: a value.

    Args:
        shares: One for each open goal, in order.
        hidden: What the hidden goals stand for; None where there are none.
        weights: For each position that was split, how its two sides are weighted.
    """

    shares: tuple[Share, ...]
    hidden: Position | None = None
    weights: Mapping[Position, tuple[int, int]] = field(default_factory=dict, hash=False)


def opened(state: ProofState) -> Account:
    """The account of a state before the first tactic."""
    hidden = () if state.hidden else None
    return Account(tuple(Share((), own=len(state.goals) == 1) for _ in state.goals), hidden)


def measure(account: Account) -> Fraction:
    """The share of the statement that is proved, in [0, 1]; 1 only where no goal is open.

    >>> measure(Account((Share((), True),)))
    Fraction(0, 1)
    >>> measure(Account((Share((1,), True),), weights={(): (1, 2)}))
    Fraction(1, 3)
    """
    waiting = {share.position for share in account.shares}
    if account.hidden is not None:
        waiting.add(account.hidden)
    return _proved((), waiting, account.weights)


def _proved(position: Position, waiting: set[Position], weights: Mapping[Position, tuple[int, int]]) -> Fraction:
    here = {place for place in waiting if place[: len(position)] == position}
    if not here:
        return Fraction(1)
    if position in here or position not in weights:
        return Fraction(0)
    left, right = weights[position]
    parts = left * _proved((*position, 0), here, weights) + right * _proved((*position, 1), here, weights)
    return parts / (left + right)


def charge(account: Account, before: ProofState, tactic: str, after: ProofState) -> Account:
    """The account after a tactic, from what the prover said of the goals before and after it."""
    kept, gone = _matched(before.goals, after.goals)
    made = [index for index in range(len(after.goals)) if index not in kept]
    places = [account.shares[index].position for index in gone]
    if not gone:
        # Goals from nowhere were hidden before, or are copies of any of the open ones.
        places = [share.position for share in account.shares] + [account.hidden or ()] * bool(before.hidden)
    origin = _above(places)
    weights = account.weights
    shares: dict[int, Share] = {new: _merged(account.shares, old) for new, old in kept.items()}
    parent = account.shares[gone[0]] if len(gone) == 1 else Share(origin)
    if gone == [0] and parent.own:
        children, split = _own_children(before.goals[0], tactic, [after.goals[index] for index in made], parent)
        if split is not None:
            weights = {parent.position: split, **weights}
    else:
        children = [Share(origin)] * len(made)
    shares.update(zip(made, children, strict=True))
    return Account(
        tuple(shares[index] for index in range(len(after.goals))), _hidden(account, before, after, origin), weights
    )


def _hidden(account: Account, before: ProofState, after: ProofState, origin: Position) -> Position | None:
    if not after.hidden:
        return None
    if after.hidden <= before.hidden:
        return account.hidden if account.hidden is not None else origin
    return origin if account.hidden is None else _above([origin, account.hidden])


def _matched(before: Sequence[Goal], after: Sequence[Goal]) -> tuple[dict[int, list[int]], list[int]]:
    """For each goal after that was there before, the goals it may have been; and the goals that are gone."""
    rest = len(before) - 1
    names = [_identity(goal) for goal in before]
    then = [_identity(goal) for goal in after]
    if rest >= 0 and len(then) >= rest and then[len(then) - rest :] == names[1:]:
        if len(then) == len(names) and then == names:
            return {index: [index] for index in range(len(then))}, []
        if names[0] not in then[: len(then) - rest]:
            # The usual case: the tactic worked on the goal in front only.
            return {len(then) - rest + index: [1 + index] for index in range(rest)}, [0]
    kept = {index: [old for old, one in enumerate(names) if one == name] for index, name in enumerate(then)}
    kept = {index: candidates for index, candidates in kept.items() if candidates}
    gone = [old for old, name in enumerate(names) if names.count(name) > then.count(name)]
    return kept, gone


def _identity(goal: Goal) -> str:
    return goal.key or goal.text


def _merged(shares: Sequence[Share], candidates: Sequence[int]) -> Share:
    """The share of a goal that may be any of the candidates."""
    found = [shares[index] for index in candidates]
    if all(share == found[0] for share in found):
        return found[0]
    return Share(_above(share.position for share in found))


def _above(positions: Iterable[Position]) -> Position:
    """The position that all of them lie at or below."""
    found = list(positions)
    if not found:
        return ()
    first, last = min(found), max(found)
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[: min(len(first), len(last))] if length is None else first[:length]


def _own_children(
    goal: Goal, tactic: str, children: Sequence[Goal], parent: Share
) -> tuple[list[Share], tuple[int, int] | None]:
    """What the children of a goal that is a part of the statement stand for, and the weights if it was split."""
    plain = _MARKS.sub("", tactic.strip())
    lost = [Share(parent.position)] * len(children)
    if ";" in plain:
        return lost, None
    if plain.startswith(("have ", "assert ")):
        plain = _OWN_PROOF.sub("", plain)
    if _COMPOUND.search(plain):
        return lost, None
    if _INTRODUCE.fullmatch(plain):
        return [parent] * len(children), None
    if _SPLIT.fullmatch(plain):
        split = _sides(goal.target, [child.target for child in children])
        if split is not None:
            return [Share((*parent.position, side), own=True) for side in (0, 1)], split
        return lost, None
    if _BESIDE.fullmatch(plain):
        return [Share(parent.position, own=child.target == goal.target) for child in children], None
    return lost, None


def _sides(target: str, children: Sequence[str]) -> tuple[int, int] | None:
    """The weights of the two sides of a conjunction or equivalence, if the children are exactly its sides."""
    if len(children) != 2:
        return None
    whole, left, right = (" ".join(text.split()) for text in (target, *children))
    for sign in ("∧", "/\\"):
        if whole in {f"{a} {sign} {b}" for a in (left, f"({left})") for b in (right, f"({right})")}:
            return 1, 1 + _conjuncts(right, sign)
    for sign, arrow in (("↔", "→"), ("<->", "->")):
        for at in (found.start() for found in re.finditer(re.escape(f" {sign} "), whole)):
            a, b = whole[:at], whole[at + len(sign) + 2 :]
            if left == f"{a} {arrow} {b}" and right == f"{b} {arrow} {a}":
                return 1, 1
    return None


def _conjuncts(text: str, sign: str) -> int:
    """How many `sign`s a target has at its top level, where nothing there binds more weakly."""
    depth, found = 0, 0
    for word in re.findall(r"[()\[\]{}⟨⟩]|[^\s()\[\]{}⟨⟩]+", text):
        if word in "([{⟨":
            depth += 1
        elif word in ")]}⟩":
            depth -= 1
        elif depth == 0 and (word in _WEAKER or word.startswith(("∀", "∃"))):
            return 0
        elif depth == 0 and word == sign:
            found += 1
    return found
