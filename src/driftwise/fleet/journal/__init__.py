"""A durable log of arrays: in a folder or on a PostgreSQL server. It does not know what the arrays mean.

Read `base` first: an entry, and the protocol of a journal. `frames` turns entries into bytes with checksums, and back.
`files` is the journal in a folder, with `segments` for its files, `disk` for what is synced and `lock` for the one
writer. `postgres` is the one on a server.
"""

from __future__ import annotations

import os
import re

from driftwise.checks import shown
from driftwise.errors import InvalidInput, missing_extra
from driftwise.fleet.journal.base import Arrays, Journal, JournalEntry
from driftwise.fleet.journal.files import FileJournal
from driftwise.log.files import as_path
from driftwise.log.postgres_address import is_address

__all__ = ["Arrays", "FileJournal", "Journal", "JournalEntry", "open_journal"]


def open_journal(path: str | os.PathLike[str], name: str) -> Journal:
    """The journal `name` at `path`, which is made if it is not there.

    The path is a folder's, in which the journal has a folder of its own, or the address of a PostgreSQL:
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
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", name):
        raise InvalidInput(
            "the name of a journal must be 1 to 100 of the characters A-Z, a-z, 0-9, '_', '-' and '.', and must not "
            f"begin with '.', got {shown(name)}"
        )
    if isinstance(path, str) and is_address(path):
        try:
            from driftwise.fleet.journal.postgres import PostgresJournal
        except ImportError:
            raise missing_extra("postgres", "psycopg") from None
        return PostgresJournal(path, name)
    return FileJournal(as_path(path) / name)
