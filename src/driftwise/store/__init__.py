"""The log, kept: SQLite in a file, or the same in memory."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from driftwise.errors import NotFoundError
from driftwise.store import files, forks
from driftwise.store.base import Asked, Choice, Chosen, Counts, Log, Store, Told, View
from driftwise.store.sqlite import SqliteStore

__all__ = ["Asked", "Choice", "Chosen", "Counts", "Log", "SqliteStore", "Store", "Told", "View", "open_store"]

_shared: weakref.WeakValueDictionary[Path, SqliteStore] = weakref.WeakValueDictionary()


def open_store(path: str | os.PathLike[str] | None, *, create: bool = True) -> SqliteStore:
    """The store at `path`, one a process; None: a new one in memory. Without `create` the file must be there."""
    if path is None:
        return SqliteStore(None)
    place = files.as_path(path)
    if not create and not place.exists():
        raise NotFoundError(f"there is no file {place}")
    with forks.opening:
        store = _shared.get(place.resolve())
        if store is None or not store.is_current():
            store = _shared[place.resolve()] = SqliteStore(place)
        return store
