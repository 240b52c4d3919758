"""Events become rewards: they are added up for each suggestion, and told when enough came or after a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import partial

import sqlalchemy as sa

from driftwise.errors import ConflictError, DriftwiseError, NotFoundError
from driftwise.records import Receipt
from driftwise.service.flags import tables
from driftwise.service.flags.assign import digest
from driftwise.service.flags.assigned import plans_of
from driftwise.service.flags.plan import FlagPlan
from driftwise.service.service import Service
from driftwise.study import Study

PAUSE = 1.0  # seconds between two looks for what is due
KEPT = 7 * 86400.0  # seconds for which the keys of events, and who held what, are remembered

logger = logging.getLogger("driftwise.service")


async def track(service: Service, study: str, plan: FlagPlan, who: str, value: float, key: str | None) -> bool:
    """Count an event for the suggestion that a targeting key has; False if it has none. Tell, if that is enough."""
    added = await service.studies.run(partial(_add, service, study, digest(study, who), value, key))
    if added is None:
        return False
    suggestion, count = added
    if count >= plan.enough:
        await tell(service, study, plan, suggestion)
    return True


def _add(service: Service, study: str, who: str, value: float, key: str | None) -> tuple[str, int] | None:
    """The suggestion that the event counts for, and how many it has now."""
    holders, sums = tables.holders, tables.sums
    now, hit = time.time(), int(value != 0)

    def work(connection: sa.Connection) -> tuple[str, int] | None:
        query = sa.select(holders.c.suggestion).where(holders.c.study == study, holders.c.who == who)
        suggestion = connection.execute(query).scalar()
        if suggestion is None:
            return None
        if key is None or tables.put(connection, tables.known, {"study": study, "key": key, "at": now}):
            row = {"study": study, "suggestion": suggestion, "events": 1, "total": value, "hits": hit}
            left = sa.case((sums.c.told, 0), else_=1)  # what comes after the reward was told is too late for it
            more = {name: sums.c[name] + left * by for name, by in (("events", 1), ("total", value), ("hits", hit))}
            tables.put(connection, sums, {**row, "first": now, "told": False}, **more)
        mine = (sums.c.study == study) & (sums.c.suggestion == suggestion)
        open_ = sa.select(sums.c.events).where(mine, sums.c.told.is_(False))
        return suggestion, connection.execute(open_).scalar() or 0

    return service.database.write(work)


async def tell(service: Service, study: str, plan: FlagPlan, suggestion: str) -> None:
    """Tell the study what the events of a suggestion add up to, once.

    The sum is closed first, so that the reward stays the same if the service is stopped before it is told. Told again,
    it changes nothing.
    """
    sums = tables.sums
    mine = (sums.c.study == study) & (sums.c.suggestion == suggestion)

    def close(connection: sa.Connection) -> tuple[int, float, int]:
        connection.execute(sa.update(sums).where(mine).values(told=True))
        events, total, hits = connection.execute(sa.select(sums.c.events, sums.c.total, sums.c.hits).where(mine)).one()
        return int(events), float(total), int(hits)

    events, total, hits = await service.studies.run(lambda: service.database.write(close))
    reward, repeats = plan.reward(events, total, hits), 1 if plan.aggregate == "sum" else events
    told = partial(_tell, suggestion=suggestion, reward=reward, repeats=repeats)
    try:
        receipt = await service.studies.log(study, told)
    except (ConflictError, NotFoundError) as error:  # somebody told another reward, or deleted the study
        logger.warning("flags: %s", error)
        return
    if receipt.new:
        service.audit.note("flags", "tell", study, str(receipt.number))


def _tell(study: Study, suggestion: str, reward: float, repeats: int) -> Receipt:
    weighs = bool(getattr(study.policy, "weighs_noise", False))
    return study.tell(suggestion, reward, repeats=repeats if weighs else 1)


class Sweeper:
    """Tells what is due, while the app runs: also what was closed and not told when the service was last stopped."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        pruned = 0.0
        first = True
        while True:
            try:
                await self.sweep(again=first)
                first = False
                if time.monotonic() - pruned > KEPT / 100:
                    pruned = time.monotonic()
                    await self._service.studies.run(self._prune)
            except DriftwiseError as error:  # a store that is away comes back
                logger.warning("flags: %s", error)
            except Exception:  # a bug of ours must not end the loop that tells rewards
                logger.exception("flags")
            await asyncio.sleep(PAUSE)

    async def sweep(self, *, again: bool = False) -> None:
        """Tell what is due; with `again`, also what was closed in the last days, should it not have been told."""
        service = self._service
        plans = await service.studies.run(lambda: plans_of(service))
        now = time.time()
        for study, plan in plans.items():
            for suggestion in await service.studies.run(partial(self._due, study, plan, now, again)):
                await tell(service, study, plan, suggestion)

    def _due(self, study: str, plan: FlagPlan, now: float, again: bool) -> list[str]:
        sums = tables.sums
        due = (sums.c.told.is_(False)) & (sums.c.events >= plan.enough)
        if plan.within_seconds is not None:
            due |= (sums.c.told.is_(False)) & (sums.c.first <= now - plan.within_seconds)
        if again:
            due |= (sums.c.told.is_(True)) & (sums.c.first > now - KEPT)
        query = sa.select(sums.c.suggestion).where(sums.c.study == study, due)
        return list(self._service.database.read(lambda connection: connection.execute(query).scalars().all()))

    def _prune(self) -> None:
        old = time.time() - KEPT

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.delete(tables.known).where(tables.known.c.at < old))
            connection.execute(sa.delete(tables.holders).where(tables.holders.c.at < old))
            connection.execute(sa.delete(tables.sums).where(tables.sums.c.told, tables.sums.c.first < old))

        self._service.database.write(work)
