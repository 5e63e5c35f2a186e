"""Line charts as inline SVG that follow the page's colours. Invariant: the same points give the same bytes.

Matplotlib draws with marker colours that are then replaced by the page's CSS variables, so that one picture serves
light and dark. Names stay out of the picture (the page has a legend): no text from files is drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

__all__ = ["curve_chart"]

_INK, _GRID = "#010203", "#040506"
_SMOOTHING = 0.75
_MANY = 12

Curve = tuple[int, Sequence[float], Sequence[float]]


def curve_chart(curves: Sequence[Curve], *, salt: str, axis: str, unit_interval: bool = False) -> str:
    """A chart of curves: (colour number, xs, ys) each. Many points are drawn faint, with a moving average over them.

    Args:
        curves: At least one.
        salt: Keeps the ids inside apart from other charts' on the page.
        axis: What x counts.
        unit_interval: Whether y lies in [0, 1].

    >>> svg = curve_chart([(0, [0, 1], [0.1, 0.4])], salt="s", axis="episodes")
    >>> svg.startswith("<svg"), "var(--c0)" in svg
    (True, True)
    """
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": "sans-serif",
        "text.parse_math": False,
        "path.simplify": True,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(4.6, 2.5), layout="constrained")
        canvas = FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for colour, xs, ys in curves:
            if len(ys) > _MANY:
                axes.plot(xs, ys, color=_marker(colour), linewidth=0.8, alpha=0.3)
                axes.plot(xs, _smooth(ys), color=_marker(colour), linewidth=2, solid_capstyle="round")
            else:
                axes.plot(xs, ys, color=_marker(colour), linewidth=2, marker="o", markersize=3)
        if unit_interval:
            top = max(max(ys) for _, _, ys in curves)
            axes.set_ylim(0, min(1.02, max(0.1, 1.15 * top)))
        axes.margins(x=0.01)
        axes.set_xlabel(axis, color=_INK, fontsize=9)
        axes.grid(axis="y", color=_GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.tick_params(colors=_INK, labelsize=9, length=0)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(_GRID)
        figure.patch.set_alpha(0)
        axes.patch.set_alpha(0)
        drawn = io.StringIO()
        canvas.print_svg(drawn, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _adapt(drawn.getvalue())


def _marker(colour: int) -> str:
    return f"#0a0b{colour:02x}"


def _smooth(values: Sequence[float]) -> list[float]:
    """Exponential moving average without the bias of its start."""
    averages: list[float] = []
    total = weight = 0.0
    for value in values:
        total = _SMOOTHING * total + (1 - _SMOOTHING) * value
        weight = _SMOOTHING * weight + (1 - _SMOOTHING)
        averages.append(total / weight)
    return averages


def _adapt(svg: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*pt"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?)height="[^"]*pt"', r"\1", svg, count=1)
    svg = re.sub(r"#0a0b([0-9a-f]{2})", lambda match: f"var(--c{int(match[1], 16)})", svg)
    svg = re.sub(r"font: [^;\"]*;?", "font-size: 9px;", svg)
    return svg.replace(_INK, "var(--muted)").replace(_GRID, "var(--line)")
