"""The generated goals: three difficulties, four splits, any number, made on demand from the task's id.

Invariant: `train`, `val` and `test` never want the same thing, whatever the wording or the price, and `ood` wants kinds
of products that the others never want (the shop sells them all).
"""

from __future__ import annotations

import hashlib
import importlib.resources
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from agentenv.errors import ConfigurationError, InfrastructureError, UnknownTaskError, did_you_mean
from agentenv.task import GraderData, Task, stable_rng
from agentenv.tasks.search.analysis import ANALYSIS
from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.catalogue import LOT, Draws, GeneratedCatalogue, group_of_lot
from agentenv.tasks.webshop.goals import DIFFICULTIES, draw_goal, keywords_of, requirement_bucket
from agentenv.tasks.webshop.loading import GoalSet
from agentenv.tasks.webshop.reward import RULES, WordTagger, checks_for, price_of, score
from agentenv.tasks.webshop.store import ProductStore, StoreWriter
from agentenv.tasks.webshop.vocabulary import GROUPS, Group

__all__ = ["GeneratedGoals"]

_VERSION = 1
_SIZES = {"train": 2000, "val": 100, "test": 300, "ood": 100}
_BUCKETS = {"train": range(8), "val": range(8, 9), "test": range(9, 10), "ood": range(10)}
_ATTEMPTS = 1000
_ATTEMPTS_IN_LOT = 8
_KEPT_GOALS = 4096
_KEPT_LOTS = 256
_RESULTS = 50
_PER_PAGE = 10
# Of a page of results, those that short observations show as well.
_IN_VIEW = 3
_MOST_ALTERNATIVES = 3
_MOST_SHOWN = 100
_NEXT_PAGE = "click[next >]"
# The original's type needs a noun in common. Of two common words spaCy may take neither for one.
_SHARED_TITLE_WORDS = 3


class GeneratedGoals(GoalSet):
    """Goals of customers of a generated catalogue.

    Args:
        size: Products in the catalogue; at least one lot of eight of every kind.
        seed: Which catalogue, and which goals.
        difficulty: "easy", "medium" or "hard"; None keeps all three.
        cache: Where the catalogue is kept once made; see `agentenv.tasks.search.storage.cache_root`.

    Raises:
        ConfigurationError: On an unknown difficulty, or a catalogue that is too small.

    >>> goals = GeneratedGoals(size=400)
    >>> goals.task("easy-test-0").instruction.endswith(" dollars")
    True
    """

    name = "generated"

    def __init__(
        self, size: int = 10_000, seed: int = 0, difficulty: str | None = None, cache: str | Path | None = None
    ) -> None:
        if size < LOT * len(GROUPS):
            raise ConfigurationError(
                f"size={size} is too small: goals of every kind and split need at least {LOT * len(GROUPS)} products"
            )
        if difficulty is not None and difficulty not in DIFFICULTIES:
            raise ConfigurationError(f"difficulty {difficulty!r} is not one of {', '.join(DIFFICULTIES)}")
        self._recipe = GeneratedCatalogue(size, seed)
        self._difficulties = DIFFICULTIES if difficulty is None else (difficulty,)
        self._cache = cache
        self._lot = lru_cache(maxsize=_KEPT_LOTS)(self._recipe.lot)
        self._drawn = lru_cache(maxsize=_KEPT_GOALS)(self._draw)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over catalogue, analysis of searches, and every source file that decides goals and their grading."""
        digest = hashlib.sha256(f"goals {_VERSION} {self._recipe.fingerprint} {ANALYSIS}\n".encode())
        root = importlib.resources.files("agentenv.tasks.webshop")
        sources = [root / name for name in ("generated.py", "goals.py", "colours.py", "store.py")]
        sources += sorted((root / "reward").iterdir(), key=lambda entry: entry.name)
        for source in sources:
            if source.name.endswith(".py"):
                digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
        return digest.hexdigest()

    @cached_property
    def catalogue(self) -> ProductStore:
        """The products, made on this machine at first use."""

        def fill(writer: StoreWriter) -> None:
            for product in self._recipe:
                writer.add(product)

        return ProductStore.open(f"generated {self._recipe.fingerprint}", fill, cache=self._cache)

    def ids(self, split: str) -> Sequence[str]:
        """Ids of the split: difficulties take turns, so that any prefix is a fair mix."""
        return self._ids_by_split.get(split, ())

    def task(self, task_id: str) -> Task:
        """The task of an id, whatever the difficulty this instance keeps."""
        goal = self.goal(task_id)
        return Task(task_id, goal.instruction, {}, goal.split, goal.difficulty)

    def goal(self, task_id: str) -> Goal:
        """What the customer of a task wants."""
        return self._drawn(task_id)[0]

    def grader(self, task_id: str) -> GraderData:
        """The terms of the strict reward, and the purchase, as checks."""
        goal, target, _, _ = self._drawn(task_id)
        return GraderData(checks_for(goal, target), {"goal": goal, "target": target})

    def oracle(self, task_id: str) -> list[str]:
        """Searches for words of the instruction and buys the first product found that is right in everything.

        Searches that find one among their first few results are preferred.
        """
        return self._solutions(task_id)[0]

    def alternatives(self, task_id: str) -> list[list[str]]:
        """Other products that are right in everything, or the target by its title."""
        return self._solutions(task_id)[1 : 1 + _MOST_ALTERNATIVES]

    def near_misses(self, task_id: str) -> list[list[str]]:
        """Wrong purchases: the first result as it is, the target with a wrong or no option, the rest of its lot.

        What either reward takes for right is left out: the original pays for some of them.
        """
        goal, target, lot, group = self._drawn(task_id)
        keywords = keywords_of(group.query, goal)[0]
        tried: list[tuple[str, Product, Mapping[str, str]]] = []
        first = next(iter(self._found(keywords)), None)
        if first is not None:
            tried.append((keywords, first, {}))
        for name, value in goal.options.items():
            others = [other for other in target.options[name] if other != value]
            tried += [(target.title, target, {**goal.options, name: other}) for other in others[:1]]
        if goal.options:
            tried.append((target.title, target, {}))
        for other in lot:
            offered = {name: value for name, value in goal.options.items() if value in other.options.get(name, ())}
            tried.append((other.title, other, offered))
        wrong = [entry for entry in tried if max(self._scores(goal, target, *entry[1:])) < 1.0]
        return [path for entry in wrong if (path := self._path(*entry))]

    def unknown(self, task_id: str, split_hint: str = "") -> UnknownTaskError:
        """The error for an id that is not in the set, with a near one that is (of its number, if there is one)."""
        number = task_id.rpartition("-")[2]
        near = [
            f"{difficulty}-{split}-{number if _in_split(number, split) else 0}"
            for difficulty in DIFFICULTIES
            for split in _SIZES
        ]
        shown = task_id if len(task_id) <= _MOST_SHOWN else f"{task_id[:_MOST_SHOWN]}..."
        where = f" ({split_hint})" if split_hint else ""
        return UnknownTaskError(f"task {shown!r} is not in {self.name!r}{where}.{did_you_mean(shown, near)}")

    # -- goals ------------------------------------------------------------------------------------------------------

    @cached_property
    def _ids_by_split(self) -> dict[str, tuple[str, ...]]:
        return {split: tuple(self._list_ids(split)) for split in _SIZES}

    def _list_ids(self, split: str) -> Iterator[str]:
        for index in range(_SIZES[split]):
            for difficulty in self._difficulties:
                yield f"{difficulty}-{split}-{index}"

    def _draw(self, task_id: str) -> tuple[Goal, Product, tuple[Product, ...], Group]:
        """The goal, its target, the rest of the target's lot, and the group."""
        difficulty, split = self._parse(task_id)
        draws = Draws(stable_rng("webshop goal", _VERSION, self._recipe.seed, self._recipe.size, task_id))
        groups = [number for number, group in enumerate(GROUPS) if group.ood == (split == "ood")]
        lots = self._recipe.size // LOT
        for _ in range(_ATTEMPTS // _ATTEMPTS_IN_LOT):
            first = draws.pick(groups)
            number = draws.pick(range(first, lots, len(GROUPS)))
            group, lot = group_of_lot(number), self._lot(number)
            for _ in range(_ATTEMPTS_IN_LOT):
                target = draws.pick([product for product in lot if product.query == group.query])
                others = tuple(product for product in lot if product is not target)
                goal = draw_goal(task_id, split, difficulty, group, target, others, draws)
                in_split = requirement_bucket(group.query, goal) in _BUCKETS[split]
                # The original takes a wanted "rosewood" for a text and a chosen one for the colour rose.
                if in_split and min(self._scores(goal, target, target, goal.options)) == 1.0:
                    return goal, target, others, group
        raise ConfigurationError(f"no goal of {task_id!r} fell into the {split} split in {_ATTEMPTS} attempts")

    def _parse(self, task_id: str) -> tuple[str, str]:
        parts = task_id.split("-")
        if len(parts) != 3 or parts[0] not in DIFFICULTIES or not _in_split(parts[2], parts[1]):
            raise self.unknown(task_id)
        return parts[0], parts[1]

    # -- ways to buy ------------------------------------------------------------------------------------------------

    def _solutions(self, task_id: str) -> list[list[str]]:
        """Ways to buy what is right in everything, the easiest to see and shortest first."""
        goal, target, _, group = self._drawn(task_id)
        paths: list[tuple[bool, list[str]]] = []
        for keywords in keywords_of(group.query, goal):
            if any(in_view for in_view, _ in paths):
                break
            found = self._found(keywords)
            right = [product for product in found if self._is_right(goal, target, group, product)]
            paths += [(product in found[:_IN_VIEW], self._path(keywords, product, goal.options)) for product in right]
        paths.sort(key=lambda entry: (not entry[0], len(entry[1])))
        # The title is not for customers to know, and so comes last.
        solutions = [*(path for _, path in paths), self._path(target.title, target, goal.options)]
        if not solutions[-1]:
            raise InfrastructureError(f"the search does not find {target.asin!r} by its title: remove the cached index")
        return solutions

    def _is_right(self, goal: Goal, target: Product, group: Group, product: Product) -> bool:
        offered = all(value in product.options.get(name, ()) for name, value in goal.options.items())
        has_all = set(goal.attributes) <= set(product.attributes)
        return (
            offered
            and has_all
            and product.query == group.query
            and len(_title_words(product) & _title_words(target)) >= _SHARED_TITLE_WORDS
            and min(self._scores(goal, target, product, goal.options)) == 1.0
        )

    def _scores(self, goal: Goal, target: Product, product: Product, options: Mapping[str, str]) -> list[float]:
        purchase = Purchase(product, options, price_of(product, options))
        return [score(rule, goal, target, purchase, WordTagger()).total for rule in RULES]

    def _found(self, keywords: str) -> list[Product]:
        found = (self.catalogue.product(asin) for asin in self.catalogue.search(keywords, _RESULTS))
        return [product for product in found if product is not None]

    def _path(self, keywords: str, product: Product, options: Mapping[str, str]) -> list[str]:
        """The actions that buy a product found by these keywords; none if it is not found."""
        found = self.catalogue.search(keywords.lower(), _RESULTS)
        if product.asin not in found:
            return []
        pages = found.index(product.asin) // _PER_PAGE
        return [
            f"search[{keywords.lower()}]",
            *[_NEXT_PAGE] * pages,
            f"click[{product.asin.lower()}]",
            *(f"click[{value}]" for value in options.values()),
            "click[buy now]",
        ]


def _title_words(product: Product) -> set[str]:
    return set(WordTagger().nouns(product.title))


def _in_split(number: str, split: str) -> bool:
    """Whether a text is the number of one of the split's tasks, written in its one way."""
    plain = len(number) < 10 and number.isascii() and number.isdigit() and str(int(number)) == number
    return plain and int(number) < _SIZES.get(split, 0)
