"""How the world moved, as characters: the drift rate and the past in use over the observations, and the alarms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.text import Text

from driftwise.auto.drift_history import STILL, Moment, alarms, changed
from driftwise.cli.chart import WIDTH, dots

LINES = 7  # of each of the two drawings
MARGIN = 6
LISTED = 5  # changes that are told in words


def over_time(moments: Sequence[Moment]) -> Text:
    """Both drawings over one axis; nothing of fewer than two moments."""
    text = Text()
    if len(moments) < 2:
        return text
    numbers = np.array([m.number for m in moments], dtype=float)
    at = np.linspace(numbers[0], numbers[-1], 2 * WIDTH)
    text.append(f"how the world moved, as it looked after observations {numbers[0]:.0f} to {numbers[-1]:.0f}\n\n")
    _rate(text, np.interp(at, numbers, [math.log10(max(m.drift.rate, STILL)) for m in moments]))
    _in_use(text, np.interp(at, numbers, [m.drift.in_use for m in moments]), max(m.drift.seen for m in moments))
    _axis(text, moments)
    return text


def _rate(text: Text, rate: np.ndarray) -> None:
    """log₁₀ of the rate, from STILL up to the next power of ten."""
    low = math.log10(STILL)
    high = max(math.ceil(rate.max() - 1e-9), low + 3)
    text.append(" " * MARGIN + "  drift: the share of the world that is new at each step (log scale)\n")
    decades = {round((high - p) / (high - low) * (LINES - 1)): f"{100 * 10.0**p:g}%" for p in np.arange(low, high + 1)}
    _drawing(text, (high - rate) / (high - low), decades | {LINES - 1: "still"}, "bold cyan")


def _in_use(text: Text, in_use: np.ndarray, most: int) -> None:
    text.append(" " * MARGIN + f"  memory in use: observations that count, of {most} kept at most\n")
    _drawing(text, 1 - np.minimum(in_use / most, 1), {0: str(most), LINES - 1: "0"}, "bold green")


def _drawing(text: Text, depth: np.ndarray, labels: dict[int, str], style: str) -> None:
    """A line of which `depth` says how far below the top it is, from 0 to 1."""
    drawn = dots([d * (LINES - 0.25) for d in depth], LINES)
    for line in range(LINES):
        text.append(f"{labels.get(line, ''):>{MARGIN}} ┤", style="dim")
        cells = (drawn.get((line, column)) for column in range(WIDTH))
        text.append("".join(" " if bits is None else chr(0x2800 + bits) for bits in cells) + "\n", style=style)


def _axis(text: Text, moments: Sequence[Moment]) -> None:
    """Numbers below, with a mark where the world changed, and what the marks are."""
    first, last = moments[0].number, moments[-1].number
    found = [m for m in alarms(moments) if changed(m) >= first]
    marks = {min(int((changed(m) - first) / (last - first) * WIDTH), WIDTH - 1) for m in found}
    text.append(" " * MARGIN + " └", style="dim")
    for column in range(WIDTH):
        text.append("▲" if column in marks else "─", style="bold yellow" if column in marks else "dim")
    room = WIDTH - len(str(first)) - len(str(last))
    text.append("\n" + " " * (MARGIN + 2) + str(first) + "number of the observation".center(room) + f"{last}\n")
    _say(text, found)


def _say(text: Text, found: Sequence[Moment]) -> None:
    """The last of the changes, in words."""
    indent = " " * (MARGIN + 2)
    if not found:
        text.append(f"{indent}no abrupt change was alarmed\n")
    for moment in found[-LISTED:]:
        assert moment.drift.change is not None
        sure = f"{moment.drift.change.probability:.2f}"
        text.append(f"{indent}▲", style="bold yellow")
        text.append(f" abrupt change at {changed(moment)}, alarmed at {moment.number} with probability {sure}\n")
    if len(found) > LISTED:
        text.append(f"{indent}  and {len(found) - LISTED} before\n")
