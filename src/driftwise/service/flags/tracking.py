"""Events become rewards: they are added up for each suggestion, and told when enough came or after a time.

A sum goes through three states, each on the disk before the next begins: open, closed with its reward, told. Should the
service stop or the store be away in between, the sweep goes on from there, and a reward that is told again is the same.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import Any

import sqlalchemy as sa

from driftwise.errors import ConflictError, DriftwiseError, InvalidInput
from driftwise.records import Receipt
from driftwise.service.flags import tables
from driftwise.service.flags.assign import digest
from driftwise.service.flags.assigned import Flagged, flagged
from driftwise.service.identity import check_same, forget_gone, named
from driftwise.service.service import Service
from driftwise.study import Study

KEPT = 7 * 86400.0  # seconds for which keys of events, and who held what, are remembered after the setting's own time
PRUNE_SECONDS = 3600.0

logger = logging.getLogger("driftwise.service")


async def track(service: Service, study: Flagged, who: str, value: float, key: str | None) -> bool:
    """Count an event for the suggestion that a targeting key has; False if it has none. Tell, if that is enough."""
    suggestion = await service.write(partial(_add, study.number, digest(str(study.number), who), value, key))
    if suggestion is None:
        return False
    closed = await service.write(partial(close, study, suggestion, study.plan.enough))
    if closed is not None:
        await tell(service, closed)
    return True


def _add(number: int, who: str, value: float, key: str | None, connection: sa.Connection) -> str | None:
    """The suggestion that the event counts for."""
    holders, sums = tables.holders, tables.sums
    now, hit = time.time(), int(value != 0)
    query = sa.select(holders.c.suggestion).where(holders.c.study == number, holders.c.who == who)
    suggestion: str | None = connection.execute(query).scalar()
    if suggestion is None:
        return None
    if key is None or tables.put(connection, tables.known, {"study": number, "key": key, "at": now}):
        row = {"study": number, "suggestion": suggestion, "events": 1, "total": value, "hits": hit}
        left = sa.case((sums.c.reward.is_(None), 1), else_=0)  # what comes after the sum was closed is too late for it
        more = {name: sums.c[name] + left * by for name, by in (("events", 1), ("total", value), ("hits", hit))}
        tables.put(connection, sums, {**row, "first": now, "told": False}, **more)
    return suggestion


def close(study: Flagged, suggestion: str, enough: int, connection: sa.Connection) -> Any:
    """The closed sum of a suggestion, if it has enough events and is not told yet."""
    sums = tables.sums
    mine = (sums.c.study == study.number) & (sums.c.suggestion == suggestion)
    query = named(sums).where(mine, ~sums.c.told)
    row: Any = connection.execute(query.with_for_update(of=sums)).first()
    if row is None or row.reward is not None:  # told, or closed before
        return row
    if row.events < enough:
        return None
    plan = study.plan
    reward, repeats = plan.reward(row.events, row.total, row.hits), 1 if plan.aggregate == "sum" else row.events
    connection.execute(sa.update(sums).where(mine).values(reward=reward, repeats=repeats))
    return connection.execute(query).first()


async def tell(service: Service, closed: Any) -> None:
    """Tell a study the reward of a closed sum, once. Told again, it changes nothing."""
    told = partial(_tell, number=closed.study, suggestion=closed.suggestion, reward=closed.reward)
    try:
        receipt = await service.studies.log(closed.name, partial(told, repeats=closed.repeats))
        if receipt.new:
            service.audit.note("flags", "tell", closed.name, str(receipt.number))
    except (ConflictError, InvalidInput) as error:  # somebody told another reward, which stays
        logger.warning("flags: %s", error)
    sums = tables.sums
    mine = (sums.c.study == closed.study) & (sums.c.suggestion == closed.suggestion)
    await service.execute(sa.update(sums).where(mine).values(told=True))


def _tell(study: Study, number: int, suggestion: str, reward: float, repeats: int) -> Receipt:
    weighs = bool(getattr(check_same(study, number).policy, "weighs_noise", False))
    return study.tell(suggestion, reward, repeats=repeats if weighs else 1)


class Sweeper:
    """Tells what is due, while the app runs: also what was closed and not told when the service was last stopped."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pruned = 0.0

    async def sweep(self) -> None:
        """Close what is due, and tell what is closed. One study that cannot be told hides no other."""
        for study, suggestion in await self._service.read(partial(_due, time.time())):
            await self._service.write(partial(close, study, suggestion, 1))
        failed = set[int]()
        for closed in await self._service.read(_closed):
            if closed.study in failed:
                continue
            try:
                await tell(self._service, closed)
            except (DriftwiseError, TimeoutError) as error:
                failed.add(closed.study)
                logger.warning("flags of %r: %s", closed.name, error)
        if not self._pruned or time.monotonic() - self._pruned > PRUNE_SECONDS:
            self._pruned = time.monotonic()
            await self._service.write(prune)


def _due(now: float, connection: sa.Connection) -> list[tuple[Flagged, str]]:
    """The sums that are to be closed."""
    sums, found = tables.sums, list[tuple[Flagged, str]]()
    for study in flagged(connection).values():
        if study.plan.event is None:
            continue
        due = sums.c.events >= study.plan.enough
        if study.plan.within_seconds is not None:
            due |= sums.c.first <= now - study.plan.within_seconds
        query = sa.select(sums.c.suggestion).where(sums.c.study == study.number, ~sums.c.told, sums.c.reward.is_(None))
        found += [(study, suggestion) for suggestion in connection.execute(query.where(due)).scalars()]
    return found


def _closed(connection: sa.Connection) -> list[Any]:
    """What is closed and not told, of all studies, whatever became of their plans."""
    sums = tables.sums
    return list(connection.execute(named(sums).where(~sums.c.told, sums.c.reward.is_not(None))).all())


def prune(connection: sa.Connection) -> None:
    """Forget what no event can refer to any more. A plan's `keep_seconds` may be longer than what others are kept."""
    forget_gone(connection, tables.metadata)
    known, holders, sums = tables.known, tables.holders, tables.sums
    now, plans = time.time(), {each.number: each.plan for each in flagged(connection).values()}
    connection.execute(sa.delete(known).where(known.c.at < now - KEPT))
    for number, plan in plans.items():
        old = now - KEPT - plan.keep_seconds
        connection.execute(sa.delete(holders).where(holders.c.study == number, holders.c.at < old))
        connection.execute(sa.delete(sums).where(sums.c.study == number, sums.c.told, sums.c.first < old))
    others = list(plans)  # whose flags were taken away
    connection.execute(sa.delete(holders).where(holders.c.study.not_in(others), holders.c.at < now - KEPT))
    useless = sums.c.told | sums.c.reward.is_(None)
    connection.execute(sa.delete(sums).where(sums.c.study.not_in(others), useless, sums.c.first < now - KEPT))
