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
from driftwise.service.sources.loop import LoopState, ServiceDesk
from driftwise.tune.live import AGAIN, System

PAUSE = 0.2  # seconds between two looks at what is due
LEASE = 30.0  # seconds for which a loop belongs to one process; if it dies, another takes it

logger = logging.getLogger("driftwise.service")


class Runner:
    """The loops of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._owner = secrets.token_hex(8)
        self._client = httpx.AsyncClient()
        self._looking = Forever("sources", self._look, PAUSE)
        self._running: dict[tuple[int, str], asyncio.Task[None]] = {}  # by the number of the study, and the run

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
        """Begin a step of each loop of ours, and end those whose plan or owner is another by now."""
        before = dict(self._running)  # of these the state that is read now may be out of date
        loops = {(at.number, at.run): at for at in await self._service.studies.run(self._mine)}
        for gone in before.keys() - loops.keys():
            before[gone].cancel()
        for place, at in loops.items():
            if place not in before:
                self._running[place] = asyncio.create_task(self._step(place, at))

    async def _step(self, place: tuple[int, str], at: LoopState) -> None:
        system = System(at.study, at.plan, self._service.settings.apply_folder)
        try:
            await system.step(self._client, ServiceDesk(self._service, at), at.applied)
        except (DriftwiseError, TimeoutError) as error:
            logger.warning("source of %r: %s", at.study, error)
            await asyncio.sleep(AGAIN)
        except Exception:
            logger.exception("source of %r", at.study)
            await asyncio.sleep(AGAIN)
        finally:
            self._running.pop(place, None)
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
