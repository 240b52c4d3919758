"""Damage to a study's file: `damage.py BODIES BYTES SEED`. Prints a JSON of figures.

One byte of the body of an entry is changed by hand: `driftwise study check` must find it, and so must a study that
is folded from its start. Or one byte of the file is changed: each answer must be the one that the undamaged file gives,
or an error that says so, as long as `study check` finds nothing.
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
from driftwise.log import BEGINNING, FAILED, Choice, Chosen, Log, NewObservation, Outcome, View, open_store
from driftwise.log.verify import check

SPACE = Candidates([[i / 20] for i in range(21)], names=["x"])
HARMS = ("not found by check", "not noticed by a fold", "another answer of an intact file", "traceback")


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
        return view.tail(5), view.newest(), view.start_of_tail(7), view.since(BEGINNING), view.counts

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


def change_body(path: Path, draw: random.Random) -> str:
    """Change a byte of an entry's body, and return the name of its study."""
    connection = sqlite3.connect(path)
    query = "SELECT s.name, e.study, e.seq, body FROM entries e JOIN studies s USING (study) WHERE length(body) > 0"
    name, study, seq, body = draw.choice(connection.execute(query).fetchall())
    changed = bytearray(body)
    changed[draw.randrange(len(body))] ^= draw.randrange(1, 256)
    connection.execute("UPDATE entries SET body = ? WHERE study = ? AND seq = ?", (bytes(changed), study, seq))
    connection.commit()
    connection.close()
    return str(name)


def flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8) if draw.random() < 0.5 else draw.randrange(1, 256)
    path.write_bytes(content)


def of_body(path: Path, draw: random.Random) -> list[str]:
    """What was wrong after a body was changed."""
    name, harms = change_body(path, draw), []
    if name not in [found.study for found in check(path)]:
        harms.append("not found by check")
    try:
        open_store(path).open(name).read(lambda view: view.tail())
        harms.append("not noticed by a fold")
    except DriftwiseError:
        pass
    return harms


def of_byte(path: Path, draw: random.Random, asked: list[Callable[[Path], Any]], expected: list[Any]) -> list[str]:
    """What was wrong after a byte of the file was changed."""
    flip(path, draw)
    found, intact = bool(check(path)), True
    for question, answer in zip(asked, expected, strict=True):
        try:
            now = question(path)
        except DriftwiseError:
            intact = False  # what comes after may differ, since this was not done
        except Exception as error:
            print(f"{error!r:.200}", file=sys.stderr)
            if not found:
                return ["traceback"]
            intact = False
        else:
            if now != answer and intact and not found:
                print(f"{now!r:.200} for {answer!r:.200}", file=sys.stderr)
                return ["another answer of an intact file"]
    return []


def main(bodies: int, flips: int, seed: int) -> dict[str, int]:
    figures = dict.fromkeys(("bodies", "bytes", *HARMS), 0)
    with tempfile.TemporaryDirectory() as folder:
        whole, draw = Path(folder) / "whole.db", random.Random(seed)
        asked = questions(make(whole))
        twin = Path(folder) / "twin.db"
        shutil.copy(whole, twin)
        expected = [question(twin) for question in asked]
        for i in range(bodies + flips):
            path = Path(folder) / f"{i}.db"
            shutil.copy(whole, path)
            figures["bodies" if i < bodies else "bytes"] += 1
            for harm in of_body(path, draw) if i < bodies else of_byte(path, draw, asked, expected):
                figures[harm] += 1
            for left in Path(folder).glob(f"{i}.db*"):
                left.unlink()
    return figures


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
