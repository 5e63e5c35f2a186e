"""Parsing of statements and terms. Lean's precedences; a line that starts at or left of the block ends a term."""

from __future__ import annotations

from agentenv.tasks.theorem.mini.errors import MiniError
from agentenv.tasks.theorem.mini.tokens import RESERVED, Token, tokenize
from agentenv.tasks.theorem.mini.trees import MAX_NESTING, Binder, Statement, Tactic, Tree

__all__ = ["TermParser", "parse_statement"]

_BINARY = {  # symbol: precedence, least precedence of the left side, of the right side
    "↔": (20, 21, 21), "→": (25, 26, 25), "∨": (30, 31, 30), "∧": (35, 36, 35), "=": (50, 51, 51), "≠": (50, 51, 51),
    "+": (65, 65, 66), "*": (70, 70, 71),
}  # fmt: skip
_NOT_BODY = 40
_ARGUMENT = 1024
_WORDS = frozenset({"fun", "by", "show", "from", "at", "with", "generalizing"})
_CONSTANTS = frozenset({"True", "False", "Prop", "Type", "Nat"})
_FIELDS_OF_CONSTANTS = frozenset({"Nat", "And", "Or", "Iff", "Eq", "Ne", "True", "False", "Exists", "Classical", "Not"})


class TermParser:
    """A cursor over tokens, with the column of the innermost block of tactics."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.at = 0
        self.column = -1
        self.nesting = 0

    # The cursor

    @property
    def token(self) -> Token:
        """The next token; of kind "end" where the block ends."""
        token = self.tokens[self.at]
        if token.first and token.column <= self.column:
            return Token("end", "", token.line, token.column, True, True)
        return token

    def take(self) -> Token:
        """Takes the next token."""
        token = self.token
        if token.kind == "end":
            raise self.error("the text ends here, or the line is indented too little")
        self.at += 1
        return token

    def shows(self, *texts: str) -> bool:
        """Whether the next token is one of these."""
        return self.token.kind != "end" and self.token.text in texts

    def skip(self, text: str) -> bool:
        """Takes the next token if it is this."""
        if self.shows(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Takes the next token, which must be this."""
        if not self.shows(text):
            raise self.error(f"expected '{text}'")
        return self.take()

    def error(self, message: str, token: Token | None = None) -> MiniError:
        """An error at a token (the next one)."""
        token = token or self.token
        found = f", found '{token.text}'" if token.kind != "end" else ", found the end"
        return MiniError(message + (found if message.startswith("expected") else ""), token.line, token.column)

    def new_name(self, what: str = "a name") -> str:
        """Takes a name that something may be given."""
        token = self.token
        if token.kind != "name":
            raise self.error(f"expected {what}")
        if token.text in RESERVED or "." in token.text:
            raise MiniError(f"'{token.text}' cannot name anything here", token.line, token.column)
        return self.take().text

    def name_or_hole(self) -> str:
        """A new name, or `_`."""
        return self.take().text if self.shows("_") else self.new_name()

    def deeper(self) -> None:
        """Counts one level of nesting; the caller takes it back."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error(f"nested more than {MAX_NESTING} levels deep")

    # Terms

    def term(self, least: int = 0) -> Tree:
        """A term whose operators bind at least so strongly."""
        self.deeper()
        left, strength = self._prefix(least)
        while self.token.kind == "symbol" and self.token.text in _BINARY:
            precedence, left_least, right_least = _BINARY[self.token.text]
            if precedence < least:
                break
            if strength < left_least:
                raise self.error(f"'{self.token.text}' needs parentheses around what stands before it")
            symbol = self.take()
            right = self.term(right_least)
            left, strength = self._tree("op", symbol, left, right, value=symbol.text), precedence
        self.nesting -= 1
        return left

    def _prefix(self, least: int) -> tuple[Tree, int]:
        token = self.token
        if token.kind == "symbol" and token.text == "¬":
            self.take()
            return self._tree("not", token, self.term(_NOT_BODY)), _ARGUMENT
        if token.kind == "symbol" and token.text in ("∀", "∃"):
            self.take()
            binders = self._binders(bracketed_only=False)
            self.expect(",")
            return self._tree("all" if token.text == "∀" else "ex", token, self.term(), value=binders), 0
        if token.kind == "name" and token.text == "show":
            self.take()
            return self._show(token), 0
        if self.shows("fun", "by"):
            return self._closed(), 0
        return self._application(), _ARGUMENT

    def _show(self, token: Token) -> Tree:
        formula = self.term()
        if self.shows("by"):
            return self._tree("show", token, formula, self._closed())
        self.expect("from")
        return self._tree("show", token, formula, self.term())

    def _application(self) -> Tree:
        token = self.token
        head = self._closed()
        arguments: list[Tree] = []
        while self._starts_argument():
            last = self.shows("fun")
            arguments.append(self._closed())
            if last:
                break
        return self._tree("apply", token, head, *arguments) if arguments else head

    def _starts_argument(self) -> bool:
        token = self.token
        if not token.spaced:
            return False
        if token.kind == "name":
            open_words = ("fun", "rfl", "trivial", "this")
            return token.text in open_words or token.text not in RESERVED or token.text in _CONSTANTS
        return token.kind == "number" or (token.kind == "symbol" and token.text in ("(", "⟨", "_", "?_"))

    def _closed(self) -> Tree:
        """A term that needs no parentheses as an argument, with the fields taken of it."""
        token = self.take()
        result = self._atom(token)
        while not self.token.spaced and self.shows("."):
            self.take()
            field = self.token
            if field.spaced or field.kind not in ("number", "name"):
                raise self.error("expected a field after '.'")
            self.take()
            for name in field.text.split("."):
                result = self._tree("field", field, result, value=name)
        return result

    def _atom(self, token: Token) -> Tree:
        if token.kind == "number":
            return self._tree("number", token, value=int(token.text))
        if token.kind == "name":
            return self._word(token)
        if token.text in ("_", "?_"):
            return self._tree("hole", token, value=token.text)
        if token.text == "fun":
            return self._function(token)
        if token.text == "(":
            return self._parenthesised(token)
        if token.text == "⟨":
            return self._tree("tuple", token, *self._listed("⟩"))
        raise self.error("expected a term", token)

    def _word(self, token: Token) -> Tree:
        if token.text == "fun":
            return self._function(token)
        if token.text == "by":
            return self._tree("by", token, value=self.nested_block(token))
        first, dot, _ = token.text.partition(".")
        known = first in _FIELDS_OF_CONSTANTS if dot else token.text in (*_CONSTANTS, "rfl", "trivial", "this", "Nat")
        if first in RESERVED and not known and not (dot and first == "this"):
            raise self.error("expected a term", token)
        return self._tree("name", token, value=token.text)

    def _function(self, token: Token) -> Tree:
        patterns = []
        while not self.shows("=>"):
            patterns.append(self.pattern_atom())
        if not patterns:
            raise self.error("expected a name after 'fun'")
        self.expect("=>")
        return self._tree("fun", token, self.term(), value=tuple(patterns))

    def _parenthesised(self, token: Token) -> Tree:
        column, self.column = self.column, -1 if self.column < 0 else self.column
        inside = self.term()
        if self.skip(":"):
            inside = self._tree("typed", token, inside, self.term())
        self.column = column
        self.expect(")")
        return inside if inside.kind != "hole" else self._tree("typed", token, inside)

    def _listed(self, close: str) -> list[Tree]:
        items: list[Tree] = []
        while not self.shows(close):
            if items:
                self.expect(",")
            items.append(self.term())
        self.expect(close)
        return items

    def _tree(self, kind: str, token: Token, *parts: Tree, value: object = None) -> Tree:
        return Tree(kind, token.line, token.column, parts, value)

    # What tactics add

    def nested_block(self, token: Token) -> tuple[Tactic, ...]:
        """The tactics after `by`."""
        raise self.error("no tactics can stand here", token)

    def pattern_atom(self) -> object:
        """A pattern after `fun`."""
        raise self.error("no function can stand here")

    # Binders and statements

    def _binders(self, bracketed_only: bool) -> tuple[Binder, ...]:
        binders: list[Binder] = []
        if not bracketed_only and not self.shows("(", "{"):
            token = self.token
            names = [self.new_name()]
            while not self.shows(",", ":"):
                names.append(self.new_name("a name, ':' or ','"))
            kind = self.term() if self.skip(":") else None
            return (Binder(tuple(names), kind, False, token.line, token.column),)
        while self.shows("(", "{"):
            token = self.take()
            names = [self.new_name()]
            while not self.skip(":"):
                names.append(self.new_name("a name or ':'"))
            binders.append(Binder(tuple(names), self.term(), token.text == "{", token.line, token.column))
            self.expect(")" if token.text == "(" else "}")
        return tuple(binders)

    def statement(self) -> Statement:
        """`theorem name binders : goal`, with or without a closing `:=` and `by`."""
        self.expect("theorem")
        name = self.new_name("the theorem's name")
        binders = self._binders(bracketed_only=True)
        self.expect(":")
        goal = self.term()
        if self.skip(":="):
            self.skip("by")
        if self.token.kind != "end":
            raise self.error("expected the statement's end")
        return Statement(name, binders, goal)


def parse_statement(text: str) -> Statement:
    """Parses a statement.

    >>> parse_statement("theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p").name
    'swap'
    """
    return TermParser(text).statement()
