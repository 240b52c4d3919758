"""A belief as characters: the mean in dots of a quarter of a line, its band shaded, observations on top."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.text import Text

from driftwise.cli.belief_slices import Slice
from driftwise.text import visible

BRAILLE = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # bits of the left and right column, from the top
WIDTH, HEIGHT = 60, 12
BAND = 2.0  # standard deviations
FEW = 12  # values that get a line each


def chart(shown: Slice) -> Text:
    """A drawing of the belief along one parameter."""
    return _curve(shown) if shown.numeric and len(shown.values) > FEW else _bars(shown)


def _curve(shown: Slice) -> Text:
    x = _positions(shown.values, shown)
    at = np.linspace(0, 1, 2 * WIDTH)
    mean, std = np.interp(at, x, shown.mean), np.interp(at, x, shown.std)
    rewards = [reward for _, reward in shown.seen]
    low = min([*(mean - BAND * std), *rewards])
    high = max([*(mean + BAND * std), *rewards])
    high = high if high > low else low + 1.0

    def row(y: float) -> float:
        """In lines from the top."""
        return (high - y) / (high - low) * (HEIGHT - 1e-9)

    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    styles = [[""] * WIDTH for _ in range(HEIGHT)]
    for column in range(WIDTH):
        top, bottom = row((mean + BAND * std)[2 * column]), row((mean - BAND * std)[2 * column])
        for line in range(math.floor(top), min(math.floor(bottom), HEIGHT - 1) + 1):
            cells[line][column], styles[line][column] = "░", "blue"
    for (line, column), bits in dots([row(y) for y in mean], HEIGHT).items():
        cells[line][column], styles[line][column] = chr(0x2800 + bits), "bold cyan"
    for place, reward in zip(_positions([v for v, _ in shown.seen], shown), rewards, strict=True):
        line, column = int(row(reward)), min(int(place * WIDTH), WIDTH - 1)
        cells[line][column], styles[line][column] = "•", "yellow"
    return _framed(cells, styles, shown, low, high)


def dots(rows: Sequence[float], height: int) -> dict[tuple[int, int], int]:
    """The line through `rows`, two a column and in lines from the top, as the bits of Braille characters."""
    bits: dict[tuple[int, int], int] = {}
    before = rows[0]
    for half, here in enumerate(rows):
        for dot in range(int(min(before, here) * 4), int(max(before, here) * 4) + 1):
            line, quarter = divmod(min(dot, height * 4 - 1), 4)
            cell = (line, half // 2)
            bits[cell] = bits.get(cell, 0) | BRAILLE[half % 2][quarter]
        before = here
    return bits


def _framed(cells: list[list[str]], styles: list[list[str]], shown: Slice, low: float, high: float) -> Text:
    """With the axes: rewards at the left, values and the best one below."""
    labels = {0: f"{high:.4g}", HEIGHT - 1: f"{low:.4g}"}
    margin = max(map(len, labels.values()))
    text = Text()
    for line in range(HEIGHT):
        text.append(f"{labels.get(line, ''):>{margin}} ┤", style="dim")
        for cell, style in zip(cells[line], styles[line], strict=True):
            text.append(cell, style=style)
        text.append("\n")
    best = min(int(float(_positions([shown.best], shown)[0]) * WIDTH), WIDTH - 1)
    text.append(" " * margin + " └" + "─" * best, style="dim")
    text.append("▲", style="bold green")
    text.append("─" * (WIDTH - 1 - best) + "\n", style="dim")
    left, right = f"{shown.values[0]:.4g}", f"{shown.values[-1]:.4g}"
    middle = f"{shown.name}, best at {shown.best:.4g}" + (" (log scale)" if shown.log else "")
    text.append(" " * (margin + 2))
    text.append(left + middle.center(max(WIDTH - len(left) - len(right), len(middle) + 2)) + right + "\n")
    return text


def _bars(shown: Slice) -> Text:
    """One line for each value: the mean as a bar."""
    low, high = float(np.min(shown.mean)), float(np.max(shown.mean))
    span = high - low or 1.0
    labels = [f"{value:.6g}" if isinstance(value, float) else visible(str(value)) for value in shown.values]
    margin = max(map(len, labels))
    text = Text(f"{shown.name}\n")
    for label, value, mean, std in zip(labels, shown.values, shown.mean, shown.std, strict=True):
        chosen = value == shown.best
        bar = "█" * (1 + round((float(mean) - low) / span * 24))
        text.append(f"  {label:>{margin}} ", style="bold green" if chosen else "")
        text.append(f"{bar:<25}", style="green" if chosen else "blue")
        text.append(f" {mean:.4g} ± {std:.2g}\n")
    return text


def _positions(values: Sequence[float], shown: Slice) -> np.ndarray:
    """Where values lie between the ends, from 0 to 1."""
    scale = np.log if shown.log else np.asarray
    low, high = float(scale(shown.values[0])), float(scale(shown.values[-1]))
    placed: np.ndarray = (scale(np.array(values, dtype=float)) - low) / (high - low)
    return placed
