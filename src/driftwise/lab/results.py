"""A folder of results: appended to as trials end, sorted when a run is over, read back as columns.

results.jsonl    one line a trial, canonical JSON: the same trials give the same bytes, whoever ran them
timings.jsonl    what they cost
failures.jsonl   trials that raised, and what; gone when none is left
manifest.json    what was asked for, and the versions that answered
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from driftwise.atomic import replacing
from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.lab.trials import Result, Timing, kind_of, name_of
from driftwise.records import Array

FILES = ("results.jsonl", "timings.jsonl", "failures.jsonl", "manifest.json", ".lock")
RESULTS, TIMINGS, FAILURES, MANIFEST, LOCK = FILES
SYNC = 0.25  # seconds between syncs to disk: a power cut loses no more; a killed process loses nothing it wrote
T = TypeVar("T")

CURVE = b',"curve":['  # begins the last field, so that a line can be read without it


def line(record: Any) -> bytes:
    """One line of canonical JSON: fields in their order, no spaces, floats as short as they round-trip."""
    fields = record if isinstance(record, Mapping) else asdict(record)
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def key_of(written: bytes) -> str:
    """The key of a line, without reading the rest of it: key is the first field."""
    key, _ = json.JSONDecoder().raw_decode(written.decode(), len('{"key":'))
    return str(key)


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
        self._lock = _locked(self.path / LOCK)
        try:
            self.done: set[str] = set(_parsed(self.path / RESULTS, _whole(self.path / RESULTS), key_of))
        except InvalidInput:
            self._lock.release()
            raise
        for name in (RESULTS, TIMINGS):  # not before they are known to be ours
            _mended(self.path / name)
        self._open()
        self._synced = time.monotonic()

    def _open(self) -> None:
        self._results = (self.path / RESULTS).open("ab")
        self._timings = (self.path / TIMINGS).open("ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, result: Result, timing: Timing) -> None:
        """Keeps what came of a trial. When this returns, it outlives the process."""
        if result.key in self.done:
            return
        self._timings.write(line(timing))
        self._timings.flush()
        self._results.write(line(result))
        self._results.flush()
        self.done.add(result.key)
        if time.monotonic() - self._synced > SYNC:
            os.fsync(self._results.fileno())
            self._synced = time.monotonic()

    def drop_other_code(self, keys: Iterable[str]) -> int:
        """Removes what other code or defaults made of the same policies and cases, whatever the seed; says how many.

        It is done before these are run: a table never has some seeds of one code and some of another.
        """
        codes = dict(map(kind_of, keys))
        stale = {key for key in self.done if kind_of(key)[1] != codes.get(kind_of(key)[0], kind_of(key)[1])}
        if stale:
            for file in (self._results, self._timings):
                file.flush()
            for name in (RESULTS, TIMINGS):
                lines = (self.path / name).read_bytes().splitlines(keepends=True)
                _replace(self.path / name, [written for written in lines if key_of(written) not in stale])
            self._open()
            self.done -= stale
        return len(stale)

    def failed(self, key: str, problem: str) -> None:
        """Notes a trial that raised; the next run tries it again."""
        with (self.path / FAILURES).open("ab") as file:
            file.write(line({"key": key, "problem": problem}))

    def describe(self, asked: Mapping[str, Any]) -> None:
        text = json.dumps(asked, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        _replace(self.path / MANIFEST, [text.encode()])

    def close(self) -> None:
        """Sorts the files by key, each trial once, and lets others write here."""
        if self._results.closed:
            return
        os.fsync(self._results.fileno())
        self._results.close()
        self._timings.close()
        _sort(self.path / RESULTS)
        _sort(self.path / TIMINGS)
        self._close_failures()
        self._lock.release()

    def _close_failures(self) -> None:
        path = self.path / FAILURES
        done = {name_of(key) for key in self.done}
        still = {name_of(key_of(written)): written for written in _mended(path)}
        kept = [still[name] for name in sorted(still) if name not in done]
        if kept:
            _replace(path, kept)
        else:
            path.unlink(missing_ok=True)


def _mended(path: Path) -> list[bytes]:
    """The lines of a file, whole ones only: what a kill tore off at the end is cut away."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    return content[:whole].splitlines(keepends=True)


def _sort(path: Path) -> None:
    """Rewrites a file in the order of its trials, the newest line of each kept, unless it is so already."""
    lines = path.read_bytes().splitlines(keepends=True)
    newest = {name_of(key_of(written)): written for written in lines}
    ordered = [newest[name] for name in sorted(newest)]
    if ordered != lines:
        _replace(path, ordered)


def _replace(path: Path, lines: Iterable[bytes]) -> None:
    """All of the new content or all of the old, whatever happens in between."""
    with replacing(path) as file:
        file.writelines(lines)


def _locked(path: Path) -> FileLock:
    """A file that one process holds; the system lets go of it when the process ends, however it ends."""
    lock = FileLock(path, timeout=0, is_singleton=False)
    try:
        lock.acquire()
    except Timeout:
        raise ConflictError(f"another run is writing to {path.parent}; wait for it, or give another --out") from None
    return lock


# --- reading ---------------------------------------------------------------------------------------------------------

Strings = NDArray[np.str_]


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
        return np.fromstring(b",".join(kept), sep=",").reshape(len(kept), -1)

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


def read(path: str | os.PathLike[str]) -> Results:
    """The results in a folder; also while a run is writing to it."""
    folder = Path(path)
    if not (folder / RESULTS).is_file():
        raise NotFoundError(f"there are no results in {folder}; make some with: driftwise lab run --out {folder}")
    read = list(_parsed(folder / RESULTS, _whole(folder / RESULTS), _head_and_curve))
    if not read:
        failed = len(failures(folder))
        none = f"all {failed} runs in {folder} failed; {FAILURES} says why"
        said = none if failed else f"no run in {folder} has ended yet"
        raise NotFoundError(f"{said}; go on with: driftwise lab run --out {folder}")
    timings = {t["key"]: t for t in _parsed(folder / TIMINGS, _whole(folder / TIMINGS), json.loads)}
    return _columns([head for head, _ in read], [curve for _, curve in read], timings)


def _head_and_curve(written: bytes) -> tuple[dict[str, Any], bytes]:
    head, _, curve = written.partition(CURVE)
    return json.loads(head + b"}"), curve[: curve.rfind(b"]")]


def _parsed(path: Path, lines: Iterable[bytes], parse: Callable[[bytes], T]) -> Iterator[T]:
    for number, written in enumerate(lines, start=1):
        try:
            yield parse(written)
        except ValueError as error:
            raise InvalidInput(f"{path}, line {number}, is not as a run writes it ({error}); remove the line") from None


def manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What the last run into a folder was asked for; nothing where there was none."""
    file = Path(path) / MANIFEST
    found: dict[str, Any] = json.loads(file.read_bytes()) if file.is_file() else {}
    return found


def failures(path: str | os.PathLike[str]) -> dict[str, str]:
    """The keys of trials that raised, and what they raised."""
    return {f["key"]: f["problem"] for f in map(json.loads, _whole(Path(path) / FAILURES))}


def _whole(path: Path) -> Iterator[bytes]:
    """The lines of a file, but for a last one that is still being written."""
    if path.is_file():
        with path.open("rb") as file:
            yield from (written for written in file if written.endswith(b"\n"))


def _columns(heads: list[dict[str, Any]], curves: list[bytes], timings: Mapping[str, Any]) -> Results:
    newest = {name_of(head["key"]): i for i, head in enumerate(heads)}
    rows = [newest[name] for name in sorted(newest)]
    heads, curves = [heads[i] for i in rows], [curves[i] for i in rows]
    spent = [timings.get(head["key"], {}) for head in heads]

    def column(name: str, kind: type = float, of: list[dict[str, Any]] = heads) -> Any:
        if kind is float:
            return np.array([record.get(name) for record in of], dtype=float)  # None becomes NaN
        return np.array([record[name] for record in of], dtype=kind)

    return Results(
        key=[head["key"] for head in heads],
        suite=column("suite", str),
        case=column("case", str),
        policy=column("policy", str),
        seed=column("seed", np.int64),
        horizon=column("horizon", np.int64),
        regret=column("regret"),
        integrated=column("integrated"),
        within=np.array([head["within"] for head in heads], dtype=float).reshape(len(heads), -1),
        variation=column("variation"),
        changes=[tuple(head["changes"]) for head in heads],
        recovery=[tuple(head["recovery"]) for head in heads],
        restarts=column("restarts"),
        seconds=column("mean", of=spent),
        cpu=np.column_stack([column(part, of=spent) for part in ("policy", "environment", "rest")]),
        _curves=curves,
    )
