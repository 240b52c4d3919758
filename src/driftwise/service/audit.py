"""The audit: who changed what, and when. The log of a study says what was told; this says by whom.

Changes that are rare (a study is made, deleted or renamed, an observation corrected, a token made) are written before
they are answered. Asks and tells are written in groups, a moment later: should the machine fail within that moment, the
study still has every reward, and only the line that says whose it was is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from driftwise.errors import DriftwiseError
from driftwise.log.schema import Integer
from driftwise.service.database import Database, metadata
from driftwise.service.forever import cancelled

MOMENT = 0.2  # seconds
WAITING = 20_000  # entries that may wait for a store that is away; of more, the oldest are only logged
PRUNE_SECONDS = 3600.0
DAY = 86400.0

logger = logging.getLogger("driftwise.audit")

table = sa.Table(
    "service_audit",
    metadata,
    sa.Column("entry", Integer, primary_key=True),
    sa.Column("when", sa.Double, nullable=False),
    sa.Column("who", sa.Text, nullable=False),  # a token's id, or an address where there are no tokens
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("study", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change. `detail` is a number, an id or a name."""

    when: float
    who: str
    action: str
    study: str
    detail: str = ""


class Audit:
    """The entries of a store."""

    def __init__(self, database: Database, *, days: int) -> None:
        self._database, self._days = database, days
        self._waiting: list[AuditEntry] = []
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._write_groups())

    async def stop(self) -> None:
        if self._task is not None:
            await cancelled(self._task)
        await self._flush()

    def note(self, who: str, action: str, study: str, detail: str = "") -> None:
        """Write a line soon."""
        self._waiting.append(AuditEntry(time.time(), who, action, study, detail))
        if len(self._waiting) > WAITING:
            logger.warning("not in the store: %s", self._waiting.pop(0))

    async def write(self, who: str, action: str, study: str, detail: str = "") -> None:
        """Write a line now. It is on the disk when this returns."""
        entry = AuditEntry(time.time(), who, action, study, detail)
        await asyncio.to_thread(self.put, [entry])

    def within(self, who: str, action: str, study: str, detail: str = "") -> Callable[[sa.Connection], object]:
        """What writes a line in a transaction that also makes the change."""
        row = asdict(AuditEntry(time.time(), who, action, study, detail))
        return lambda connection: connection.execute(sa.insert(table), row)

    def put(self, entries: list[AuditEntry]) -> None:
        rows = [asdict(entry) for entry in entries]
        self._database.write(lambda connection: connection.execute(sa.insert(table), rows))

    def read(self, *, before: int | None = None, limit: int = 100) -> list[tuple[int, AuditEntry]]:
        """The newest entries, those with a smaller number than `before`."""
        query = sa.select(table).order_by(table.c.entry.desc()).limit(limit)
        if before is not None:
            query = query.where(table.c.entry < before)
        rows: Any = self._database.read(lambda connection: connection.execute(query).all())
        return [(row[0], AuditEntry(*row[1:])) for row in rows]

    async def _write_groups(self) -> None:
        pruned = 0.0
        while True:
            await asyncio.sleep(MOMENT)
            await self._flush()
            if time.monotonic() - pruned > PRUNE_SECONDS:
                pruned = time.monotonic()
                with contextlib.suppress(DriftwiseError):
                    await asyncio.to_thread(self._prune)

    async def _flush(self) -> None:
        entries, self._waiting = self._waiting, []
        if not entries:
            return
        try:
            await asyncio.to_thread(self.put, entries)
        except DriftwiseError as error:
            logger.warning("the audit waits for the store: %s", error)
            self._waiting = [*entries, *self._waiting]

    def _prune(self) -> None:
        old = sa.delete(table).where(table.c.when < time.time() - DAY * self._days)
        self._database.write(lambda connection: connection.execute(old))
