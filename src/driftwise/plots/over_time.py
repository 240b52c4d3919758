"""How the world moved: the drift rate and the observations in use over time, with the abrupt changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from driftwise.plots.style import LIGHT, Theme, blank, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drift_over_time(
    numbers: ArrayLike,  # (n,), as all below
    *,
    rate: ArrayLike,
    in_use: ArrayLike,
    kept: ArrayLike,
    changes: Sequence[int] = (),
    floor: float = 1e-4,
    title: str = "",
    theme: Theme = LIGHT,
    size: tuple[float, float] = (6.4, 4.2),
) -> Figure:
    """The rate above, of which less than `floor` is drawn as `floor`; below how many of those `kept` are in use.

    >>> figure = drift_over_time([1, 2], rate=[0.01, 0.0], in_use=[1, 2], kept=[1, 2], changes=[2])
    >>> figure.axes[0].get_yscale(), [t.get_text() for t in figure.legends[0].get_texts()]
    ('log', ['new each step', 'in memory', 'in use', 'abrupt change'])
    """
    x = np.asarray(numbers, dtype=float)
    figure = blank(*size, theme)
    above, below = figure.subplots(2, 1, sharex=True)
    dress(above, theme, title=title, y="drift", grid="y")
    _rate(above, x, np.maximum(np.asarray(rate, dtype=float), floor), floor, theme)
    dress(below, theme, x="number of the observation", y="observations", grid="y")
    below.fill_between(
        x, 0, np.asarray(kept, dtype=float), color=theme.muted, alpha=0.15, linewidth=0, label="in memory"
    )
    below.plot(x, in_use, color=theme.colour(2), linewidth=2, label="in use")
    below.set_ylim(bottom=0)
    for axes in (above, below):
        for i, change in enumerate(changes):
            label = "abrupt change" if axes is below and i == 0 else None
            axes.axvline(change, color=theme.colour(0), linewidth=1.4, linestyle=(0, (4, 3)), label=label)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9, labelcolor=theme.ink)
    return figure


def _rate(axes: Axes, x: np.ndarray, rate: np.ndarray, floor: float, theme: Theme) -> None:
    """In logarithms, up to a tenth at least, so that a quiet world looks quiet."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    axes.plot(x, rate, color=theme.colour(1), linewidth=2, label="new each step", clip_on=False)
    axes.set_yscale("log")
    axes.set_ylim(floor, max(0.1, 1.2 * float(rate.max())))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%" if value > floor else "still"))
    axes.yaxis.set_minor_locator(NullLocator())
