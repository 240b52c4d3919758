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
        self._task: asyncio.Task[None] | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._not_before: dict[str, float] = {}

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End the loops and give them up, so that another service may take them at once."""
        tasks = [*([self._task] if self._task else []), *self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        mine = sa.update(tables.plans).where(tables.plans.c.owner == self._owner).values(until=0.0)
        with contextlib.suppress(DriftwiseError):
            await self._service.studies.run(
                lambda: self._service.database.write(lambda connection: connection.execute(mine))
            )

    async def _run(self) -> None:
        async with httpx.AsyncClient() as client:
            while True:
                try:
                    for at in await self._service.studies.run(self._mine):
                        if at.study not in self._running and self._is_due(at):
                            self._running[at.study] = asyncio.create_task(self._advance(client, at))
                except DriftwiseError as error:  # a store that is away comes back
                    logger.warning("sources: %s", error)
                except Exception:  # a bug of ours must not end the loops of all studies
                    logger.exception("sources")
                await asyncio.sleep(PAUSE)

    def _is_due(self, at: LoopState) -> bool:
        return time.time() >= at.due() and time.monotonic() >= self._not_before.get(at.study, 0.0)

    async def _advance(self, client: httpx.AsyncClient, at: LoopState) -> None:
        try:
            await advance(self._service, client, at, self._service.settings.apply_folder)
        except DriftwiseError as error:
            logger.warning("source of %r: %s", at.study, error)
        except Exception:
            logger.exception("source of %r", at.study)
        finally:
            self._not_before[at.study] = time.monotonic() + (AGAIN if at.problem else 0.0)
            self._running.pop(at.study, None)

    def _mine(self) -> list[LoopState]:
        """The loops of this process. Those that nobody runs become ours; the lease is renewed half-way."""
        plans, now = tables.plans, time.time()
        mine = plans.c.owner == self._owner
        stale = (plans.c.until < now) | (mine & (plans.c.until < now + LEASE / 2))
        rows = self._service.database.read(
            lambda connection: connection.execute(sa.select(plans).where(mine | stale)).all()
        )
        if any(row.until < now + LEASE / 2 for row in rows):
            take = sa.update(plans).where(stale).values(owner=self._owner, until=now + LEASE)
            self._service.database.write(lambda connection: connection.execute(take))
            rows = self._service.database.read(
                lambda connection: connection.execute(sa.select(plans).where(mine)).all()
            )
        return [LoopState.of(row) for row in rows if row.owner == self._owner]
