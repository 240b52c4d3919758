"""Connections to PostgreSQL: their settings, and locks by name that last as long as one of them."""

from __future__ import annotations

import time
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from driftwise.log.postgres_address import Address, parsed
from driftwise.log.postgres_errors import explain

LOCK_SECONDS = 600  # how long a call waits for other sessions

Wire = psycopg.Connection[Any]

# A connection that is cut without a word is noticed after half a minute. What a user gives in the address has priority.
DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
    "application_name": "driftwise",
}


def connect(address: Address) -> Wire:
    """A new connection without a transaction, on which the tables of the store are found by their names."""
    made: Wire = psycopg.connect(_conninfo(address), autocommit=True)
    try:
        made.execute(_setup(address.schema).encode())
    except BaseException:
        made.close()
        raise
    return made


def is_starting(address: Address) -> bool:
    """Whether a server is there that lets nobody in yet, as after a crash."""
    return psycopg.pq.PGconn.ping(_conninfo(address).encode()) == psycopg.pq.Ping.REJECT


def claim(path: str, word: str, seconds: float = 0.0) -> Wire | None:
    """The connection that holds the lock of this name until it is closed; None if another one has it.

    For so many seconds it is tried again: the server takes a moment to notice that a process was killed.
    """
    address, deadline = parsed(path), time.monotonic() + seconds
    try:
        held = connect(address)
        query = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
        while (held.execute(query, (f"driftwise {address.schema} {word}",)).fetchone() or [False])[0] is not True:
            if time.monotonic() >= deadline:
                held.close()
                return None
            time.sleep(0.02)
        return held
    except psycopg.Error as error:
        raise explain(error, address.shown) from error


def _conninfo(address: Address) -> str:
    given: dict[str, Any] = {**DEFAULTS, **conninfo_to_dict(address.url), "client_encoding": "utf8"}
    return make_conninfo(**given)


def _setup(name: str) -> str:
    """What every session begins with. Commits are synchronous, unless the server is told to be safer still."""
    settings = {
        "search_path": name,
        "lock_timeout": f"{LOCK_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{LOCK_SECONDS}s",
        "statement_timeout": "0",
    }
    said = "; ".join(f"SET {key} = '{value}'" for key, value in settings.items())
    synced = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    return f"{said}; {synced}"
