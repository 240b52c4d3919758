"""Who is signed in: a token is exchanged for a cookie, for pages. And the audit."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from driftwise.service.access import COOKIE, SECURE_COOKIE, Caller, needs
from driftwise.service.api.replies import AuditReply, SessionReply
from driftwise.service.api.strict import StrictRoute
from driftwise.service.problems import Refused, answers
from driftwise.service.service import service_of
from driftwise.service.sessions import csrf_of

router = APIRouter(tags=["who may do what"], route_class=StrictRoute)
Anyone = Annotated[Caller, needs("read")]


@router.get("/session", responses=answers())
async def show_session(who: Anyone) -> SessionReply:
    """Who you are, and what you may do."""
    return _reply(who, None if who.cookie is None else csrf_of(who.cookie))


@router.post("/session", status_code=201, responses=answers())
async def begin_session(request: Request, response: Response, who: Anyone) -> SessionReply:
    """Sign in: the token of this request becomes a cookie that no script can read."""
    service = service_of(request)
    if not who.token.id or who.cookie is not None:
        raise Refused(403, "a session begins with a token; send it as `Authorization: Bearer TOKEN`")
    session = await service.studies.run(lambda: service.sessions.create(who.token))
    secure = request.url.scheme == "https"
    response.set_cookie(
        SECURE_COOKIE if secure else COOKIE,
        session.cookie,
        max_age=int(3600 * service.settings.session_hours),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    await service.audit.write(who.id, "sign in", "")
    return _reply(who, session.csrf)


@router.delete("/session", status_code=204, response_model=None, responses=answers())
async def end_session(request: Request, response: Response, who: Anyone) -> None:
    """Sign out."""
    service = service_of(request)
    cookie = who.cookie
    if cookie is not None:
        await service.studies.run(lambda: service.sessions.end(cookie))
    for name in (COOKIE, SECURE_COOKIE):
        response.delete_cookie(name, path="/", secure=name == SECURE_COOKIE, httponly=True, samesite="strict")


@router.get("/audit", responses=answers())
async def show_audit(
    request: Request,
    who: Annotated[Caller, needs("admin")],
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[AuditReply]:
    """Who changed what, newest first. Needs a token for all studies."""
    if not who.token.is_for_all:
        raise Refused(403, "the audit needs a token that is for all studies; use another token")
    service = service_of(request)
    found = await service.studies.run(lambda: service.audit.read(before=before, limit=limit))
    return [AuditReply(entry=number, **{part: getattr(e, part) for part in e.__slots__}) for number, e in found]


def _reply(who: Caller, csrf: str | None) -> SessionReply:
    token = who.token
    return SessionReply(
        name=token.name,
        scopes=list(token.scopes),
        project=token.project,
        study=token.study,
        expires=token.expires,
        csrf=csrf,
    )
