"""driftwise study export: the log as CSV, as JSON or as JSON lines, a part at a time however long it is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from driftwise.cli import files
from driftwise.cli.command import on_study
from driftwise.errors import InvalidInput, StoreError
from driftwise.study import Reading, Study
from driftwise.study.readings import columns
from driftwise.text import as_json as json_text
from driftwise.text import csv_line

CHUNK = 1000  # observations that are held at a time
FORMATS = (".csv", ".json", ".jsonl")
PLAIN = {"repeats": 1, "failed": False}  # of those that do not say


@on_study
def export(
    study: Study,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write: .csv, .json or .jsonl. By default it goes to stdout."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of CSV.")] = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Write JSON lines, one for each observation.")] = False,
) -> None:
    """Export every observation in order, with its number, its time, the setting, the context and the outcome.

    Observations are as they hold now, with their corrections and without those that were retracted. `study import`
    reads all three formats. There is a column for std, repeats, failed or a measure if an observation has it.

    In CSV, text that a spreadsheet would run as a formula, because it begins with =, +, - or @, gets a ' before it, and
    control characters are escaped, for example as \\x1b. Numbers stay as they are, and JSON has every value exactly.
    """
    if out is not None and out.suffix not in FORMATS:
        raise InvalidInput(f"--out must end in .csv, .json or .jsonl, got {str(out)!r}")
    if as_json and as_lines:
        raise InvalidInput("give --json or --jsonl, not both")
    wanted = ".jsonl" if as_lines else ".json" if as_json else ".csv" if out is None else out.suffix
    lines = {".csv": _csv, ".json": _json, ".jsonl": _json_lines}[wanted](study)
    if out is None:
        sys.stdout.writelines(lines)
        return
    with files.opened(out, inputs=[study.path]) as file:
        file.writelines(line.encode("utf-8", "backslashreplace") for line in lines)


def _json_lines(study: Study) -> Iterator[str]:
    return (json_text(_for_scripts(seen), indent=None) + "\n" for seen in study.observations())


def _json(study: Study) -> Iterator[str]:
    """One document, with a line for each observation."""
    yield f'{{"study": {json_text(study.name)}, "observations": ['
    for i, line in enumerate(_json_lines(study)):
        yield f"{',' if i else ''}\n{line.rstrip()}"
    yield "\n]}\n"


def _for_scripts(seen: Reading) -> dict[str, Any]:
    """With those details that it has."""
    made: dict[str, Any] = {"number": seen.number, "at": seen.at, "params": dict(seen.params)}
    if seen.context is not None:
        made["context"] = dict(seen.context)
    made["reward"] = seen.reward
    details = {"measures": dict(seen.measures), "std": seen.std, "failed": seen.failed}
    return made | {k: v for k, v in details.items() if v} | ({"repeats": seen.repeats} if seen.repeats != 1 else {})


def _csv(study: Study) -> Iterator[str]:
    """The log is read twice: for the columns that it has, and then for its rows."""
    header = list(columns(_different(study)))
    yield csv_line(header)
    for rows in _chunks(study.observations()):
        made = columns(rows)
        if not made.keys() <= set(header):
            raise StoreError(f"study {study.name!r} got another column while it was exported; export it again")
        cells = [made.get(name) or [PLAIN.get(name)] * len(rows) for name in header]
        yield from map(csv_line, zip(*cells, strict=True))


def _different(study: Study) -> list[Reading]:
    """A reading for each column that there is, and one without any details that has the names in their order."""
    known = study.description.context
    names = dict.fromkeys(study.space.names)
    kept = {"": Reading(0, 0.0, names, None, None if known is None else dict.fromkeys(known.names))}
    for seen in study.observations():
        for detail in _details(seen):
            kept.setdefault(detail, seen)
    return list(kept.values())


def _details(seen: Reading) -> Iterable[str]:
    yield from (f"measures.{name}" for name in seen.measures)
    if seen.std is not None:
        yield "std"
    if seen.repeats != 1:
        yield "repeats"
    if seen.failed:
        yield "failed"


def _chunks(readings: Iterator[Reading]) -> Iterator[Sequence[Reading]]:
    while rows := list(islice(readings, CHUNK)):
        yield rows
