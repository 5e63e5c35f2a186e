"""Generated goals: splits, difficulties; right ways to buy score 1 and wrong ones do not, under both rewards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agentenv.errors import ConfigurationError, UnknownTaskError
from agentenv.task import SPLITS
from agentenv.tasks.webshop.base import Goal
from agentenv.tasks.webshop.generated import GeneratedGoals
from agentenv.tasks.webshop.goals import drawn_limit, keywords_of
from agentenv.tasks.webshop.loading import load
from agentenv.tasks.webshop.reward import RULES, Tagger, WordTagger, load_tagger, price_of, score
from agentenv.tasks.webshop.shop import Shop, State
from agentenv.tasks.webshop.vocabulary import GROUPS

OOD = {group.query for group in GROUPS if group.ood}


def some(goals: GeneratedGoals, split: str) -> list[str]:
    return list(goals.ids(split)[:12])


def buy(goals: GeneratedGoals, task_id: str, actions: list[str], rule: str, tagger: Tagger | None = None) -> float:
    """The score of a purchase that is made in the shop itself."""
    goal = goals.goal(task_id)
    target = goals.catalogue.product(goal.asin)
    shop, state = Shop(goals.catalogue), State()
    for action in actions:
        move = shop.move(state, action)
        assert move is not None, (action, shop.valid_actions(state))
        state = move.state
    purchase = shop.view(state).purchase
    assert target is not None
    assert purchase is not None
    return score(rule, goal, target, purchase, tagger or WordTagger()).total


def wanted(goals: GeneratedGoals, goal: Goal) -> tuple[object, ...]:
    target = goals.catalogue.product(goal.asin)
    assert target is not None
    return target.query, frozenset(goal.attributes), frozenset(goal.options.items())


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("rule", RULES)
def test_the_oracle_and_its_alternatives_score_one(goals: GeneratedGoals, split: str, rule: str) -> None:
    for task_id in some(goals, split):
        for actions in [goals.oracle(task_id), *goals.alternatives(task_id)]:
            assert buy(goals, task_id, actions, rule) == 1.0


def test_oracles_are_right_by_the_nouns_of_spacy_too(goals: GeneratedGoals) -> None:
    pytest.importorskip("spacy")
    tagger = load_tagger("spacy")
    for split in SPLITS:
        for task_id in goals.ids(split)[:60]:
            assert buy(goals, task_id, goals.oracle(task_id), "original", tagger) == 1.0


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("rule", RULES)
def test_near_misses_score_below_one(goals: GeneratedGoals, split: str, rule: str) -> None:
    for task_id in some(goals, split):
        for actions in goals.near_misses(task_id):
            assert buy(goals, task_id, actions, rule) < 1.0


def test_whoever_buys_the_first_result_as_it_is_is_right_on_easy_goals_only_now_and_then(goals: GeneratedGoals) -> None:
    right = {"easy": 0, "medium": 0, "hard": 0}
    for task_id in goals.ids("test")[:60]:
        goal, first = goals.goal(task_id), goals.oracle(task_id)[0]
        shop = Shop(goals.catalogue)
        move = shop.move(State(), first)
        assert move is not None
        actions = [first, f"click[{shop.on_page(move.state)[0].lower()}]", "click[buy now]"]
        right[goal.difficulty] += buy(goals, task_id, actions, "strict") == 1.0
    assert 0 < right["easy"] < 20
    assert right["medium"] == right["hard"] == 0


def test_splits_never_want_the_same(goals: GeneratedGoals) -> None:
    seen: dict[tuple[object, ...], str] = {}
    texts: dict[str, str] = {}
    for split in SPLITS:
        for task_id in goals.ids(split)[:150]:
            goal = goals.goal(task_id)
            assert seen.setdefault(wanted(goals, goal), split) == split
            assert texts.setdefault(goal.instruction, split) == split


def test_out_of_distribution_goals_want_kinds_that_no_other_goal_wants(goals: GeneratedGoals) -> None:
    for split in SPLITS:
        for task_id in goals.ids(split)[:60]:
            assert (wanted(goals, goals.goal(task_id))[0] in OOD) == (split == "ood")


def test_the_target_meets_its_goal_at_the_price_of_the_variant(goals: GeneratedGoals) -> None:
    for task_id in goals.ids("train")[:90]:
        goal = goals.goal(task_id)
        target = goals.catalogue.product(goal.asin)
        assert target is not None
        assert set(goal.attributes) <= set(target.attributes)
        assert all(value in target.options[name] for name, value in goal.options.items())
        assert max(target.price, price_of(target, goal.options)) < goal.price_upper
        assert goal.price_upper % 10 == 0


def test_no_goal_wants_an_option_that_the_original_never_takes_for_chosen(goals: GeneratedGoals) -> None:
    """It reads a chosen "rosewood" as the colour rose, and a wanted one, of a named option, as it stands."""
    found = [goals.goal(task_id) for task_id in goals.ids("test")]
    values = {value for goal in found for value in goal.options.values()}
    assert not values & {"rosewood", "blueberry"}
    assert "mauve" in values


def test_instructions_tell_all_that_is_wanted_and_no_asin(goals: GeneratedGoals) -> None:
    for task_id in goals.ids("test")[:60]:
        goal, task = goals.goal(task_id), goals.task(task_id)
        query = str(wanted(goals, goal)[0])
        for text in (*goal.attributes, *goal.options.values(), query, f"{goal.price_upper:.2f} dollars"):
            assert text in task.instruction
        assert goal.asin.lower() not in str(task.to_json()).lower()
        for keywords in keywords_of(query, goal):
            assert all(word in task.instruction for word in keywords.split())


def test_difficulties_ask_for_more_and_more(goals: GeneratedGoals) -> None:
    counts: dict[str, list[int]] = {"easy": [], "medium": [], "hard": []}
    for task_id in goals.ids("train")[:120]:
        goal = goals.goal(task_id)
        assert task_id.startswith(goal.difficulty)
        counts[goal.difficulty].append(len(goal.attributes) + len(goal.options))
    means = [np.mean(counts[difficulty]) for difficulty in ("easy", "medium", "hard")]
    assert means == sorted(means)
    assert max(counts["easy"]) < max(counts["hard"])


def test_one_difficulty_can_be_kept() -> None:
    hard = load("generated:400", difficulty="hard")
    assert all(task_id.startswith("hard-") for split in SPLITS for task_id in hard.ids(split))
    assert len(hard.ids("test")) == 300


@pytest.mark.parametrize(
    "task_id", ["", "easy-train", "easy-train-02", "easy-train-2000", "so-so-1", "easy-ood-²", "a" * 999]
)
def test_unknown_tasks_are_refused_with_a_near_one(goals: GeneratedGoals, task_id: str) -> None:
    with pytest.raises(UnknownTaskError) as caught:
        goals.task(task_id)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "tasks",
    ["generatd", "generated:5", "generated:x", "generated:-800", "webshop-human:", "webshop-human:/nowhere"],
)
def test_unusable_task_sets_are_refused(tasks: str) -> None:
    with pytest.raises(ConfigurationError):
        load(tasks)


def test_an_unknown_difficulty_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'extreme'"):
        load("generated", difficulty="extreme")


def test_goals_are_the_same_in_another_process_that_never_made_the_catalogue(goals: GeneratedGoals) -> None:
    ids = [task_id for split in SPLITS for task_id in goals.ids(split)[:3]]
    program = (
        "from agentenv.tasks.webshop.generated import GeneratedGoals; import sys;"
        "goals = GeneratedGoals(size=800, cache='/dev/null/none');"
        "print([goals.goal(task_id) for task_id in reversed(sys.argv[1:])][::-1], goals.fingerprint)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "5"}
    done = subprocess.run(
        [sys.executable, "-c", program, *ids], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == f"{[goals.goal(task_id) for task_id in ids]} {goals.fingerprint}", done.stderr


def test_a_different_catalogue_has_a_different_fingerprint(goals: GeneratedGoals, tmp_path: Path) -> None:
    assert len({goals.fingerprint, GeneratedGoals(801).fingerprint, GeneratedGoals(800, seed=1).fingerprint}) == 3


def test_price_limits_of_the_originals_lie_among_the_four_next_tens() -> None:
    for price in (0.5, 9.99, 10.0, 955.0, 979.99):
        limits = {drawn_limit(price, np.random.default_rng(seed)) for seed in range(40)}
        nearest = [limit for limit in np.arange(10.0, 1000.0, 10.0) if limit > price][:4]
        assert limits == set(nearest[1:])
