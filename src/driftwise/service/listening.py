"""Changes by other processes, on PostgreSQL: the server says that there are some, so that nobody has to look.

A trigger on the table of the studies notifies in the transaction of a change, whoever makes it. PostgreSQL commits such
transactions one after the other. Therefore the trigger does so only while a listener has said, in a table, that it is
there.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.log.postgres_address import Address, parsed
from driftwise.service.database import Database

if TYPE_CHECKING:
    import psycopg

WAIT = 1.0  # seconds after which a listener looks whether it should stop, or tries to connect again
RENEW, LEASE = 20.0, 60.0  # seconds: how often a listener says that it is there, and for how long that holds

logger = logging.getLogger("driftwise.service")

_PREPARE = """
CREATE UNLOGGED TABLE IF NOT EXISTS {0}.service_listeners (listener text PRIMARY KEY, until timestamptz NOT NULL);
CREATE OR REPLACE FUNCTION {0}.service_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM {0}.service_listeners WHERE until > now()) THEN
        PERFORM pg_notify('driftwise_{0}', '');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER service_notify AFTER INSERT OR UPDATE OR DELETE ON {0}.studies
    FOR EACH STATEMENT EXECUTE FUNCTION {0}.service_notify()
"""
_IS_PREPARED = "SELECT FROM pg_trigger WHERE tgname = 'service_notify' AND tgrelid = '{0}.studies'::regclass"
_HERE = (
    "INSERT INTO service_listeners VALUES (%s, now() + make_interval(secs => %s)) "
    "ON CONFLICT (listener) DO UPDATE SET until = excluded.until"
)
_GONE = "DELETE FROM service_listeners WHERE listener = %s OR until < now()"


def prepare(database: Database, store: str) -> Address | None:
    """Make the trigger, unless it is there. None if this user may not: then somebody has to look after all."""
    address = parsed(store)

    def work(connection: sa.Connection) -> None:
        database.lock_tables(connection)
        if connection.exec_driver_sql(_IS_PREPARED.format(address.schema)).first() is None:
            connection.exec_driver_sql(_PREPARE.format(address.schema))

    try:
        database.write(work)
    except StoreError as error:
        logger.warning("events: the store is looked at again and again, because it cannot notify: %s", error)
        return None
    return address


class Listener:
    """A thread with a connection of its own, from now until `stop`. It calls `changed` after each change.

    It also does so when it begins to listen, and when it no longer can: `is_listening` says which.
    """

    def __init__(self, address: Address, changed: Callable[[], None]) -> None:
        self._address, self._changed = address, changed
        self._id, self._stopped = uuid.uuid4().hex, threading.Event()
        self.is_listening = False
        threading.Thread(target=self._run, name="listener", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        import psycopg

        while not self._stopped.is_set():
            try:
                self._listen()
            except psycopg.Error as error:
                logger.warning("events: %s", " ".join(str(error).split()))
            if self.is_listening:
                self.is_listening = False
                self._changed()
            self._stopped.wait(WAIT)

    def _listen(self) -> None:
        from driftwise.log.postgres_connect import connect

        connection: psycopg.Connection[Any]
        with connect(self._address) as connection:
            connection.execute("SET synchronous_commit = off")
            connection.execute(f"LISTEN driftwise_{self._address.schema}".encode())
            renewed = -RENEW
            while not self._stopped.is_set():
                if time.monotonic() - renewed >= RENEW:
                    connection.execute(_HERE, (self._id, LEASE))
                    renewed = time.monotonic()
                if not self.is_listening or list(connection.notifies(timeout=WAIT, stop_after=1)):
                    self.is_listening = True
                    self._changed()
            connection.execute(_GONE, (self._id,))
