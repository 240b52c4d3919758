"""Where the loop of one study stands, and who asks and tells for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa

from driftwise.errors import ConflictError
from driftwise.records import Suggestion
from driftwise.service.identity import check_same
from driftwise.service.service import Service
from driftwise.service.sources import tables
from driftwise.study import Study
from driftwise.tune.live_plan import LivePlan


@dataclass(frozen=True)
class LoopState:
    """Where a loop stands, as the database has it. `run` is another one each time that a plan is set."""

    number: int
    study: str
    plan: LivePlan
    run: str
    step: int
    applied: float | None
    problem: str

    @classmethod
    def of(cls, row: Any) -> LoopState:
        plan = LivePlan(**json.loads(row.plan))
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


@dataclass(frozen=True)
class ServiceDesk:
    """Asks and tells the study of a loop, and writes down where the loop stands."""

    service: Service
    at: LoopState

    async def ask(self) -> Suggestion:
        return await self.service.studies.call(self.at.study, partial(asked, number=self.at.number, key=self.at.key))

    async def held_up(self, problem: str) -> None:
        await self._save(problem=problem)

    async def applied(self, at: float) -> None:
        await self._save(applied=at, problem="")

    async def tell(self, suggestion: Suggestion, reward: float | None, trouble: str) -> None:
        """Tell, and go on to the next step."""
        work = partial(told, number=self.at.number, suggestion=suggestion.id, reward=reward)
        receipt = await self.service.studies.log(self.at.study, work)
        self.service.audit.note("source", "tell", self.at.study, str(receipt))
        await self._save(step=self.at.step + 1, applied=None, problem="")

    async def _save(self, **values: Any) -> None:
        """Change the row of the loop, if its plan is still the one that was followed."""
        plans, at = tables.plans, self.at
        mine = (plans.c.study == at.number) & (plans.c.run == at.run) & (plans.c.step == at.step)
        await self.service.execute(sa.update(plans).where(mine).values(**values))


def asked(study: Study, number: int, key: str) -> Suggestion:
    return check_same(study, number).ask(key=key)


def told(study: Study, number: int, suggestion: str, reward: float | None) -> int:
    """The number under which the outcome is stored. If another one was told before, that one stays."""
    check_same(study, number)
    try:
        return study.tell(suggestion, reward, failed=reward is None).number
    except ConflictError:
        return int(suggestion.partition("-")[0])  # an id begins with its number
