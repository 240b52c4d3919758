"""Damage to a study's file: `damage.py FLIPS ROWS SEED`. Prints a JSON of figures.

One byte of the file is changed, or one row of one table is changed or deleted by hand; then the file is opened and
asked everything a study can be asked. Each answer must be the one that the undamaged file gives, or a clear error.
`driftwise study check` must find every changed or deleted row.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftwise import Candidates, Study
from driftwise.errors import DriftwiseError
from driftwise.store import FAILED, Choice, Chosen, Log, NewObservation, Outcome, View, open_store
from driftwise.store.verify import check

SPACE = Candidates([[i / 20] for i in range(21)], names=["x"])
HARMS = ("silently another answer", "traceback", "not found by check")


def make(path: Path) -> dict[str, Any]:
    """A file with every kind of row, closed; and what a user would remember of it."""
    known: dict[str, Any] = {}
    for name in ("a", "b"):
        study = Study(name, SPACE, "sw-gp-ucb", path=path, window=12)
        late = []
        for i in range(60):
            s = study.ask(key=f"key {i}" if i % 2 else None)
            if i % 9 == 4:
                late.append(s)
            elif i % 11 == 7:
                study.abandon(s)
            else:
                study.tell(s, (i * 37 % 101) / 10)
            if i % 6 == 0:
                study.observe({"x": 0.5}, float(i), key=f"seen {i}" if i % 12 else None)
        study.tell(late[0], 1.0)
        known[name] = (s, late[-1])
        extend(study._log)
    store = open_store(path)
    extend(store.create("failing", "{}"), failures=True)
    store.create("gone", "{}").observe((0.5,), Outcome(1.0))
    store.delete("gone")
    store.close()
    return known


def three(view: View) -> Choice:
    return lambda: tuple(Chosen((x,), float(view.counts.last)) for x in (0.1, 0.2, 0.3))


def extend(log: Log, *, failures: bool = False) -> None:
    """What only the store can do so far: batches, details, failures, imports and corrections."""
    log.ask_many("batch", three, 32, 3)
    log.load(
        [
            NewObservation((i / 20,), Outcome(float(i), std=0.5, measures=(("ms", 7.0),)), key=f"row {i}")
            for i in range(8)
        ]
    )
    last = log.read(lambda view: view.counts.last)
    if failures:
        log.load([NewObservation((i / 20,), FAILED if i % 2 else Outcome(1.0)) for i in range(9)])
    log.tell(log.ask_many("batch", three, 32, 3)[1].id, Outcome(2.0, repeats=3), key="told")
    log.correct(last - 1, Outcome(5.5), "ann", "typed wrong")
    log.correct(last - 3, None, "bob", "the sensor was off")
    log.correct(last - 1, Outcome(6.5, std=0.25))


def questions(known: dict[str, Any]) -> list[Callable[[Path], Any]]:
    """Everything that may be asked; the last ones write."""
    told, waiting = known["a"]

    def opened(path: Path) -> Study:
        return Study.open("a", path=path)

    def plain(suggestion: Any) -> Any:
        return suggestion.number, suggestion.x, suggestion.at

    return [
        lambda path: Study.names(path),
        lambda path: opened(path).describe().counts,
        lambda path: opened(path).pending(),
        lambda path: list(opened(path).observations()),
        lambda path: opened(path).latest(5),
        lambda path: opened(path).recommend(),
        lambda path: opened(path).ask(key="key 31"),
        lambda path: opened(path).ask(key=told.key),
        lambda path: opened(path).tell(told, (59 * 37 % 101) / 10),
        lambda path: opened(path).observe({"x": 0.5}, 30.0, key="seen 30"),
        *(question(name) for name in ("a", "failing") for question in (_entries, _readers, _known, _repeated)),
        lambda path: plain(opened(path).ask(key="new")),
        lambda path: opened(path).tell(waiting, 2.5),
        lambda path: opened(path).observe({"x": 0.25}, 7.0, key="new"),
        lambda path: Study("c", SPACE, "sw-gp-ucb", path=path, window=12).describe().counts,
        lambda path: plain(opened(path).ask()),
        *(lambda path, name=name: _written(open_store(path).open(name)) for name in ("a", "failing")),  # type: ignore[misc]
        _moved,
    ]


def _entries(name: str) -> Callable[[Path], Any]:
    def everything(path: Path) -> Any:
        log = open_store(path).open(name)
        return log.corrections(), list(log.observations())

    return everything


def _readers(name: str) -> Callable[[Path], Any]:
    def read(view: View) -> Any:
        return view.tail(5), view.newest(), view.start_of_tail(7), view.arrived(0, 0), view.corrected(0, 0), view.counts

    return lambda path: open_store(path).open(name).read(read)


def _known(name: str) -> Callable[[Path], Any]:
    def again(path: Path) -> Any:
        log = open_store(path).open(name)
        batch = log.ask_many("batch", three, 32, 3)
        return batch, log.tell(batch[1].id, Outcome(2.0, repeats=3), key="told", limit=4)

    return again


def _repeated(name: str) -> Callable[[Path], Any]:
    def again(path: Path) -> Any:
        log = open_store(path).open(name)
        row = NewObservation((0.1,), Outcome(2.0, std=0.5, measures=(("ms", 7.0),)), key="row 2")
        made = log.corrections()
        return log.load([row]), [log.correct(each.number, each.after, limit=3) for each in made[1:]]

    return again


def _written(log: Log) -> Any:
    """New entries, and what the log is then."""
    loaded = log.load([NewObservation((0.3,), Outcome(1.0), key=key) for key in ("row", "row 33", "zzz")])
    asked = [(each.number, each.x) for each in log.ask_many("another", three, 32, 3)]
    told = log.correct(loaded.new + 2, None) if log.read(lambda view: view.numbered(5)) else None  # type: ignore[attr-defined]
    return loaded, asked, told, list(log.observations()), [each.number for each in log.corrections()]


def _moved(path: Path) -> Any:
    """Whole logs, last of all."""
    store = open_store(path)
    copied = store.copy("failing", store, "copy")
    store.rename("a", "renamed")
    store.delete("b")
    return list(copied.observations()), store.names(), list(store.open("renamed").observations())


def flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8) if draw.random() < 0.5 else draw.randrange(1, 256)
    path.write_bytes(content)


def change_row(path: Path, draw: random.Random) -> None:
    """Delete a row, or change a value of it."""
    connection = sqlite3.connect(path)
    tables = ("studies", "suggestions", "suggestions", "observations", "observations", "corrections", "keys", "file")
    table = draw.choice(tables)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    own = {
        "studies": ["study"],
        "file": ["file"],
        "keys": ["study", "kind", "key"],
        "corrections": ["study", "ordinal"],
    }.get(table, ["study", "number"])
    rows = connection.execute(f"SELECT {', '.join(own)} FROM {table}").fetchall()
    row, where = draw.choice(rows), " AND ".join(f"{name} = ?" for name in own)
    if draw.random() < 0.4:
        connection.execute(f"DELETE FROM {table} WHERE {where}", row)
    else:
        column = draw.choice(columns)
        [before] = connection.execute(f"SELECT {column} FROM {table} WHERE {where}", row).fetchone()
        values = [before + 1, -1, 0] if isinstance(before, int | float) else [_other(before), "", b"", 7]
        value = draw.choice([value for value in values if value != before])
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *row))
        except sqlite3.IntegrityError:  # another row is there already
            connection.execute(f"DELETE FROM {table} WHERE {where}", row)
    connection.commit()
    connection.close()


def _other(value: Any) -> Any:
    if isinstance(value, str):
        return value[:-1] + ("x" if value[-1:] != "x" else "y")
    return "new" if value is None else value[:-1] + bytes([value[-1] ^ 1])


def main(flips: int, rows: int, seed: int) -> dict[str, int]:
    figures = dict.fromkeys(("flips", "rows", "noticed", *HARMS), 0)
    with tempfile.TemporaryDirectory() as folder:
        whole, draw = Path(folder) / "whole.db", random.Random(seed)
        known = make(whole)
        asked = questions(known)
        twin = Path(folder) / "twin.db"
        shutil.copy(whole, twin)
        expected = [question(twin) for question in asked]
        for i in range(flips + rows):
            path = Path(folder) / f"{i}.db"
            shutil.copy(whole, path)
            (flip if i < flips else change_row)(path, draw)
            figures["flips" if i < flips else "rows"] += 1
            if i >= flips and not _finds(path):
                figures["not found by check"] += 1
                print(f"{i}: not found by check", file=sys.stderr)
            noticed = False
            for question, answer in zip(asked, expected, strict=True):
                try:
                    now = question(path)
                except DriftwiseError:
                    noticed = True
                    continue  # what comes after may differ, since this was not done; but never without an error
                except BaseException as error:
                    figures["traceback"] += 1
                    print(f"{i}: {error!r:.200}", file=sys.stderr)
                    break
                if now != answer and not noticed:
                    figures["silently another answer"] += 1
                    print(f"{i}: {now!r:.200} for {answer!r:.200}", file=sys.stderr)
                    break
            figures["noticed"] += noticed
            for left in Path(folder).glob(f"{i}.db*"):
                left.unlink()
    return figures


def _finds(path: Path) -> bool:
    try:
        return bool(check(path))
    except DriftwiseError:
        return True


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
