"""Prediction files, gold files and 2Wiki's aliases. Invariant: what is written reads back equal.

HotpotQA: one object `{"answer": {id: text}, "sp": {id: [[title, sentence]]}}`; 2Wiki adds
`"evidence": {id: [[subject, relation, object]]}`; MuSiQue: a line per question with `id`, `predicted_answer`,
`predicted_support_idxs`, `predicted_answerable`. Keys that a format does not know are passed over, as its script does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentenv.errors import ConfigurationError, ResultsFileError, did_you_mean
from agentenv.tasks.search.official.located import LocatedText
from agentenv.tasks.search.official.records import (
    Gold,
    Prediction,
    check_format,
    evidence,
    facts,
    field_of,
    gold_from_row,
)

__all__ = ["read_aliases", "read_golds", "read_predictions", "write_predictions"]

_SECTIONS = {"hotpotqa": ("answer", "sp"), "2wikimultihopqa": ("answer", "sp", "evidence")}


def read_predictions(format: str, path: str | Path) -> list[Prediction]:
    """The predictions of a file in the benchmark's own format.

    Args:
        format: "hotpotqa", "2wikimultihopqa" or "musique".
        path: The file.

    Raises:
        ResultsFileError: If the file is not in that format; names the file, the line, the key and the value.
        ConfigurationError: On an unknown format.
    """
    check_format(format)
    text = LocatedText(path)
    if format == "musique":
        return [_musique_prediction(row, text.where(at)) for at, row in text.lines()]
    found: dict[str, Prediction] = {}
    sections = []
    for section, at in text.members(text.document(dict)):
        sections.append(section)
        if section not in _SECTIONS[format]:
            continue
        for question_id, value_at in text.members(at, f"key {section!r}"):
            where = f"{text.where(value_at)}: key {section!r}, question {question_id!r}"
            before = found.get(question_id, Prediction(question_id))
            found[question_id] = _with_section(before, section, text.value(value_at), where)
    for section in _SECTIONS[format]:
        if section not in sections:
            raise ResultsFileError(
                f"{text.path}, line 1: key {section!r} is missing.{did_you_mean(section, sections)} A file without "
                f"predictions of that kind holds {{}} there"
            )
    return list(found.values())


def write_predictions(format: str, path: str | Path, predictions: Iterable[Prediction]) -> int:
    """Writes predictions in the benchmark's own format; returns how many.

    What a prediction leaves as None is left out. MuSiQue's lines must be complete: there None becomes an empty answer,
    no paragraphs, and answerable if there is an answer. MuSiQue's script also wants the lines in the gold file's order.

    Raises:
        ConfigurationError: On an unknown format, or on two predictions for one id where the format holds one.
    """
    check_format(format)
    path, rows = Path(path), list(predictions)
    if format == "musique":
        content = "".join(json.dumps(_musique_line(row)) + "\n" for row in rows)
    else:
        sections: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS[format]}
        seen: set[str] = set()
        for row in rows:
            if row.id in seen:
                raise ConfigurationError(f"question {row.id!r} is predicted twice; a {format} file holds one")
            seen.add(row.id)
            for section, value in (("answer", row.answer), ("sp", row.facts), ("evidence", row.evidence)):
                if value is not None and section in sections:
                    sections[section][row.id] = value
        content = json.dumps(sections) + "\n"
    path.write_text(content, encoding="utf-8")
    return len(rows)


def read_golds(format: str, path: str | Path, aliases: str | Path | None = None) -> list[Gold]:
    """What is right for every question of a data file: a JSON array, or JSONL (any name that ends in `.jsonl`).

    Args:
        format: "hotpotqa", "2wikimultihopqa" or "musique".
        path: The benchmark's data file.
        aliases: 2Wiki's `id_aliases.json`; without it only the names in the data file count.

    Raises:
        ResultsFileError: If the file is not in that format; names the file, the line, the key and the value.
        ConfigurationError: On an unknown format, or on aliases for a format that has none.
    """
    check_format(format)
    if aliases is not None and format != "2wikimultihopqa":
        raise ConfigurationError(f"aliases are for '2wikimultihopqa' only, got {str(aliases)!r} with {format!r}")
    names = read_aliases(aliases) if aliases is not None else None
    text = LocatedText(path)
    if format == "musique" or text.path.suffix == ".jsonl":
        rows = text.lines()
    else:
        rows = ((at, text.value(at)) for at in text.items(text.document(list)))
    return [gold_from_row(format, row, names, text.where(at)) for at, row in rows]


def read_aliases(path: str | Path) -> dict[str, frozenset[str]]:
    """Further names by Wikidata id, from 2Wiki's `id_aliases.json` (one object a line).

    Raises:
        ResultsFileError: If a line is not one of that file's.
    """
    text = LocatedText(path)
    names: dict[str, frozenset[str]] = {}
    for at, row in text.lines():
        where = text.where(at)
        found = [*field_of(row, "aliases", list, where), *field_of(row, "demonyms", list, where)]
        if not all(isinstance(name, str) for name in found):
            raise ResultsFileError(f"{where}: keys 'aliases' and 'demonyms' must hold strings, got {found!r:.80}")
        names[field_of(row, "Q_id", str, where)] = frozenset(found)
    return names


def _with_section(before: Prediction, section: str, value: object, where: str) -> Prediction:
    if section == "sp":
        return replace(before, facts=facts(value, where))
    if section == "evidence":
        return replace(before, evidence=evidence(value, where))
    if not isinstance(value, str):
        raise ResultsFileError(f"{where}: an answer must be a string, got {value!r:.80}")
    return replace(before, answer=value)


def _musique_prediction(row: Any, where: str) -> Prediction:
    question_id: str = field_of(row, "id", str, where)
    where = f"{where}: question {question_id!r}"
    paragraphs: Sequence[object] = field_of(row, "predicted_support_idxs", list, where)
    for number in paragraphs:
        if not isinstance(number, int) or isinstance(number, bool):
            raise ResultsFileError(f"{where}: key 'predicted_support_idxs' must hold integers, got {number!r:.80}")
    return Prediction(
        question_id,
        answer=field_of(row, "predicted_answer", str, where),
        paragraphs=tuple(number for number in paragraphs if isinstance(number, int)),
        answerable=field_of(row, "predicted_answerable", bool, where),
    )


def _musique_line(row: Prediction) -> dict[str, Any]:
    return {
        "id": row.id,
        "predicted_answer": row.answer or "",
        "predicted_support_idxs": list(row.paragraphs or ()),
        "predicted_answerable": bool(row.answer) if row.answerable is None else row.answerable,
    }
