"""Where a study's reward comes from: set it, look at it, end it."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict
from typing import Annotated

import sqlalchemy as sa
from fastapi import APIRouter, Request
from pydantic import Field

from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.log import schema
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.api.bodies import Body
from driftwise.service.api.strict import StrictRoute
from driftwise.service.identity import named, number_in
from driftwise.service.problems import answers
from driftwise.service.service import Service, service_of
from driftwise.service.sources import tables
from driftwise.service.sources.loop import LoopState
from driftwise.study import Study
from driftwise.tune.live_plan import LivePlan, origin

router = APIRouter(prefix="/studies/{name}", tags=["sources"], route_class=StrictRoute)
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


@router.put("/source", responses=answers(404, 409))
async def set_source(request: Request, name: StudyName, body: SourceBody, who: Admin) -> SourceReply:
    """Let the service tune this study by itself, from now on."""
    service = service_of(request)
    plan = LivePlan(**body.model_dump())
    if plan.apply == "file" and service.settings.apply_folder is None:
        raise InvalidInput("files are written only into the folder of `driftwise serve --apply-folder`; give it first")
    await service.studies.call(name, _check)
    written = json.dumps(asdict(plan))
    row = {
        "plan": written,
        "run": secrets.token_hex(4),
        "step": 1,
        "problem": "",
        "owner": "",
        "until": 0.0,
    }

    def work(connection: sa.Connection) -> None:
        number = number_in(connection, name)
        _check_target(connection, number, plan)
        connection.execute(sa.delete(tables.plans).where(tables.plans.c.study == number))
        connection.execute(sa.insert(tables.plans), {**row, "study": number})

    await service.write(work)
    await service.audit.write(who.id, "source", name, written)
    return await _standing(service, name, who)


@router.get("/source", responses=answers(404))
async def show_source(request: Request, name: StudyName, who: Annotated[Caller, needs("read")]) -> SourceReply:
    """Where the reward of this study comes from, and where its loop stands.

    Addresses may contain secrets. Whoever is no admin sees their hosts alone.
    """
    return await _standing(service_of(request), name, who)


@router.delete("/source", status_code=204, response_model=None, responses=answers(404))
async def end_source(request: Request, name: StudyName, who: Admin) -> None:
    """Tune this study by itself no longer. The setting that was applied last stays."""
    service = service_of(request)
    plans = tables.plans
    await service.write(lambda c: c.execute(sa.delete(plans).where(plans.c.study == number_in(c, name))))
    await service.audit.write(who.id, "no source", name)


async def _standing(service: Service, name: str, who: Caller) -> SourceReply:
    query = named(tables.plans).where(schema.studies.c.name == name)
    row = await service.read(lambda connection: connection.execute(query).first())
    if row is None:
        raise NotFoundError(f"study {name!r:.80} has no source; PUT one first")
    at = LoopState.of(row)
    plan = {name: getattr(at.plan, name) for name in SourceBody.model_fields}
    if not who.token.may("admin"):
        plan["prometheus"] = origin(at.plan.prometheus)
        plan["target"] = origin(at.plan.target) if at.plan.apply == "webhook" else at.plan.target
    return SourceReply(**plan, step=at.step, applied=at.applied, problem=at.problem)


def _check_target(connection: sa.Connection, number: int, plan: LivePlan) -> None:
    """A file belongs to one study: otherwise two loops, maybe of two projects, would overwrite each other."""
    others = map(LoopState.of, connection.execute(named(tables.plans).where(tables.plans.c.study != number)))
    if plan.apply == "file" and any(at.plan.apply == "file" and at.plan.target == plan.target for at in others):
        raise ConflictError(f"the file {plan.target!r:.80} is written for another study; use another name")


def _check(study: Study) -> None:
    if study.description.context is not None:
        raise InvalidInput("a study with a context cannot be tuned by itself, because nobody says what the context is")
