"""Where a study's reward comes from: set it, look at it, end it."""

from __future__ import annotations

from typing import Annotated

import sqlalchemy as sa
from fastapi import APIRouter, Request
from pydantic import Field

from driftwise.errors import InvalidInput, NotFoundError
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.api.bodies import Body
from driftwise.service.problems import answers
from driftwise.service.service import Service, service_of
from driftwise.service.sources import tables
from driftwise.service.sources.loop import LoopState
from driftwise.service.sources.plan import SourcePlan
from driftwise.study import Study

router = APIRouter(prefix="/studies/{name}", tags=["sources"])
Admin = Annotated[Caller, needs("admin")]
Seconds = Annotated[float, Field(ge=0, le=7 * 86400)]


class SourceBody(Body):
    """A loop: apply a setting, wait, average a PromQL query, tell."""

    prometheus: Annotated[str, Field(max_length=1000, description="The address of Prometheus.")]
    query: Annotated[str, Field(min_length=1, max_length=5000, description="PromQL that gives one number.")]
    apply: Annotated[str, Field(pattern="^(webhook|file|flag)$", description="How a setting is applied.")] = "flag"
    target: Annotated[str, Field(max_length=1000, description="The webhook, or the name of the file.")] = ""
    settle_seconds: Annotated[Seconds, Field(description="To wait after a setting was applied.")] = 30.0
    average_seconds: Annotated[Seconds, Field(description="To average over after that.")] = 60.0


class SourceReply(SourceBody):
    """The loop as it stands."""

    step: int
    applied: Annotated[float | None, Field(description="When the present setting was applied, if it is.")]
    problem: Annotated[str, Field(description="What holds the loop up; empty if nothing does.")]


@router.put("/source", responses=answers(404))
async def set_source(request: Request, name: StudyName, body: SourceBody, who: Admin) -> SourceReply:
    """Let the service tune this study by itself, from now on."""
    service = service_of(request)
    plan = SourcePlan(**body.model_dump())
    if plan.apply == "file" and service.settings.apply_folder is None:
        raise InvalidInput("files are written only into the folder of `driftwise serve --apply-folder`; give it first")
    await service.studies.call(name, _check)
    row = {"study": name, "plan": plan.to_json(), "step": 1, "applied": None, "problem": "", "owner": "", "until": 0.0}
    plans = tables.plans

    def work(connection: sa.Connection) -> None:
        before = connection.execute(sa.select(plans.c.step).where(plans.c.study == name)).scalar()
        connection.execute(sa.delete(plans).where(plans.c.study == name))
        # another plan begins with a new step, so that a setting that waited for the old one is not taken for its own
        connection.execute(sa.insert(plans), row if before is None else {**row, "step": before + 1})

    await service.studies.run(lambda: service.database.write(work))
    await service.audit.write(who.id, "source", name, plan.to_json())
    return await _standing(service, name)


@router.get("/source", responses=answers(404))
async def show_source(request: Request, name: StudyName, _: Annotated[Caller, needs("read")]) -> SourceReply:
    """Where the reward of this study comes from, and where its loop stands."""
    return await _standing(service_of(request), name)


@router.delete("/source", status_code=204, response_model=None, responses=answers(404))
async def end_source(request: Request, name: StudyName, who: Admin) -> None:
    """Tune this study by itself no longer. The setting that was applied last stays."""
    service = service_of(request)
    query = sa.delete(tables.plans).where(tables.plans.c.study == name)
    await service.studies.run(lambda: service.database.write(lambda connection: connection.execute(query)))
    await service.audit.write(who.id, "no source", name)


async def _standing(service: Service, name: str) -> SourceReply:
    query = sa.select(tables.plans).where(tables.plans.c.study == name)
    row = await service.studies.run(lambda: service.database.read(lambda connection: connection.execute(query).first()))
    if row is None:
        raise NotFoundError(f"study {name!r:.80} has no source; PUT one first")
    at = LoopState.of(row)
    plan = {name: getattr(at.plan, name) for name in SourceBody.model_fields}
    return SourceReply(**plan, step=at.step, applied=at.applied, problem=at.problem)


def _check(study: Study) -> None:
    if study.description.context is not None:
        raise InvalidInput("a study with a context cannot be tuned by itself, because nobody says what the context is")
