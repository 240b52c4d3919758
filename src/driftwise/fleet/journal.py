"""A durable log of arrays, with snapshots that stand for all before them. It does not know what the arrays mean.

It is rows of the table `frames` of a store: of a file of its own for each journal, so that shards in several processes
do not wait for each other, or on a PostgreSQL.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from filelock import FileLock, Timeout

from driftwise.checks import shown
from driftwise.errors import InvalidInput, StoreError
from driftwise.fleet.frames import SNAPSHOT, Arrays, JournalEntry, packed, snapshot_size, unpacked
from driftwise.log import is_address, open_store
from driftwise.log.files import as_path, folder_for
from driftwise.log.schema import frames

CHUNK = 2**23  # bytes of a snapshot in one row
GRACE = 1.0  # seconds in which a server notices that a writer was killed
PAGE = 64  # frames that are read at a time
ALL = 2**31 - 1

_F = frames.c
_ENDS = sa.select(sa.func.min(_F.number), sa.func.max(_F.number)).where(_F.journal == sa.bindparam("j"))
_FROM = sa.select(_F.number, _F.bytes).where(_F.journal == sa.bindparam("j"), _F.number >= sa.bindparam("n"))
_PAGE = _FROM.order_by(_F.number).limit(sa.bindparam("limit"))
_OLDER = sa.delete(frames).where(_F.journal == sa.bindparam("j"), _F.number < sa.bindparam("n"))
_INSERT = sa.insert(frames)
_LOCK = sa.text("SELECT pg_advisory_xact_lock(hashtextextended('frames ' || current_schema() || ' ' || :j, 0))")


class Journal(Protocol):
    """A log with one writer. It is used by one thread at a time, and only by the process that opened it.

    A kill at any moment leaves what was acknowledged. The one call that had not returned is there as a whole, or not at
    all. Arrays that a journal returns are read-only.
    """

    def append(self, *entries: JournalEntry) -> None:
        """Store these entries, all or none. They are on the disk when this returns."""
        ...

    def entries(self) -> Iterator[JournalEntry]:
        """The entries after the newest snapshot, oldest first. A damaged one raises a `StoreError`."""
        ...

    def snapshot(self, arrays: Arrays) -> None:
        """Store arrays that stand for everything before, which is deleted."""
        ...

    def latest(self) -> Arrays | None:
        """The arrays of the newest snapshot; None if there is no snapshot."""
        ...

    def close(self) -> None:
        """Let others open the journal. Closing twice is harmless."""
        ...


def is_journal(path: str | os.PathLike[str], name: str) -> bool:
    """Whether the journal `name` may be at `path`. None is made."""
    return (isinstance(path, str) and is_address(path)) or _file(path, name).exists()


def _file(path: str | os.PathLike[str], name: str) -> Path:
    """The file of a journal in the folder `path`."""
    return as_path(path) / f"{_checked(name)}.db"


def _checked(name: str) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", name):
        raise InvalidInput(
            "the name of a journal must be 1 to 100 of the characters A-Z, a-z, 0-9, '_', '-' and '.', and must not "
            f"begin with '.', got {shown(name)}"
        )
    return name


def open_journal(path: str | os.PathLike[str], name: str) -> FrameJournal:
    """The journal `name` at `path`, which is made if it is not there.

    The path is a folder's, in which the journal has a file of its own, or the address of a PostgreSQL:
    `postgresql://user@host/database`. A journal has one writer: until it is closed, or its process ends, nobody else
    can open it.

    >>> import tempfile
    >>> import numpy as np
    >>> journal = open_journal(tempfile.mkdtemp(), "shard-0")
    >>> journal.append(JournalEntry("tell", {"reward": np.array([1.5, 2.0])}))
    >>> [(entry.kind, entry.arrays["reward"].tolist()) for entry in journal.entries()]
    [('tell', [1.5, 2.0])]
    >>> journal.snapshot({"total": np.array(3.5)})
    >>> list(journal.entries()), float(journal.latest()["total"])
    ([], 3.5)
    >>> journal.close()
    """
    if isinstance(path, str) and is_address(path):
        return FrameJournal(path, _checked(name), _on_server(path, name))
    file = _file(path, name)
    folder_for(file)
    return FrameJournal(str(file), name, _beside(file))


class FrameJournal:
    """The journal `name` in the store `path`. `let_go` gives up the lock of its one writer."""

    def __init__(self, path: str, name: str, let_go: Callable[[], object]) -> None:
        self._name, self._let_go, self._process, self._is_open = name, let_go, os.getpid(), False
        try:
            self._store = open_store(path)
            self._is_open = True
            self.where = f"{self._store.where}, journal {name}"
            first, last = self._store.reading(lambda connection: connection.execute(_ENDS, {"j": name}).one())
            self._first, self._next = first or 1, (last or 0) + 1
            self._snapshot, self._tail = self._read_snapshot()
        except BaseException:
            self._is_open = False
            let_go()
            raise

    # --- writing ------------------------------------------------------------------------------------------------

    def append(self, *entries: JournalEntry) -> None:
        if entries:
            self._write([packed(self._next, entries)])

    def snapshot(self, arrays: Arrays) -> None:
        data = packed(self._next, [JournalEntry("snapshot", arrays)], SNAPSHOT)
        first = self._next
        self._write([data[at : at + CHUNK] for at in range(0, len(data), CHUNK)], older=True)
        self._snapshot, self._first, self._tail = data, first, self._next

    def _write(self, rows: list[bytes], *, older: bool = False) -> None:
        """Append rows, and delete all before them if it is so said."""
        self._check()
        numbered = [{"journal": self._name, "number": self._next + i, "bytes": row} for i, row in enumerate(rows)]

        def work(connection: sa.Connection) -> bool:
            if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
                connection.execute(_LOCK, {"j": self._name})
            _, last = connection.execute(_ENDS, {"j": self._name}).one()
            if (last or 0) >= self._next:  # they are there since a commit whose answer was lost, or they are another's
                return bool(rows == [row for _, row in connection.execute(_PAGE, self._query(self._next, ALL))])
            if older:
                connection.execute(_OLDER, {"j": self._name, "n": self._next})
            connection.execute(_INSERT, numbered)
            return True

        if not self._store.writing(work, again=True):
            self.close()
            raise StoreError(f"{self.where}: another process wrote since, or a call was interrupted; open it again")
        self._next += len(rows)

    # --- reading ------------------------------------------------------------------------------------------------

    def entries(self) -> Iterator[JournalEntry]:
        self._check()
        number, end = self._tail, self._next
        while number < end:
            found = self._page(number, min(PAGE, end - number))
            for at, data in found or [(0, b"")]:
                yield from unpacked(number, data if at == number else b"", self.where)
                number += 1

    def latest(self) -> Arrays | None:
        self._check()
        if self._snapshot is None:
            return None
        (entry,) = unpacked(self._first, self._snapshot, self.where)
        return entry.arrays

    def _read_snapshot(self) -> tuple[bytes | None, int]:
        """The snapshot at the beginning, if there is one, and the number of the first frame after it."""
        data, number = b"", self._first
        while (found := self._page(number, 1)) and (not data or len(data) < snapshot_size(data)):
            data, number = data + found[0][1], number + 1
            if not snapshot_size(data):
                return None, self._first
        return data or None, number

    def _page(self, number: int, limit: int) -> list[tuple[int, bytes]]:
        query = self._query(number, limit)
        rows = self._store.reading(lambda connection: connection.execute(_PAGE, query).all())
        return [(at, data) for at, data in rows]

    def _query(self, number: int, limit: int) -> dict[str, Any]:
        return {"j": self._name, "n": number, "limit": limit}

    # --- the rest -----------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if not self._is_open or self._process != os.getpid():
            raise StoreError(f"{self.where}: the journal is closed, or was opened by another process; open it again")

    def close(self) -> None:
        if self._is_open and self._process == os.getpid():
            self._is_open = False
            try:
                self._store.close()
            finally:
                self._let_go()

    def __del__(self) -> None:
        if self._is_open and self._process == os.getpid():
            with suppress(Exception):  # the interpreter may be ending
                self._let_go()


def _beside(file: Path) -> Callable[[], object]:
    """Hold a lock on a file beside it, which the system releases when the process ends."""
    lock = FileLock(f"{file}.lock", is_singleton=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise _taken(file) from None
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror or error}") from error
    return lock.release


def _on_server(path: str, name: str) -> Callable[[], object]:
    """Hold a lock of a session of its own, which ends with the process."""
    from driftwise.log.postgres_connect import claim

    open_store(path)  # creates the schema
    held: Any = claim(path, f"journal {name}", GRACE)
    if held is None:
        raise _taken(f"{open_store(path).where}, journal {name}")
    return held.close


def _taken(where: object) -> StoreError:
    return StoreError(f"{where}: a journal has one writer, and it is open already; close it there first")
