"""The service's own tables, in the database of the store, and the counts of the studies that the store keeps there.

They are read and written through the store's own connections. A second connection of this process to a SQLite file
would be dangerous: when any file handle of a process is closed, the system drops all locks that the process has on the
file, and another program could then remove the write-ahead log from under us.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from typing import TypeVar

import sqlalchemy as sa

from driftwise.log import Counts, open_store, schema
from driftwise.service.settings import ServiceSettings

Result = TypeVar("Result")
CREATING = 0x6472667773657276  # "drfwserv": of the advisory lock under which tables are made

metadata = sa.MetaData()  # of tables that every service has; a part with tables of its own calls `create` with them

_COUNTS = tuple(field.name for field in fields(Counts))


class Database:
    """Transactions on the database of a store: `read` and `write` call a function with a connection."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._store = open_store(settings.store)  # a file is made, or refused if it is none of ours
        self.create(metadata)

    def create(self, tables: sa.MetaData) -> None:
        """Make the tables that are not there yet. Replicas that are started together take turns."""

        def work(connection: sa.Connection) -> None:
            self.lock_tables(connection)
            for table in tables.sorted_tables:
                connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(sa.schema.CreateIndex(index, if_not_exists=True))

        self.write(work)

    def lock_tables(self, connection: sa.Connection) -> None:
        """Until the transaction ends nobody else makes tables. In a file it is so anyway."""
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATING)))

    def read(self, work: Callable[[sa.Connection], Result]) -> Result:
        """What `work` returns, in a transaction."""
        return self._store.reading(work)

    def write(self, work: Callable[[sa.Connection], Result]) -> Result:
        """What `work` returns. What it wrote is on the disk, as a whole, when this returns. It may be called twice."""
        return self._store.writing(work, again=True)

    def counts(self, names: Collection[str] | None = None) -> dict[str, Counts]:
        """The counts of these studies, or of all. Studies that do not exist are left out."""
        columns = [schema.studies.c[name] for name in ("name", *_COUNTS)]
        query = sa.select(*columns)
        if names is not None:
            query = query.where(schema.studies.c.name.in_(list(names)))
        rows = self.read(lambda connection: connection.execute(query).all())
        return {row[0]: Counts(*row[1:]) for row in rows}
