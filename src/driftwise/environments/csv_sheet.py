"""A CSV file of numbers: headings, a column of times, and empty cells."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array

GAPS = ("refuse", "previous", "drop")  # what is done about an empty cell

Line = tuple[int, list[str]]  # its number in the file, and its cells


@dataclass(frozen=True, eq=False)
class Sheet:
    """Numbers, (rows, columns), the columns' headings and the rows' times where the file has them."""

    numbers: Array
    headings: tuple[str, ...] = ()
    times: tuple[float, ...] = ()


def read_sheet(path: str | PathLike[str], *, time: str | None = None, gaps: str = "refuse") -> Sheet:
    """The numbers of a CSV file. Its first row holds headings if no cell of it is a number.

    `time` is the heading of the column of times, which is none of the numbers. What `gaps` may be is in `GAPS`.
    """
    lines = _lines(path)
    headings: tuple[str, ...] = ()
    if lines and not any(map(_is_number, lines[0][1])):
        headings = tuple(cell.strip() for cell in lines[0][1])
        lines = lines[1:]
    if not lines:
        raise InvalidInput(f"{path} has no rows of numbers")
    width = len(headings) or len(lines[0][1])
    for number, row in lines:
        if len(row) != width:
            raise InvalidInput(f"{path}, line {number}: {len(row)} cells where the first row has {width}")
    column = None if time is None else _column(path, headings, time)
    times = [] if column is None else _times(path, lines, column)
    if column is not None:  # a 0 in the place of each time, so that columns keep their numbers in what is said below
        lines = [(number, [*row[:column], "0", *row[column + 1 :]]) for number, row in lines]
    numbers = np.array([_numbers(path, number, row, headings, gaps) for number, row in lines])
    whole = np.ones(len(numbers), dtype=bool)
    if gaps == "drop":
        whole = ~np.isnan(numbers).any(axis=1)
    elif gaps == "previous":
        numbers = _filled(path, lines, headings, numbers)
    if column is not None:
        numbers, headings = np.delete(numbers, column, axis=1), (*headings[:column], *headings[column + 1 :])
    if not numbers.size or not whole.any():
        raise InvalidInput(f"{path} has no rows of numbers" + (" without a gap" if numbers.size else ""))
    return Sheet(numbers[whole], headings, tuple(t for t, used in zip(times, whole.tolist(), strict=False) if used))


def _lines(path: str | PathLike[str]) -> list[Line]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            return [(reader.line_num, row) for reader in [csv.reader(file, strict=True)] for row in reader if row]
    except OSError as error:
        raise InvalidInput(f"cannot read {path!s:.200}: {error.strerror}") from None
    except (ValueError, csv.Error) as error:  # or a name that no file can have
        raise InvalidInput(f"{checks.shown(str(path), 200)} is no CSV file: {error}") from None


def _column(path: str | PathLike[str], headings: Sequence[str], time: str) -> int:
    if list(headings).count(time) != 1:
        have = f"has {', '.join(map(checks.shown, headings))}" if headings else "has no headings"
        raise InvalidInput(f"the times must be one column of {path}, got {checks.shown(time)}; the file {have}")
    return headings.index(time)


def _times(path: str | PathLike[str], lines: Sequence[Line], column: int) -> list[float]:
    """They may be equal, and must not run backwards."""
    times = [_time(path, number, row[column]) for number, row in lines]
    for (number, row), before, at in zip(lines[1:], times, times[1:], strict=False):
        if at < before:
            got = checks.shown(row[column])
            raise InvalidInput(f"{path}, line {number}: times must not run backwards, got {got}; sort the rows by time")
    return times


def _time(path: str | PathLike[str], line: int, cell: str) -> float:
    if _is_number(cell) and abs(float(cell)) <= checks.LARGEST:
        return float(cell)
    try:
        date = datetime.fromisoformat(cell.strip())
    except ValueError:
        got = checks.shown(cell)
        raise InvalidInput(f"{path}, line {line}: a time must be a number or an ISO 8601 date, got {got}") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _numbers(
    path: str | PathLike[str], line: int, row: Sequence[str], headings: Sequence[str], gaps: str
) -> list[float]:
    """NaN stands for a gap."""
    for column, cell in enumerate(row):
        if gaps != "refuse" and not cell.strip():
            continue
        if not _is_number(cell) or not math.isfinite(float(cell)):
            where, got = _where(path, line, column, headings), checks.shown(cell)
            fix = "" if cell.strip() else "; fill the gap, or say what to do about gaps: previous or drop"
            raise InvalidInput(f"{where}: must be a finite number, got {got}{fix}")
    return [float(cell) if cell.strip() else math.nan for cell in row]


def _filled(path: str | PathLike[str], lines: Sequence[Line], headings: Sequence[str], numbers: Array) -> Array:
    """Each gap with the number above it: (rows, columns)."""
    first = np.flatnonzero(np.isnan(numbers[0]))
    if len(first):
        where = _where(path, lines[0][0], int(first[0]), headings)
        raise InvalidInput(f"{where}: a gap in the first row has no number before it; fill it, or drop rows with gaps")
    rows = np.where(np.isnan(numbers), 0, np.arange(len(numbers))[:, None])
    return np.take_along_axis(numbers, np.maximum.accumulate(rows, axis=0), axis=0)


def _where(path: str | PathLike[str], line: int, column: int, headings: Sequence[str]) -> str:
    heading = f" ({checks.shown(headings[column])})" if headings else ""
    return f"{path}, line {line}, column {column + 1}{heading}"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
