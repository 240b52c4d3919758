"""How a figure is distributed over many keys, runs or settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.plots.style import LIGHT, Theme, single
from driftwise.records import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARS = 40
TAIL = 0.005  # of the values on either side, which are counted in the outermost bars


def counts(values: Array, *, bars: int = BARS) -> tuple[Array, Array]:
    """How many values lie between successive edges: counts (b,) and edges (b + 1,). The outermost bars have the tails.

    Whole numbers have a bar each, if these are few enough.

    >>> counts(np.array([1, 1, 2, 4]))
    (array([2., 1., 0., 1.]), array([0.5, 1.5, 2.5, 3.5, 4.5]))
    """
    if not len(values) or not np.isfinite(values).all():
        raise InvalidInput(f"a distribution needs finite values, got {len(values)} of which some are not")
    low, high = np.quantile(values, [TAIL, 1 - TAIL], method="nearest")
    inside = np.clip(values, low, high)
    if (inside == np.round(inside)).all() and high - low < bars:
        edges = np.arange(low - 0.5, high + 1)
    else:
        edges = np.linspace(low, high, bars + 1)
    found, _ = np.histogram(inside, edges)
    return found.astype(float), edges


def distribution(
    values: Array,
    *,
    label: str,
    of: str = "keys",
    reference: float | None = None,
    theme: Theme = LIGHT,
    size: tuple[float, float] = (6.4, 2.2),
) -> Figure:
    """A histogram: `label` says what is counted, `of` what has it, and a dashed line stands at `reference`.

    >>> figure = distribution(np.arange(100.0), label="rewards")
    >>> figure.axes[0].get_xlabel()
    'rewards'
    """
    found, edges = counts(values)
    figure, axes = single(size, theme, x=label, y=of, grid="y")
    axes.bar(
        edges[:-1], found, np.diff(edges), align="edge", color=theme.colour(1), edgecolor=theme.paper, linewidth=0.4
    )
    if reference is not None:
        axes.axvline(reference, color=theme.muted, linewidth=1.2, linestyle=(0, (4, 3)))
    return figure
