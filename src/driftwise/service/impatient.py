"""Uvicorn's protocol with bounds that it lacks: a request's head must arrive in time, and must not be endless."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64_000
KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # a peer that vanished is noticed in a minute


class Impatient(HttpToolsProtocol):
    """Closes a connection on which a request begins and does not go on, or on which none ever begins."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        notice_loss(transport.get_extra_info("socket"))
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_is_there()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        if self._deadline is not None:
            self._head += len(data)
        super().data_received(data)
        if self._deadline is not None and self._head > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def _await_head(self) -> None:
        if self._deadline is None:
            self._head = 0
            self._deadline = self.loop.call_later(self.config.timeout_keep_alive, self._give_up)

    def _head_is_there(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()


def notice_loss(connection: socket.socket | None) -> None:
    """Have the system ask, now and then, whether the other side is still there."""
    if connection is None:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
