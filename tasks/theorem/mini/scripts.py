"""Parsing of tactic scripts, by Lean's layout: one tactic a line, all of a block's lines in one column."""

from __future__ import annotations

from agentenv.tasks.theorem.mini.grammar import TermParser
from agentenv.tasks.theorem.mini.tokens import TACTICS, Token
from agentenv.tasks.theorem.mini.trees import Alternative, Pattern, Rewrite, Tactic, Tree

__all__ = ["parse_script"]

_BARE = frozenset({"constructor", "left", "right", "rfl", "contradiction", "exfalso", "assumption", "trivial"})
_BARE |= {"decide", "skip", "done"}
_ONE_TERM = frozenset({"exact", "apply", "refine", "show", "change", "specialize"})
_NAMES = frozenset({"intros", "rename_i", "subst", "revert", "clear"})


def parse_script(text: str) -> tuple[Tactic, ...]:
    """The tactics of a script.

    >>> [tactic.kind for tactic in parse_script("intro h; exact h")]
    ['intro', 'exact']
    """
    parser = _ScriptParser(text)
    tactics = parser.block(-1) if parser.token.kind != "end" else ()
    if parser.tokens[parser.at].kind != "end":
        raise parser.error("expected a tactic in the same column as the ones before", parser.tokens[parser.at])
    return tactics


class _ScriptParser(TermParser):
    def block(self, outer: int) -> tuple[Tactic, ...]:
        """Tactics in one column, to the right of the enclosing block."""
        start = self.tokens[self.at]
        if start.kind == "end" or (start.column <= outer):
            raise self.error("expected a tactic, indented more than the block around it", start)
        self.deeper()
        saved, self.column = self.column, start.column
        tactics = [*self._line()]
        while True:
            token = self.tokens[self.at]
            if token.kind == "end" or not token.first or token.column != start.column or token.text == "|":
                break
            tactics.extend(self._line())
        self.column = saved
        self.nesting -= 1
        return tuple(tactics)

    def _line(self) -> list[Tactic]:
        tactics = [self._combined(opening=True)]
        while self.skip(";"):
            tactics.append(self._combined(opening=False))
        return tactics

    def _combined(self, opening: bool) -> Tactic:
        """A tactic, with `<;>` and others; the first one of a line stands left of the column that ends terms."""
        tactic = self._tactic(self._opening() if opening else self.take())
        while self.shows("<;>"):
            mark = self.take()
            tactic = Tactic("<;>", mark.line, mark.column, body=(tactic, self._tactic(self.take())))
        return tactic

    def _opening(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def nested_block(self, token: Token) -> tuple[Tactic, ...]:
        return self.block(self.column)

    def _tactic(self, token: Token) -> Tactic:
        if token.text == "·":
            return self._make("·", token, body=self.block(self.column))
        if token.text == "(":
            inside = self.block(self.column)
            self.expect(")")
            return self._make("(", token, body=inside)
        if token.kind != "name" or token.text not in TACTICS:
            raise self.error(f"unknown tactic '{token.text}'", token)
        word = token.text
        if word in _BARE:
            return self._make(word, token)
        if word in _ONE_TERM:
            return self._make(word, token, terms=(self.term(),))
        if word in _NAMES:
            return self._make(word, token, names=tuple(self._names()))
        if word in ("all_goals", "try"):
            return self._make(word, token, body=self.block(self.column))
        return getattr(self, f"_{word}")(token)

    def _make(
        self,
        kind: str,
        token: Token,
        *,
        terms: tuple[Tree, ...] = (),
        names: tuple[str, ...] = (),
        patterns: tuple[Pattern, ...] = (),
        body: tuple[Tactic, ...] = (),
    ) -> Tactic:
        return Tactic(kind, token.line, token.column, terms=terms, names=names, patterns=patterns, body=body)

    def _names(self) -> list[str]:
        names = []
        while self.token.kind == "name" or self.shows("_"):
            names.append(self.name_or_hole())
        return names

    # Patterns

    def pattern_atom(self) -> Pattern:
        """A name, `_`, `rfl`, `⟨...⟩` or a pattern in parentheses."""
        token = self.token
        self.deeper()
        if self.skip("("):
            pattern = self._pattern()
            self.expect(")")
        elif self.skip("⟨"):
            parts: list[Pattern] = []
            while not self.shows("⟩"):
                if parts:
                    self.expect(",")
                parts.append(self._pattern())
            self.expect("⟩")
            pattern = Pattern("tuple", token.line, token.column, parts=tuple(parts))
        elif self.skip("rfl"):
            pattern = Pattern("rfl", token.line, token.column)
        else:
            pattern = Pattern("name", token.line, token.column, self.name_or_hole())
        self.nesting -= 1
        return pattern

    def _pattern(self) -> Pattern:
        token = self.token
        parts = [self.pattern_atom()]
        while self.skip("|"):
            parts.append(self.pattern_atom())
        return parts[0] if len(parts) == 1 else Pattern("or", token.line, token.column, parts=tuple(parts))

    def _intro(self, token: Token) -> Tactic:
        patterns = []
        while self.token.kind == "name" or self.shows("_", "⟨", "("):
            patterns.append(self.pattern_atom())
        return self._make("intro", token, patterns=tuple(patterns))

    def _rintro(self, token: Token) -> Tactic:
        tactic = self._intro(token)
        if not tactic.patterns:
            raise self.error("expected a pattern")
        return self._make("rintro", token, patterns=tactic.patterns)

    def _rcases(self, token: Token) -> Tactic:
        term = self.term()
        self.expect("with")
        return self._make("rcases", token, terms=(term,), patterns=(self._pattern(),))

    def _obtain(self, token: Token) -> Tactic:
        pattern = self._pattern()
        self.expect(":=")
        return self._make("obtain", token, terms=(self.term(),), patterns=(pattern,))

    # The rest

    def _exists(self, token: Token) -> Tactic:
        terms = [self.term()]
        while self.skip(","):
            terms.append(self.term())
        return self._make("exists", token, terms=tuple(terms))

    def _have(self, token: Token) -> Tactic:
        """`have h : p := e`; terms are the value, then the formula if there is one."""
        if self.shows("⟨"):
            patterns: tuple[Pattern, ...] = (self.pattern_atom(),)
        else:
            named = self.token.kind == "name"
            name = self.new_name() if named else "this"
            patterns = (Pattern("name", token.line, token.column, name),)
        formula = (self.term(),) if self.skip(":") else ()
        self.expect(":=")
        return self._make("have", token, terms=(self.term(), *formula), patterns=patterns)

    def _rw(self, token: Token) -> Tactic:
        return self._rewriting("rw", token)

    def _rewrite(self, token: Token) -> Tactic:
        return self._rewriting("rewrite", token)

    def _simp(self, token: Token) -> Tactic:
        if not (self.token.kind == "name" and self.token.text == "only"):
            raise self.error("expected 'only': a bare simp knows lemmas that this prover does not")
        self.take()
        tactic = self._rewriting("simp only", token)
        if tactic.places:
            raise self.error("'simp only' rewrites the goal only here", token)
        return tactic

    def _rewriting(self, kind: str, token: Token) -> Tactic:
        self.expect("[")
        rules: list[Rewrite] = []
        while not self.shows("]"):
            if rules:
                self.expect(",")
            backward = self.skip("←")
            rules.append(Rewrite(self.term(), backward))
        self.expect("]")
        places = self._names_after("at")
        return Tactic(kind, token.line, token.column, rules=tuple(rules), places=places)

    def _names_after(self, word: str) -> tuple[str, ...]:
        if not self.skip(word):
            return ()
        places: list[str] = []
        while (self.token.kind == "name" and self.token.text not in ("with", "at")) or self.shows("⊢"):
            places.append(self.take().text if self.shows("⊢", "this") else self.new_name())
        if not places:
            raise self.error("expected the name of a hypothesis")
        return tuple(places)

    def _induction(self, token: Token) -> Tactic:
        name = self.new_name("a variable")
        general = self._names_after("generalizing")
        return Tactic("induction", token.line, token.column, names=(name,), places=general,
                      alternatives=self._alternatives())  # fmt: skip

    def _cases(self, token: Token) -> Tactic:
        term = self.term()
        return Tactic("cases", token.line, token.column, terms=(term,), alternatives=self._alternatives())

    def _alternatives(self) -> tuple[Alternative, ...] | None:
        if not self.skip("with"):
            return None
        start = self.tokens[self.at]
        found: list[Alternative] = []
        while True:
            bar = self.tokens[self.at]
            if bar.text != "|" or bar.column < max(start.column, self.column):
                break
            self.at += 1
            found.append(self._alternative(bar))
        if not found:
            raise self.error("expected '|'", start)
        return tuple(found)

    def _alternative(self, bar: Token) -> Alternative:
        constructor = self.take()
        if constructor.kind != "name":
            raise self.error("expected a constructor's name", constructor)
        names = self._names()
        self.expect("=>")
        body = None if self.skip("?_") else self.block(self.column)
        return Alternative(constructor.text, tuple(names), body, bar.line, bar.column)

    def _case(self, token: Token) -> Tactic:
        """`case tag names => block`; `next names => block` has the tag `_`."""
        tag = self.take()
        if tag.kind != "name" and tag.text != "_":
            raise self.error("expected a goal's tag", tag)
        return self._focused(token, tag.text)

    def _next(self, token: Token) -> Tactic:
        return self._focused(token, "_")

    def _focused(self, token: Token, tag: str) -> Tactic:
        names = self._names()
        self.expect("=>")
        return self._make("case", token, names=(tag, *names), body=self.block(self.column))

    def _by_cases(self, token: Token) -> Tactic:
        name = self.new_name()
        self.expect(":")
        return self._make("by_cases", token, names=(name,), terms=(self.term(),))

    def _injection(self, token: Token) -> Tactic:
        term = self.term()
        self.expect("with")
        return self._make("injection", token, terms=(term,), names=(self.name_or_hole(),))

    def _calc(self, token: Token) -> Tactic:
        """Steps `a = b := proof`, one a line, in one column after the first; relations and proofs by turns."""
        terms: list[Tree] = []
        column = self.token.column
        first = self.token
        if first.kind == "end":
            raise self.error("expected a step, indented more than 'calc'")
        saved = self.column
        while True:
            step = self.tokens[self.at]
            if terms:
                if step.kind == "end" or not step.first or step.column <= saved or step.text != "_":
                    break
                column = step.column if len(terms) == 2 and not first.first else column
                if step.column != column:
                    raise self.error("expected the steps of 'calc' in one column", step)
            self.column = -1
            terms.append(self._step_relation(step, max(saved, column) if step.first else saved))
            self.expect(":=")
            terms.append(self.term())
            self.column = saved
        return self._make("calc", token, terms=tuple(terms))

    def _step_relation(self, step: Token, column: int) -> Tree:
        """The relation of a step; what follows it must be to the right of the step's own column."""
        if step.first:
            # The step's first token stands in the very column that ends its terms.
            self.tokens[self.at] = Token(step.kind, step.text, step.line, step.column, False, step.spaced)
        self.column = column
        return self.term()

    def _symm(self, token: Token) -> Tactic:
        raise self.error("use '.symm' of a term instead of the tactic 'symm'", token)
