"""The log of a study in SQLite, in a file or in memory.

Read `base` first: the records and the three protocols of a store. `log` implements ask and tell, `view` the queries,
`rows`, `outcomes`, `corrections`, `keys` and `checksums` what is stored; `loading`, `copies`, `many`: in bulk.
`sqlite` and `connection` hold transactions and locks, `queue` the turns of processes, `forks` and `files` what happens
to files. `codec` turns descriptions into JSON and `config_diff` compares them. `verify` checks and salvages a file;
`old_format` and `upgrade` read files of formats 1 and 2.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from driftwise.errors import NotFoundError
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
    NewObservation,
    Outcome,
    Store,
    Told,
    View,
    outcome_of,
)
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
    "NewObservation",
    "Outcome",
    "SqliteStore",
    "Store",
    "Told",
    "View",
    "open_store",
    "outcome_of",
]

_shared: weakref.WeakValueDictionary[Path, SqliteStore] = weakref.WeakValueDictionary()


def open_store(path: str | os.PathLike[str] | None, *, create: bool = True) -> SqliteStore:
    """The store at `path`, one per process, or a new one in memory if `path` is None.

    Unless `create` is true, the file must exist.
    """
    if path is None:
        return SqliteStore(None)
    place = files.as_path(path)
    if not create and not place.exists():
        raise NotFoundError(f"there is no file {place}; create a study there first, or give another path")
    with forks.opening:
        store = _shared.get(place.resolve())
        if store is None or not store.is_current():
            store = _shared[place.resolve()] = SqliteStore(place)
        return store
