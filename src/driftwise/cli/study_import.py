"""driftwise study import: observations from a CSV file, from JSON lines, or from a JSON export."""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TextIO

import typer

from driftwise.cli import files, parse, show
from driftwise.cli.command import Answer, answered, on_study
from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.spaces import Choice, Space
from driftwise.study import Study
from driftwise.study.readings import BATCH, OURS
from driftwise.text import cell, counted, did_you_mean, visible

STEP = 500  # rows between two signs of progress
PARTS = ("params", "context", "measures")  # columns are params.NAME, and in JSON they may be objects
FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Row = dict[str, Any]


@answered
@on_study
def import_log(
    study: Study,
    file: Annotated[str, typer.Argument(help="A CSV file or JSON lines; - is standard input.", show_default=False)],
    key_column: Annotated[
        str | None,
        typer.Option(help="The column that is the key of its row, for example number. By default key if there is one."),
    ] = None,
) -> Answer:
    """Import observations from a CSV file with a header, from JSON lines, or from what `study export` wrote.

    The columns are the parameters, those of the context, and reward; as you like also at, key, std, repeats, failed,
    and measures.NAME for each measure. A parameter with one of these names is params.NAME. The column number is
    ignored, and an empty cell is as if its column were not there. A line of JSON is an object with the columns, or with
    params, context and measures as objects in it.

    A row with a key is stored once, however often it is imported. Rows are stored in batches of 5,000, each as a whole:
    nothing is stored of a batch with an error, which is reported with its row, counted without the header.

    [bold]Examples[/bold]

      driftwise study import prices log.csv --key-column number

      driftwise study export prices --jsonl | driftwise study import other -
    """
    with opened(file) as text, show.progress("rows") as progress:
        task = progress.add_task(f"import {visible(Path(file).name)}", total=None)
        read = Counted(rows(text, study, key_column), lambda n: progress.update(task, completed=n))
        try:
            loaded = study.load(read)
        except (InvalidInput, ConflictError) as error:
            raise type(error)(f"{error}{_stored(read.count)}") from error
    return asdict(loaded), [f"{counted(loaded.new, 'observation')} stored, {loaded.known} known before."]


@dataclass
class Counted:
    """Rows that are counted as they are taken, the one with an error among them."""

    rows: Iterator[Row]
    report: Callable[[int], None]
    count: int = 0

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        self.count += 1
        if self.count % STEP == 0:
            self.report(self.count)
        try:
            return next(self.rows)
        except StopIteration:
            self.count -= 1
            raise


def _stored(taken: int) -> str:
    """What is in the study after an error, of which whole batches before it are."""
    before = max(taken - 1, 0) // BATCH * BATCH
    return f"; rows 1 to {before} are stored, and nothing after them" if before else "; nothing was stored"


@contextmanager
def opened(file: str) -> Iterator[TextIO]:
    """The text of a file or of standard input, one line at a time; what is not UTF-8 is refused."""
    text = io.TextIOWrapper(sys.stdin.buffer if file == "-" else _bytes(Path(file)), "utf-8-sig", newline="")
    try:
        yield text
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} must be text in UTF-8, got the byte {error.object[error.start]:#04x}") from None
    finally:
        if file == "-":
            text.detach()  # standard input stays open
        else:
            text.close()


def _bytes(path: Path) -> BinaryIO:
    try:
        return (files.at_home(path) or path).open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}; give one to import, or - for standard input") from None


def rows(text: TextIO, study: Study, key_column: str | None) -> Iterator[Row]:
    """The rows of a file as `Study.load` takes them. What begins with { is JSON, and all else CSV."""
    first = next((line for line in text if line.strip()), None)
    if first is None:
        raise InvalidInput("there is nothing to import: the file is empty")
    columns = Columns(study, key_column)
    lines = itertools.chain([first], text)
    found = _objects(first, lines) if first.lstrip().startswith("{") else _records(lines, columns)
    for number, record in enumerate(found, 1):
        try:
            yield columns.row(record)
        except InvalidInput as error:
            raise InvalidInput(f"row {number}: {error}") from None


def _records(lines: Iterable[str], columns: Columns) -> Iterator[Row]:
    """The rows of a CSV file by column, without empty cells."""
    reader = csv.reader(lines)
    try:
        header = next(reader)
        twice = [name for name in header if header.count(name) > 1]
        if twice:
            raise InvalidInput(f"a column must have its own name, got {twice[0]!r:.80} twice")
        empty = [columns.may_be_empty(name) for name in header]  # an unknown one is refused before anything is stored
        for number, cells in enumerate(filter(None, reader), 1):
            if len(cells) != len(header):
                raise InvalidInput(f"row {number} must have {len(header)} cells as the header has, got {len(cells)}")
            told = zip(header, cells, empty, strict=True)
            yield {name: Written(text) for name, text, is_value in told if text or is_value}
    except csv.Error as error:
        raise InvalidInput(f"line {reader.line_num} is not CSV: {error}") from None


class Written(str):
    """A cell of a CSV file: not text, but something that is written as text."""


def _objects(first: str, lines: Iterable[str]) -> Iterator[Row]:
    """JSON lines, or the observations of one document."""
    if _is_row(first):
        for number, line in enumerate((line for line in lines if line.strip()), 1):
            yield _object(line, f"row {number}")
        return
    listed = _object("".join(lines), "the file").get("observations")
    if not isinstance(listed, list):
        raise InvalidInput("a JSON document must have observations, a list, as `study export --json` writes it")
    for number, each in enumerate(listed, 1):
        yield _checked(each, f"row {number}")


def _is_row(line: str) -> bool:
    try:
        return "observations" not in json.loads(line)
    except (ValueError, RecursionError):
        return False


def _object(text: str, what: str) -> Row:
    try:
        return _checked(json.loads(text), what)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{what} is not JSON: {error}") from None


def _checked(found: Any, what: str) -> Row:
    if not isinstance(found, dict):
        raise InvalidInput(f"{what} must be an object in braces, got {found!r:.80}")
    return found


class Columns:
    """Which part of a row each column is."""

    def __init__(self, study: Study, key_column: str | None) -> None:
        inside = study.description.context
        self.key_column = key_column
        self.known = {cell(name): ("params", name) for name in study.space.names}
        self.known |= {cell(name): ("context", name) for name in (inside.names if inside else ())}
        self.choices = _choices(study.space) | (_choices(inside) if inside else {})

    def place(self, column: str) -> tuple[str, str]:
        """The part of a row, and the name of the parameter or measure within it."""
        if column in OURS:
            return column, ""
        if column in self.known:
            return self.known[column]
        part, dot, name = column.partition(".")
        if dot and part in PARTS:
            return part, self.known.get(name, ("", name))[1]
        if column == self.key_column:
            return "key", ""
        names = ", ".join(map(visible, self.known))
        rest = "reward, at, key, std, repeats, failed, measures.NAME and number"
        raise InvalidInput(
            f"column {column!r:.80} is unknown; {did_you_mean(column, self.known)}there may be {names}, {rest}"
        )

    def may_be_empty(self, column: str) -> bool:
        """Whether an empty cell is a value: that of a Choice which has it."""
        return "" in self.choices.get(self.place(column)[1], {})

    def row(self, record: Mapping[str, Any]) -> Row:
        """A record as `Study.load` takes it."""
        made: Row = {"params": {}}
        for column, value in record.items():
            if column in PARTS and isinstance(value, dict):
                made[column] = made.get(column, {}) | value
                continue
            part, name = self.place(column)
            if name:
                made.setdefault(part, {})[name] = self._value(column, part, name, value)
            elif part not in ("number", "key") and value is not None:
                made[part] = _plain(column, part, value)
        key = record.get(self.key_column or "key")
        if self.key_column is not None and key is None:
            raise InvalidInput(f"there must be a key in column {self.key_column!r:.80}, got none")
        return made if key is None else made | {"key": str(key)}

    def _value(self, column: str, part: str, name: str, value: Any) -> Any:
        if not isinstance(value, Written):
            return value
        if part == "measures":
            return _number(column, value)
        return self.choices.get(name, {}).get(value, parse.scalar(value))


def _choices(space: Space) -> dict[str, dict[str, Any]]:
    """The values of choices as they are written, by themselves and in CSV."""
    found = {name: p for name, p in getattr(space, "parameters", ()) if isinstance(p, Choice)}
    return {
        name: {str(cell(value)): value for value in choice.values} | parse.written(choice)
        for name, choice in found.items()
    }


def _plain(column: str, part: str, value: Any) -> Any:
    """What is not a setting: a number, or whether it failed."""
    if not isinstance(value, Written):
        return value
    if part != "failed":
        return _number(column, value)
    if value.lower() not in FLAGS:
        raise InvalidInput(f"column {column!r:.80} must be true or false, got {str(value)!r:.80}")
    return FLAGS[value.lower()]


def _number(column: str, value: str) -> int | float:
    found = parse.scalar(value)
    if isinstance(found, bool | str):
        raise InvalidInput(f"column {column!r:.80} must be a number, got {str(value)!r:.80}")
    return found
