"""A lock by name on a server, for as long as a process lives."""

from __future__ import annotations

from typing import Any

import psycopg

from driftwise.store.postgres_address import parsed
from driftwise.store.postgres_errors import explain
from driftwise.store.postgres_link import connect


def claim(path: str, word: str) -> psycopg.Connection[Any] | None:
    """The connection that holds this lock until it is closed; None if another one has it."""
    address = parsed(path)
    try:
        held: psycopg.Connection[Any] = connect(address)
        query = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
        row = held.execute(query, (f"driftwise {address.schema} {word}",)).fetchone()
    except psycopg.Error as error:
        raise explain(error, address.shown) from error
    if row is not None and row[0]:
        return held
    held.close()
    return None
