"""First-order unification up to definitional equality. Unknowns are variables with negative numbers."""

from __future__ import annotations

from agentenv.tasks.theorem.mini import kernel
from agentenv.tasks.theorem.mini.context import Goal
from agentenv.tasks.theorem.mini.errors import LimitError
from agentenv.tasks.theorem.mini.kernel import NAT, Term
from agentenv.tasks.theorem.mini.steps import Hole, Step

__all__ = ["MAX_WORK", "Unifier", "has_unknowns"]

MAX_WORK = 50_000


def has_unknowns(term: Term) -> bool:
    """Whether some unknown is left in a term."""
    return any(number < 0 for number in term.free)


class Unifier:
    """What unknowns stand for, found so far. Work is bounded: `LimitError` beyond `MAX_WORK` comparisons."""

    def __init__(self) -> None:
        self.found: dict[int, Term] = {}
        self.work = 0

    def resolve(self, term: Term) -> Term:
        """The term with everything that is known put in for unknowns."""
        while True:
            known = [number for number in term.free if number < 0 and number in self.found]
            if not known:
                return term
            for number in sorted(known):
                value = self.found[number]
                self._count(term.size)
                term = kernel.substitute(term, kernel.variable(number, kernel.Type((), value.base)), value)

    def unify(self, left: Term, right: Term, computing: bool = True) -> bool:
        """Makes two terms equal if it can; what was known before is as it was if it cannot.

        Args:
            left: A term.
            right: Another.
            computing: Whether arithmetic may be computed and ¬ unfolded, as Lean does by default; else terms must be
                the same except that n + 1, `Nat.succ n` and numerals fit each other inside.
        """
        before = dict(self.found)
        if self._unify(left, right, computing):
            return True
        self.found = before
        return False

    def _count(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise LimitError("this takes too many comparisons")

    def _unify(self, left: Term, right: Term, computing: bool) -> bool:
        self._count(1)
        left, right = self._head(left), self._head(right)
        if left == right:
            return True
        for unknown, value in ((left, right), (right, left)):
            if unknown.kind == "free" and unknown.data[0] < 0:
                return self._bind(unknown, value)
        if left.base != right.base:
            return False
        known = dict(self.found)
        if self._same_head(left, right):
            pairs = zip(left.arguments, right.arguments, strict=True)
            if all(self._unify(one, other, computing) for one, other in pairs):
                return True
            self.found = known
        if left.base == NAT and self._unify_offsets(left, right, computing):
            return True
        self.found = known
        return computing and self._unfold(left, right)

    def _head(self, term: Term) -> Term:
        while term.kind == "free" and term.data[0] in self.found:
            term = self.found[term.data[0]]
        return term

    def _same_head(self, left: Term, right: Term) -> bool:
        if left.kind != right.kind or len(left.arguments) != len(right.arguments):
            return False
        return left.data[0] == right.data[0] if left.kind in ("all", "ex") else left.data == right.data

    def _bind(self, unknown: Term, value: Term) -> bool:
        value = self.resolve(value)
        if value.base != unknown.base or value.loose or unknown.data[0] in value.free:
            return value == unknown
        self.found[unknown.data[0]] = value
        return True

    def _unify_offsets(self, left: Term, right: Term, computing: bool) -> bool:
        """n + 1, Nat.succ n and numerals: takes the same number of successors off both."""
        (one, i), (other, j) = _offset(left), _offset(right)
        common = min(i, j)
        return common > 0 and self._unify(_shifted(one, i - common), _shifted(other, j - common), computing)

    def _unfold(self, left: Term, right: Term) -> bool:
        for one, other in ((left, right), (right, left)):
            if one.kind in ("not", "ne") and other.kind == "imp":
                return self._unify(unfolded(one), other, True)
        if left.kind == "ne" and right.kind == "not":
            return self._unify(unfolded(left), unfolded(right), True)
        if left.kind == "not" and right.kind == "ne":
            return self._unify(unfolded(left), unfolded(right), True)
        left, right = self.resolve(left), self.resolve(right)
        self._count(left.size + right.size)
        return kernel.normal(left) == kernel.normal(right)

    def zonk(self, step: Step | Hole) -> Step | Hole:
        """A step with all that is known put in, premises first (without recursion: chains can be long)."""
        made: dict[int, Step | Hole] = {}
        stack: list[tuple[Step | Hole, bool]] = [(step, False)]
        while stack:
            item, ready = stack.pop()
            if id(item) in made:
                continue
            if isinstance(item, Hole) or item.closed:
                made[id(item)] = item
            elif ready:
                premises = tuple(made[id(premise)] for premise in item.premises)
                arguments = tuple(self.resolve(part) if isinstance(part, Term) else part for part in item.arguments)
                made[id(item)] = Step(item.rule, premises, arguments)
            else:
                stack.append((item, True))
                stack.extend((premise, False) for premise in item.premises)
        return made[id(step)]

    def zonk_goal(self, goal: Goal) -> Goal:
        """A goal with all that is known put in."""
        return Goal(goal.number, goal.locals, self.resolve(goal.target), goal.tag)


def unfolded(term: Term) -> Term:
    """¬p as p → False, and a ≠ b as a = b → False; any other term as it is."""
    if term.kind == "not":
        return kernel.apply("imp", term.arguments[0], kernel.apply("false"))
    if term.kind == "ne":
        return kernel.apply("imp", kernel.apply("eq", *term.arguments), kernel.apply("false"))
    return term


def _offset(term: Term) -> tuple[Term, int]:
    count = 0
    while True:
        if term.kind == "succ":
            term, count = term.arguments[0], count + 1
        elif term.kind == "add" and term.arguments[1].kind == "num":
            term, count = term.arguments[0], count + term.arguments[1].data
        elif term.kind == "num":
            return kernel.numeral(0), count + term.data
        else:
            return term, count


def _shifted(rest: Term, count: int) -> Term:
    if rest.kind == "num":
        return kernel.numeral(count)
    return kernel.apply("add", rest, kernel.numeral(count)) if count else rest
