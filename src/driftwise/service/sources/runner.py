"""Runs the loops of all studies that have a source. Several services share them: each loop has one owner at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time

import httpx
import sqlalchemy as sa

from driftwise.errors import DriftwiseError
from driftwise.service.forever import Forever, cancelled
from driftwise.service.identity import forget_gone, named
from driftwise.service.service import Service
from driftwise.service.sources import tables
from driftwise.service.sources.loop import LoopState, advance

PAUSE = 0.2  # seconds between two looks at what is due
LEASE = 30.0  # seconds for which a loop belongs to one process; if it dies, another takes it
AGAIN = 5.0  # seconds until something that did not work is tried again

logger = logging.getLogger("driftwise.service")


class Runner:
    """The loops of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._owner = secrets.token_hex(8)
        self._client = httpx.AsyncClient()
        self._looking = Forever("sources", self._look, PAUSE)
        self._running: dict[int, asyncio.Task[None]] = {}
        self._not_before: dict[int, float] = {}  # of loops that are held up

    async def start(self) -> None:
        await self._service.write(lambda connection: forget_gone(connection, tables.metadata))
        await self._looking.start()

    async def stop(self) -> None:
        """End the loops and give them up, so that another service may take them at once."""
        await self._looking.stop()
        await cancelled(*self._running.values())
        await self._client.aclose()
        mine = sa.update(tables.plans).where(tables.plans.c.owner == self._owner).values(until=0.0)
        with contextlib.suppress(DriftwiseError):
            await self._service.execute(mine)

    async def _look(self) -> None:
        """Begin what is due. A loop that was running when its state was read may have moved on since."""
        busy = set(self._running)
        for at in await self._service.studies.run(self._mine):
            if at.number not in busy and self._is_due(at):
                self._running[at.number] = asyncio.create_task(self._advance(at))

    def _is_due(self, at: LoopState) -> bool:
        return time.time() >= at.due() and time.monotonic() >= self._not_before.get(at.number, 0.0)

    async def _advance(self, at: LoopState) -> None:
        held_up = True
        try:
            held_up = bool(await advance(self._service, self._client, at, self._service.settings.apply_folder))
        except (DriftwiseError, TimeoutError) as error:
            logger.warning("source of %r: %s", at.study, error)
        except Exception:
            logger.exception("source of %r", at.study)
        finally:
            self._not_before.pop(at.number, None)
            self._running.pop(at.number, None)
            if held_up:
                self._not_before[at.number] = time.monotonic() + AGAIN
            else:
                self._looking.soon()

    def _mine(self) -> list[LoopState]:
        """The loops of this process. Those that nobody runs become ours; the lease is renewed half-way."""
        plans, now, database = tables.plans, time.time(), self._service.database
        mine = plans.c.owner == self._owner
        stale = (plans.c.until < now) | (mine & (plans.c.until < now + LEASE / 2))
        rows = database.read(lambda connection: connection.execute(named(plans).where(mine | stale)).all())
        if any(row.until < now + LEASE / 2 for row in rows):
            take = sa.update(plans).where(stale).values(owner=self._owner, until=now + LEASE)
            database.write(lambda connection: connection.execute(take))
            rows = database.read(lambda connection: connection.execute(named(plans).where(mine)).all())
        return [LoopState.of(row) for row in rows if row.owner == self._owner]
