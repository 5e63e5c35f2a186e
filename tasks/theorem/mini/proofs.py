"""Proof terms: `exact ⟨h.2, fun x => h.1 x⟩`. Elaborates them against a formula, or finds the formula they prove."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from agentenv.tasks.theorem.mini import kernel
from agentenv.tasks.theorem.mini.context import Local, Locals, declare, find, names_of
from agentenv.tasks.theorem.mini.errors import KernelError, MiniError
from agentenv.tasks.theorem.mini.formulas import Supply, elaborate, formula
from agentenv.tasks.theorem.mini.kernel import NAT, PROP, Term, Type
from agentenv.tasks.theorem.mini.patterns import Item, swapped, take_apart
from agentenv.tasks.theorem.mini.printing import show_term
from agentenv.tasks.theorem.mini.steps import Hole, Proof, Step, assume
from agentenv.tasks.theorem.mini.trees import Pattern, Tactic, Tree
from agentenv.tasks.theorem.mini.unify import Unifier, has_unknowns, unfolded

__all__ = ["Elaborator", "Lemma", "Surroundings"]

_CHECKED_ONLY = frozenset({"fun", "tuple", "by", "hole"})
_FIELDS = {  # of a hypothesis of this kind: the lemma that takes it as its first explicit argument
    ("and", "1"): "And.left", ("and", "left"): "And.left", ("and", "2"): "And.right", ("and", "right"): "And.right",
    ("and", "symm"): "And.symm", ("or", "elim"): "Or.elim", ("or", "symm"): "Or.symm", ("false", "elim"): "False.elim",
    ("iff", "1"): "Iff.mp", ("iff", "mp"): "Iff.mp", ("iff", "2"): "Iff.mpr", ("iff", "mpr"): "Iff.mpr",
    ("iff", "symm"): "Iff.symm", ("iff", "trans"): "Iff.trans", ("eq", "symm"): "Eq.symm", ("eq", "trans"): "Eq.trans",
    ("ne", "symm"): "Ne.symm", ("ex", "elim"): "Exists.elim",
}  # fmt: skip
_POLYMORPHIC = {"Eq.symm": 1, "Eq.trans": 2, "Ne.symm": 1, "Eq.refl": 1, "congrArg": 2, "Exists.intro": 2,
                "Exists.elim": 2}  # fmt: skip


@dataclass(frozen=True)
class Lemma:
    """A proved statement of the library: its formula, how many leading quantifiers are implicit, and its proof."""

    formula: Term
    implicit: int
    proof: Step


class Surroundings(Protocol):
    """What an elaborator needs of the tactics around it."""

    def lemma(self, name: str) -> Lemma | None:
        """The library's lemma of a name."""
        ...

    def run_block(self, tactics: tuple[Tactic, ...], locals: Locals, target: Term, at: Tree) -> Proof:
        """The proof of a `by` block, which must leave no goal."""
        ...

    def new_goal(self, locals: Locals, target: Term, at: Tree) -> Hole:
        """What `?_` leaves to prove; raises where it may not stand."""
        ...


class Elaborator:
    """Elaborates one proof term; unknowns of all its parts live in one unifier."""

    def __init__(self, surroundings: Surroundings, supply: Supply, unifier: Unifier | None = None) -> None:
        self.around = surroundings
        self.supply = supply
        self.unifier = unifier or Unifier()

    # Checking against a formula

    def check(self, tree: Tree, locals: Locals, expected: Term) -> Proof:
        """The proof of a formula.

        Raises:
            MiniError: If the tree proves something else, or nothing.
        """
        try:
            return self._check(tree, locals, self.unifier.resolve(expected))
        except KernelError as wrong:
            raise MiniError(str(wrong), tree.line, tree.column) from None

    def _check(self, tree: Tree, locals: Locals, expected: Term) -> Proof:
        match tree.kind:
            case "fun":
                return self._function(tree, tree.value, locals, expected)
            case "tuple":
                return self._tuple(tree, locals, expected)
            case "by":
                self._known(tree, expected)
                return self.around.run_block(tree.value, locals, expected, tree)
            case "hole" if tree.value == "?_":
                return self.around.new_goal(locals, expected, tree)
            case "hole" | "number" | "op" | "not" | "all" | "ex":
                raise MiniError("a proof is needed here", tree.line, tree.column)
            case "name" if tree.value in ("rfl", "Iff.rfl", "Eq.refl") and find(locals, tree.value) is None:
                return self._reflexive(tree, locals, expected)
        proof, found = self._spine(tree, locals, expected)
        return self.fit(proof, found, expected, tree, locals)

    def fit(self, proof: Proof, found: Term, expected: Term, at: Tree, locals: Locals) -> Proof:
        """The proof as one of the expected formula, if the two are equal by definition."""
        if not self.unifier.unify(found, expected):
            found, expected = self.unifier.resolve(found), self.unifier.resolve(expected)
            names = names_of(locals)
            message = f"type mismatch: this proves {show_term(found, names)}, not {show_term(expected, names)}"
            raise MiniError(message, at.line, at.column)
        return self.converted(proof, found, expected)

    def converted(self, proof: Proof, found: Term, expected: Term) -> Proof:
        """A conversion step, unless the formulas are the same already."""
        found, expected = self.unifier.resolve(found), self.unifier.resolve(expected)
        return proof if found == expected else Step("convert", (proof,), (expected,))

    def _known(self, tree: Tree, expected: Term) -> None:
        if has_unknowns(expected):
            raise MiniError("what is to be proved here is not known yet", tree.line, tree.column)

    def _reflexive(self, tree: Tree, locals: Locals, expected: Term) -> Proof:
        kind = "iff" if tree.value == "Iff.rfl" else expected.kind if tree.value == "rfl" else "eq"
        if expected.kind != kind or kind not in ("eq", "iff"):
            raise MiniError(f"'{tree.value}' proves no such formula", tree.line, tree.column)
        left, right = expected.arguments
        if not self.unifier.unify(left, right):
            names = names_of(locals)
            message = f"the sides differ: {show_term(left, names)} and {show_term(right, names)}"
            raise MiniError(message, tree.line, tree.column)
        return self.converted(*reflexive(self.unifier.resolve(left)), expected)

    def _function(self, tree: Tree, patterns: tuple[Pattern, ...], locals: Locals, expected: Term) -> Proof:
        if not patterns:
            return self.check(tree.parts[0], locals, expected)
        opened = unfolded(self.unifier.resolve(expected))
        first, rest = patterns[0], patterns[1:]
        if opened.kind == "all":
            if first.kind != "name":
                raise MiniError("a variable can only be given a name", first.line, first.column)
            variable = self.supply.variable(opened.data[0])
            name = opened.data[1] if first.name == "_" else first.name
            local = Local(name, Type((), variable.base), variable.data[0], accessible=first.name != "_")
            inner = declare(locals, local)
            body = self._function(tree, rest, inner, kernel.instantiate(opened, variable))
            return Step("all_intro", (body,), (variable, opened.data[1]))
        if opened.kind != "imp":
            names = names_of(locals)
            raise MiniError(f"'fun' does not prove {show_term(opened, names)}", tree.line, tree.column)
        premise, conclusion = opened.arguments
        if first.kind == "rfl" or (first.kind != "name" and has_unknowns(premise)):
            raise MiniError("this pattern cannot stand here", first.line, first.column)
        item: Item = (assume(premise), premise, first)
        body = take_apart(
            locals, conclusion, (item,), lambda inner, goal, _: self._function(tree, rest, inner, goal), self.supply
        )
        return self.converted(Step("imp_intro", (body,), (premise,)), opened, expected)

    def _tuple(self, tree: Tree, locals: Locals, expected: Term) -> Proof:
        expected = self.unifier.resolve(expected)
        parts = tree.parts
        if expected.kind == "true" and not parts:
            return Step("true_intro")
        if expected.kind not in ("and", "iff", "ex") or len(parts) < 2:
            names = names_of(locals)
            message = f"⟨...⟩ of {len(parts)} does not prove {show_term(expected, names)}"
            raise MiniError(message, tree.line, tree.column)
        second = parts[1] if len(parts) == 2 else Tree("tuple", parts[1].line, parts[1].column, parts[1:])
        if expected.kind == "iff":
            if len(parts) > 2:
                raise MiniError("an equivalence has two directions", tree.line, tree.column)
            left, right = expected.arguments
            forward = self.check(parts[0], locals, kernel.apply("imp", left, right))
            return Step("iff_intro", (forward, self.check(second, locals, kernel.apply("imp", right, left))))
        if expected.kind == "and":
            left, right = expected.arguments
            return Step("and_intro", (self.check(parts[0], locals, left), self.check(second, locals, right)))
        witness = self.individual(parts[0], locals, expected.data[0])
        return self.existential(expected, witness, self.check(second, locals, kernel.instantiate(expected, witness)))

    def existential(self, expected: Term, witness: Term, proof: Proof) -> Step:
        """From an instance, the existential."""
        return Step("ex_intro", (proof,), (expected, witness))

    def individual(self, tree: Tree, locals: Locals, base: str) -> Term:
        """A term of a base type; `_` is an unknown."""
        return elaborate(tree, locals, self.supply, base, self.supply.unknown)

    # Finding what a term proves

    def infer(self, tree: Tree, locals: Locals) -> tuple[Proof, Term]:
        """A proof and the formula it proves."""
        try:
            proof, found = self._spine(tree, locals, None)
        except KernelError as wrong:
            raise MiniError(str(wrong), tree.line, tree.column) from None
        return proof, self.unifier.resolve(found)

    def _spine(self, tree: Tree, locals: Locals, expected: Term | None) -> tuple[Proof, Term]:
        head, arguments = (tree.parts[0], tree.parts[1:]) if tree.kind == "apply" else (tree, ())
        if head.kind == "name":
            return self._named(head, arguments, locals, expected)
        if head.kind == "field":
            proof, found = self._spine(head.parts[0], locals, None)
            return self._field(proof, found, head, (head.value,), arguments, locals, expected)
        proof, found = self._atom(head, locals)
        return self._apply(proof, found, arguments, locals, expected, tree)

    def _atom(self, tree: Tree, locals: Locals) -> tuple[Proof, Term]:
        if tree.kind == "apply":
            return self._spine(tree, locals, None)
        if tree.kind == "typed" and len(tree.parts) == 2:
            needed = formula(tree.parts[1], locals, self.supply)
            return self.check(tree.parts[0], locals, needed), needed
        if tree.kind == "show":
            needed = formula(tree.parts[0], locals, self.supply)
            return self.check(tree.parts[1], locals, needed), needed
        raise MiniError("what this proves cannot be found: say it with (... : p)", tree.line, tree.column)

    def _named(
        self, head: Tree, arguments: tuple[Tree, ...], locals: Locals, expected: Term | None
    ) -> tuple[Proof, Term]:
        name, *fields = head.value.split(".")
        local = find(locals, name)
        if local is not None:
            if local.formula is None:
                raise MiniError(f"'{head.value}' is not a proof", head.line, head.column)
            return self._field(assume(local.formula), local.formula, head, tuple(fields), arguments, locals, expected)
        if head.value in _POLYMORPHIC:
            return self._polymorphic(head.value, head, arguments, locals, expected)
        lemma = self.around.lemma(head.value)
        if lemma is None:
            raise MiniError(f"unknown identifier '{head.value}'", head.line, head.column)
        proof, found = self.opened(lemma)
        return self._apply(proof, found, arguments, locals, expected, head)

    def opened(self, lemma: Lemma) -> tuple[Proof, Term]:
        """A lemma with unknowns for what is implicit in it."""
        proof: Proof = lemma.proof
        found = lemma.formula
        for _ in range(lemma.implicit):
            unknown = self.supply.unknown(found.data[0])
            proof, found = Step("all_elim", (proof,), (unknown,)), kernel.instantiate(found, unknown)
        return proof, found

    def _field(
        self, proof: Proof, found: Term, head: Tree, fields: tuple[str, ...], arguments: tuple[Tree, ...],
        locals: Locals, expected: Term | None,
    ) -> tuple[Proof, Term]:  # fmt: skip
        for position, field in enumerate(fields):
            last = position == len(fields) - 1
            found = self.unifier.resolve(found)
            name = _FIELDS.get((found.kind, field))
            if name is None:
                shown = show_term(found, names_of(locals))
                raise MiniError(f"a proof of {shown} has no field '{field}'", head.line, head.column)
            more, wanted = (arguments, expected) if last else ((), None)
            stand_in = Tree("given", head.line, head.column, (), (proof, found))
            if name in _POLYMORPHIC:
                proof, found = self._polymorphic(name, head, (stand_in, *more), locals, wanted)
                continue
            lemma = self.around.lemma(name)
            if lemma is None:
                raise MiniError(f"unknown field '{field}'", head.line, head.column)
            proof, found = self._apply(*self.opened(lemma), (stand_in, *more), locals, wanted, head)
        return (proof, found) if fields else self._apply(proof, found, arguments, locals, expected, head)

    def _apply(
        self, proof: Proof, found: Term, arguments: tuple[Tree, ...], locals: Locals, expected: Term | None, at: Tree
    ) -> tuple[Proof, Term]:
        """Applies a proof to arguments: their formulas first, so that the expected one can settle unknowns early."""
        premises: list[tuple[int, Tree, Term]] = []
        links: list[tuple[str, Term]] = []
        for argument in arguments:
            opened = unfolded(self.unifier.resolve(found))
            if opened != found:
                links.append(("convert", opened))
            if opened.kind == "all":
                value = self._value(argument, locals, opened.data[0])
                links.append(("all_elim", value))
                found = kernel.instantiate(opened, value)
            elif opened.kind == "imp":
                premises.append((len(links), argument, opened.arguments[0]))
                links.append(("imp_elim", opened))
                found = opened.arguments[1]
            else:
                shown = show_term(opened, names_of(locals))
                raise MiniError(f"a proof of {shown} takes no argument", argument.line, argument.column)
        if expected is not None and (has_unknowns(found) or has_unknowns(expected)):
            self.unifier.unify(found, expected)
        proved = self._premises(premises, locals)
        for position, (rule, term) in enumerate(links):
            if rule == "imp_elim":
                proof = Step("imp_elim", (proof, proved[position]))
            else:
                proof = Step(rule, (proof,), (term,))
        return proof, self.unifier.resolve(found)

    def _value(self, tree: Tree, locals: Locals, base: str) -> Term:
        if tree.kind == "given":
            raise MiniError("a term is needed here, not a proof", tree.line, tree.column)
        return self.individual(tree, locals, base)

    def _premises(self, premises: list[tuple[int, Tree, Term]], locals: Locals) -> dict[int, Proof]:
        """Proves premises, those last that need their formula known."""
        proved: dict[int, Proof] = {}
        waiting = []
        for position, tree, needed in premises:
            if tree.kind in _CHECKED_ONLY and has_unknowns(self.unifier.resolve(needed)):
                waiting.append((position, tree, needed))
            else:
                proved[position] = self._premise(tree, locals, needed)
        for position, tree, needed in waiting:
            proved[position] = self._premise(tree, locals, needed)
        return proved

    def _premise(self, tree: Tree, locals: Locals, needed: Term) -> Proof:
        if tree.kind == "given":
            proof, found = tree.value
            return self.fit(proof, found, needed, tree, locals)
        return self.check(tree, locals, needed)

    # Equality and existence, for any type

    def _polymorphic(
        self, name: str, head: Tree, arguments: tuple[Tree, ...], locals: Locals, expected: Term | None
    ) -> tuple[Proof, Term]:
        if len(arguments) < _POLYMORPHIC[name]:
            raise MiniError(f"'{name}' needs {_POLYMORPHIC[name]} arguments", head.line, head.column)
        count = _POLYMORPHIC[name]
        made: tuple[Proof, Term] = getattr(self, f"_{name.replace('.', '_').lower()}")(
            arguments[:count], locals, expected if len(arguments) == count else None, head
        )
        if len(arguments) == count:
            return made
        return self._apply(made[0], made[1], arguments[count:], locals, expected, head)

    def _equation(self, tree: Tree, locals: Locals, hint: Term | None = None) -> tuple[Proof, Term]:
        if tree.kind == "given":
            proof, found = tree.value
        elif hint is not None:
            return self.check(tree, locals, hint), self.unifier.resolve(hint)
        else:
            proof, found = self.infer(tree, locals)
        found = self.unifier.resolve(found)
        if found.kind != "eq":
            raise MiniError("an equation is needed here", tree.line, tree.column)
        return proof, found

    def _eq_refl(self, arguments: tuple[Tree, ...], locals: Locals, _: Term | None, head: Tree) -> tuple[Proof, Term]:
        if arguments[0].kind == "given":
            raise MiniError("a term is needed here", head.line, head.column)
        return reflexive(elaborate(arguments[0], locals, self.supply, None, self.supply.unknown))

    def _eq_symm(
        self, arguments: tuple[Tree, ...], locals: Locals, expected: Term | None, _: Tree
    ) -> tuple[Proof, Term]:
        hint = kernel.apply("eq", *expected.arguments[::-1]) if expected is not None and expected.kind == "eq" else None
        proof, found = self._equation(arguments[0], locals, hint)
        left, right = found.arguments
        return swapped(proof, left, self.supply), kernel.apply("eq", right, left)

    def _ne_symm(self, arguments: tuple[Tree, ...], locals: Locals, _: Term | None, head: Tree) -> tuple[Proof, Term]:
        proof, found = arguments[0].value if arguments[0].kind == "given" else self.infer(arguments[0], locals)
        if found.kind != "ne":
            raise MiniError("a proof of a ≠ b is needed here", head.line, head.column)
        left, right = found.arguments
        equation = kernel.apply("eq", right, left)
        refuted = Step("imp_elim", (Step("convert", (proof,), (unfolded(found),)),
                                    swapped(assume(equation), right, self.supply)))  # fmt: skip
        result = kernel.apply("ne", right, left)
        return Step("convert", (Step("imp_intro", (refuted,), (equation,)),), (result,)), result

    def _eq_trans(self, arguments: tuple[Tree, ...], locals: Locals, _: Term | None, head: Tree) -> tuple[Proof, Term]:
        first, one = self._equation(arguments[0], locals)
        second, other = self._equation(arguments[1], locals)
        return self.chained(first, one, second, other, head)

    def chained(self, first: Proof, one: Term, second: Proof, other: Term, at: Tree) -> tuple[Proof, Term]:
        """From a = b and b = c (or with ↔), a = c."""
        (left, middle), (same, right) = one.arguments, other.arguments
        if one.kind != other.kind or not self.unifier.unify(middle, same):
            raise MiniError("the second equation does not start where the first ends", at.line, at.column)
        needed = kernel.apply(one.kind, left, same)
        place = self.supply.variable(left.base)
        body = self.converted(first, one, needed)
        result = kernel.apply(one.kind, left, right)
        return Step("rewrite", (second, body), (place, kernel.apply(one.kind, left, place))), result

    def _congrarg(self, arguments: tuple[Tree, ...], locals: Locals, _: Term | None, head: Tree) -> tuple[Proof, Term]:
        function, equation = arguments
        proof, found = self._equation(equation, locals)
        left, right = found.arguments
        place = self.supply.variable(left.base)
        image = self._image(function, locals, place)
        if image.base == PROP:
            raise MiniError("congrArg is for functions here, not predicates", function.line, function.column)
        at_left = kernel.substitute(image, place, left)
        body = Step("refl", (), (at_left,))
        result = kernel.apply("eq", at_left, kernel.substitute(image, place, right))
        return Step("rewrite", (proof, body), (place, kernel.apply("eq", at_left, image))), result

    def _image(self, function: Tree, locals: Locals, place: Term) -> Term:
        if function.kind == "name" and function.value == "Nat.succ" and place.base == NAT:
            return kernel.apply("succ", place)
        local = find(locals, function.value) if function.kind == "name" else None
        if local is not None and local.type is not None and local.type.arguments == (place.base,):
            return local.term(place)
        if function.kind == "fun" and len(function.value) == 1 and function.value[0].kind == "name":
            name = function.value[0].name
            inner = declare(locals, Local(name, Type((), place.base), place.data[0], accessible=name != "_"))
            return elaborate(function.parts[0], inner, self.supply)
        raise MiniError("a function of one argument is needed here", function.line, function.column)

    def _exists_intro(
        self, arguments: tuple[Tree, ...], locals: Locals, expected: Term | None, head: Tree
    ) -> tuple[Proof, Term]:
        expected = self.unifier.resolve(expected) if expected is not None else None
        if expected is None or expected.kind != "ex":
            raise MiniError(
                "'Exists.intro' can only prove an existential that is expected here", head.line, head.column
            )
        return self._tuple(Tree("tuple", head.line, head.column, arguments), locals, expected), expected

    def _exists_elim(
        self, arguments: tuple[Tree, ...], locals: Locals, expected: Term | None, head: Tree
    ) -> tuple[Proof, Term]:
        given, function = arguments
        proof, found = given.value if given.kind == "given" else self.infer(given, locals)
        found = self.unifier.resolve(found)
        if found.kind != "ex" or expected is None or function.kind != "fun" or len(function.value) < 2:
            raise MiniError("'Exists.elim' needs an existential, 'fun x hx => ...' and a known goal", head.line,
                            head.column)  # fmt: skip
        self._known(head, expected)
        first, second = function.value[:2]
        rest = replace(function, value=function.value[2:]) if len(function.value) > 2 else function.parts[0]
        pattern = Pattern("tuple", first.line, first.column, parts=(first, second))
        finish = lambda inner, goal, _: self.check(rest, inner, goal)  # noqa: E731
        return take_apart(locals, expected, ((proof, found, pattern),), finish, self.supply), expected


def reflexive(term: Term) -> tuple[Step, Term]:
    """A proof of t = t, or of p ↔ p, and the formula."""
    if term.base == PROP:
        same = Step("imp_intro", (assume(term),), (term,))
        return Step("iff_intro", (same, same)), kernel.apply("iff", term, term)
    return Step("refl", (), (term,)), kernel.apply("eq", term, term)
