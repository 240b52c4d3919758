"""The log of a study as a stream of JSON lines, out and in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from operator import methodcaller
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from driftwise.errors import InvalidInput
from driftwise.log import Loaded
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.api import strict
from driftwise.service.limits import allow
from driftwise.service.problems import Refused, answers
from driftwise.service.service import Service, service_of
from driftwise.service.studies import Work
from driftwise.service.wire import as_json
from driftwise.study import Reading, Study
from driftwise.study.readings import BATCH

MEDIA = "application/x-ndjson"
PAGE = 500  # lines that are made at a time
MOST = 100_000  # observations that are read at once

router = APIRouter(prefix="/studies/{name}", tags=["the log"])
LINES: dict[str, Any] = {
    "description": "JSON lines, one observation each.",
    "content": {MEDIA: {"schema": {"type": "string"}}},
}


@router.get("/observations", response_class=StreamingResponse, responses={**answers(404), 200: LINES})
async def export_log(
    request: Request,
    name: StudyName,
    who: Annotated[Caller, needs("read")],
    latest: Annotated[int | None, Query(ge=1, le=MOST, description="Only back to the so-many-th last reward.")] = None,
    after: Annotated[int | None, Query(ge=0, le=2**53, description="Only `count` with a number above this.")] = None,
    count: Annotated[int, Query(ge=1, le=MOST)] = 1000,
    sample: Annotated[int | None, Query(ge=1, le=MOST, description="Only so many, evenly spaced.")] = None,
    first: Annotated[int, Query(ge=1, le=2**53, description="Where a sample begins.")] = 1,
    last: Annotated[int | None, Query(ge=0, le=2**53, description="Where it ends.")] = None,
) -> StreamingResponse:
    """The observations as they hold now, in the order of their numbers. `POST` takes the same lines.

    Without further words it is the whole log, read page by page while it is sent.
    """
    if (latest is not None) + (after is not None) + (sample is not None) > 1:
        raise InvalidInput("give one of latest, after and sample, got several; leave the others out")
    service = service_of(request)
    if sample is not None:
        work: Work[Iterable[Reading]] = methodcaller("sampled", sample, first=first, last=last)
    elif after is not None:
        work = methodcaller("page", after, count)
    elif latest is not None:
        work = methodcaller("latest", latest)
    else:
        work = _whole
    found = await service.studies.log(name, work)
    return StreamingResponse(_lines(service, iter(found)), media_type=MEDIA)


def _whole(study: Study) -> Iterator[Reading]:
    study.describe()  # a study that is gone is noticed before the answer begins
    return study.observations()


async def _lines(service: Service, readings: Iterator[Reading]) -> AsyncIterator[bytes]:
    def page() -> bytes:
        return b"".join(json.dumps(as_json(seen)).encode() + b"\n" for seen in islice(readings, PAGE))

    while text := await service.studies.run(page):
        yield text


@router.post(
    "/observations",
    responses=answers(404, 409),
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA: {"schema": {"type": "string"}}}}},
)
async def import_log(
    request: Request,
    name: StudyName,
    who: Annotated[Caller, needs("admin")],
    first: Annotated[int, Query(ge=1, le=2**53, description="The number of the first row, for errors.")] = 1,
) -> Loaded:
    """Add many observations: a JSON object in each line, with `params` and `reward`, and as you like `key` and more.

    Rows are stored 5,000 at a time, each group as a whole. A row with a `key` is stored once, however often it is sent.
    """
    service = service_of(request)
    allow(request, service.settings.import_bytes)
    new = known = 0
    rows: list[Any] = []
    number = first - 1
    try:
        async for line in _lines_of(request, service.settings.line_bytes):
            number += 1
            rows.append(_row(number, line))
            if len(rows) == BATCH:
                new, known = await _load(service, name, rows, number, new, known)
                rows = []
        new, known = await _load(service, name, rows, number, new, known)
    finally:
        if new:
            await service.audit.write(who.id, "import", name, str(new))
    return Loaded(new, known)


async def _load(service: Service, name: str, rows: list[Any], number: int, new: int, known: int) -> tuple[int, int]:
    loaded: Loaded = await service.studies.call(name, methodcaller("load_batch", rows, first=number - len(rows) + 1))
    return new + loaded.new, known + loaded.known


async def _lines_of(request: Request, most: int) -> AsyncIterator[bytes]:
    """The lines of a body as it arrives. Empty ones are left out."""
    left = b""
    async for part in request.stream():
        *lines, left = (left + part).split(b"\n")
        for line in (*lines, *([left] if len(left) > most else [])):
            if len(line) > most:
                raise Refused(413, f"a line may have {most:,} bytes, got {len(line):,}; send shorter rows")
        for line in lines:
            if line.strip():
                yield line
    if left.strip():
        yield left


def _row(number: int, line: bytes) -> dict[str, Any]:
    try:
        row = strict.read(line)
    except (ValueError, RecursionError):
        raise InvalidInput(f"row {number} must be a JSON object, got {line[:60].decode(errors='replace')!r}") from None
    if isinstance(row, dict):
        for part in ("number", "x"):  # as `GET` wrote them; a row gets a number of its own
            row.pop(part, None)
    return row
