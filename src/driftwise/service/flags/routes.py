"""The plan of a study's flags, and the events that are tracked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import sqlalchemy as sa
from fastapi import APIRouter, Request
from pydantic import Field

from driftwise.errors import NotFoundError
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.api.bodies import Body, Key, Name
from driftwise.service.api.strict import StrictRoute
from driftwise.service.flags import tables
from driftwise.service.flags.assigned import flagged
from driftwise.service.flags.plan import FlagPlan
from driftwise.service.flags.tracking import track
from driftwise.service.identity import number_in
from driftwise.service.problems import answers
from driftwise.service.service import service_of
from driftwise.study import inputs

router = APIRouter(tags=["flags"], route_class=StrictRoute)
Seconds = Annotated[float, Field(gt=0, le=366 * 86400)]


class FlagPlanBody(Body):
    """How the parameters of a study are handed out as flags, and which events are its reward."""

    explore: Annotated[float, Field(ge=0, le=1, description="Share of targeting keys that try suggestions.")] = 1.0
    keep_seconds: Annotated[Seconds, Field(description="For how long a targeting key keeps its setting.")] = 3600.0
    event: Annotated[str | None, Field(min_length=1, max_length=200, description="The event that is tracked.")] = None
    aggregate: Annotated[str, Field(pattern="^(mean|rate|sum)$", description="mean, rate or sum of its values")] = (
        "mean"
    )
    enough: Annotated[int, Field(ge=1, le=10**9, description="Events after which the study is told.")] = 1
    within_seconds: Annotated[Seconds | None, Field(description="After the first event it is told anyway.")] = None


class TrackBody(Body):
    """An event: `value` counts for the setting that `targeting_key` has, in every study whose plan has this event."""

    event: Name
    targeting_key: Annotated[str, Field(min_length=1, max_length=1000)]
    value: Annotated[float, Field(ge=-1e100, le=1e100)] = 1.0
    key: Key = None


class TrackReply(Body):
    """The studies for which the event counted."""

    studies: list[str]


@router.put("/studies/{name}/flags", responses=answers(404))
async def set_plan(
    request: Request, name: StudyName, body: FlagPlanBody, who: Annotated[Caller, needs("admin")]
) -> FlagPlanBody:
    """Hand out the parameters of this study as the flags `NAME.PARAMETER`."""
    service = service_of(request)
    text = FlagPlan(**body.model_dump()).to_json()

    def work(connection: sa.Connection) -> None:
        row = {"study": number_in(connection, name), "plan": text}
        tables.put(connection, tables.plans, row, plan=text)

    await service.write(work)
    await service.audit.write(who.id, "flags", name, text)
    return body


@router.get("/studies/{name}/flags", responses=answers(404))
async def show_plan(request: Request, name: StudyName, _: Annotated[Caller, needs("read")]) -> FlagPlanBody:
    """How the parameters of this study are handed out."""
    study = (await service_of(request).read(flagged)).get(name)
    if study is None:
        raise NotFoundError(f"study {name!r:.80} has no flags; PUT a plan first")
    return FlagPlanBody(**asdict(study.plan))


@router.delete("/studies/{name}/flags", status_code=204, response_model=None, responses=answers(404))
async def delete_plan(request: Request, name: StudyName, who: Annotated[Caller, needs("admin")]) -> None:
    """Hand out the parameters of this study no longer. Clients fall back to their own defaults."""
    service = service_of(request)
    plans = tables.plans
    await service.write(lambda c: c.execute(sa.delete(plans).where(plans.c.study == number_in(c, name))))
    await service.audit.write(who.id, "no flags", name)


@router.post("/track", responses=answers())
async def track_event(request: Request, body: TrackBody, who: Annotated[Caller, needs("tell")]) -> TrackReply:
    """Count an event. With a `key` it is counted once, however often it is sent."""
    service, key = service_of(request), inputs.key(body.key)
    plans = (await service.read(flagged)).values()
    due = [study for study in plans if study.plan.event == body.event and who.token.covers(study.name)]
    counted = [each.name for each in due if await track(service, each, body.targeting_key, body.value, key)]
    return TrackReply(studies=counted)
