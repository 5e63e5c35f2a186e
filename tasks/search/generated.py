"""The generated task set: questions on a generated encyclopaedia, made on demand from the task's id.

Invariant: an id tells its split and difficulty, never its kind, since a kind may be the answer ("unanswerable").
"""

from __future__ import annotations

import hashlib
import importlib.resources
import itertools
import random
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from agentenv.errors import ConfigurationError, UnknownTaskError, did_you_mean
from agentenv.task import SPLITS, GraderData, Task, TaskSet
from agentenv.tasks.search.analysis import ANALYSIS
from agentenv.tasks.search.answers import RULES, score
from agentenv.tasks.search.base import Question
from agentenv.tasks.search.checks import question_checks
from agentenv.tasks.search.drafts import Candidate
from agentenv.tasks.search.questions import MIX, OOD_MIX, make, pool
from agentenv.tasks.search.world import make_world

if TYPE_CHECKING:
    from agentenv.tasks.search.index import Bm25Retriever

__all__ = ["GeneratedQuestions"]

VERSION = 1
_SIZES = {"train": 1000, "val": 50, "test": 100, "ood": 100}
_DIFFICULTIES = tuple(MIX)
_KINDS = tuple(dict.fromkeys(kind for mix in (MIX, OOD_MIX) for kinds in mix.values() for kind in kinds))
_SMALLEST = 1000
_KEPT_QUESTIONS = 4096
_KEPT_POOLS = 256
_PREPARED_BLOCKS = 4
_MOST_SHOWN = 100
_SOURCES = (
    "world building names prose asking drafts chains gathered compared questions checks answers answer_tokens generated"
)


class GeneratedQuestions(TaskSet):
    """Questions of one to four hops on a generated encyclopaedia.

    Args:
        kinds: Only these kinds of questions; None for all.
        difficulty: "easy" (1 hop), "medium" (2) or "hard" (3 to 4, counts and comparisons); None for all three.
        seed: Of the encyclopaedia.
        size: Documents of the encyclopaedia; at least 1000.
        answer_rule: How answers are scored: "exact", "f1", "contains" or "squad_em".

    Raises:
        ConfigurationError: On an argument that cannot be used.

    >>> tasks = GeneratedQuestions(difficulty="easy")
    >>> tasks.ids("test")[0]
    'easy-test-0'
    >>> tasks.oracle("easy-test-0")[0].startswith("<search>")
    True
    """

    name = "generated"

    def __init__(
        self,
        kinds: Sequence[str] | None = None,
        difficulty: str | None = None,
        *,
        seed: int = 0,
        size: int = 2000,
        answer_rule: str = "exact",
    ) -> None:
        for kind in kinds or ():
            if kind not in _KINDS:
                raise ConfigurationError(
                    f"kind {kind!r} is not one of {', '.join(_KINDS)}.{did_you_mean(kind, _KINDS)}"
                )
        if difficulty is not None and difficulty not in _DIFFICULTIES:
            raise ConfigurationError(f"difficulty {difficulty!r} is not one of {', '.join(_DIFFICULTIES)}")
        if answer_rule not in RULES:
            raise ConfigurationError(f"answer_rule {answer_rule!r} is not one of {', '.join(RULES)}")
        if size < _SMALLEST:
            raise ConfigurationError(f"questions need a world of at least {_SMALLEST} documents, got size={size}")
        self._kinds = None if kinds is None else tuple(kinds)
        self._difficulties = _DIFFICULTIES if difficulty is None else (difficulty,)
        self._rule = answer_rule
        self._key = f"{VERSION} {seed} {size}"
        self.world = make_world(seed, size)
        self._pool = lru_cache(maxsize=_KEPT_POOLS)(self._make_pool)
        self._question = lru_cache(maxsize=_KEPT_QUESTIONS)(self._make_question)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over world, scoring rule, analysis of searches, and every source file that decides questions."""
        return _fingerprint(f"questions {self._key} {self._rule} {ANALYSIS}")

    @property
    def corpus(self) -> str:
        """The corpus' name."""
        return f"generated-{self.world.seed}-{self.world.size}"

    def ids(self, split: str) -> Sequence[str]:
        """Ids of the split: difficulties and kinds take turns, so that any prefix is a fair mix."""
        return self._ids_by_split.get(split, ())

    def task(self, task_id: str) -> Task:
        """The task of an id, whatever the filters of this instance."""
        question = self.question(task_id)
        return Task(task_id, question.text, {"corpus": self.corpus}, question.split, question.difficulty)

    def question(self, task_id: str) -> Question:
        """All that is known of a question, its answer too: for graders, never for prompts."""
        self._parse(task_id)
        return self._question(task_id)

    def grader(self, task_id: str) -> GraderData:
        """Evidence and bridges, one half of progress; the answer, the other half."""
        return GraderData(question_checks(self.question(task_id), self._rule))

    def oracle(self, task_id: str) -> list[str]:
        """A search for each evidence document, by the name that was read before it, then the answer as it was read."""
        question = self.question(task_id)
        return [*_searches(question), _answer(question.extra["said"])]

    def alternatives(self, task_id: str) -> list[list[str]]:
        """Opening the evidence and answering in other words; searching in the reverse order."""
        question = self.question(task_id)
        other = question.answers[-1] if question.answers else "not stated"
        opens = [f"<open>{document_id}</open>" for document_id in question.evidence]
        return [[*opens, _answer(other)], [*_searches(question)[::-1], _answer(_right(question))]]

    def near_misses(self, task_id: str) -> list[list[str]]:
        """All the evidence, then a wrong answer: a namesake's, a bridge, abstaining; or an empty one."""
        question = self.question(task_id)
        searches = _searches(question)
        wrong = [text for text in dict.fromkeys(question.extra["wrong"]) if score("f1", text, question.answers) < 1]
        return [[*searches, _answer(text)] for text in wrong] + [[*searches, _answer("")]]

    @cached_property
    def _retriever(self) -> Bm25Retriever:
        from agentenv.tasks.search.corpus import DocumentCorpus
        from agentenv.tasks.search.index import Bm25Retriever

        corpus = DocumentCorpus(self.world.documents, f"{self.corpus}-{_fingerprint(self._key)}")
        return Bm25Retriever.open(corpus)

    def retriever(self) -> Bm25Retriever:
        """BM25 over the world's corpus; indexed at the first call on a machine, then memory-mapped."""
        return self._retriever

    def retriever_of(self, task_id: str) -> Bm25Retriever:
        """The same for every task."""
        self._parse(task_id)
        return self.retriever()

    def prepare(self, split: str) -> None:
        """Makes now what the first questions of a split would wait for; in a large world they wait all the same."""
        if self.world.blocks > _PREPARED_BLOCKS:
            return
        for block_number, difficulty in itertools.product(range(self.world.blocks), self._difficulties):
            for kind in dict.fromkeys(_mix(difficulty, split)):
                if self._kinds is None or kind in self._kinds:
                    self._pool(block_number, kind, difficulty, split)
        self.retriever()

    def sentences(self, task_id: str, document_id: str) -> list[str]:
        """None: no benchmark numbers them."""
        return []

    def unknown(self, task_id: str, split_hint: str = "") -> UnknownTaskError:
        """The error for an id that is not in the set, with a near one that is (of its number, if there is one)."""
        number = task_id.rpartition("-")[2]
        near = [
            f"{difficulty}-{split}-{number if _is_number(number, _count(difficulty, split)) else 0}"
            for difficulty in _DIFFICULTIES
            for split in SPLITS
        ]
        shown = task_id if len(task_id) <= _MOST_SHOWN else f"{task_id[:_MOST_SHOWN]}..."
        where = f" ({split_hint})" if split_hint else ""
        return UnknownTaskError(f"task {shown!r} is not in {self.name!r}{where}.{did_you_mean(shown, near)}")

    @cached_property
    def _ids_by_split(self) -> dict[str, tuple[str, ...]]:
        return {split: tuple(self._list_ids(split)) for split in SPLITS}

    def _list_ids(self, split: str) -> Iterator[str]:
        for turn in range(_SIZES[split]):
            for difficulty in self._difficulties:
                width = len(_mix(difficulty, split))
                for number in range(turn * width, (turn + 1) * width):
                    if self._kinds is None or self._kind(difficulty, split, number)[0] in self._kinds:
                        yield f"{difficulty}-{split}-{number}"

    def _parse(self, task_id: str) -> tuple[str, str, int]:
        difficulty, _, rest = task_id.partition("-")
        split, _, number = rest.partition("-")
        known = difficulty in _DIFFICULTIES and split in SPLITS
        if not known or not _is_number(number, _count(difficulty, split)):
            raise self.unknown(task_id)
        return difficulty, split, int(number)

    def _kind(self, difficulty: str, split: str, number: int) -> tuple[str, int]:
        """The kind of the number's question, and its place among all of that kind."""
        mix = _mix(difficulty, split)
        turn, place = divmod(number, len(mix))
        order = _rng("order", self._key, difficulty, split, turn).sample(range(len(mix)), len(mix))
        kind = mix[order[place]]
        return kind, turn * mix.count(kind) + mix[: order[place]].count(kind)

    def _make_question(self, task_id: str) -> Question:
        difficulty, split, number = self._parse(task_id)
        kind, place = self._kind(difficulty, split, number)
        # Blocks take turns.
        place, block_number = divmod(place, self.world.blocks)
        block = self.world.block(block_number)
        candidates = self._pool(block_number, kind, difficulty, split)
        return make(block, candidates[place % len(candidates)], task_id, kind, difficulty, split)

    def _make_pool(self, block_number: int, kind: str, difficulty: str, split: str) -> tuple[Candidate, ...]:
        most = -(-_count(difficulty, split) // self.world.blocks)
        candidates = pool(self.world.block(block_number), kind, difficulty, split, self._key, most)
        if not candidates:
            raise ConfigurationError(
                f"a world of seed={self.world.seed}, size={self.world.size} has no {kind} question that is "
                f"{difficulty}, for {split}; take a larger size"
            )
        return candidates


@lru_cache(maxsize=16)
def _fingerprint(key: str) -> str:
    digest = hashlib.sha256(f"{key}\n".encode())
    root = importlib.resources.files("agentenv.tasks.search")
    for source in _SOURCES.split():
        digest.update(source.encode() + b"\0" + (root / f"{source}.py").read_bytes() + b"\0")
    return digest.hexdigest()


def _mix(difficulty: str, split: str) -> tuple[str, ...]:
    return (OOD_MIX if split == "ood" else MIX)[difficulty]


def _count(difficulty: str, split: str) -> int:
    return _SIZES[split] * len(_mix(difficulty, split))


def _is_number(text: str, count: int) -> bool:
    """Whether a text is a number below the count, written in its one way."""
    plain = len(text) < 10 and text.isascii() and text.isdigit() and str(int(text)) == text
    return plain and int(text) < count


def _rng(*key: object) -> random.Random:
    return random.Random(int.from_bytes(hashlib.sha256(repr(key).encode()).digest(), "big"))


def _searches(question: Question) -> list[str]:
    return [f"<search>{query}</search>" for query in question.extra["queries"]]


def _answer(text: str) -> str:
    return f"<answer>{text}</answer>"


def _right(question: Question) -> str:
    return question.answers[0] if question.answers else "unanswerable"
