"""Figures with their intervals, a row each, beside the value they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.plots.style import LIGHT, Theme, blank, dress, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Dot:
    """A value with where it may well lie (NaN: not known), and which colour it has."""

    value: float
    low: float = float("nan")
    high: float = float("nan")
    colour: int = 0


@dataclass(frozen=True)
class DotPanel:
    """Rows of dots, and the value that they are compared with."""

    title: str
    rows: Sequence[tuple[str, Sequence[Dot]]]
    reference: float | None = None
    reference_label: str = ""


def dots(
    panels: Sequence[DotPanel],
    *,
    label: str = "",
    legend: Sequence[tuple[str, int]] = (),
    in_line: bool = False,
    theme: Theme = LIGHT,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Panels side by side, each with its own rows; the dots of a row are spread over its height, or lie `in_line`.

    >>> panel = DotPanel("in T", [("sw-gp-ucb", [Dot(0.7, 0.6, 0.8)])], reference=0.75, reference_label="3/4")
    >>> [t.get_text() for t in dots([panel]).axes[0].get_yticklabels()]
    ['sw-gp-ucb']
    """
    if not panels or not all(panel.rows for panel in panels):
        raise InvalidInput("dots needs at least one panel, and a row in each")
    longest = max(len(panel.rows) for panel in panels)
    figure = blank(*(size or (max(3.2 * len(panels) + 0.8, 6.8), 1.0 + 0.26 * longest)), theme)
    places = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(places, panels, strict=True):
        _panel(axes, panel, label, in_line, theme)
    for name, colour in legend:
        places[0].plot([], [], "o", markersize=5, color=theme.colour(colour), label=name)
    if legend:
        figure.legend(
            loc="outside upper left", ncols=len(legend), frameon=False, fontsize=8.5, labelcolor=theme.ink,
            handletextpad=0.2, columnspacing=1.2,
        )  # fmt: skip
    return figure


def _panel(axes: Axes, panel: DotPanel, label: str, in_line: bool, theme: Theme) -> None:
    dress(axes, theme, title=panel.title, x=label, grid="x")
    if panel.reference is not None:
        axes.axvline(panel.reference, color=theme.muted, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            panel.reference_label, (panel.reference, 0), xycoords=("data", "axes fraction"), xytext=(3, 3),
            textcoords="offset points", fontsize=8, color=theme.muted, va="bottom",
        )  # fmt: skip
    for i, (_, row) in enumerate(panel.rows):
        for k, dot in enumerate(row):
            y = i if in_line else i + 0.22 * (k - (len(row) - 1) / 2)
            if np.isfinite(dot.low):
                axes.plot([dot.low, dot.high], [y, y], color=theme.colour(dot.colour), linewidth=1.6, alpha=0.5)
            axes.plot(dot.value, y, "o", markersize=4.5, color=theme.colour(dot.colour), alpha=0.8)
    axes.set_yticks(range(len(panel.rows)), [literal(name) for name, _ in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
