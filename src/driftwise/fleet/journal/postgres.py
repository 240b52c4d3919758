"""The journal in PostgreSQL: a row for each frame, and the newest snapshot in rows of chunks.

The session that writes holds the lock of the journal. When the connection is lost, so is the lock: a writer that is cut
off cannot write after another one took over. It connects again, makes sure that nobody else wrote, deletes its own
frame whose commit was not heard of, and repeats the call.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg

from driftwise.errors import StoreError
from driftwise.fleet.journal import frames
from driftwise.fleet.journal.base import Arrays, JournalEntry
from driftwise.fleet.journal.lock import taken
from driftwise.fleet.journal.segments import contents
from driftwise.log.postgres_address import parsed
from driftwise.log.postgres_connect import connect
from driftwise.log.postgres_errors import explain, is_passing

CHUNK = 2**23  # bytes of a snapshot in one row
PAGE = 64  # frames that are read at a time
GRACE = 1.0  # seconds in which the server notices that a writer was killed
SOON, LATER = 0.02, 1.0  # seconds between two attempts to reach the server, at first and at most

IS_PRESENT = "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'journal_snapshots'"
ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
TABLES = """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS journal_frames (
    journal text, number bigint, writer text NOT NULL, frame bytea NOT NULL, PRIMARY KEY (journal, number));
CREATE TABLE IF NOT EXISTS journal_snapshots (
    journal text, number bigint, chunk integer, bytes bytea NOT NULL, PRIMARY KEY (journal, number, chunk))
"""
CLAIM = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
SNAPSHOT = "SELECT max(number) FROM journal_snapshots WHERE journal = %s"
NEXT = f"SELECT greatest(1, (SELECT max(number) + 1 FROM journal_frames WHERE journal = %s), ({SNAPSHOT}))"
INSERT = "INSERT INTO journal_frames VALUES (%s, %s, %s, %b)"
UNHEARD = "DELETE FROM journal_frames WHERE journal = %s AND number = %s AND writer = %s"
FRAMES = "SELECT frame FROM journal_frames WHERE journal = %s AND number >= %s ORDER BY number LIMIT %s"
CHUNKS = "SELECT bytes FROM journal_snapshots WHERE journal = %s ORDER BY number, chunk"

Wire = psycopg.Connection[Any]
Result = TypeVar("Result")


class PostgresJournal:
    """The journal `name` in the schema and database that `path` says."""

    def __init__(self, path: str, name: str) -> None:
        self._wire: Wire | None = None
        self._address, self._name = parsed(path), name
        self.where, self._process = f"{self._address.shown}, journal {name}", os.getpid()
        self._writer = secrets.token_hex(8)  # no other has it
        self._is_open = True
        try:
            deadline = time.monotonic() + GRACE
            while (wire := self._claimed()) is None:
                if time.monotonic() > deadline:
                    raise taken(self.where, "another session has it open")
                time.sleep(SOON)
            self._wire = wire
            self._number = _one(wire, NEXT, name, name)  # of the next frame
            self._first = _one(wire, SNAPSHOT, name) or 1  # after the newest snapshot
        except psycopg.Error as error:
            self.close()
            raise explain(error, self.where) from error

    def _claimed(self) -> Wire | None:
        """A connection that holds the lock; None if another one has it."""
        wire: Wire = connect(self._address)
        try:
            if not _one(wire, CLAIM, f"driftwise {self._address.schema} journal {self._name}"):
                wire.close()
                return None
            if not _one(wire, IS_PRESENT, self._address.schema):
                with wire.transaction():
                    wire.execute(ONE_AT_A_TIME, (f"driftwise {self._address.schema}",))
                    wire.execute(TABLES.format(schema=self._address.schema).encode())
        except BaseException:
            wire.close()
            raise
        return wire

    # --- writing ------------------------------------------------------------------------------------------------

    def append(self, *entries: JournalEntry) -> None:
        if entries:
            row = self._name, self._number, self._writer, b"".join(frames.pieces(self._number, entries))
            self._run(lambda wire: wire.execute(INSERT, row))
            self._number += 1

    def snapshot(self, arrays: Arrays) -> None:
        pieces = frames.pieces(self._number, [JournalEntry("snapshot", arrays)])
        self._run(lambda wire: self._replace(wire, pieces))
        self._first = self._number

    def _replace(self, wire: Wire, pieces: list[frames.Piece]) -> None:
        chunks = (piece[at : at + CHUNK] for piece in pieces for at in range(0, len(piece), CHUNK))
        with wire.transaction():
            wire.execute("DELETE FROM journal_snapshots WHERE journal = %s", (self._name,))
            for i, chunk in enumerate(chunks):
                row = (self._name, self._number, i, bytes(chunk))
                wire.execute("INSERT INTO journal_snapshots VALUES (%s, %s, %s, %b)", row)
            wire.execute("DELETE FROM journal_frames WHERE journal = %s AND number < %s", (self._name, self._number))

    # --- reading ------------------------------------------------------------------------------------------------

    def entries(self) -> Iterator[JournalEntry]:
        number, end = self._first, self._number
        while number < end:
            for frame in self._page(number, min(PAGE, end - number)) or [b""]:
                yield from contents(frame, number, number + 1, f"{self.where}, frame {number}")
                number += 1

    def _page(self, number: int, count: int) -> list[bytes]:
        return self._run(lambda wire: _column(wire, FRAMES, self._name, number, count))

    def latest(self) -> Arrays | None:
        data = b"".join(self._run(lambda wire: _column(wire, CHUNKS, self._name)))
        if not data:
            return None
        (entry,) = contents(data, self._first, self._first + 1, f"{self.where}, snapshot {self._first}")
        return entry.arrays

    # --- the connection -----------------------------------------------------------------------------------------

    def _run(self, work: Callable[[Wire], Result]) -> Result:
        """Return what `work` returns. It is repeated while the server is away, for as long as the address says."""
        if not self._is_open or self._process != os.getpid():
            raise StoreError(f"{self.where}: the journal is closed, or was opened by another process; open it again")
        deadline, pause = time.monotonic() + self._address.patience, SOON
        while True:
            try:
                if self._wire is None:
                    self._wire = self._resumed()
                return work(self._wire)
            except psycopg.Error as error:
                self._drop()
                if not is_passing(error) or time.monotonic() + pause > deadline:
                    raise explain(error, self.where) from error
            except BaseException:
                self._drop()  # an interrupt may come in the middle of a transaction
                raise
            time.sleep(pause)
            pause = min(2 * pause, LATER)

    def _resumed(self) -> Wire:
        """A new connection, on which the journal is as it was when the last call returned."""
        wire = self._claimed()
        if wire is None:  # perhaps by our own session, of which the server does not know yet that it is gone
            raise psycopg.OperationalError("the lock of the journal is held by another session")
        wire.execute(UNHEARD, (self._name, self._number, self._writer))
        if _one(wire, NEXT, self._name, self._name) != self._number:
            wire.close()
            self.close()
            raise StoreError(f"{self.where}: the connection was lost, and another process wrote since; open it again")
        return wire

    def _drop(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None and self._process == os.getpid():  # a fork would end the session of its parent
            wire.close()

    def close(self) -> None:
        self._is_open = False
        self._drop()

    __del__ = close


def _one(wire: Wire, query: str, *values: Any) -> Any:
    """The single value that a query gives."""
    row = wire.execute(query.encode(), values).fetchone()
    return None if row is None else row[0]


def _column(wire: Wire, query: str, *values: Any) -> list[bytes]:
    """What a query gives, in rows of one value."""
    return [value for (value,) in wire.execute(query.encode(), values, binary=True)]
