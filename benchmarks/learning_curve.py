"""The README's picture: `python -m benchmarks.learning_curve runs/main docs/learning-curve.png`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

COLOURS = {"procredit": "#1b7f5c", "outcome": "#b5542c"}
WINDOW = 5


def draw(run: Path, path: Path) -> None:
    """Training success and progress of both arms, a point an update, means of the last five updates."""
    figure = Figure(figsize=(9, 3.4), dpi=150, layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    for axes, metric, label in zip(panels, ("success_rate", "progress"), ("success", "verified progress"), strict=True):
        for arm, colour in COLOURS.items():
            with (run / arm / "metrics.jsonl").open(encoding="utf-8") as lines:
                rows = [json.loads(line) for line in lines]
            values = [row[f"charts/{metric}"] for row in rows]
            means = [sum(values[max(0, i - WINDOW + 1) : i + 1]) / min(WINDOW, i + 1) for i in range(len(values))]
            episodes = [row["charts/episodes"] for row in rows]
            axes.plot(episodes, values, ".", color=colour, alpha=0.35)
            axes.plot(episodes, means, color=colour, label=arm)
        axes.set(xlabel="training episodes", ylabel=f"{label} of training episodes")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
