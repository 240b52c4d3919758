"""Arms with names and a past, as they are given on the command line and in CSV files."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array
from driftwise.spaces import Candidates, Parameter


def space(
    parameters: Mapping[str, Parameter] | None, listed: str | None, file: Path | None
) -> Candidates | Mapping[str, Parameter]:
    """The space of a new study: parameters, or arms by name, or arms from a file, but only one of these."""
    ways = {"--arms": listed, "--arms-from": file, "--float, --int and --choice": parameters}
    given = [way for way, value in ways.items() if value is not None]
    if len(given) > 1:
        raise InvalidInput(f"a study has parameters or arms, got {' and '.join(given)}; give one of them")
    if file is not None:
        return from_file(file)
    return arms(listed) if listed is not None else parameters or {}


def arms(listed: str) -> Candidates:
    """red,green,blue as arms without an order.

    >>> arms("red,green").labels
    ('red', 'green')
    """
    labels = [label.strip() for label in listed.split(",")]
    if "" in labels:
        raise InvalidInput(f"--arms is written as red,green,blue, got {listed!r:.80}")
    return Candidates(labels=labels)


def from_file(path: Path) -> Candidates:
    """Arms from a CSV file with headings: the first column has the labels, any others their coordinates."""
    headings, *rows = _cells(path)
    if len(headings) > 1 and not rows:
        raise InvalidInput(f"{path} must have a row of headings and one for each arm, got headings alone")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(headings):
            raise InvalidInput(f"{path}, row {number}: {len(row)} cells where the first row has {len(headings)}")
    labels = [row[0].strip() for row in rows]
    names = [heading.strip() for heading in headings]
    if len(headings) == 1:
        return Candidates(labels=labels, names=names)
    points = [[_number(path, number, cell) for cell in row[1:]] for number, row in enumerate(rows, start=2)]
    return Candidates(points, names, labels=labels)


def history(path: Path, space: Any) -> Array | dict[str, Array]:
    """A table of what all arms gave in the past: a row for each time, a column for each arm, an empty cell a gap.

    If the first row has headings and the space has labels, columns are found by them, in whatever order they stand.
    """
    from driftwise.environments.csv_sheet import read_sheet  # loads the environments, which a study does not need

    sheet = read_sheet(path, gaps="keep")
    if not sheet.headings or not getattr(space, "labels", ()):
        return sheet.numbers
    twice = [heading for heading in sheet.headings if sheet.headings.count(heading) > 1]
    if twice:
        raise InvalidInput(f"{path} must have one column for each arm, got {twice[0]!r} twice")
    return dict(zip(sheet.headings, np.asarray(sheet.numbers).T, strict=True))


def _cells(path: Path) -> list[list[str]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file, strict=True) if row]
    except OSError as error:
        raise InvalidInput(f"cannot read {path!s:.200}: {error.strerror}") from None
    except (ValueError, csv.Error) as error:  # or a name that no file can have
        raise InvalidInput(f"{checks.shown(str(path), 200)} is no CSV file: {error}") from None
    if len(rows) < 2:
        raise InvalidInput(f"{path!s:.200} must have a row of headings and one for each arm, got {len(rows)} rows")
    return rows


def _number(path: Path, row: int, cell: str) -> float:
    try:
        return checks.real("a coordinate", float(cell))
    except ValueError:
        got = checks.shown(cell)
        raise InvalidInput(f"{path}, row {row}: a coordinate must be a finite number, got {got}") from None
