"""To listen: uvicorn with time-outs, TLS and a graceful stop; never open to the network without a token."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn

from driftwise.errors import InvalidInput
from driftwise.service import logs
from driftwise.service.app import create_app
from driftwise.service.impatient import Impatient
from driftwise.service.service import Service
from driftwise.service.settings import ServiceSettings

BACKLOG = 2048
SWITCH_SECONDS = 0.0002  # for which a thread that computes may keep the event loop waiting; Python's own is 0.005


def serve(settings: ServiceSettings, *, level: str = "info", begins: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal stops it. `begins` is called once nothing speaks against it any more."""
    logs.set_up(level)
    sys.setswitchinterval(SWITCH_SECONDS)
    server = server_of(settings)
    begins()
    server.run()


def server_of(settings: ServiceSettings, **options: Any) -> uvicorn.Server:
    """The server, which is not listening yet."""
    app = create_app(settings)
    check_open(settings, app.state.service)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.certificate_key,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies or None,
        timeout_graceful_shutdown=int(settings.grace_seconds),
        timeout_keep_alive=max(int(settings.idle_seconds), 1),
        http=Impatient,
        ws="none",
        server_header=False,
        log_config=None,
        access_log=False,
        backlog=BACKLOG,
        **options,
    )
    return Stopping(config, app.state.service)


class Stopping(uvicorn.Server):
    """Ends the streams of events when it is told to stop: it would otherwise wait for them until its time is over."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.studies.finish()
        await super().shutdown(sockets)


def check_open(settings: ServiceSettings, service: Service) -> None:
    """Refuse to be reachable for others while everybody may do everything."""
    if not settings.is_local and not service.tokens.any():
        raise InvalidInput(
            f"without a token the host must be this machine, got {settings.host!r}; make one first: "
            "driftwise token create NAME --scope admin"
        )
