"""Quantities that grow, in double logarithms, beside what they are said to grow as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftwise.errors import InvalidInput
from driftwise.plots.style import LIGHT, Theme, blank, dress, round_marks
from driftwise.records import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Curve:
    """A line with marks (`measured`), with dashes or plain; two values at each place make a band."""

    label: str
    y: Array  # (k,)
    colour: int = 0
    measured: bool = False
    dashed: bool = True  # if not measured
    upper: Array | None = None  # (k,)


@dataclass(frozen=True, eq=False)
class GrowthPanel:
    """Curves over one x, whose label is that of the figure unless it has its own."""

    title: str
    x: Array  # (k,)
    curves: Sequence[Curve]
    x_label: str = ""


def growth(
    panels: Sequence[GrowthPanel],
    *,
    x: str,
    y: str,
    columns: int = 3,
    share_y: bool = False,
    theme: Theme = LIGHT,
    panel_size: tuple[float, float] = (2.6, 2.5),
) -> Figure:
    """Panels in a grid, one legend for all.

    >>> import numpy as np
    >>> t = np.array([1.0, 10.0])
    >>> figure = growth([GrowthPanel("a", t, [Curve("R", t)])], x="T", y="regret")
    >>> figure.axes[0].get_xscale(), [t.get_text() for t in figure.legends[0].get_texts()]
    ('log', ['R'])
    """
    if not panels:
        raise InvalidInput("growth needs at least one panel, got none")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = blank(panel_size[0] * columns, panel_size[1] * rows + 0.4, theme)
    places = figure.subplots(rows, columns, squeeze=False, sharey=share_y).ravel()
    for i, (axes, panel) in enumerate(zip(places, panels, strict=False)):
        _panel(axes, panel, theme, x=panel.x_label or x, y=y if i % columns == 0 else "")
    for axes in places[len(panels) :]:
        axes.set_visible(False)
    handles = {h.get_label(): h for axes in places for h in axes.get_lines() if not h.get_label().startswith("_")}
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper left", ncols=min(len(handles), 4), frameon=False,
        fontsize=8.5, labelcolor=theme.ink, columnspacing=1.4,
    )  # fmt: skip
    return figure


def _panel(axes: Axes, panel: GrowthPanel, theme: Theme, *, x: str, y: str) -> None:
    dress(axes, theme, title=panel.title, x=x, y=y)
    axes.title.set_fontsize(9.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for curve in panel.curves:
        colour = theme.colour(curve.colour)
        if curve.upper is not None:
            axes.fill_between(panel.x, curve.y, curve.upper, color=colour, alpha=0.15, linewidth=0)
        if curve.measured:
            few = len(panel.x) <= 12
            axes.plot(
                panel.x, curve.y, "o-" if few else "-", markersize=4, linewidth=2, color=colour, label=curve.label
            )
        else:
            style = (0, (4, 2)) if curve.dashed else "-"
            axes.plot(panel.x, curve.y, linestyle=style, linewidth=1.4, color=colour, label=curve.label)
    axes.minorticks_off()
    if len(panel.x) <= 6:
        axes.set_xticks(panel.x, [f"{value:g}" for value in panel.x])
    low, high = axes.get_ylim()
    if high / low < 200:  # powers of ten would be too few
        marks = round_marks(low, high)
        axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
    axes.grid(color=theme.rule, linewidth=0.8)
