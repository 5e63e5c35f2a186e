"""Families of data and scripts, whose checks run what an agent left: hostile states of easy tasks, from more seeds.

Easy tasks hold every kind of check; on harder ones each of the many runs of what was spoilt takes its time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agentenv.tasks.terminal.families import FAMILIES
from agentenv.tasks.terminal.scenario import Family
from tests.tasks.terminal import family_suite as suite

NAMES = ("json_files", *suite.RUN_WHAT_WAS_LEFT)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "family", [family for family in FAMILIES if family.name in NAMES], ids=lambda family: family.name
)
def test_hostile_state_never_crashes_a_check(family: Family, seed: int, tmp_path: Path) -> None:
    scenario = suite.build(family, "easy", seed)
    suite.skip_without_programs(scenario)
    suite.assert_survives_hostile_state(scenario, tmp_path)
