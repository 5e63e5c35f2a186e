"""The families of data, git, scripts and services: start at 0, oracle and alternatives at 1, near-misses below."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from agentenv.tasks.terminal.scenario import DIFFICULTIES, Family
from tests.tasks.terminal import family_suite as suite

NAMES = (
    "json_files",
    "shell_scripts",
    "cron_scripts",
    "services",
    "broken_builds",
)
FAMILIES: list[Family] = [importlib.import_module(f"agentenv.tasks.terminal.families.{name}").FAMILY for name in NAMES]

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
each_difficulty = pytest.mark.parametrize("difficulty", DIFFICULTIES)
each_seed = pytest.mark.parametrize("seed", range(3))


@each_family
@each_difficulty
@each_seed
def test_oracle_climbs_from_0_to_success(family: Family, difficulty: str, seed: int, tmp_path: Path) -> None:
    scenario = suite.build(family, difficulty, seed)
    suite.skip_without_programs(scenario)
    suite.assert_shape(scenario, difficulty)
    suite.assert_oracle_climbs(scenario, tmp_path)


@each_family
@each_difficulty
@each_seed
def test_alternatives_succeed_and_near_misses_do_not(
    family: Family, difficulty: str, seed: int, tmp_path: Path
) -> None:
    scenario = suite.build(family, difficulty, seed)
    suite.skip_without_programs(scenario)
    suite.assert_ways(scenario, tmp_path)


@each_family
def test_oracle_climbs_in_the_real_sandbox(family: Family) -> None:
    scenario = suite.build(family, "hard", 3)
    suite.skip_without_programs(scenario)
    suite.assert_oracle_climbs_in_sandbox(scenario)


# Easy tasks hold every kind of check; on the harder ones each of their many starts of a service takes its time.
@each_family
@each_seed
def test_hostile_state_never_crashes_a_check(family: Family, seed: int, tmp_path: Path) -> None:
    scenario = suite.build(family, "easy", seed)
    suite.skip_without_programs(scenario)
    suite.assert_survives_hostile_state(scenario, tmp_path)


@each_family
@each_difficulty
def test_seeds_give_different_instructions(family: Family, difficulty: str) -> None:
    suite.assert_enough_variety(family, difficulty)


@each_family
def test_same_seed_builds_the_same_scenario(family: Family) -> None:
    first, second = (suite.build(family, "hard", 7) for _ in range(2))
    assert (first.instruction, first.files, first.oracle) == (second.instruction, second.files, second.oracle)


@each_family
def test_family_is_named_for_its_module(family: Family) -> None:
    assert family.name in NAMES
    assert not family.ood
