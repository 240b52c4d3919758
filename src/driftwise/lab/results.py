"""A folder of results: a SQLite file to which trials are added as they end, and that is read back as columns.

A trial is a row: its name, the key that says what code it was run with, its figures, its curve as float64, and what it
cost. The trials that raised, and what was asked for with which versions, have tables of their own.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from driftwise.errors import ConflictError, DriftwiseError, InvalidInput, NotFoundError
from driftwise.lab.trials import Result, Timing, kind_of, name_of
from driftwise.records import Array

RESULTS, LOCK = "results.db", ".lock"
SYNC = 0.25  # seconds between syncs to disk: a power cut loses no more; a killed process loses nothing it wrote
WAIT = 60.0  # seconds for a reader that is in the way
OURS = 0x64776C62  # by which a file of results is known

COLUMNS = {
    "name": "TEXT PRIMARY KEY",
    **dict.fromkeys(("key", "suite", "case", "policy"), "TEXT NOT NULL"),
    **dict.fromkeys(("seed", "horizon"), "INTEGER NOT NULL"),
    **dict.fromkeys(("regret", "integrated"), "REAL NOT NULL"),
    "within": "TEXT NOT NULL",
    "variation": "REAL",
    "changes": "TEXT NOT NULL",
    "recovery": "TEXT NOT NULL",
    "restarts": "INTEGER",
    "curve": "BLOB NOT NULL",  # as float64
    **dict.fromkeys(("mean", "median", "wall", "in_policy", "in_environment", "rest"), "REAL NOT NULL"),
}  # of a trial: its name, and the fields of its result and of its timing in their order
SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
BEGIN;
PRAGMA application_id = {OURS};
CREATE TABLE IF NOT EXISTS trials ({", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())});
CREATE TABLE IF NOT EXISTS failures (name TEXT PRIMARY KEY, "key" TEXT NOT NULL, problem TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (asked TEXT NOT NULL, versions TEXT NOT NULL);
COMMIT;
"""
ADD = f"INSERT OR REPLACE INTO trials VALUES ({', '.join('?' for _ in COLUMNS)})"
LISTS = ("within", "changes", "recovery")  # of a result, kept as JSON

Strings = NDArray[np.str_]


def versions() -> dict[str, str]:
    """What the bits of a result may depend on."""
    found = {name: version(name) for name in ("driftwise", "numpy", "scipy")}
    return found | {"python": platform.python_version(), "machine": platform.machine()}


class Folder:
    """A results folder, open for writing by this process alone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path, Folder(path) as folder:
    ...     len(folder.done)
    0
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise InvalidInput(f"results go into a folder, and {self.path} is a file; give another --out") from None
        self._lock = FileLock(self.path / LOCK, timeout=0, is_singleton=False)  # the system lets go when we end
        try:
            self._lock.acquire()
        except Timeout:
            raise ConflictError(f"another run is writing to {self.path}; wait for it, or give another --out") from None
        try:
            self.done: set[str] = {key for (key,) in _rows(self.path, 'SELECT "key" FROM trials')}
            self._file = _opened(self.path / RESULTS, write=True)
        except DriftwiseError:
            self._lock.release()
            raise
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, result: Result, timing: Timing) -> None:
        """Keeps what came of a trial. When this returns, it outlives the process."""
        if result.key in self.done:
            return
        name = name_of(result.key)
        figures = asdict(result) | {each: json.dumps(getattr(result, each)) for each in LISTS}
        figures["curve"] = np.array(result.curve, dtype="<f8").tobytes()
        _, *spent = asdict(timing).values()
        with self._writing():
            self._file.execute(ADD, (name, *figures.values(), *spent))
            self._file.execute("DELETE FROM failures WHERE name = ?", (name,))
        self.done.add(result.key)
        if time.monotonic() - self._synced > SYNC:
            self._file.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._synced = time.monotonic()

    def drop_other_code(self, keys: Iterable[str]) -> int:
        """Removes what other code or defaults made of the same policies and cases, whatever the seed; says how many.

        It is done before these are run: a table never has some seeds of one code and some of another.
        """
        codes = dict(map(kind_of, keys))
        stale = {key for key in self.done if kind_of(key)[1] != codes.get(kind_of(key)[0], kind_of(key)[1])}
        with self._writing():
            dropped = ((name_of(key), key) for key in stale)
            self._file.executemany('DELETE FROM trials WHERE name = ? AND "key" = ?', dropped)
        self.done -= stale
        return len(stale)

    def failed(self, key: str, problem: str) -> None:
        """Notes a trial that raised; the next run tries it again."""
        with self._writing():
            self._file.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", (name_of(key), key, problem))

    def describe(self, asked: Mapping[str, Any]) -> dict[str, str]:
        """Notes what is asked for now; returns the versions of the run before, where they are others than ours."""
        before, now = manifest(self.path).get("versions", {}), versions()
        with self._writing():
            written = (json.dumps(value, ensure_ascii=False, allow_nan=False) for value in (asked, now))
            self._file.execute("INSERT INTO runs VALUES (?, ?)", tuple(written))
        same = before | {"driftwise": ""} == now | {"driftwise": ""}  # that of ours is in every key
        return {} if same else before

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All of it or nothing."""
        with _explained(self.path / RESULTS), self._file:
            yield

    def close(self) -> None:
        """Leaves one file without a log beside it, and lets others write here."""
        with suppress(sqlite3.OperationalError):  # a reader is in the way: the log stays, and the next run moves it in
            self._file.execute("PRAGMA journal_mode = DELETE")
        self._file.close()
        self._lock.release()


def _opened(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """Nothing is written into a file that is not ours, and no file is made to be read."""
    with _explained(path):
        file = sqlite3.connect(f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}", timeout=WAIT, uri=True)
        try:
            ((known,),) = file.execute("PRAGMA application_id")
            if known != OURS and not _is_empty(file):
                raise InvalidInput(f"{path} must be a file of results, as `driftwise lab run` writes it; move it away")
            if write:
                file.executescript(SCHEMA)
        except BaseException:
            file.close()
            raise
        return file


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What SQLite refuses, with what to do about it."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise InvalidInput(f"{path} must be a file of results, got another file; move it away") from None
        from driftwise.log.files import explain  # slow to import

        raise explain(error, str(path)) from error


def _is_empty(file: sqlite3.Connection) -> bool:
    """As a run leaves it that was killed while it made the file."""
    return not file.execute("SELECT 1 FROM sqlite_master").fetchall()


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Results:
    """Everything in a folder as columns, a row a trial, ordered by key. NaN and None stand for what is not known."""

    key: list[str]
    suite: Strings
    case: Strings
    policy: Strings
    seed: NDArray[np.int64]
    horizon: NDArray[np.int64]
    regret: Array
    integrated: Array
    within: Array  # (n, 3): shares within 1, 5 and 10%
    variation: Array
    changes: list[tuple[int, ...]]
    recovery: list[tuple[int | None, ...]]
    restarts: Array
    seconds: Array  # a step of the policy, wall clock, on average
    cpu: Array  # (n, 3): policy, environment, rest
    _curves: list[bytes]

    def __len__(self) -> int:
        return len(self.key)

    def curves(self, rows: Iterable[int]) -> Array:
        """R(t) at `checkpoints(horizon)` of rows of one horizon: (rows, points)."""
        kept = [self._curves[i] for i in rows]
        return np.frombuffer(b"".join(kept), dtype="<f8").reshape(len(kept), -1)

    @cached_property
    def cells(self) -> dict[tuple[str, str, int], dict[str, NDArray[np.int64]]]:
        """(suite, case, horizon) → policy → the rows of its trials, by seed."""
        found: dict[tuple[str, str, int], dict[str, list[int]]] = {}
        order = np.lexsort((self.seed, self.policy, self.horizon, self.case, self.suite))
        labels = zip(self.suite.tolist(), self.case.tolist(), self.horizon.tolist(), self.policy.tolist(), strict=True)
        listed = list(labels)
        for i in order.tolist():
            suite, case, horizon, policy = listed[i]
            found.setdefault((suite, case, horizon), {}).setdefault(policy, []).append(i)
        return {place: {p: np.array(rows) for p, rows in row.items()} for place, row in found.items()}

    def common(self, place: tuple[str, str, int]) -> tuple[list[str], NDArray[np.int64]]:
        """The policies of a cell, and the rows of the seeds that all of them have run: (seeds, policies)."""
        rows = self.cells[place]
        seeds = set.intersection(*(set(self.seed[r].tolist()) for r in rows.values()))
        kept = [r[np.isin(self.seed[r], list(seeds))] for r in rows.values()]
        return list(rows), np.stack(kept, axis=1)


def _rows(path: str | os.PathLike[str], query: str) -> list[tuple[Any, ...]]:
    """What a query finds in a folder; nothing where there are no results."""
    file = Path(path) / RESULTS
    if not file.is_file():
        return []
    with _explained(file), closing(_opened(file)) as opened:
        return [] if _is_empty(opened) else opened.execute(query).fetchall()


def read(path: str | os.PathLike[str]) -> Results:
    """The results in a folder; also while a run is writing to it."""
    rows = _rows(path, "SELECT * FROM trials ORDER BY name")
    if not rows:
        raise NotFoundError(_nothing(Path(path)))
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))

    def words(name: str) -> Strings:
        return np.array(columns[name], dtype=str)

    def numbers(name: str, kind: type = float) -> Any:
        return np.array(columns[name], dtype=kind)  # None becomes NaN

    def lists(name: str) -> list[Any]:
        found: list[Any] = json.loads(f"[{','.join(columns[name])}]")
        return found

    return Results(
        key=list(columns["key"]),
        suite=words("suite"),
        case=words("case"),
        policy=words("policy"),
        seed=numbers("seed", np.int64),
        horizon=numbers("horizon", np.int64),
        regret=numbers("regret"),
        integrated=numbers("integrated"),
        within=np.array(lists("within"), dtype=float).reshape(len(rows), -1),
        variation=numbers("variation"),
        changes=[tuple(each) for each in lists("changes")],
        recovery=[tuple(each) for each in lists("recovery")],
        restarts=numbers("restarts"),
        seconds=numbers("mean"),
        cpu=np.column_stack([numbers(part) for part in ("in_policy", "in_environment", "rest")]),
        _curves=list(columns["curve"]),
    )


def _nothing(folder: Path) -> str:
    """Why there is nothing to read."""
    if not (folder / RESULTS).is_file():
        return f"there are no results in {folder}; make some with: driftwise lab run --out {folder}"
    failed = len(failures(folder))
    none = f"all {failed} runs in {folder} failed; driftwise lab failures {folder} says why"
    return f"{none if failed else f'no run in {folder} has ended yet'}; go on with: driftwise lab run --out {folder}"


def pairs(path: str | os.PathLike[str]) -> Iterator[tuple[Result, Timing]]:
    """Each trial in a folder and what it cost, in the order of their names."""
    for _, key, *row in _rows(path, "SELECT * FROM trials ORDER BY name"):
        figures = dict(zip(Result.__dataclass_fields__, (key, *row), strict=False))
        figures |= {each: tuple(json.loads(figures[each])) for each in LISTS}
        figures["curve"] = tuple(np.frombuffer(figures["curve"], dtype="<f8").tolist())
        yield Result(**figures), Timing(key, *row[-6:])


def line(record: Any) -> bytes:
    """One line of canonical JSON: fields in their order, no spaces, floats as short as they round-trip."""
    fields = record if isinstance(record, Mapping) else asdict(record)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What the runs into a folder were asked for, each once, and the versions of the last; nothing without a run."""
    runs = _rows(path, "SELECT asked, versions FROM runs ORDER BY rowid")
    asked = [json.loads(each) for each in dict.fromkeys(asked for asked, _ in runs)]
    return {"versions": json.loads(runs[-1][1]), "runs": asked} if runs else {}


def failures(path: str | os.PathLike[str]) -> dict[str, str]:
    """The keys of trials that raised, and what they raised."""
    return dict(_rows(path, 'SELECT "key", problem FROM failures ORDER BY name'))
