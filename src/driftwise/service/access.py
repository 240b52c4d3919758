"""Who calls, and whether they may: `Annotated[Caller, needs("read")]` in the signature of a route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from driftwise import checks
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.service.problems import Refused
from driftwise.service.service import Service, service_of
from driftwise.service.sessions import csrf_of
from driftwise.service.tokens import EVERYTHING, AccessToken

COOKIE = "driftwise"
SECURE_COOKIE = "__Host-driftwise"  # a browser takes it over HTTPS only, from this very host
SAFE = ("GET", "HEAD", "OPTIONS")

SCHEMES = {  # for OpenAPI: a request has one of these
    "HTTPBearer": {"type": "http", "scheme": "bearer", "description": "A token of `driftwise token create`."},
    "APIKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same token."},
}


@dataclass(frozen=True)
class Caller:
    """Who calls: a token, and from where."""

    token: AccessToken
    address: str
    cookie: str | None = None  # of a session

    @property
    def id(self) -> str:
        """By which requests are counted and changes are written down."""
        return self.token.id or self.address

    def check(self, scope: str, study: str | None = None) -> None:
        """Refuse what the token does not allow. A study that it is not for does not exist, as far as it can tell."""
        if study is not None and not self.token.covers(study):
            raise NotFoundError(f"there is no study {study!r:.80}; create it first, or give another name")
        if not self.token.may(scope):
            held = ", ".join(self.token.scopes)
            raise Refused(403, f"this needs a token with the scope {scope}, got one with {held}; use another token")


def secret_of(request: Request) -> str | None:
    """The text of the token that a request brings along."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip()
    return request.headers.get("x-api-key")


def cookie_of(request: Request) -> str | None:
    return request.cookies.get(SECURE_COOKIE if request.scope["scheme"] == "https" else COOKIE)


async def caller(request: Request) -> Caller:
    """Who calls. Without a token that holds the request is refused, unless the store has no tokens at all."""
    service = service_of(request)
    address = request.client.host if request.client else ""
    text = secret_of(request)
    if text is not None:
        token = await _find(service, text)
        if token is None:
            await service.limits.take(f"unknown {address}")  # whoever tries tokens is slowed down
            raise _no_token("the token is unknown, expired or revoked; use another one")
        return Caller(token, address)
    cookie = cookie_of(request)
    if cookie is not None:
        token = await service.studies.run(lambda: service.sessions.find(cookie))
        if token is not None:
            _check_origin(request, cookie)
            return Caller(token, address, cookie)
    if await needs_token(service):
        raise _no_token("this needs a token; send it as `Authorization: Bearer TOKEN`")
    _check_page(request)
    return Caller(EVERYTHING, address)


async def still_may(service: Service, who: Caller) -> bool:
    """Whether the token of one who has been here for long still holds."""
    id = who.token.id
    return not id or await service.studies.run(lambda: service.tokens.by_id(id)) is not None


async def needs_token(service: Service) -> bool:
    """Whether whoever calls must bring a token along."""
    if not service.settings.is_local:
        return True
    known = service.tokens.known_any()
    return await service.studies.run(service.tokens.any) if known is None else known


async def _find(service: Service, text: str) -> AccessToken | None:
    if service.tokens.is_fresh(text):
        return service.tokens.find(text)
    return await service.studies.run(lambda: (service.tokens.any(), service.tokens.find(text))[1])


def _no_token(why: str) -> Refused:
    return Refused(401, why, WWW_Authenticate='Bearer realm="driftwise"')


def _check_origin(request: Request, cookie: str) -> None:
    """A browser sends cookies by itself. So a change needs what only a page of ours can know."""
    if request.method in SAFE:
        return
    _check_page(request)
    if request.headers.get("x-csrf-token") != csrf_of(cookie):
        raise Refused(403, "a change with a cookie needs the header X-CSRF-Token; GET /v1/session has its value")


def _check_page(request: Request) -> None:
    """Refuse what a page of another site sends."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    if site not in ("same-origin", "none") or (origin and urlsplit(origin).netloc != request.headers.get("host")):
        raise Refused(403, "a page of another site may not use this service; call it from a program with a token")


def plain(text: str) -> str:
    """What a part of a path says. `headers.as_segments` has escaped its slashes."""
    return text.replace("%2F", "/").replace("%25", "%")


def unescaped(name: str) -> str:
    """The study that a segment of a path names."""
    try:
        return checks.name("a study's name", plain(name))
    except InvalidInput as error:
        raise NotFoundError(f"there is no such study: {error}") from None


StudyName = Annotated[
    str, Path(description="The name of a study.", min_length=1, max_length=800), AfterValidator(unescaped)
]


async def allowed(request: Request, scope: str) -> Caller:
    """The caller, who has this scope; for the study of the path, where the path has one."""
    who = await caller(request)
    name = request.path_params.get("name")
    who.check(scope, None if name is None else unescaped(name))
    await service_of(request).limits.take(who.id)
    return who


def needs(scope: str) -> Any:
    """`allowed` as a dependency."""

    async def checked(request: Request) -> Caller:
        return await allowed(request, scope)

    return Depends(checked)
