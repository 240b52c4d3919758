"""What PostgreSQL's errors mean: the connection was lost, or a `StoreError` with the fix."""

from __future__ import annotations

import psycopg
import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.log.entries import ADVICE

# psycopg's own, and SQLAlchemy's around them
POSTGRES_ERRORS = (psycopg.Error, sa.exc.DBAPIError)

# The server is going or coming (57P01 to 57P03), has no connection left (53300), or ended a transaction for others.
UNDONE = ("40001", "40P01")
PASSING = ("57P01", "57P02", "57P03", "53300", *UNDONE)

WHY = {
    "28": "the server refuses this user or password; correct them, or the server's pg_hba.conf",
    "3D": "there is no such database; create it, or give another one",
    "42501": "this user lacks a privilege; grant CREATE on the database or USAGE on the schema and its tables",
    "25006": "the server is read-only, as a standby is; give the address of the primary",
    "55P03": "another session has kept it locked for ten minutes; end that session, or try again",
    "53100": "the disk of the server is full; make room and try again",
    "53200": "the server is out of memory; try again",
    "54": "the description is too large; use a smaller space",
    "22021": "PostgreSQL stores no text with the character NUL; leave it out",
    "58": "the disk of the server failed to read or write; check the disk and try again",
    "XX001": f"the server says that its files are damaged; {ADVICE}",
    "XX002": f"the server says that an index is damaged; REINDEX it, or {ADVICE}",
}


class LostConnection(Exception):
    """The server did not answer. Nothing was stored, unless it was lost `during_commit`: then that is not known."""

    def __init__(self, error: Exception, *, during_commit: bool = False) -> None:
        super().__init__(" ".join(str(original(error)).split()))
        state = getattr(original(error), "sqlstate", None)
        self.during_commit = during_commit and state not in UNDONE


def original(error: BaseException) -> BaseException:
    """The error of psycopg that SQLAlchemy may have wrapped."""
    return getattr(error, "orig", None) or error


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed on a new connection, now or later."""
    found = original(error)
    state = getattr(found, "sqlstate", None)
    if state is None:  # no answer of the server: psycopg noticed that the connection is gone
        return isinstance(found, psycopg.OperationalError | psycopg.InterfaceError)
    return state in PASSING or state.startswith("08")


def explain(error: BaseException, where: str) -> StoreError:
    """A `StoreError` that explains an error."""
    found = original(error)
    state = getattr(found, "sqlstate", None) or ""
    if isinstance(found, psycopg.DataError) and "NUL" in str(found):
        state = "22021"
    why = WHY.get(state) or WHY.get(state[:2])
    text = " ".join(str(found).split())
    return StoreError(f"{where}: {why} ({text})" if why else f"{where}: {text}")
