"""What is predicted for a question, and what its benchmark holds for right. One form for all three formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentenv.errors import ConfigurationError, ResultsFileError, did_you_mean

__all__ = [
    "FORMATS",
    "Evidence",
    "Fact",
    "Gold",
    "Prediction",
    "check_format",
    "evidence",
    "facts",
    "field_of",
    "gold_from_row",
]

FORMATS = ("hotpotqa", "2wikimultihopqa", "musique")

Fact = tuple[str, int]
"""A supporting sentence: the title of its page and its number there, from 0."""


@dataclass(frozen=True)
class Prediction:
    """What was predicted for one question. None is "not predicted", which scores 0.

    Args:
        id: The question's id.
        answer: The answer.
        facts: Supporting sentences (HotpotQA, 2Wiki).
        evidence: Subject, relation, object (2Wiki).
        paragraphs: `idx` of supporting paragraphs (MuSiQue).
        answerable: Whether the paragraphs hold an answer (MuSiQue).
    """

    id: str
    answer: str | None = None
    facts: tuple[Fact, ...] | None = None
    evidence: tuple[tuple[str, str, str], ...] | None = None
    paragraphs: tuple[int, ...] | None = None
    answerable: bool | None = None


@dataclass(frozen=True)
class Evidence:
    """One triple of 2Wiki with every accepted name of its two entities."""

    subjects: frozenset[str]
    relation: str
    objects: frozenset[str]


@dataclass(frozen=True)
class Gold:
    """What is right for one question; fields that a format does not have are empty."""

    id: str
    answers: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    paragraphs: tuple[int, ...] = ()
    answerable: bool = True


def check_format(name: str) -> None:
    """Refuses a format that is not one of `FORMATS`.

    Raises:
        ConfigurationError: With the nearest name that is.
    """
    if name not in FORMATS:
        raise ConfigurationError(f"format {name!r} is not one of {', '.join(FORMATS)}.{did_you_mean(name, FORMATS)}")


def gold_from_row(
    format: str, row: Mapping[str, Any], aliases: Mapping[str, frozenset[str]] | None = None, where: str = "row"
) -> Gold:
    """What is right, out of a row as the benchmark (or its copy on the Hub) writes it.

    Args:
        format: One of `FORMATS`.
        row: The row.
        aliases: 2Wiki: further names by Wikidata id, from `read_aliases`.
        where: Names the row in error messages.

    Raises:
        ResultsFileError: If a key is missing or holds another kind of value.

    >>> row = {"_id": "q", "answer": "Oslo", "supporting_facts": [["Norway", 0]]}
    >>> gold_from_row("hotpotqa", row)
    Gold(id='q', answers=('Oslo',), facts=(('Norway', 0),), evidence=(), paragraphs=(), answerable=True)
    """
    check_format(format)
    if not isinstance(row, Mapping):
        raise ResultsFileError(f"{where}: a question must be a JSON object, got {row!r:.80}")
    question_id: str = field_of(row, "_id" if "_id" in row else "id", str, where)
    where = f"{where}: question {question_id!r}"
    answer: str = field_of(row, "answer", str, where)
    if format == "musique":
        return _musique(question_id, answer, row, where)
    found = facts(_pairs(field_of(row, "supporting_facts", object, where)), f"{where}: key 'supporting_facts'")
    if format == "hotpotqa":
        return Gold(question_id, (answer,), found)
    names = aliases or {}
    answers = dict.fromkeys([answer, *sorted(names.get(str(row.get("answer_id")), ()))])
    return Gold(question_id, tuple(answers), found, _evidence_with_aliases(row, names, where))


def _musique(question_id: str, answer: str, row: Mapping[str, Any], where: str) -> Gold:
    supporting = []
    for at, paragraph in enumerate(field_of(row, "paragraphs", list, where)):
        inside = f"{where}: key 'paragraphs', item {at}"
        if field_of(paragraph, "is_supporting", bool, inside):
            supporting.append(field_of(paragraph, "idx", int, inside))
    further = field_of(row, "answer_aliases", list, where)
    if not all(isinstance(alias, str) for alias in further):
        raise ResultsFileError(f"{where}: key 'answer_aliases' must hold strings, got {further!r:.80}")
    answerable = field_of(row, "answerable", bool, where)
    return Gold(question_id, (answer, *further), paragraphs=tuple(supporting), answerable=answerable)


def _evidence_with_aliases(
    row: Mapping[str, Any], aliases: Mapping[str, frozenset[str]], where: str
) -> tuple[Evidence, ...]:
    triples = evidence(field_of(row, "evidences", list, where), f"{where}: key 'evidences'")
    ids = evidence(row.get("evidences_id") or [], f"{where}: key 'evidences_id'")
    if ids and len(ids) != len(triples):
        raise ResultsFileError(f"{where}: {len(ids)} 'evidences_id' for {len(triples)} 'evidences'")
    out = []
    for at, (subject, relation, object_) in enumerate(triples):
        subject_id, _, object_id = ids[at] if ids else ("", "", "")
        subjects = frozenset({subject}) | aliases.get(subject_id, frozenset())
        objects = frozenset({object_}) | aliases.get(object_id, frozenset())
        out.append(Evidence(subjects, relation, objects))
    return tuple(out)


def _pairs(found: object) -> object:
    """Supporting facts as pairs, also out of the Hub's two columns."""
    if isinstance(found, Mapping) and isinstance(found.get("title"), Sequence):
        numbers = found.get("sent_id")
        if isinstance(numbers, Sequence) and len(numbers) == len(found["title"]):
            return [list(pair) for pair in zip(found["title"], numbers, strict=True)]
    return found


def facts(value: object, where: str) -> tuple[Fact, ...]:
    """A list of [title, sentence number].

    Raises:
        ResultsFileError: If it is anything else.
    """
    return tuple((title, number) for title, number in _tuples(value, (str, int), "[title, sentence number]", where))


def evidence(value: object, where: str) -> tuple[tuple[str, str, str], ...]:
    """A list of [subject, relation, object].

    Raises:
        ResultsFileError: If it is anything else.
    """
    triples = _tuples(value, (str, str, str), "[subject, relation, object]", where)
    return tuple((subject, relation, object_) for subject, relation, object_ in triples)


def _tuples(value: object, kinds: tuple[type, ...], form: str, where: str) -> list[list[Any]]:
    if not isinstance(value, list):
        raise ResultsFileError(f"{where}: must be a list of {form}, got {value!r:.80}")
    for at, item in enumerate(value):
        right = isinstance(item, list | tuple) and len(item) == len(kinds)
        if not right or not all(_is(part, kind) for part, kind in zip(item, kinds, strict=True)):
            raise ResultsFileError(f"{where}, item {at}: must be {form}, got {item!r:.80}")
    return value


def field_of(row: Any, key: str, kind: type, where: str) -> Any:
    """The value of a key, of the kind that it must be.

    Raises:
        ResultsFileError: If the row is no object, the key is missing, or its value is of another kind.
    """
    if not isinstance(row, Mapping):
        raise ResultsFileError(f"{where}: must be a JSON object, got {row!r:.80}")
    if key not in row:
        near = did_you_mean(key, [name for name in row if isinstance(name, str)])
        raise ResultsFileError(f"{where}: key {key!r} is missing.{near}")
    if not _is(row[key], kind):
        got = f"{type(row[key]).__name__} {row[key]!r:.80}"
        raise ResultsFileError(f"{where}: key {key!r} must be {kind.__name__}, got {got}")
    return row[key]


def _is(value: object, kind: type) -> bool:
    """`isinstance`, but True is not a number."""
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
