"""What a policy believes: over time against the truth, and now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.plots.style import LIGHT, Theme, blank, dress, literal, single
from driftwise.records import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from driftwise.lab.traces import Trace

# low to high, ever brighter: the order is kept for the colour-blind and in grey
SCALE = ("#0d1b33", "#123a5c", "#18607a", "#2a8a8c", "#66b394", "#b5d8a3", "#f2f0c4")
ASKED = "#ff4d5e"


@dataclass(frozen=True, eq=False)
class Panel:
    """One strip of `belief_over_time`: values over time × candidates, where a policy asked, and what it forgot when."""

    title: str
    values: Array  # (T, n)
    asked: Array | None = None  # (T,): coordinates
    restarts: Sequence[int] = ()  # the steps at which it forgot everything
    window: int | None = None  # how many of the last steps it remembers

    @classmethod
    def of(cls, title: str, seen: Trace) -> Panel:
        """What a policy believed of a world in one dimension."""
        return cls(title, seen.belief, seen.asked[:, 0], seen.restarts, seen.window)


def belief_over_time(
    panels: Sequence[Panel],
    *,
    candidates: Array,  # (n,), ascending
    best: Array,  # (T,): where the optimum was
    label: str = "x",
    theme: Theme = LIGHT,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Strips under one another on one time axis and one colour scale: the truth, then what each policy believed.

    >>> truth = np.zeros((4, 3))
    >>> x = np.array([0.0, 0.5, 1.0])
    >>> strips = [Panel("the truth", truth), Panel("sw", truth, asked=x[[0, 1, 2, 1]], window=2)]
    >>> figure = belief_over_time(strips, candidates=x, best=x[[0, 0, 0, 0]])
    >>> [axes.get_title(loc="left") for axes in figure.axes[:2]]
    ['the truth', 'sw']
    """
    if not panels:
        raise InvalidInput("belief_over_time needs at least one panel, got none")
    figure = blank(*(size or (6.4, 0.5 + 1.35 * len(panels))), theme)
    strips = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    from matplotlib.colors import LinearSegmentedColormap  # not before `blank` has said what is missing

    colours = LinearSegmentedColormap.from_list("driftwise", SCALE)
    low, high = np.percentile(panels[0].values, [0.5, 99.5])
    T = len(best)
    for axes, panel in zip(strips, panels, strict=True):
        dress(axes, theme, title=panel.title, y=label)
        half = (candidates[1] - candidates[0]) / 2 if len(candidates) > 1 else 0.5
        axes.imshow(
            panel.values.T, origin="lower", aspect="auto", cmap=colours, vmin=low, vmax=high, interpolation="nearest",
            extent=(0.5, T + 0.5, float(candidates[0] - half), float(candidates[-1] + half)),
        )  # fmt: skip
        _optimum(axes, best)
        if panel.asked is not None:
            t = np.arange(1, T + 1)
            axes.scatter(
                t, panel.asked, s=7, color=ASKED, edgecolors="#00000066", linewidths=0.3, zorder=3, clip_on=False
            )
        _memory(axes, panel, T, theme)
        _note(axes, panel, T, theme)
        axes.spines["bottom"].set_visible(False)
    strips[-1].set_xlabel("step t", fontsize=9, color=theme.muted)
    return figure


def _optimum(axes: Axes, best: Array) -> None:
    """A line where the optimum was, broken where it jumps."""
    t = np.arange(1, len(best) + 1, dtype=float)
    jumps = np.flatnonzero(np.abs(np.diff(best)) > 0.15 * max(float(np.ptp(best)), 1e-12)) + 1
    t, y = np.insert(t, jumps, np.nan), np.insert(np.array(best, dtype=float), jumps, np.nan)
    # dark in a light casing: seen on every colour of the scale
    axes.plot(t, y, color="#ffffff", linewidth=3.2, zorder=2, clip_on=False)
    axes.plot(t, y, color=SCALE[0], linewidth=1.6, zorder=2, clip_on=False)


def _memory(axes: Axes, panel: Panel, T: int, theme: Theme) -> None:
    """Restarts as dashed lines, a window as the bar above what is still remembered at the end."""
    top = axes.get_ylim()[1]
    for t in panel.restarts:
        axes.axvline(t - 0.5, color="#ffffff", linewidth=0.9, alpha=0.8, linestyle=(0, (3, 2)), zorder=2.5)
    if panel.window is not None:
        ends = [max(T - panel.window, 0) + 0.5, T + 0.5]
        axes.plot(ends, [top, top], color=theme.ink, linewidth=4, solid_capstyle="butt", clip_on=False, zorder=4)


def _note(axes: Axes, panel: Panel, T: int, theme: Theme) -> None:
    """What the marks mean, at the right above the strip."""
    if panel.window is not None:
        note = f"bar: the last {panel.window}, which it remembers at the end"
    elif panel.restarts:
        note = "dashed: it forgets everything"
    elif panel.asked is not None:
        note = "colour: its belief · red: where it asked"
    else:
        note = "line: where the optimum was"
    axes.annotate(
        note, (1.0, 1.0), xycoords="axes fraction", xytext=(0, 6), textcoords="offset points", ha="right", va="bottom",
        fontsize=8.5, color=theme.muted, annotation_clip=False,
    )  # fmt: skip


def belief_now(
    x: Array,
    mean: Array,
    std: Array,
    *,
    observed: tuple[Array, Array] | None = None,
    failed: Array | None = None,
    truth: Array | None = None,
    recommended: float | None = None,
    width: float = 2.0,
    title: str = "",
    label: str = "x",
    axis: str = "reward",
    log: bool = False,
    steps: bool = False,
    theme: Theme = LIGHT,
    size: tuple[float, float] = (6.4, 3.6),
) -> Figure:
    """One coordinate now: mean ± `width` std, the observations in use (newest darkest), and the best setting.

    `axis` names what is drawn along the vertical axis. With `steps`, x are the only values there are, as of an Int.
    `failed` are values at which settings failed: crosses at the bottom, as they have no reward.

    >>> x = np.linspace(0, 1, 5)
    >>> figure = belief_now(x, x, 0 * x + 0.1, observed=(x[:2], x[:2]), failed=x[3:], truth=x)
    >>> sorted(text.get_text() for text in figure.legends[0].get_texts())
    ['belief', 'failed', 'observed, newest darkest', 'truth', '± 2 std']
    """
    figure, axes = single(size, theme, title=title, x=label, y=axis, grid="y")
    if steps:
        x, mean, std = _edges(x), np.append(mean, mean[-1]), np.append(std, std[-1])
    axes.fill_between(
        x, mean - width * std, mean + width * std, color=theme.colour(1), alpha=0.18, linewidth=0,
        label=f"± {width:g} std", step="post" if steps else None,
    )  # fmt: skip
    drawn = "steps-post" if steps else "default"
    axes.plot(x, mean, color=theme.colour(1), linewidth=2, label="belief", drawstyle=drawn)
    if truth is not None:
        axes.plot(x, truth, color=theme.ink, linewidth=1.3, linestyle=(0, (4, 3)), label="truth")
    if observed is not None and len(observed[0]):
        _observations(axes, *observed, theme)
    if failed is not None and len(failed):
        _failures(axes, failed, np.full(len(failed), 0.02), theme, at="x")
    if recommended is not None:
        axes.axvline(recommended, color=theme.colour(0), linewidth=1.4, zorder=1, label="best now")
    if x[0] < x[-1]:
        axes.set_xlim(float(x[0]), float(x[-1]))
    if log:
        _log_axis(axes)
    elif steps:
        _whole_numbers(axes)
    _legend(figure, theme)
    return figure


def _edges(x: Array) -> Array:
    """Where the steps around n ascending values begin and end: half-way between them, n + 1 in all.

    >>> _edges(np.array([1.0, 2.0, 3.0])).tolist()
    [0.5, 1.5, 2.5, 3.5]
    """
    middle = (x[1:] + x[:-1]) / 2
    return np.concatenate([[x[0] - 0.5], middle, [x[-1] + 0.5]])


def belief_of_choices(
    names: Sequence[str],
    mean: Array,  # (n,), as std
    std: Array,
    *,
    observed: tuple[Array, Array] | None = None,  # places among the names, and rewards, oldest first
    failed: Array | None = None,  # places among the names
    best: int | None = None,
    width: float = 2.0,
    title: str = "",
    axis: str = "reward",
    theme: Theme = LIGHT,
) -> Figure:
    """A few settings now, the first on top: mean ± `width` std, the observations in use, and the best setting.

    >>> figure = belief_of_choices(["a", "b"], np.array([1.0, 2.0]), np.array([0.1, 0.2]), best=1)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['a', 'b']
    """
    figure, axes = single((6.4, 1.3 + 0.4 * len(names)), theme, title=title, x=axis, grid="x")
    if observed is not None and len(observed[0]):
        _observations(axes, observed[1], observed[0] + 0.25, theme)
    if failed is not None and len(failed):
        _failures(axes, np.full(len(failed), 0.02), failed, theme, at="y")
    rows = np.arange(len(names))
    chosen = [("best now", 0, rows == best), ("belief", 1, rows != best)]
    for label, colour, these in chosen:
        if these.any():
            axes.errorbar(
                mean[these], rows[these], xerr=width * std[these], fmt="o", markersize=7, elinewidth=2, capsize=4,
                color=theme.colour(colour), label=f"{label} ± {width:g} std",
            )  # fmt: skip
    axes.set_yticks(rows, [literal(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    _legend(figure, theme)
    return figure


def _observations(axes: Axes, x: Array, y: Array, theme: Theme) -> None:
    """Dots, of which the newest is the darkest."""
    age = cast(Any, np.linspace(0.2, 0.95, len(x)))
    axes.scatter(
        x, y, s=22, color=theme.ink, alpha=age, linewidths=0, zorder=3, clip_on=False, label="observed, newest darkest"
    )


def _failures(axes: Axes, x: Array, y: Array, theme: Theme, *, at: str) -> None:
    """Crosses at one coordinate, and beside that axis."""
    place = axes.get_xaxis_transform() if at == "x" else axes.get_yaxis_transform()
    axes.scatter(
        x, y, s=30, marker="x", color=theme.colour(0), linewidths=1.6, zorder=4, transform=place, clip_on=False,
        label="failed",
    )  # fmt: skip


def _legend(figure: Figure, theme: Theme) -> None:
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9, labelcolor=theme.ink)


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))


def _log_axis(axes: Axes) -> None:
    """A logarithmic scale with plain numbers: the powers of ten, and 2 and 5 times each if the range is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1000 * low else (1.0,), numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
