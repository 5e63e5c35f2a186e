"""From episodes to a benchmark's own score. Invariant: what is scored is the file that was written, read back.

The answer is the one that the agent gave. Supporting facts are the sentences that were shown whole, and MuSiQue's
supporting paragraphs those of which anything was shown: an agent that opens everything has recall and no precision.
Nothing else is predicted: no triples of 2Wiki, and no facts from a corpus whose sentences the data file does not
number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentenv.errors import ResultsFileError
from agentenv.task import OfficialScore
from agentenv.tasks.search.answers import abstains
from agentenv.tasks.search.base import Question
from agentenv.tasks.search.official.files import read_aliases, read_predictions, write_predictions
from agentenv.tasks.search.official.metrics import as_printed, evaluate
from agentenv.tasks.search.official.records import Gold, Prediction, gold_from_row
from agentenv.tasks.search.readers.records import read_records

__all__ = ["BENCHMARKS", "Benchmark", "write_official"]

#: What `agentenv eval --format` calls the official formats, and their prediction files' suffixes.
BENCHMARKS = {
    "hotpotqa": ("hotpotqa", ".json"),
    "2wiki": ("2wikimultihopqa", ".json"),
    "musique": ("musique", ".jsonl"),
}


@dataclass(frozen=True)
class Benchmark:
    """The benchmark that a set's questions are of.

    Args:
        name: One of `BENCHMARKS`.
        source: Its data file.
        aliases: 2Wiki's `id_aliases.json`.
        numbered: Whether the documents searched are the data file's paragraphs, so that sentences have numbers.
    """

    name: str
    source: Path
    aliases: Path | None = None
    numbered: bool = True

    @property
    def format(self) -> str:
        """The official format."""
        return BENCHMARKS[self.name][0]

    def golds(self) -> list[Gold]:
        """What is right, in the file's order."""
        aliases = None if self.aliases is None else read_aliases(self.aliases)
        return [gold_from_row(self.format, row.values, aliases, row.where) for row in read_records(self.source)]


def write_official(
    benchmark: Benchmark,
    path: Path,
    questions: Sequence[Question],
    submissions: Mapping[str, Mapping[str, Any] | None],
    title_of: Callable[[str, str], str | None],
) -> OfficialScore:
    """Writes predictions for the questions that `submissions` names, in the data file's order, and scores them.

    MuSiQue's sufficiency needs both questions of every id: where one is not among them, only what concerns answerable
    questions is scored.

    Args:
        benchmark: Whose script.
        path: The file to write.
        questions: All of the data file's, in its order.
        submissions: By task id, what `SearchEnv.submission` gave; None for an episode that was not played.
        title_of: The title of a question's document.

    Raises:
        ResultsFileError: If a submission is none of a search, or the data file changed since it was read.
    """
    golds = benchmark.golds()
    if len(golds) != len(questions):
        raise ResultsFileError(f"{benchmark.source} holds {len(golds)} questions, and held {len(questions)} when read")
    asked = [(question, gold) for question, gold in zip(questions, golds, strict=True) if question.id in submissions]

    def predicted(question: Question, gold: Gold) -> Prediction:
        submission = submissions[question.id]
        if submission is None:
            return Prediction(gold.id, answerable=True if benchmark.name == "musique" else None)
        return _predicted(benchmark, question, gold.id, submission, lambda shown: title_of(question.id, shown))

    write_predictions(benchmark.format, path, (predicted(question, gold) for question, gold in asked))
    wanted, predictions = [gold for _, gold in asked], read_predictions(benchmark.format, path)
    if benchmark.name == "musique" and not _in_pairs(wanted):
        kept = [gold.answerable for gold in wanted]
        wanted = [gold for gold, keep in zip(wanted, kept, strict=True) if keep]
        predictions = [prediction for prediction, keep in zip(predictions, kept, strict=True) if keep]
    metrics = as_printed(benchmark.format, evaluate(benchmark.format, predictions, wanted)) if wanted else {}
    return OfficialScore(metrics, len(wanted), len(golds))


def _predicted(
    benchmark: Benchmark,
    question: Question,
    question_id: str,
    submission: Mapping[str, Any],
    title_of: Callable[[str], str | None],
) -> Prediction:
    answer, shown = _checked(submission, question.id)
    if benchmark.name == "musique":
        numbers = question.extra["paragraph_numbers"] if benchmark.numbered else {}
        # Without an answer the agent did not say that there is none.
        given = "" if answer is None or abstains(answer) else answer
        paragraphs = sorted(numbers[document] for document in shown if document in numbers)
        return Prediction(question_id, given, paragraphs=tuple(paragraphs), answerable=answer is None or bool(given))
    if not benchmark.numbered:
        return Prediction(question_id, answer)
    titled = [(title_of(document), numbers) for document, numbers in shown.items()]
    facts = [(title, number) for title, numbers in titled if title is not None for number in numbers]
    return Prediction(question_id, answer, tuple(dict.fromkeys(facts)))


def _checked(submission: Mapping[str, Any], task_id: str) -> tuple[str | None, dict[str, list[int]]]:
    answer, shown = submission.get("answer"), submission.get("shown")
    if isinstance(answer, str | None) and isinstance(shown, dict):
        lists = list(shown.values())
        if all(isinstance(numbers, list) and all(map(_is_number, numbers)) for numbers in lists):
            return answer, shown
    raise ResultsFileError(f"task {task_id!r}: {submission!r:.80} is no submission of a search")


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _in_pairs(golds: Sequence[Gold]) -> bool:
    """Whether all questions are answerable, or each id is asked both ways."""
    if all(gold.answerable for gold in golds):
        return True
    sides = Counter((gold.id, gold.answerable) for gold in golds)
    return all(sides[gold.id, True] == sides[gold.id, False] == 1 for gold in golds)
