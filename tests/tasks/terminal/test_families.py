"""Every family of the registry: start at 0, oracle and alternatives at 1, near-misses below, no state crashes a check.

What only some families can be asked at a bearable cost is in files of their own: `test_families_scripts.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

from agentenv.tasks.terminal import families
from agentenv.tasks.terminal.families import FAMILIES
from agentenv.tasks.terminal.scenario import DIFFICULTIES, Family
from tests.tasks.terminal import family_suite as suite

OOD = {"disk_usage", "diff_patch", "systemd_units", "sqlite_databases", "text_reports"}

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
each_quick_family = pytest.mark.parametrize(
    "family",
    [family for family in FAMILIES if family.name not in suite.RUN_WHAT_WAS_LEFT],
    ids=lambda family: family.name,
)
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
@pytest.mark.parametrize("seed", [3, 5])
def test_oracle_climbs_in_the_real_sandbox(family: Family, seed: int) -> None:
    scenario = suite.build(family, "hard", seed)
    suite.skip_without_programs(scenario)
    suite.assert_oracle_climbs_in_sandbox(scenario)


@each_family
@each_difficulty
@each_seed
def test_alternatives_succeed_and_near_misses_do_not(
    family: Family, difficulty: str, seed: int, tmp_path: Path
) -> None:
    scenario = suite.build(family, difficulty, seed)
    suite.skip_without_programs(scenario)
    suite.assert_ways(scenario, tmp_path)


@each_quick_family
@each_difficulty
def test_hostile_state_never_crashes_a_check(family: Family, difficulty: str, tmp_path: Path) -> None:
    scenario = suite.build(family, difficulty, 0)
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
    assert importlib.import_module(f"{families.__name__}.{family.name}").FAMILY is family


def test_every_module_of_a_family_is_in_the_registry() -> None:
    modules = {module.name for module in pkgutil.iter_modules(families.__path__) if not module.name.startswith("_")}
    assert {family.name for family in FAMILIES} == modules


def test_families_kept_from_training_are_these() -> None:
    assert {family.name for family in FAMILIES if family.ood} == OOD
