"""The routes of the dashboard: its page and its JSON documents. What changes, `/v1/events` tells the page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib import resources
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError
from driftwise.records import Params
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.dashboard import maps, spans, views
from driftwise.service.dashboard.pages import Pages
from driftwise.service.service import service_of

PAGE = 24  # studies on a page
MEDIA = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
STATIC = resources.files(__package__) / "static"

router = APIRouter(include_in_schema=False)
Reader = Annotated[Caller, needs("read")]
Number = Annotated[int, Query(ge=1, le=2**62)]
Given = Annotated[str | None, Query(max_length=10_000)]


@router.get("/")
async def page() -> Response:
    return _file("index.html")


@router.get("/static/{file}")
async def static(file: str) -> Response:
    return _file(file)


def _file(name: str) -> Response:
    """A static file of ours, by a name without folders."""
    known = {each.name: each for each in STATIC.iterdir()}
    if name not in known:
        raise NotFoundError(f"there is no file {name!r:.80}")
    text = known[name].read_text(encoding="utf-8")
    return Response(text, media_type=MEDIA[name.rpartition(".")[2]], headers={"Cache-Control": "no-cache"})


@router.get("/dashboard/studies")
async def studies(
    request: Request, who: Reader, offset: Annotated[int, Query(ge=0, le=10**9)] = 0, contains: Given = None
) -> JSONResponse:
    """A page of the studies that the caller may see."""
    service = service_of(request)
    names = [name for name in await service.studies.names() if who.token.covers(name)]
    found = [name for name in names if contains is None or contains.lower() in name.lower()]
    shown = await asyncio.gather(*(_glance(request, name) for name in found[offset : offset + PAGE]))
    return JSONResponse({"total": len(found), "size": PAGE, "studies": [each for each in shown if each is not None]})


async def _glance(request: Request, name: str) -> views.Json | None:
    try:
        return await _pages(request).document(name, views.glance)
    except NotFoundError:  # it was deleted in the meantime
        return None
    except (DriftwiseError, TimeoutError) as error:  # one study that cannot be read, or is busy, hides no other
        why = service_of(request).settings.scrubbed(str(error) or "it is busy; look again in a moment")
        empty: views.Json = {"name": name, "policy": "", "direction": "", "counts": {"rewards": 0}, "spark": []}
        return empty | {"recommended": None, "why_not": why, "drift": None}


@router.get("/dashboard/studies/{name}/head")
async def head(request: Request, name: StudyName, _: Reader, context: Given = None) -> JSONResponse:
    return await _answer(request, name, views.head, context=_context(context))


@router.get("/dashboard/studies/{name}/rewards")
async def rewards(request: Request, name: StudyName, _: Reader, first: Number = 1) -> JSONResponse:
    return await _answer(request, name, views.rewards, first=first)


@router.get("/dashboard/studies/{name}/moves")
async def moves(request: Request, name: StudyName, _: Reader) -> JSONResponse:
    return await _answer(request, name, views.moves)


@router.get("/dashboard/studies/{name}/changes")
async def changes(request: Request, name: StudyName, _: Reader) -> JSONResponse:
    return await _aside(request, name, views.changes)


@router.get("/dashboard/studies/{name}/belief")
async def belief(request: Request, name: StudyName, _: Reader, context: Given = None) -> JSONResponse:
    return await _answer(request, name, views.belief, context=_context(context))


@router.get("/dashboard/studies/{name}/map")
async def belief_map(
    request: Request, name: StudyName, _: Reader, across: str, up: str, context: Given = None
) -> JSONResponse:
    return await _answer(request, name, maps.belief_map, across=across, up=up, context=_context(context))


@router.get("/dashboard/studies/{name}/forecast")
async def forecast(request: Request, name: StudyName, _: Reader) -> JSONResponse:
    return await _answer(request, name, views.forecast)


@router.get("/dashboard/studies/{name}/over-time")
async def over_time(request: Request, name: StudyName, _: Reader) -> JSONResponse:
    return await _aside(request, name, views.over_time)


@router.get("/dashboard/studies/{name}/log")
async def log(request: Request, name: StudyName, _: Reader, before: Number | None = None) -> JSONResponse:
    return await _answer(request, name, views.log, before=before)


@router.get("/dashboard/studies/{name}/compare")
async def compare(request: Request, name: StudyName, _: Reader, one: str, other: str) -> JSONResponse:
    return await _answer(request, name, spans.compare, one=_span(one), other=_span(other))


async def _answer(request: Request, name: str, view: Callable[..., views.Json], **given: Any) -> JSONResponse:
    return JSONResponse(await _pages(request).document(name, view, **given))


def _pages(request: Request) -> Pages:
    pages: Pages = request.app.state.pages
    return pages


async def _aside(request: Request, name: str, view: Callable[..., views.Json], **given: Any) -> JSONResponse:
    """For what takes seconds, of which other pages should not wait."""
    return JSONResponse(await _pages(request).document(name, view, takes_long=True, **given))


def _context(text: str | None) -> Params | None:
    if text is None:
        return None
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InvalidInput(f"context must be a JSON object of names and values, got {text!r:.80}")
    return given


def _span(text: str) -> tuple[int, int]:
    """A span as 1-40."""
    first, _, last = text.partition("-")
    if not (first.isascii() and first.isdecimal() and last.isascii() and last.isdecimal() and len(text) < 40):
        raise InvalidInput(f"a span is two numbers, for example 1-40, got {text!r:.80}")
    return int(first), int(last)
