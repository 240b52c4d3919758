"""The posterior along one parameter as characters: a curve over numbers, a line with an interval for each choice."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from driftwise.cli.show import wrapped
from driftwise.records import Array
from driftwise.study.slices import Slice
from driftwise.text import give_or_take, visible

BRAILLE = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # bits of the left and right column, from the top
HEIGHT = 12
BAND = 2.0  # standard deviations
FEW = 12  # values that get a line each
FAILED = 5  # columns for how often a value failed


def chart(shown: Slice, width: int) -> Text:
    """A drawing of the belief along one parameter, as wide as `width` columns."""
    return _curve(shown, width) if _is_curve(shown) else _intervals(shown, width)


def legend(shown: Slice) -> str:
    """What the characters of the drawing are."""
    known = "⠒ mean  ░ ± 2 std  • observed  ▲ best" if _is_curve(shown) else "● mean  ─ ± 2 std  ▶ best"
    return known + ("  × failed" if shown.failed else "")


def _is_curve(shown: Slice) -> bool:
    return shown.numeric and len(shown.values) > FEW


# --- a curve --------------------------------------------------------------------------------------------------------


def _curve(shown: Slice, width: int) -> Text:
    rewards = [reward for _, reward in shown.seen]
    low = min([*(shown.mean - BAND * shown.std), *rewards])
    high = max([*(shown.mean + BAND * shown.std), *rewards])
    high = high if high > low else low + 1.0
    labels = {0: f"{high:.4g}", HEIGHT - 1: f"{low:.4g}"}
    margin = max(map(len, labels.values()))
    columns = width - margin - 2
    mean, std = _sampled(shown, 2 * columns)

    def row(y: float) -> float:
        """In lines from the top."""
        return (high - y) / (high - low) * (HEIGHT - 1e-9)

    cells = [[(" ", "")] * columns for _ in range(HEIGHT)]  # each with its style
    for column in range(columns):
        top, bottom = row((mean + BAND * std)[2 * column]), row((mean - BAND * std)[2 * column])
        for line in range(math.floor(top), min(math.floor(bottom), HEIGHT - 1) + 1):
            cells[line][column] = ("░", "blue")
    for (line, column), bits in dots([row(y) for y in mean], HEIGHT).items():
        cells[line][column] = (chr(0x2800 + bits), "bold cyan")
    for place, reward in zip(_positions([v for v, _ in shown.seen], shown), rewards, strict=True):
        cells[int(row(reward))][_column(place, columns)] = ("•", "yellow")
    for place in _positions(shown.failed, shown):  # they have no reward: at the bottom
        cells[HEIGHT - 1][_column(place, columns)] = ("×", "bold red")
    text = Text(f"{'':{margin}}  {shown.axis}\n", style="")
    for line in range(HEIGHT):
        text.append(f"{labels.get(line, ''):>{margin}} ┤", style="dim")
        text.append_text(Text.assemble(*cells[line], "\n"))
    return text.append_text(_axis(shown, margin, columns))


def _sampled(shown: Slice, count: int) -> tuple[Array, Array]:
    """Mean and std at `count` places from end to end; an Int has steps, as there is nothing between its values."""
    x, at = _positions(shown.values, shown), np.linspace(0, 1, count)
    if shown.whole:
        nearest = np.searchsorted((x[1:] + x[:-1]) / 2, at)
        return shown.mean[nearest], shown.std[nearest]
    return np.interp(at, x, shown.mean), np.interp(at, x, shown.std)


def dots(rows: Sequence[float], height: int) -> dict[tuple[int, int], int]:
    """The line through `rows`, two per column and in lines from the top, as the bits of Braille characters."""
    bits: dict[tuple[int, int], int] = {}
    before = rows[0]
    for half, here in enumerate(rows):
        for dot in range(int(min(before, here) * 4), int(max(before, here) * 4) + 1):
            line, quarter = divmod(min(dot, height * 4 - 1), 4)
            cell = (line, half // 2)
            bits[cell] = bits.get(cell, 0) | BRAILLE[half % 2][quarter]
        before = here
    return bits


def _axis(shown: Slice, margin: int, columns: int) -> Text:
    """The parameter's values, and the best one."""
    best = _column(float(_positions([shown.best], shown)[0]), columns)
    text = Text.assemble(
        (" " * margin + " └" + "─" * best, "dim"), ("▲", "bold green"), ("─" * (columns - 1 - best) + "\n", "dim")
    )
    name = f"{visible(shown.name)}, best at {shown.best:.4g}" + (" (log scale)" if shown.log else "")
    return text.append(spread(f"{shown.values[0]:.4g}", name, f"{shown.values[-1]:.4g}", columns, margin + 2))


def spread(left: str, middle: str, right: str, columns: int, indent: int) -> str:
    """What stands below an axis: its ends, and its name between them or, if there is no room, in lines of its own.

    >>> spread("1", "price", "20", 12, 1), spread("1", "a long name", "20", 12, 1)
    (' 1  price  20\\n', ' 1         20\\n a long name\\n')
    """
    room = columns - len(left) - len(right)
    fits = cell_len(middle) + 2 <= room
    gap = room - (cell_len(middle) if fits else 0)
    between = " " * (gap // 2) + (middle if fits else "") + " " * (gap - gap // 2)
    return f"{' ' * indent}{left}{between}{right}\n" + ("" if fits else wrapped(middle, indent + columns, indent))


def _positions(values: Sequence[float], shown: Slice) -> Array:
    """Where values lie between the ends, from 0 to 1."""
    scale = np.log if shown.log else np.asarray
    low, high = float(scale(shown.values[0])), float(scale(shown.values[-1]))
    placed: Array = (scale(np.array(values, dtype=float)) - low) / (high - low)
    return placed


def _column(place: float, columns: int) -> int:
    return min(int(place * columns), columns - 1)


# --- intervals ------------------------------------------------------------------------------------------------------


def _intervals(shown: Slice, width: int) -> Text:
    """One line for each value: the mean as a dot on its interval. Choices have no order of their own: best first."""
    ends = [shown.mean - BAND * shown.std, shown.mean + BAND * shown.std]
    low, high = float(np.min(ends[0])), float(np.max(ends[1]))
    labels = [visible(shown.written(value)) for value in shown.values]
    figures = [give_or_take(mean, std) for mean, std in zip(shown.mean, shown.std, strict=True)]
    if shown.failed:
        counts = [shown.failed.count(value) for value in shown.values]
        figures = [f"{each}  {f'× {n}' if n else '':<{FAILED}}" for each, n in zip(figures, counts, strict=True)]
    margin = min(max(map(cell_len, labels)), width // 4)
    beside = max(map(len, figures))
    columns = width - margin - beside - 5

    def column(y: float) -> int:
        return _column((y - low) / (high - low or 1.0), columns)

    text = Text(wrapped(f"{visible(shown.name)}: {shown.axis}", width))
    for i in shown.ranked():
        best = shown.values[i] == shown.best
        line = [" "] * columns
        left, right = column(float(ends[0][i])), column(float(ends[1][i]))
        line[left : right + 1] = "─" * (right + 1 - left)
        line[column(float(shown.mean[i]))] = "●"
        text.append(f"{'▶' if best else ' '} {shortened(labels[i], margin)} ", style="bold green" if best else "")
        text.append("".join(line), style="green" if best else "blue")
        text.append(f"  {figures[i]:>{beside}}\n")
    text.append(" " * (margin + 3) + "─" * columns + "\n", style="dim")
    return text.append(spread(f"{low:.4g}", shown.quantity, f"{high:.4g}", columns, margin + 3))


def shortened(label: str, columns: int) -> str:
    """The label in exactly so many columns, with … if it is longer.

    >>> shortened("turbo", 6), shortened("turbo", 4)
    ('turbo ', 'tur…')
    """
    return set_cell_size(label, columns) if cell_len(label) <= columns else set_cell_size(label, columns - 1) + "…"
