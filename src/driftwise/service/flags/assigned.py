"""The setting that a targeting key has: its plan, its slot, and what the study says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import sqlalchemy as sa

from driftwise.errors import InvalidInput
from driftwise.policies.base import restrictable
from driftwise.records import Params, Suggestion
from driftwise.service.flags import tables
from driftwise.service.flags.assign import Slot, slot_of
from driftwise.service.flags.plan import FlagPlan
from driftwise.service.identity import check_same, named
from driftwise.service.service import Service
from driftwise.service.sources import tables as sources
from driftwise.service.sources.loop import LoopState
from driftwise.study import Study


@dataclass(frozen=True, slots=True)
class Assignment:
    """The parameters of a key, and the suggestion they come from; None if they are only recommended."""

    study: str
    params: Params
    suggestion: str | None
    explores: bool


@dataclass(frozen=True, slots=True)
class Flagged:
    """A study that has flags. `measured` is the key of the setting that its source applied last, if it has one."""

    number: int
    name: str
    plan: FlagPlan
    measured: str | None = None


def flagged(connection: sa.Connection) -> dict[str, Flagged]:
    """All studies that have flags, by name: with a plan of their own, or a source that applies settings as flags."""
    rows: Any = connection.execute(named(tables.plans))
    found = {row.name: Flagged(row.study, row.name, FlagPlan.from_json(row.plan)) for row in rows}
    for at in map(LoopState.of, connection.execute(named(sources.plans))):
        if at.plan.apply == "flag" and at.key_in_use is not None:
            study = found.get(at.study, Flagged(at.number, at.study, FlagPlan()))
            found[at.study] = replace(study, measured=at.key_in_use)
    return found


async def assigned(service: Service, study: Flagged, targeting_key: str, context: Mapping[str, Any]) -> Assignment:
    """The parameters that a targeting key has now."""
    now = time.time()
    slot = slot_of(str(study.number), study.plan, targeting_key, now)
    if slot.explores and study.measured is not None:  # everybody who explores has the setting that the source measures
        slot = replace(slot, key=study.measured)
    work = partial(of_study, number=study.number, slot=slot, context=dict(context))
    found: Assignment = await service.studies.call(study.name, work)
    if found.suggestion is not None:
        await service.studies.run(lambda: _hold(service, study.number, slot, str(found.suggestion), now))
    return found


def of_study(study: Study, number: int, slot: Slot, context: dict[str, Any]) -> Assignment:
    """The suggestion of a slot. Who does not explore has the recommended setting, as soon as there is one."""
    inside = context_of(check_same(study, number), context)
    if not slot.explores and study.describe().counts.rewards:
        best = study.recommend(context=inside).params
        if inside is not None or not restrictable(study.policy):  # not one setting for all, or no way to ask for it
            return Assignment(study.name, best, None, False)
        return _of(study, study.ask(key=slot.key, fixed=best), explores=False)
    return _of(study, study.ask(key=slot.key, context=inside), explores=True)


def _of(study: Study, suggestion: Suggestion, *, explores: bool) -> Assignment:
    return Assignment(study.name, suggestion.params, suggestion.id, explores)


def context_of(study: Study, context: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the study's own context is, of all that an evaluation context says."""
    space = study.description.context
    if space is None:
        return None
    missing = [name for name in space.names if name not in context]
    if missing:
        raise InvalidInput(f"the context must have {', '.join(space.names)}, got none of {', '.join(missing)}")
    return {name: context[name] for name in space.names}


def _hold(service: Service, study: int, slot: Slot, suggestion: str, now: float) -> None:
    """Remember which suggestion a key has, if it is another than before."""
    holders = tables.holders
    mine = sa.select(holders.c.suggestion).where(holders.c.study == study, holders.c.who == slot.who)
    row = {"study": study, "who": slot.who, "suggestion": suggestion, "at": now}
    if service.database.read(lambda connection: connection.execute(mine).scalar()) != suggestion:
        service.database.write(lambda connection: tables.put(connection, holders, row, suggestion=suggestion, at=now))
