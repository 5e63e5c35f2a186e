"""No cheat gets anything; the honest twin of each gets everything; and nothing of either lives on."""

from __future__ import annotations

import os

import pytest

from agentenv.envs.code.grader import Grader, Limits
from agentenv.envs.code.pool import Pool
from agentenv.sandbox import processes
from tests.envs.code.cheats import PAIRS

LIMITS = Limits(test_s=0.2, suite_s=3.0)
HONEST_LIMITS = Limits(test_s=10.0, suite_s=30.0)


def score(grader: Grader, source: str, name: str, limits: Limits) -> float:
    tests = PAIRS[name].tests
    results = grader.grade({"solution.py": source.encode()}, tests, limits)
    assert list(results) == [test.id for test in tests]
    return sum(result.passed for result in results.values()) / len(tests)


@pytest.mark.parametrize("name", PAIRS)
def test_cheat_scores_nothing_beside_an_honest_twin_that_scores_everything(grader: Grader, name: str) -> None:
    assert score(grader, PAIRS[name].cheat, name, LIMITS) == 0.0
    assert score(grader, PAIRS[name].honest, name, HONEST_LIMITS) == 1.0


@pytest.mark.parametrize("name", ["a daemon", "a fork bomb", "deaf to signals", "kills everything"])
def test_nothing_of_a_suite_lives_on(name: str) -> None:
    before = set(processes.descendants(os.getpid()))
    with Pool(spares=0) as pool:
        score(Grader(pool), PAIRS[name].cheat, name, LIMITS)
        assert set(processes.descendants(os.getpid())) <= before
