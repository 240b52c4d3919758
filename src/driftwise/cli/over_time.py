"""How the world moved, as characters: the drift rate and the observations in use over time, and the abrupt changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.text import Text

from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import STILL
from driftwise.auto.drift_history import Moment
from driftwise.cli.chart import dots, spread
from driftwise.cli.show import wrapped

LINES = 7  # of each of the two drawings
MARGIN = 6


def over_time(moments: Sequence[Moment], changes: Sequence[NoticedChange], width: int) -> Text:
    """Both drawings over one axis, as wide as `width` columns; nothing of fewer than two moments."""
    if len(moments) < 2:
        return Text()
    numbers = np.array([m.number for m in moments], dtype=float)
    columns = width - MARGIN - 2
    at = np.linspace(numbers[0], numbers[-1], 2 * columns)
    heading = f"How the world moved, as estimated after observations {numbers[0]:.0f} to {numbers[-1]:.0f}"
    return Text.assemble(
        wrapped(heading, width) + "\n",
        *_rate(np.interp(at, numbers, [math.log10(max(m.drift.rate, STILL)) for m in moments]), width),
        *_in_use(np.interp(at, numbers, [m.drift.in_use for m in moments]), max(m.drift.seen for m in moments), width),
        *_axis(moments, changes, columns),
    )


def standing(changes: Sequence[NoticedChange]) -> list[NoticedChange]:
    """Those that were not taken back."""
    return [each for each in changes if each.taken_back is None]


def _rate(rate: np.ndarray, width: int) -> list[str | Text]:
    """log₁₀ of the rate, from STILL up to the next power of ten."""
    low = math.log10(STILL)
    high = max(math.ceil(rate.max() - 1e-9), low + 3)
    decades = {round((high - p) / (high - low) * (LINES - 1)): f"{100 * 10.0**p:g}%" for p in np.arange(low, high + 1)}
    return [
        wrapped("drift: share of the function that is new at each step (log scale)", width, MARGIN + 2),
        _drawing((high - rate) / (high - low), decades | {LINES - 1: "still"}, "bold cyan"),
    ]


def _in_use(in_use: np.ndarray, most: int, width: int) -> list[str | Text]:
    return [
        wrapped(f"observations in use, of at most {most} in memory", width, MARGIN + 2),
        _drawing(1 - np.minimum(in_use / most, 1), {0: str(most), LINES - 1: "0"}, "bold green"),
    ]


def _drawing(depth: np.ndarray, labels: dict[int, str], style: str) -> Text:
    """A line of which `depth`, two per column, says how far below the top it is, from 0 to 1."""
    drawn = dots([d * (LINES - 0.25) for d in depth], LINES)
    text = Text()
    for line in range(LINES):
        text.append(f"{labels.get(line, ''):>{MARGIN}} ┤", style="dim")
        cells = (drawn.get((line, column)) for column in range(len(depth) // 2))
        text.append("".join(" " if bits is None else chr(0x2800 + bits) for bits in cells) + "\n", style=style)
    return text


def _axis(moments: Sequence[Moment], changes: Sequence[NoticedChange], columns: int) -> list[str | Text]:
    """Numbers below, with a mark where the world changed."""
    first, last = moments[0].number, moments[-1].number
    dates = [each.number for each in standing(changes) if each.number >= first]
    marks = {min(int((date - first) / (last - first) * columns), columns - 1) for date in dates}
    line = Text(" " * MARGIN + " └", style="dim")
    for column in range(columns):
        line.append("▲" if column in marks else "─", style="bold yellow" if column in marks else "dim")
    name = "number of the observation" + (", ▲ abrupt change" if marks else "")
    return [line, "\n", spread(str(first), name, str(last), columns, MARGIN + 2)]
