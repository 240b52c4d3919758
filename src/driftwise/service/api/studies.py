"""Studies by name: to make, list, look at, copy, rename and delete them."""

from __future__ import annotations

import json
from functools import partial
from operator import methodcaller
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from driftwise.errors import NotFoundError
from driftwise.log import Counts
from driftwise.service import making
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.api.bodies import NewFork, NewName, NewStudy
from driftwise.service.api.replies import StudyNames, StudyReply
from driftwise.service.api.strict import StrictRoute
from driftwise.service.problems import answers
from driftwise.service.service import Service, service_of
from driftwise.study import Study, Summary

router = APIRouter(tags=["studies"], route_class=StrictRoute)
Reads = Annotated[Caller, needs("read")]
Admin = Annotated[Caller, needs("admin")]


@router.get("/studies", responses=answers())
async def list_studies(
    request: Request,
    who: Reads,
    after: Annotated[str, Query(max_length=200, description="The last name of the page before.")] = "",
    prefix: Annotated[str, Query(max_length=200, description="How the names begin.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> StudyNames:
    """The names of the studies that the token is for, in order."""
    names = await service_of(request).studies.names()
    mine = [name for name in names if name > after and name.startswith(prefix) and who.token.covers(name)]
    return StudyNames(studies=mine[:limit], next=mine[limit - 1] if len(mine) > limit else None)


@router.post("/studies", status_code=201, responses={**answers(404, 409), 200: {"description": "It exists already."}})
async def create_study(request: Request, response: Response, body: NewStudy, who: Admin) -> StudyReply:
    """Make a study. Made again with the same settings it is left as it is, so that the call may be repeated."""
    who.check("admin", body.name)
    service = service_of(request)
    given = await service.studies.run(
        lambda: making.description_of(body.model_dump(exclude_unset=True), service.settings)
    )
    also = service.audit.within(who.id, "create", body.name)
    if await service.studies.create(body.name, partial(making.made, body.name, given, service.settings.store, also)):
        return _described(Summary(body.name, None, given, Counts(), awaited=0))
    response.status_code = 200
    return await _reply(service, body.name)


@router.get("/studies/{name}", responses=answers(404))
async def show_study(request: Request, name: StudyName, who: Reads) -> StudyReply:
    """A study: its definition and its counts."""
    return await _reply(service_of(request), name)


@router.delete("/studies/{name}", status_code=204, response_model=None, responses=answers(404))
async def delete_study(request: Request, name: StudyName, who: Admin) -> None:
    """Delete a study with all that is in it. This cannot be undone."""
    service = service_of(request)
    await service.studies.delete(name)
    await service.audit.write(who.id, "delete", name)


@router.post("/studies/{name}/rename", responses=answers(404, 409))
async def rename_study(request: Request, name: StudyName, body: NewName, who: Admin) -> StudyReply:
    """Give a study another name."""
    service = service_of(request)
    who.check("admin", making.usable(body.to))
    await service.studies.rename(name, body.to)
    await service.audit.write(who.id, "rename", name, body.to)
    return await _reply(service, body.to)


@router.post("/studies/{name}/copy", status_code=201, responses=answers(404, 409))
async def copy_study(request: Request, name: StudyName, body: NewName, who: Admin) -> StudyReply:
    """Copy a study with its suggestions, keys and corrections."""
    service = service_of(request)
    who.check("admin", making.usable(body.to))
    await service.studies.copy(name, body.to)
    await service.audit.write(who.id, "copy", name, body.to)
    return await _reply(service, body.to)


@router.post("/studies/{name}/fork", status_code=201, responses=answers(404, 409))
async def fork_study(request: Request, name: StudyName, body: NewFork, who: Admin) -> StudyReply:
    """Make a study with another space, policy or options, which begins with the observations of this one."""
    service = service_of(request)
    who.check("admin", making.usable(body.to))
    given = body.model_dump(exclude_unset=True)
    given = {**given, **(given.pop("settings", None) or {})}
    making.check_imports(given, service.settings.allow_imports)
    await service.studies.free(body.to)
    await service.studies.log(name, partial(_fork, body.to, making.arguments(given), service.settings.store))
    await service.audit.write(who.id, "fork", name, body.to)
    return await _reply(service, body.to)


def _fork(to: str, given: dict[str, Any], path: str, study: Study) -> None:
    study.fork(to, path=path, **given)


async def _reply(service: Service, name: str) -> StudyReply:
    summary: Summary = await service.studies.log(name, methodcaller("describe"))
    if summary.name != name:
        raise NotFoundError(f"there is no study {name!r:.80}")
    return _described(summary)


def _described(summary: Summary) -> StudyReply:
    description = summary.description
    return StudyReply(
        name=summary.name,
        policy=description.policy.name,
        direction=description.direction,
        parameters=list(description.space.names),
        context=[] if description.context is None else list(description.context.names),
        counts=summary.counts,
        awaited=summary.awaited,
        description=json.loads(description.to_json()),
    )
