"""The loop of one study. Every step can be repeated: after a crash it goes on where it was."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import sqlalchemy as sa

from driftwise.errors import ConflictError, InvalidInput
from driftwise.records import Suggestion
from driftwise.service.identity import check_same
from driftwise.service.service import Service
from driftwise.service.sources import prometheus, tables
from driftwise.service.sources.apply import NotApplied, apply
from driftwise.service.sources.plan import SourcePlan
from driftwise.study import Study


@dataclass(frozen=True)
class LoopState:
    """Where a loop stands, as the database has it. `run` is another one each time that a plan is set."""

    number: int
    study: str
    plan: SourcePlan
    run: str
    step: int
    applied: float | None
    problem: str

    @classmethod
    def of(cls, row: Any) -> LoopState:
        plan = SourcePlan.from_json(row.plan)
        return cls(row.study, row.name, plan, row.run, int(row.step), row.applied, row.problem)

    @property
    def key(self) -> str:
        """With which the study is asked: a plan that is set again repeats no settings of this one."""
        return self._key_of(self.step)

    @property
    def key_in_use(self) -> str | None:
        """That of the setting which is applied now: until this step's is, it is the last step's, if there was one."""
        step = self.step if self.applied is not None else self.step - 1
        return self._key_of(step) if step else None

    def _key_of(self, step: int) -> str:
        return f"source {self.run} {step}"

    def due(self) -> float:
        """When the next thing is to be done, in seconds since the epoch."""
        return 0.0 if self.applied is None else self.applied + self.plan.seconds


async def advance(service: Service, client: httpx.AsyncClient, at: LoopState, folder: str | None) -> str:
    """Do the next thing: ask and apply, or query and tell. What holds it up is written down for people to see."""
    try:
        if at.applied is None:
            await _begin(service, client, at, folder)
        else:
            await _end(service, client, at, at.applied)
        problem = ""
    except (NotApplied, prometheus.SourceAway, prometheus.SourceRefused, InvalidInput) as error:
        problem = str(error).replace("\0", "")
    if problem != at.problem:
        await save(service, at, problem=problem)
    return problem


async def _begin(service: Service, client: httpx.AsyncClient, at: LoopState, folder: str | None) -> None:
    suggestion = await _asked(service, at)
    setting = {"study": at.study, "suggestion": suggestion.id, "params": dict(suggestion.params)}
    try:
        await apply(client, at.plan, folder, setting)
    except NotApplied as error:
        if not error.refused:
            raise
        await _tell(service, at, suggestion.id, None)
    else:
        await save(service, at, applied=time.time())


async def _end(service: Service, client: httpx.AsyncClient, at: LoopState, applied: float) -> None:
    """The query is for the moment at which the average ends, so that it may be made later as well."""
    query = prometheus.averaged(at.plan.query, at.plan.average_seconds)
    reward = await prometheus.value(client, at.plan.prometheus, query, applied + at.plan.seconds)
    suggestion = await _asked(service, at)
    await _tell(service, at, suggestion.id, reward)


async def _asked(service: Service, at: LoopState) -> Suggestion:
    return await service.studies.call(at.study, partial(asked, number=at.number, key=at.key))


def asked(study: Study, number: int, key: str) -> Suggestion:
    return check_same(study, number).ask(key=key)


async def _tell(service: Service, at: LoopState, suggestion: str, reward: float | None) -> None:
    """Tell, and go on to the next step. No reward is a failure."""
    work = partial(told, number=at.number, suggestion=suggestion, reward=reward)
    receipt = await service.studies.log(at.study, work)
    service.audit.note("source", "tell", at.study, str(receipt))
    await save(service, at, step=at.step + 1, applied=None)


def told(study: Study, number: int, suggestion: str, reward: float | None) -> int:
    """The number under which the outcome is stored. If another one was told before, that one stays."""
    check_same(study, number)
    try:
        if reward is None:
            return study.tell(suggestion, failed=True).number
        return study.tell(suggestion, reward).number
    except ConflictError:
        return int(suggestion.partition("-")[0])  # an id begins with its number


async def save(service: Service, at: LoopState, **values: Any) -> None:
    """Change the row of a loop, if its plan is still the one that was followed."""
    plans = tables.plans
    mine = (plans.c.study == at.number) & (plans.c.run == at.run) & (plans.c.step == at.step)
    await service.execute(sa.update(plans).where(mine).values(**values))
