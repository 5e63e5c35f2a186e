"""Finding what a report shows in run directories. Invariant: a file is read only if its name or header says what it is.

Learning curves come from ``metrics.jsonl``, episodes from ``trajectories*.jsonl``, tables from results files. The arm
that they belong to is the directory they stand in, or, for a results file, its name without the split.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentenv.errors import ConfigurationError, ResultsFileError
from agentenv.evaluation.results import FORMAT, Results, read_results

__all__ = ["Arm", "Evaluation", "Material", "gather"]

_AXES = ("episodes", "charts/episodes", "global_step", "update", "step")
_DEPTH = 4
_EVALUATION_ROOMS = ("eval", "evals", "evaluation", "results")
_HEAD_BYTES = 200


@dataclass(frozen=True)
class Arm:
    """One training run: by metric, its points over `axis`."""

    name: str
    axis: str
    metrics: dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Evaluation:
    """A results file under the name it is shown by."""

    name: str
    results: Results


@dataclass
class Material:
    """What was found. `trajectories` holds (arm, file), in the order they were written."""

    arms: list[Arm] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    trajectories: list[tuple[str, Path]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.arms or self.evaluations or self.trajectories)


def gather(places: Sequence[Path]) -> Material:
    """Reads run directories and results files.

    Raises:
        ConfigurationError: If a place does not exist.
        ResultsFileError: Naming a file that is damaged.
    """
    material = Material()
    for place in places:
        if not place.exists():
            raise ConfigurationError(f"{place}: there is no such file or directory")
        for path in _walk(place, _DEPTH) if place.is_dir() else [place]:
            if _take(material, path, place):
                root = place if place.is_dir() else place.parent
                material.sources.append(f"{root.name}/{path.relative_to(root)}")
    return material


def _take(material: Material, path: Path, place: Path) -> bool:
    if path.name == "metrics.jsonl":
        material.arms.append(_read_arm(path, _arm_of(path, place)))
        return True
    if path.name.startswith("trajectories") and path.suffix == ".jsonl":
        material.trajectories.append((_arm_of(path, place), path))
        return True
    if path.suffix == ".json" and (path == place or _is_results(path)):
        results = read_results(path)
        material.evaluations.append(Evaluation(_name_of(path, place, results.header.split, material), results))
        return True
    return False


def _walk(directory: Path, depth: int) -> Iterator[Path]:
    """Files below a directory in a fixed order; links and checkpoints are left alone."""
    for entry in sorted(directory.iterdir(), key=_natural):
        if entry.is_symlink() or entry.name.startswith((".", "checkpoint")):
            continue
        if entry.is_file():
            yield entry
        elif entry.is_dir() and depth > 0:
            yield from _walk(entry, depth - 1)


def _natural(path: Path) -> list[tuple[bool, int, str]]:
    """Sorts ``trajectories-9`` before ``trajectories-10``."""
    parts: list[str] = [""]
    for character in path.name:
        if character.isdecimal() == parts[-1][-1:].isdecimal():
            parts[-1] += character
        else:
            parts.append(character)
    return [(part.isdecimal(), int(part) if part.isdecimal() and len(part) < 18 else 0, part) for part in parts]


def _is_results(path: Path) -> bool:
    with path.open("rb") as file:
        return f'"{FORMAT}"'.encode() in file.read(_HEAD_BYTES)


def _arm_of(path: Path, place: Path) -> str:
    """The directories between the place and the file; the place's own name where there are none."""
    between = path.relative_to(place).parts[:-1] if path != place else ()
    return "/".join(part for part in between if part not in _EVALUATION_ROOMS) or path.parent.name or place.name


def _name_of(path: Path, place: Path, split: str, material: Material) -> str:
    """A results file's arm: ``eval/procredit-test.json`` and ``procredit/test.json`` are both of `procredit`."""
    arm = _arm_of(path, place)
    nested = path != place and arm != place.name and path.parent.name not in _EVALUATION_ROOMS
    stem = re.sub(rf"[-_.]?{re.escape(split)}$", "", path.stem)
    name = arm if not stem or stem in _EVALUATION_ROOMS else f"{arm}/{stem}" if nested else stem
    taken = {evaluation.name for evaluation in material.evaluations if evaluation.results.header.split == split}
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name} ({number})", number + 1
    return unique


def _read_arm(path: Path, name: str) -> Arm:
    rows: list[dict[str, object]] = []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):
                break  # a run that is still going: its last line is being written
            raise ResultsFileError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise ResultsFileError(f"{path}:{number}: not an object")
        rows.append(row)
    axis = next((axis for axis in _AXES if all(_finite(row.get(axis)) for row in rows)), "row") if rows else "row"
    metrics: dict[str, list[tuple[float, float]]] = {}
    for number, row in enumerate(rows):
        x = row[axis] if axis != "row" else number
        for key, value in row.items():
            if key != axis and _finite(value):
                metrics.setdefault(key, []).append((float(str(x)), float(str(value))))
    return Arm(name, axis.rpartition("/")[2], metrics)


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
