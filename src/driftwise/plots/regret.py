"""Regret over time: what each policy lost to one that knows where the optimum is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.lab.statistics import thin
from driftwise.plots.style import LIGHT, Theme, literal, single
from driftwise.records import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 250  # of a curve, at most: a drawn line needs no more


def regret_curves(
    curves: Mapping[str, tuple[Array, Array, Array]],
    *,
    title: str = "",
    changes: Sequence[int] = (),
    theme: Theme = LIGHT,
    size: tuple[float, float] = (6.4, 3.6),
) -> Figure:
    """Cumulative regret a policy: {name: (mean, low, high)}, each (T,); `changes` are the steps where the world jumps.

    >>> line = np.arange(1.0, 11.0)
    >>> figure = regret_curves({"gp-ucb": (line, line - 1, line + 1)}, changes=[5])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['gp-ucb', 'change']
    """
    if not curves:
        raise InvalidInput("regret_curves needs at least one curve, got none")
    figure, axes = single(size, theme, title=title, x="step t", y="cumulative regret", grid="y")
    ends = []
    for i, (name, (mean, low, high)) in enumerate(curves.items()):
        t = thin(len(mean), POINTS)
        axes.fill_between(t + 1, low[t], high[t], color=theme.colour(i), alpha=0.16, linewidth=0)
        axes.plot(t + 1, mean[t], color=theme.colour(i), linewidth=2, label=literal(name))
        ends.append((float(mean[-1]), name, theme.colour(i)))
    horizon = max(len(mean) for mean, _, _ in curves.values())
    top = max(float(np.max(high)) for _, _, high in curves.values()) or 1.0
    axes.set_xlim(0, horizon)
    axes.set_ylim(0, top * 1.08)
    name_ends(axes, horizon, ends, least=0.07 * top, fontsize=9, fontweight="bold")
    _mark(axes, changes, theme)
    return figure


def name_ends(axes: Axes, x: float, ends: Sequence[tuple[float, str, str]], *, least: float, **font: Any) -> None:
    """Names beside the ends of their lines, each with its height and colour: no legend to look up."""
    for (_, name, colour), y in zip(ends, spread([end[0] for end in ends], least=least), strict=True):
        axes.annotate(
            literal(name), (x, y), xytext=(6, 0), textcoords="offset points", va="center", color=colour,
            annotation_clip=False, **font,
        )  # fmt: skip


def _mark(axes: Axes, changes: Iterable[int], theme: Theme) -> None:
    for n, t in enumerate(changes):
        axes.axvline(t, color=theme.muted, linewidth=0.9, linestyle=(0, (4, 3)))
        if n == 0:
            axes.annotate(
                "change", (t, 1.0), xycoords=("data", "axes fraction"), xytext=(4, -3), textcoords="offset points",
                va="top", fontsize=8, color=theme.muted,
            )  # fmt: skip


def spread(heights: Sequence[float], *, least: float) -> list[float]:
    """The heights, moved apart so that labels there do not overlap.

    >>> spread([1.0, 1.1, 5.0], least=1.0)
    [0.55, 1.55, 5.0]
    """
    order = np.argsort(heights, kind="stable")
    y = np.array(heights, dtype=float)[order]
    for _ in range(50):
        gaps = np.diff(y)
        if (gaps >= least - 1e-9).all():
            break
        for i in np.flatnonzero(gaps < least - 1e-9):
            middle = (y[i] + y[i + 1]) / 2
            y[i], y[i + 1] = middle - least / 2, middle + least / 2
    moved = np.empty_like(y)
    moved[order] = y
    return [round(float(v), 9) for v in moved]
