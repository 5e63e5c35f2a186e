"""The benchmarks' own arithmetic. Invariant: every mean divides by all gold questions.

Two faults are kept because published figures carry them. HotpotQA and 2Wiki: no supporting fact where none is gold is
EM 1 but F1 0. 2Wiki: its evidence recall counts predictions, so naming one triple by two aliases counts twice and can
exceed 1; its best precision and best recall may come from different aliases.
"""

from __future__ import annotations

import logging
import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from agentenv.errors import ConfigurationError, ResultsFileError
from agentenv.tasks.search.answers import squad_normalise
from agentenv.tasks.search.official.records import Gold, Prediction, check_format

__all__ = ["as_printed", "evaluate"]

logger = logging.getLogger(__name__)

_CLOSED = ("yes", "no", "noanswer")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Part(NamedTuple):
    """Exact match, F1, precision and recall of one thing predicted for one question."""

    em: float
    f1: float
    precision: float
    recall: float


_NOTHING = Part(0.0, 0.0, 0.0, 0.0)


def evaluate(format: str, predictions: Sequence[Prediction], golds: Sequence[Gold]) -> dict[str, float]:
    """The official metrics as shares of 1, not rounded.

    Args:
        format: "hotpotqa", "2wikimultihopqa" or "musique".
        predictions: In any order; questions without one count 0. MuSiQue's full version asks every id twice: there the
            two predictions of an id are taken in the order of its two gold rows.
        golds: Every question of the split.

    Returns:
        HotpotQA: `em`, `f1`, `prec`, `recall`, and the same with `sp_` and `joint_`; 2Wiki also with `evi_`. MuSiQue:
        `answer_f1`, `answer_em`, `support_f1` over answerable questions, and with unanswerable ones among the golds
        `group_answer_sufficiency_f1` and `group_support_sufficiency_f1`.

    Raises:
        ConfigurationError: On an unknown format, or without golds.
        ResultsFileError: If an id is predicted or asked another number of times than it may be.

    >>> golds = [Gold("a", ("New York",), (("Page", 0),)), Gold("b", ("yes",), (("Page", 1),))]
    >>> found = evaluate("hotpotqa", [Prediction("a", "York", (("Page", 0), ("Page", 3)))], golds)
    >>> found["em"], round(found["f1"], 4), found["sp_prec"], found["joint_recall"]
    (0.0, 0.3333, 0.25, 0.25)
    """
    check_format(format)
    if not golds:
        raise ConfigurationError("there are no gold questions to divide by: golds is empty")
    paired = _paired(predictions, golds)
    if format == "musique":
        return _musique(paired)
    heads = ["", "sp_", "evi_", "joint_"] if format == "2wikimultihopqa" else ["", "sp_", "joint_"]
    totals = {head: [0.0] * 4 for head in heads}
    for prediction, gold in paired:
        for head, part in zip(heads, _parts(format, prediction, gold), strict=True):
            totals[head] = [total + value for total, value in zip(totals[head], part, strict=True)]
    names = ("em", "f1", "prec", "recall")
    return {head + name: total / len(golds) for head in heads for name, total in zip(names, totals[head], strict=True)}


def as_printed(format: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """The metrics as the official script prints them: 2Wiki in percent with two places, MuSiQue with three.

    >>> as_printed("2wikimultihopqa", {"em": 1 / 3}), as_printed("musique", {"answer_f1": 2 / 3})
    ({'em': 33.33}, {'answer_f1': 0.667})
    """
    check_format(format)
    if format == "2wikimultihopqa":
        return {name: round(value * 100, 2) for name, value in metrics.items()}
    if format == "musique":
        return {name: round(value, 3) for name, value in metrics.items()}
    return dict(metrics)


def _paired(predictions: Sequence[Prediction], golds: Sequence[Gold]) -> list[tuple[Prediction, Gold]]:
    """Every gold with its prediction, or with an empty one."""
    asked = Counter(gold.id for gold in golds)
    given: dict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        given[prediction.id].append(prediction)
    for question_id, those in given.items():
        if question_id in asked and len(those) != asked[question_id]:
            raise ResultsFileError(
                f"question {question_id!r} is predicted {len(those)} times, the gold data asks it {asked[question_id]}"
            )
    unknown = [question_id for question_id in given if question_id not in asked]
    if unknown:
        logger.warning("%d predictions are for no gold question and count nothing: %.200r", len(unknown), unknown)
    missing = sum(question_id not in given for question_id in asked)
    if missing:
        logger.warning("%d of %d gold questions have no prediction and count 0", missing, len(asked))
    waiting = {question_id: iter(those) for question_id, those in given.items()}
    return [(next(waiting.get(gold.id, iter(())), Prediction(gold.id)), gold) for gold in golds]


def _parts(format: str, prediction: Prediction, gold: Gold) -> list[Part]:
    """The parts of one question; the last is the joint one."""
    wiki = format == "2wikimultihopqa"
    predicted: list[object] = [prediction.answer, prediction.facts]
    parts = [
        _NOTHING if prediction.answer is None else _answer(prediction.answer, gold.answers),
        _NOTHING if prediction.facts is None else _facts(prediction.facts, gold.facts, any_case=wiki),
    ]
    if wiki:
        predicted.append(prediction.evidence)
        parts.append(_NOTHING if prediction.evidence is None else _evidence(prediction.evidence, gold))
    return [*parts, _NOTHING if None in predicted else _joint(parts)]


def _joint(parts: Iterable[Part]) -> Part:
    em, precision, recall = 1.0, 1.0, 1.0
    for part in parts:
        em, precision, recall = em * part.em, precision * part.precision, recall * part.recall
    return Part(em, _harmonic(precision, recall), precision, recall)


def _answer(predicted: str, golds: Sequence[str]) -> Part:
    """The best of each figure over all accepted answers."""
    parts = [_answer_against(squad_normalise(predicted), squad_normalise(gold)) for gold in golds]
    return Part(*(max(values) for values in zip(*parts, strict=True)))


def _answer_against(predicted: str, gold: str) -> Part:
    em = float(predicted == gold)
    if not em and (predicted in _CLOSED or gold in _CLOSED):
        return _NOTHING
    ours, theirs = predicted.split(), gold.split()
    shared = (Counter(ours) & Counter(theirs)).total()
    if not shared:
        return Part(em, 0.0, 0.0, 0.0)
    precision, recall = shared / len(ours), shared / len(theirs)
    return Part(em, _harmonic(precision, recall), precision, recall)


def _facts(predicted: Iterable[tuple[str, int]], gold: Iterable[tuple[str, int]], any_case: bool) -> Part:
    ours: list[tuple[str, int]] = list(set(predicted))
    theirs: list[tuple[str, int]] = list(set(gold))
    if any_case:
        ours, theirs = ([(title.lower(), number) for title, number in side] for side in (ours, theirs))
    hits, missed = _hits(ours, theirs), len(theirs) - _hits(theirs, ours)
    precision = hits / len(ours) if ours else 0.0
    recall = hits / (hits + missed) if hits + missed else 0.0
    return Part(float(hits == len(ours) and not missed), _harmonic(precision, recall), precision, recall)


def _hits(those: Sequence[object], others: Sequence[object]) -> int:
    known = set(others)
    return sum(one in known for one in those)


def _evidence(predicted: Iterable[tuple[str, str, str]], gold: Gold) -> Part:
    ours = {(_plain(subject), _plain(relation), _plain(object_)) for subject, relation, object_ in predicted}
    theirs = [
        (set(map(_plain, triple.subjects)), _plain(triple.relation), set(map(_plain, triple.objects)))
        for triple in gold.evidence
    ]
    hits = sum(
        any(subject in subjects and relation == known and object_ in objects for subjects, known, objects in theirs)
        for subject, relation, object_ in ours
    )
    precision = hits / len(ours) if ours else 0.0
    recall = hits / len(theirs) if theirs else 0.0
    return Part(float(hits == len(ours) == len(theirs)), _harmonic(precision, recall), precision, recall)


def _plain(text: str) -> str:
    return " ".join(text.lower().translate(_DELETE_PUNCTUATION).split())


def _musique(paired: Sequence[tuple[Prediction, Gold]]) -> dict[str, float]:
    rows = [(prediction, gold, *_musique_scores(prediction, gold)) for prediction, gold in paired]
    answerable = [(em, f1, support) for _, gold, em, f1, support in rows if gold.answerable]
    count = len(answerable) or 1
    metrics = {
        "answer_f1": sum(f1 for _, f1, _ in answerable) / count,
        "answer_em": sum(em for em, _, _ in answerable) / count,
        "support_f1": sum(support for _, _, support in answerable) / count,
    }
    if len(answerable) == len(rows):
        return metrics
    groups: dict[str, list[tuple[Prediction, Gold, float, float, float]]] = defaultdict(list)
    for row in rows:
        groups[row[1].id].append(row)
    answer_total = support_total = 0.0
    for question_id, group in groups.items():
        if sorted(gold.answerable for _, gold, *_ in group) != [False, True]:
            raise ResultsFileError(
                f"question {question_id!r}: with unanswerable questions among the golds, every id must be asked twice, "
                f"once answerable and once not; this one is asked {len(group)} times"
            )
        if all(prediction.answerable == gold.answerable for prediction, gold, *_ in group):
            answer_total += sum(f1 for _, gold, _, f1, _ in group if gold.answerable)
            support_total += sum(support for _, gold, _, _, support in group if gold.answerable)
    metrics["group_answer_sufficiency_f1"] = answer_total / len(groups)
    metrics["group_support_sufficiency_f1"] = support_total / len(groups)
    return metrics


def _musique_scores(prediction: Prediction, gold: Gold) -> tuple[float, float, float]:
    """Answer EM, answer F1, support F1 of one row."""
    em = f1 = support = 0.0
    if prediction.answer is not None:
        ours = squad_normalise(prediction.answer)
        theirs = [squad_normalise(answer) for answer in gold.answers]
        em = float(ours in theirs)
        f1 = max(_musique_f1(ours.split(), answer.split()) for answer in theirs)
    if prediction.paragraphs is not None:
        found, known = set(prediction.paragraphs), set(gold.paragraphs)
        hits = len(found & known)
        support = 2 * hits / (len(found) + len(known)) if found or known else 1.0
    return em, f1, support


def _musique_f1(ours: Sequence[str], theirs: Sequence[str]) -> float:
    if not ours or not theirs:
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
