"""Is this answer right? Four rules, of which `exact` is the one to train on.

Invariant of the three sound rules (`exact`, `f1`, `contains`): an empty or over-long answer scores 0, and no number,
sign, unit or symbol counts for another. `squad_em` is the field's official rule, kept to the letter for comparison
only: it deletes punctuation, so it takes `1.5` for `15`, `-3` for `3` and `C++` for `C`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

from agentenv.errors import ConfigurationError, did_you_mean
from agentenv.tasks.search.answer_tokens import SEPARATOR, fold, is_number, tokens

__all__ = ["ABSTENTIONS", "RULES", "abstains", "score", "squad_normalise"]

ABSTENTIONS = (
    "unknown",
    "not known",
    "unanswerable",
    "not answerable",
    "no answer",
    "noanswer",
    "n/a",
    "undetermined",
    "cannot be answered",
    "can't be answered",
    "cannot answer",
    "can't answer",
    "cannot be determined",
    "can't be determined",
    "not enough information",
    "insufficient information",
    "no information",
    "not stated",
    "not given",
    "not mentioned",
    "i don't know",
    "i do not know",
    "don't know",
)
"""What an agent may answer where there is no answer."""

_SPARE_CHARS = 256
_SPARE_TOKENS = 20
_YES_NO = frozenset({"yes", "no"})
# fmt: off
_COUNTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
# fmt: on
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBER_WORDS = {
    **{word: value for value, word in enumerate(_COUNTS)},
    **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
}
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")

Tokens = tuple[str, ...]


def score(rule: str, answer: str, golds: Sequence[str]) -> float:
    """How right an answer is, in [0, 1]: the best over all accepted answers.

    Args:
        rule: "exact", "f1", "contains" or "squad_em".
        answer: What the agent answered; any text.
        golds: Every accepted answer; none for a question without an answer, where `abstains` decides.

    Returns:
        1.0 or 0.0, and for "f1" anything between.

    Raises:
        ConfigurationError: On another rule, or on one string in the place of a sequence of them.

    >>> score("exact", "1000 km", ["1,000 km"]), score("exact", "15", ["1.5"]), score("squad_em", "15", ["1.5"])
    (1.0, 0.0, 1.0)
    >>> score("exact", "Oslo, Rome and Lima", ["Rome, Lima, Oslo"]), score("exact", "unknown", [])
    (1.0, 1.0)
    """
    if rule not in _RULES:
        raise ConfigurationError(f"rule {rule!r} is not one of {', '.join(RULES)}.{did_you_mean(rule, RULES)}")
    if isinstance(golds, str):
        raise ConfigurationError(f"golds must be a sequence of answers, got the string {golds!r}: write [{golds!r}]")
    if not golds:
        return float(abstains(answer))
    if rule != "squad_em" and len(answer) > _SPARE_CHARS + 2 * max(map(len, golds)):
        return 0.0
    return max(_RULES[rule](answer, gold) for gold in golds)


def abstains(answer: str) -> bool:
    """Whether an answer says that there is none, in one of `ABSTENTIONS` and no other words.

    >>> abstains("I don’t know."), abstains(""), abstains("unknown soldier")
    (True, False, False)
    """
    return len(answer) <= _SPARE_CHARS and _flat(tokens(answer)) in _ABSTENTION_TOKENS


def squad_normalise(text: str) -> str:
    """The normalisation of the official SQuAD, HotpotQA, 2Wiki, MuSiQue and Search-R1 scores. Lossy.

    Lower case, ASCII punctuation deleted, the words a, an, the deleted, white space collapsed.

    >>> squad_normalise("The  U.S. (1.5)")
    'us 15'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DELETE_PUNCTUATION)).split())


def _exact(answer: str, gold: str) -> float:
    ours, theirs = (_without_article(text, _count_words(tokens(text))) for text in (answer, gold))
    if not ours or not theirs:
        return 0.0
    if _flat(ours) == _flat(theirs):
        return 1.0
    our_items, their_items = _items(ours), _items(theirs)
    return float(len(our_items) > 1 and Counter(our_items) == Counter(their_items))


def _f1(answer: str, gold: str) -> float:
    ours, theirs = (_words(text) for text in (answer, gold))
    if ours == theirs:
        return float(bool(ours))
    if any(side in _CLOSED for side in (ours, theirs)):
        return 0.0
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))


def _contains(answer: str, gold: str) -> float:
    ours, theirs = (_words(text) for text in (answer, gold))
    if not theirs or len(ours) > len(theirs) + _SPARE_TOKENS:
        return 0.0
    if len(theirs) == 1 and theirs[0] in _YES_NO and len(_YES_NO.intersection(ours)) > 1:
        return 0.0
    starts = range(len(ours) - len(theirs) + 1)
    return float(any(ours[start : start + len(theirs)] == theirs for start in starts))


def _squad_em(answer: str, gold: str) -> float:
    return float(squad_normalise(answer) == squad_normalise(gold))


def _words(text: str) -> Tokens:
    return tuple(token for token in _without_article(text, tokens(text)) if token != SEPARATOR)


def _without_article(text: str, found: Tokens) -> Tokens:
    """The tokens without a leading article. A capital `A` stays: it may be a name (A minor, A flat)."""
    if len(found) < 2 or found[1] == SEPARATOR or is_number(found[1]):
        return found
    leading = found[0] in ("the", "an") or (found[0] == "a" and fold(text[:8]).lstrip("\"'")[:1] == "a")
    return found[1:] if leading and found[1][0].isalnum() else found


def _flat(found: Tokens) -> Tokens:
    """The tokens without separators, except where one keeps two numbers apart."""
    last = len(found) - 1
    return tuple(
        token
        for at, token in enumerate(found)
        if token != SEPARATOR or (0 < at < last and is_number(found[at - 1]) and is_number(found[at + 1]))
    )


def _items(found: Tokens) -> list[Tokens]:
    """The items of a list: what stands between separators and `and`."""
    items: list[list[str]] = [[]]
    for token in found:
        if token in (SEPARATOR, "and"):
            items.append([])
        else:
            items[-1].append(token)
    return [tuple(item) for item in items if item]


def _count_words(found: Tokens) -> Tokens:
    """The tokens with counts in words as numbers: `three` as 3, `twenty-one` as 21.

    Only for `exact`, where both sides must be equal as wholes: inside a longer text "no one" is not a 1.
    """
    out: list[str] = []
    after_tens = False
    for token in found:
        value = _NUMBER_WORDS.get(token)
        if value is not None and after_tens and 0 < value < 10:
            out[-1] = str(int(out[-1]) + value)
        else:
            out.append(token if value is None else str(value))
        after_tens = token in _TENS
    return tuple(out)


_RULES: dict[str, Callable[[str, str], float]] = {
    "exact": _exact,
    "f1": _f1,
    "contains": _contains,
    "squad_em": _squad_em,
}
RULES = tuple(_RULES)
_ABSTENTION_TOKENS = frozenset(_flat(tokens(phrase)) for phrase in ABSTENTIONS)
_CLOSED = _ABSTENTION_TOKENS | {(word,) for word in _YES_NO}
