"""The log of a study: in SQLite, in a file or in memory, or on a PostgreSQL server.

Read `base` first: the records and the three protocols of a store. `log` implements asking and `telling` what is
told, `view` the queries, `rows`, `outcomes`, `corrections`, `keys` and `checksums` what is stored; `loading`,
`copies`, `many`: in bulk.
`sql_store` has the studies by name. All of this is the same for both databases. `Transactions` in `log` says what
differs: for files `sqlite` and `connection` hold transactions and locks, `queue` the turns of processes, `forks` and
`files` what happens to files; for a server `postgres` does, with `postgres_link` and `postgres_pool` for connections,
`postgres_address`, `postgres_errors`, and `postgres_format` for the tables and their version. `codec` turns
descriptions into JSON and `config_diff` compares them. `verify` checks and salvages a file.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from driftwise.errors import NotFoundError, missing_extra
from driftwise.store import files, forks
from driftwise.store.base import (
    FAILED,
    Asked,
    Choice,
    Chosen,
    Correction,
    Counts,
    Loaded,
    Log,
    NewEntry,
    NewObservation,
    Outcome,
    Store,
    Told,
    View,
    outcome_of,
)
from driftwise.store.postgres_address import is_address, without_password
from driftwise.store.sql_store import SqlStore
from driftwise.store.sqlite import SqliteStore

__all__ = [
    "FAILED",
    "Asked",
    "Choice",
    "Chosen",
    "Correction",
    "Counts",
    "Loaded",
    "Log",
    "NewEntry",
    "NewObservation",
    "Outcome",
    "SqlStore",
    "SqliteStore",
    "Store",
    "Told",
    "View",
    "is_address",
    "is_there",
    "open_store",
    "outcome_of",
    "without_password",
]

_shared: weakref.WeakValueDictionary[Path, SqliteStore] = weakref.WeakValueDictionary()
_served: weakref.WeakValueDictionary[str, SqlStore] = weakref.WeakValueDictionary()


def open_store(path: str | os.PathLike[str] | None, *, create: bool = True) -> SqlStore:
    """The store at `path`, one per process, or a new one in memory if `path` is None.

    The path is a file's, or the address of a PostgreSQL: `postgresql://user@host/database`. Unless `create` is true,
    the store must exist.
    """
    if path is None:
        return SqliteStore(None)
    if isinstance(path, str) and is_address(path):
        return _on_server(path, create)
    place = files.as_path(path)
    if not create and not place.exists():
        raise NotFoundError(f"there is no file {place}; create a study there first, or give another path")
    with forks.opening:
        store = _shared.get(place.resolve())
        if store is None or not store.is_current():
            store = _shared[place.resolve()] = SqliteStore(place)
        return store


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether there is a store at `path`. None is made."""
    if not isinstance(path, str) or not is_address(path):
        return os.path.exists(path)
    try:
        open_store(path, create=False)
    except NotFoundError:
        return False
    return True


def _on_server(path: str, create: bool) -> SqlStore:
    store = _served.get(path)
    if store is None:
        try:
            from driftwise.store.postgres import PostgresStore
        except ImportError:
            raise missing_extra("postgres", "psycopg") from None
        # two threads may both open it: either store is as good
        store = _served[path] = PostgresStore(path, create=create)
    return store
