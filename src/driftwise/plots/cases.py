"""Many policies on many cases: regret curves, a heat map of ratios, and cost against regret.

A policy has one colour in all pictures, given by its place in a list; beyond the sixth, lines are dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.plots.regret import name_ends, spread
from driftwise.plots.style import LIGHT, Theme, literal, round_marks, single
from driftwise.records import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


@dataclass(frozen=True, eq=False)
class Regret:
    """A policy's mean regret over time with its band, each (p,)."""

    policy: str
    index: int
    mean: Array
    low: Array
    high: Array


def case_curves(
    steps: Array,  # (p,)
    curves: Sequence[Regret],
    *,
    title: str = "",
    changes: Sequence[int] = (),
    theme: Theme = LIGHT,
    size: tuple[float, float] = (6.4, 3.6),
) -> Figure:
    """Cumulative regret on one case, each policy named at the end of its line.

    >>> t = np.array([1.0, 2.0])
    >>> figure = case_curves(t, [Regret("gp-ucb", 0, t, t, t)])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['gp-ucb']
    """
    if not curves:
        raise InvalidInput("case_curves needs at least one curve, got none")
    figure, axes = single(size, theme, title=title, x="step t", y="cumulative regret", grid="y")
    top = max(float(c.high.max()) for c in curves) or 1.0
    for c in curves:
        colour = theme.colour(c.index)
        axes.fill_between(steps, c.low, c.high, color=colour, alpha=0.14 if len(curves) <= 5 else 0.08, linewidth=0)
        axes.plot(steps, c.mean, color=colour, linewidth=1.8, linestyle=DASHES[c.index // 6 % len(DASHES)])
    for t in changes:
        axes.axvline(t, color=theme.muted, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_xlim(0, float(steps[-1]))
    axes.set_ylim(0, top * 1.06)
    ends = [(float(c.mean[-1]), c.policy, theme.colour(c.index)) for c in curves]
    name_ends(axes, float(steps[-1]), ends, least=0.055 * top * 3.6 / size[1], fontsize=8)
    return figure


def heat_map(
    ratios: Array,  # (policies, cases)
    *,
    policies: Sequence[str],
    cases: Sequence[str],
    title: str = "",
    theme: Theme = LIGHT,
) -> Figure:
    """Regret over the best policy's: pale is good, a dot marks the best.

    >>> figure = heat_map(np.array([[1.0, 2.0]]), policies=["a"], cases=["x", "y"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1.0', '2.0']
    """
    transposed = len(cases) > len(policies)
    table = ratios.T if transposed else ratios
    down, across = (cases, policies) if transposed else (policies, cases)
    longest = max(map(len, down)) * 0.075
    size = (1.2 + longest + 0.52 * len(across), 1.0 + 0.07 * max(map(len, across)) + 0.3 * len(down))
    figure, axes = single(size, theme, title=title)
    from matplotlib.colors import LinearSegmentedColormap  # not before `single` has said what is missing

    colours = LinearSegmentedColormap.from_list("ratio", [theme.paper, theme.colour(0)])
    shade = np.log(np.clip(np.where(np.isfinite(table), table, np.nan), 1.0, 10.0)) / np.log(10.0)
    axes.imshow(shade, cmap=colours, vmin=0, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        if not np.isnan(value):
            strong = shade[i, j] > 0.6
            axes.text(
                j, i, _ratio(float(value)), ha="center", va="center", fontsize=7.5,
                color=theme.paper if strong else theme.ink, fontweight="bold" if value <= 1 else "normal",
            )  # fmt: skip
    axes.set_xticks(
        range(len(across)), [literal(name) for name in across], rotation=45, ha="right", rotation_mode="anchor"
    )
    axes.set_yticks(range(len(down)), [literal(name) for name in down])
    axes.spines["bottom"].set_visible(False)
    return figure


def _ratio(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:.1f}" if value < 99.5 else f"{value:.0f}"


def cost_against_regret(
    points: Sequence[tuple[str, int, float, float]],  # policy, its index, seconds a step, regret
    *,
    y: str,
    title: str = "",
    theme: Theme = LIGHT,
    size: tuple[float, float] = (6.4, 3.6),
) -> Figure:
    """What a step costs and what it loses: low and left is good. The line joins what nothing else beats in both.

    >>> figure = cost_against_regret([("a", 0, 1e-4, 2.0), ("b", 1, 1e-3, 1.0)], y="regret")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['a', 'b']
    """
    if not points:
        raise InvalidInput("cost_against_regret needs at least one point, got none")
    figure, axes = single(size, theme, title=title, x="milliseconds a step", y=y, grid="both")
    axes.set_xscale("log")
    heights = [regret for *_, regret in points]
    log = min(heights) > 0 and max(heights) > 4 * min(heights)
    if log:
        axes.set_yscale("log")
        _plain(axes.yaxis, min(heights) / 1.25, max(heights) * 1.25)
    else:
        room = 0.08 * (max(heights) - min(heights) or abs(max(heights)) or 1.0)
        axes.set_ylim(min(heights) - room, max(heights) + room)
    _plain(axes.xaxis, 8e2 * min(s for _, _, s, _ in points), 1.25e3 * max(s for _, _, s, _ in points))
    edge = frontier([(seconds, regret) for _, _, seconds, regret in points])
    axes.plot(*np.array([(1e3 * s, r) for s, r in edge]).T, color=theme.rule, linewidth=2, zorder=1)
    for (name, index, seconds, regret), height in zip(points, _apart(heights, log), strict=True):
        axes.plot(1e3 * seconds, regret, "o", markersize=6, color=theme.colour(index), zorder=2)
        axes.annotate(
            literal(name), (1e3 * seconds, height), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8,
            color=theme.colour(index), annotation_clip=False,
        )  # fmt: skip
    return figure


def _apart(heights: Sequence[float], log: bool) -> list[float]:
    """The heights of labels, moved apart on the scale they are drawn on."""
    drawn = np.log(heights) if log else np.array(heights)
    moved = np.array(spread(drawn.tolist(), least=0.05 * float(np.ptp(drawn) or 1.0)))
    return [float(v) for v in (np.exp(moved) if log else moved)]


def _plain(axis: Any, low: float, high: float) -> None:
    """From `low` to `high`, with marks at 1, 2 and 5 times a power of ten."""
    marks = round_marks(low, high)
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
    axis.set_ticks(marks, labels=[f"{mark:g}" for mark in marks])
    axis.set_ticks([], minor=True)


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that no other is at most as large as in both.

    >>> frontier([(1.0, 5.0), (2.0, 6.0), (3.0, 1.0)])
    [(1.0, 5.0), (3.0, 1.0)]
    """
    kept: list[tuple[float, float]] = []
    for point in sorted(points):
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept
