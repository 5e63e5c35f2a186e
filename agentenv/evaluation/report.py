"""One HTML page about training runs and evaluations. Invariant: text of a policy is shown, never obeyed.

The page is a single file without a network: style, script, charts and episodes are inside it. Everything that comes
from files is escaped by the template, embedded JSON cannot close its element, and a content security policy lets
nothing run but the page's own script, named by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import jinja2

from agentenv import __version__
from agentenv.errors import ConfigurationError
from agentenv.evaluation.charts import curve_chart
from agentenv.evaluation.episodes import shown_episodes
from agentenv.evaluation.gather import Arm, Evaluation, Material, gather
from agentenv.evaluation.results import write_atomically
from agentenv.evaluation.statistics import Estimate, paired_difference, summarise

__all__ = ["write_report"]

_COLOURS = 6
_BASE_WORDS = ("warm", "base", "start")
_CURVES = (
    ("charts/success_rate", "Success rate in training", True),
    ("charts/val_success", "Success on validation tasks", True),
    ("charts/progress", "Progress at the end of an episode", True),
    ("charts/episodic_return", "Return of an episode", False),
    ("charts/no_signal_groups", "Share of groups without signal", True),
    ("losses/kl_ref", "KL to the reference", False),
    ("losses/approx_kl", "KL of an update", False),
    ("losses/clipfrac", "Share of clipped tokens", False),
)


@dataclass(frozen=True)
class _Row:
    """A line of a results table."""

    name: str
    colour: int
    success: Estimate | None
    lower_bound: float
    coverage: float
    failures: int
    progress_auc: Estimate | None
    turns_to_success: float | None
    invalid: float | None


@dataclass(frozen=True)
class _Gain:
    """A paired difference between two rows."""

    new: str
    base: str
    value: float
    low: float
    high: float
    tasks: int


@dataclass(frozen=True)
class _Split:
    """The results on one split of one task set."""

    name: str
    tasks: int
    rows: list[_Row]
    gains: list[_Gain]
    families: list[tuple[str, list[tuple[_Row, Estimate]]]] = field(default_factory=list)


def write_report(runs: Path | Sequence[Path], out: Path, *, title: str = "agentenv report", episodes: int = 12) -> Path:
    """Writes the page.

    Args:
        runs: Run directories, searched for ``metrics.jsonl``, ``trajectories*.jsonl`` and results files; a results
            file may also be named itself.
        out: The page.
        title: Its heading.
        episodes: Most episodes shown of each arm.

    Raises:
        ConfigurationError: If there is nothing to report.
        ResultsFileError: If a file is damaged, or the page cannot be written.
    """
    material = gather([runs] if isinstance(runs, Path) else list(runs))
    if material.empty:
        raise ConfigurationError("nothing to report: no metrics.jsonl, results or trajectories in the given places")
    names = [arm.name for arm in material.arms] + [evaluation.name for evaluation in material.evaluations]
    names += [name for name, _ in material.trajectories]
    colours = {name: number % _COLOURS for number, name in enumerate(dict.fromkeys(_base_first(names)))}
    splits = _splits(material.evaluations, colours)
    shown = shown_episodes(material.trajectories, episodes)
    script, style = _template("report.js"), _template("report.css")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    page = environment.from_string(_template("report.html")).render(
        title=title,
        version=__version__,
        style=style,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        splits=splits,
        charts=_charts(material, colours),
        legend=[(arm.name, colours[arm.name]) for arm in material.arms],
        data=_embedded([{**episode, "colour": colours[episode["arm"]]} for episode in shown]),
        episodes=len(shown),
        sources=material.sources,
    )
    write_atomically(out, page.encode("utf-8", "replace").decode("utf-8"))
    return out


def _splits(evaluations: Sequence[Evaluation], colours: dict[str, int]) -> list[_Split]:
    """Tables of the evaluations that share tasks, the warm start (or whatever comes first) as the base."""
    together: dict[tuple[str, str, str], list[Evaluation]] = {}
    for evaluation in evaluations:
        header = evaluation.results.header
        together.setdefault((header.split, header.task_set, header.fingerprint), []).append(evaluation)
    order = ("test", "ood", "val", "train")
    splits: list[_Split] = []
    for key in sorted(together, key=lambda key: (order.index(key[0]), key)):
        (split, task_set, fingerprint), group = key, together[key]
        named = {evaluation.name: evaluation for evaluation in group}
        ordered = [named[name] for name in _base_first(named)]
        rows = [_row(evaluation, colours) for evaluation in ordered]
        counts = {len(evaluation.results.header.task_ids) for evaluation in ordered}
        families = _families(ordered, rows)
        same_name = [other for other in together if other[:2] == key[:2]]
        version = f" · tasks {fingerprint[:8]}" if len(same_name) > 1 else ""
        title = f"{split} · {task_set}{version}"
        splits.append(_Split(title, max(counts), rows, _gains(ordered), families))
    return splits


def _row(evaluation: Evaluation, colours: dict[str, int]) -> _Row:
    summary = summarise(evaluation.results)
    return _Row(
        name=evaluation.name,
        colour=colours[evaluation.name],
        success=summary.success,
        lower_bound=summary.success_lower_bound,
        coverage=summary.coverage,
        failures=summary.platform_failures,
        progress_auc=summary.progress_auc,
        turns_to_success=summary.turns_to_success,
        invalid=summary.invalid_action_rate,
    )


def _gains(ordered: Sequence[Evaluation]) -> list[_Gain]:
    gains: list[_Gain] = []
    for base, new in combinations(ordered, 2):
        if base.results.header.task_ids == new.results.header.task_ids and base.results.records and new.results.records:
            try:
                gain = paired_difference(new.results, base.results)
            except ConfigurationError:
                continue  # the platform left the two without a task in common: there is nothing to compare
            gains.append(_Gain(new.name, base.name, gain.value, gain.low, gain.high, gain.tasks))
    return gains


def _families(ordered: Sequence[Evaluation], rows: Sequence[_Row]) -> list[tuple[str, list[tuple[_Row, Estimate]]]]:
    found: dict[str, list[tuple[_Row, Estimate]]] = {}
    for evaluation, row in zip(ordered, rows, strict=True):
        for family, estimate in summarise(evaluation.results).families.items():
            found.setdefault(family, []).append((row, estimate))
    return sorted(found.items())


def _charts(material: Material, colours: dict[str, int]) -> list[tuple[str, str]]:
    charts: list[tuple[str, str]] = []
    for metric, title, unit in _CURVES:
        curves = [(colours[arm.name], *_points(arm, metric)) for arm in material.arms if metric in arm.metrics]
        curves = [curve for curve in curves if len(curve[1]) > 1]
        if curves:
            axis = material.arms[0].axis
            charts.append((title, curve_chart(curves, salt=metric, axis=axis, unit_interval=unit)))
    return charts


def _points(arm: Arm, metric: str) -> tuple[list[float], list[float]]:
    points = arm.metrics[metric]
    return [x for x, _ in points], [y for _, y in points]


def _base_first(names: Sequence[str] | dict[str, Any]) -> list[str]:
    return sorted(names, key=lambda name: not any(word in name.lower() for word in _BASE_WORDS))


def _embedded(values: Any) -> str:
    """JSON that may stand in a script element: no character in it can end the element or open a comment."""
    text = json.dumps(values, allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _template(name: str) -> str:
    return (files("agentenv.evaluation") / "templates" / name).read_text(encoding="utf-8")
