"""A service on this machine, for tests: a real server on a free port, in a thread."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@contextlib.contextmanager
def serving(store: Path | str, **settings: Any) -> Iterator[str]:
    """The address of a service that serves this store."""
    pytest.importorskip("fastapi", reason="driftwise[serve] is not installed")
    pytest.importorskip("uvicorn", reason="driftwise[serve] is not installed")
    pytest.importorskip("httpx", reason="driftwise[serve] is not installed")
    from driftwise.service import run
    from driftwise.service.settings import ServiceSettings

    defaults = {"grace_seconds": 5.0, "poll_seconds": 0.05, "requests_per_second": 1e6, "burst": 10**6}
    server = run.server_of(ServiceSettings(store=str(store), **(defaults | settings)))
    began, startup = threading.Event(), server.startup

    async def noting(sockets: Any = None) -> None:
        await startup(sockets)
        began.set()

    server.startup = noting
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as found:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        thread.start()
        assert began.wait(60), "the service does not start"
        try:
            yield f"http://127.0.0.1:{found.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """Starts a service for a store, which stops after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda store, **settings: stack.enter_context(serving(store, **settings))
