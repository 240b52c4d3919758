"""The log of a study: in SQLite, in a file or in memory, or on a PostgreSQL server.

Read `base` first, the records, and then `stores`: the studies of a database by name, and how its transactions are made.
`schema` has the tables and `entries` what is in them. `study_log` is asking and `telling` what is told, `view` the
queries, `standing` the row of a study; `loading` and `copies`: in bulk. All of this is the same for every database.
What differs is in `sqlite` with `files`, in `memory`, and in `postgres` with `postgres_connect`, `postgres_address` and
`postgres_errors`; `threads` runs transactions, and `forks` says what becomes of connections. `codec` turns descriptions
into JSON and `config_diff` compares them. `verify` checks a store, and `transfer` moves studies to another.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from driftwise.errors import NotFoundError, missing_extra
from driftwise.log import files, forks
from driftwise.log.base import (
    BEGINNING,
    FAILED,
    Asked,
    Choice,
    Chosen,
    Correction,
    Counts,
    Decided,
    Loaded,
    Mark,
    NewEntry,
    NewObservation,
    News,
    Outcome,
    Told,
    outcome_of,
)
from driftwise.log.memory import InMemory
from driftwise.log.postgres_address import is_address, without_password
from driftwise.log.sqlite import Sqlite
from driftwise.log.stores import Store
from driftwise.log.study_log import Log
from driftwise.log.view import View

__all__ = [
    "BEGINNING",
    "FAILED",
    "Asked",
    "Choice",
    "Chosen",
    "Correction",
    "Counts",
    "Decided",
    "Loaded",
    "Log",
    "Mark",
    "NewEntry",
    "NewObservation",
    "News",
    "Outcome",
    "Store",
    "Told",
    "View",
    "is_address",
    "is_there",
    "open_store",
    "outcome_of",
    "without_password",
]

_files: weakref.WeakValueDictionary[Path, Store] = weakref.WeakValueDictionary()
_served: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()


def open_store(path: str | os.PathLike[str] | None, *, create: bool = True) -> Store:
    """The store at `path`, one per process, or a new one in memory if `path` is None.

    The path is a file's, or the address of a PostgreSQL: `postgresql://user@host/database`. Unless `create` is true,
    the store must exist.
    """
    if path is None:
        return InMemory()
    if isinstance(path, str) and is_address(path):
        return _on_server(path, create)
    place = files.as_path(path)
    if not create and not place.exists():
        raise NotFoundError(f"there is no file {place}; create a study there first, or give another path")
    with forks.opening:
        store = _files.get(place.resolve())
        if store is None or not store.is_current():
            store = _files[place.resolve()] = Sqlite(place)
            store.reading(lambda connection: None)  # a truncated file is detected now, not at the first tell
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


def _on_server(path: str, create: bool) -> Store:
    store = _served.get(path)
    if store is None:
        try:
            from driftwise.log.postgres import Postgres
        except ImportError:
            raise missing_extra("postgres", "psycopg") from None
        # two threads may both open it: either store is as good
        store = _served[path] = Postgres(path, create=create)
    return store
