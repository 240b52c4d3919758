"""Around an app: names in paths, the host, and the headers that every answer has."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from driftwise.service.limits import App, Message, Receive, Send
from driftwise.service.problems import problem
from driftwise.service.settings import ServiceSettings, is_loopback

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
SAFE_HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
NO_STORE = (b"cache-control", b"no-store")
HSTS = (b"strict-transport-security", b"max-age=31536000")


class Headers:
    """Adds what keeps a browser strict, and refuses a request that was meant for another host.

    Without tokens the service trusts whoever reaches it. Then the host must be this machine, because a page on the
    internet may have its own name resolve to 127.0.0.1 (DNS rebinding), and because a proxy would open it to others.
    """

    def __init__(self, app: App, settings: ServiceSettings, needs_token: Any) -> None:
        self._app, self._settings, self._needs_token = app, settings, needs_token

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                added = [*SAFE_HEADERS, *([] if b"cache-control" in given else [NO_STORE])]
                added += [HSTS] if scope["scheme"] == "https" else []
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in given)]
            await send(message)

        host = host_of(scope)
        if [name for name, _ in scope["headers"]].count(b"host") > 1:
            return await problem(400, "a request has one header Host, got several; send one")(scope, receive, strict)
        if not self._is_ours(host) and not await self._needs_token():
            refused = problem(421, f"without tokens the host must be this machine, got {host!r:.80}; make a token")
            return await refused(scope, receive, strict)
        scope["path"] = as_segments(scope)
        return await self._app(scope, receive, strict)

    def _is_ours(self, host: str) -> bool:
        return is_loopback(host) or host in self._settings.hosts


def host_of(scope: Any) -> str:
    """The host that a request names, without its port.

    >>> host_of({"headers": [(b"host", b"[::1]:8321")]}), host_of({"headers": [(b"host", b"localhost:80")]})
    ('::1', 'localhost')
    """
    host: str = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def as_segments(scope: Any) -> str:
    """The path with a slash inside of a name written as %2F, so that it separates nothing.

    >>> as_segments({"path": "/v1/studies/a/b/ask", "raw_path": b"/v1/studies/a%2Fb/ask"})
    '/v1/studies/a%2Fb/ask'
    """
    raw: bytes | None = scope.get("raw_path")
    if not raw or b"%" not in raw:
        return str(scope["path"])
    parts = raw.partition(b"?")[0].decode("latin-1").split("/")
    return "/".join(unquote(part).replace("%", "%25").replace("/", "%2F") for part in parts)
