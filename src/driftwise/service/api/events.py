"""Changes as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from driftwise.service.access import Caller, needs, still_may
from driftwise.service.problems import Refused, answers
from driftwise.service.service import Service, service_of
from driftwise.service.tokens import FRESH
from driftwise.service.wire import as_json

HEARTBEAT = 15.0  # seconds after which a line is sent though nothing happened, so that a broken connection is noticed

router = APIRouter(tags=["events"])
STREAM: dict[str, Any] = {
    "description": "Server-sent events `change`: a study's name and its counts, null if it is gone.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


@router.get("/events", response_class=StreamingResponse, responses={**answers(404), 200: STREAM})
async def follow(
    request: Request,
    who: Annotated[Caller, needs("read")],
    study: Annotated[str | None, Query(max_length=200, description="Only this one.")] = None,
) -> StreamingResponse:
    """The changes from now on, of one study or of all that the token is for."""
    service = service_of(request)
    if study is not None:
        who.check("read", study)
    if not service.streams.enter(who.id):
        most = service.settings.streams
        raise Refused(503, f"the service has {most} streams at most, and a tenth for one caller; try again later")
    return StreamingResponse(_stream(service, who, study), media_type="text/event-stream")


async def _stream(service: Service, who: Caller, study: str | None) -> AsyncIterator[bytes]:
    silent = 0
    try:
        yield b": these are the changes from now on\n\n"
        async for event in service.studies.events(study, pause=FRESH):
            if not await still_may(service, who):
                return
            silent = silent + 1 if event is None else 0
            if event is not None and (who.token.covers(event.study) or not event.study):
                data = json.dumps({"study": event.study, "counts": as_json(event.counts)})
                yield f"event: change\ndata: {data}\n\n".encode()
            elif silent * FRESH >= HEARTBEAT:
                silent = 0
                yield b": nothing happened\n\n"
    finally:
        service.streams.leave(who.id)
