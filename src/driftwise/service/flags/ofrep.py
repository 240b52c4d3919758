"""The OpenFeature Remote Evaluation Protocol, version 1: parameters of studies as flags named STUDY.PARAMETER."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response

from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError
from driftwise.service.access import Caller, needs, plain
from driftwise.service.flags.assigned import Assignment, Flagged, assigned, flagged
from driftwise.service.service import Service, service_of

LONGEST = 1000  # characters of a targeting key

router = APIRouter(prefix="/ofrep/v1/evaluate/flags", include_in_schema=False)  # OFREP has a schema of its own
Asks = Annotated[Caller, needs("ask")]


@dataclass(frozen=True)
class Unevaluated(Exception):
    """A flag that has no value: the status of the answer, and an error code of OpenFeature."""

    status: int
    code: str
    details: str


@router.post("/{key:path}")
async def evaluate_flag(request: Request, key: str, who: Asks) -> Response:
    """The value of one flag."""
    service, key = service_of(request), plain(key)
    try:
        targeting_key, context = await _context(request)
        study = _study_of(key, await _plans(service, who))
        found = await _assigned(service, study, targeting_key, context)
        parameter = key[len(study.name) + 1 :]
        if parameter not in found.params:
            raise Unevaluated(404, "FLAG_NOT_FOUND", f"study {study.name!r:.80} has no parameter {parameter!r:.80}")
        return _json(200, flag(found, parameter))
    except Unevaluated as error:
        return _json(error.status, {"key": key, "errorCode": error.code, "errorDetails": error.details})


@router.post("")
async def evaluate_flags(request: Request, who: Asks) -> Response:
    """The values of all flags, with an ETag: as long as nothing changed, the answer is 304 without a body."""
    service = service_of(request)
    try:
        targeting_key, context = await _context(request)
    except Unevaluated as error:
        return _json(error.status, {"errorCode": error.code, "errorDetails": error.details})
    flags: list[dict[str, Any]] = []
    for name, study in sorted((await _plans(service, who)).items()):
        try:
            found = await _assigned(service, study, targeting_key, context)
            flags += [flag(found, parameter) for parameter in found.params]
        except Unevaluated as error:  # one study that cannot answer hides no other
            if error.status != 404:
                flags.append({"key": f"{name}.", "errorCode": error.code, "errorDetails": error.details})
    body = json.dumps({"flags": flags}, ensure_ascii=False).encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if tag in [each.strip() for each in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, media_type="application/json", headers={"ETag": tag})


def flag(found: Assignment, parameter: str) -> dict[str, Any]:
    """A parameter as OFREP writes the value of a flag."""
    value = found.params[parameter]
    simple = value if isinstance(value, bool | int | float | str) else str(value)
    metadata: dict[str, Any] = {"study": found.study, "explores": found.explores}
    if found.suggestion is not None:
        metadata["suggestion"] = found.suggestion
    return {
        "key": f"{found.study}.{parameter}",
        "value": simple,
        "reason": "SPLIT" if found.explores else "TARGETING_MATCH",
        "variant": found.suggestion or "recommended",
        "metadata": metadata,
    }


async def _plans(service: Service, who: Caller) -> dict[str, Flagged]:
    plans = await service.read(flagged)
    return {name: study for name, study in plans.items() if who.token.covers(name)}


def _study_of(key: str, plans: Mapping[str, Flagged]) -> Flagged:
    """The study of a flag: the one with the longest name, as names may have a dot."""
    found = [name for name in plans if key.startswith(f"{name}.")]
    if not found:
        raise Unevaluated(404, "FLAG_NOT_FOUND", f"no study has the flag {key!r:.80}")
    return plans[max(found, key=len)]


async def _assigned(service: Service, study: Flagged, targeting_key: str, context: Mapping[str, Any]) -> Assignment:
    try:
        return await assigned(service, study, targeting_key, context)
    except NotFoundError as error:  # it was deleted or renamed in the meantime
        raise Unevaluated(404, "FLAG_NOT_FOUND", str(error)) from None
    except InvalidInput as error:
        raise Unevaluated(400, "INVALID_CONTEXT", str(error)) from None
    except DriftwiseError as error:
        raise Unevaluated(500, "GENERAL", service.settings.scrubbed(str(error))) from None


async def _context(request: Request) -> tuple[str, dict[str, Any]]:
    """The targeting key, and the evaluation context that it is part of."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Unevaluated(400, "PARSE_ERROR", "the body must be JSON") from None
    context = body.get("context") if isinstance(body, dict) else None
    if not isinstance(context, dict):
        raise Unevaluated(400, "INVALID_CONTEXT", "the body must have a context, which is an object")
    key = context.get("targetingKey")
    if key is None or key == "":
        raise Unevaluated(400, "TARGETING_KEY_MISSING", "the context must have a targetingKey")
    if not isinstance(key, str) or len(key) > LONGEST:
        raise Unevaluated(400, "INVALID_CONTEXT", f"targetingKey must be a text of at most {LONGEST} characters")
    return key, context


def _json(status: int, content: dict[str, Any]) -> Response:
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status, media_type="application/json")
