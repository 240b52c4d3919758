"""A service on this machine, for tests: a real server on a free port, in a thread."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driftwise import Study


def wait(until: Callable[[], Any], seconds: float = 60.0) -> None:
    """Returns as soon as it is so; that it never is would take a minute to say."""
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


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


class Elsewhere:
    """Stands in for `Study`: a study in a file, or in memory, is one behind a service that serves such a file."""

    def __init__(self, serve: Callable[..., str], folder: Path) -> None:
        self._serve, self._folder, self._addresses = serve, folder, dict[Any, str]()

    def __call__(self, *args: Any, path: Any = None, **options: Any) -> Study:
        Study(*args, **options)  # what is refused starts no service
        return Study(*args, path=self.at(path), **options)

    def open(self, name: str, *, path: Any) -> Study:
        if path is None or not (str(path).startswith("http") or Path(path).exists()):
            return Study.open(name, path=path)
        return Study.open(name, path=self.at(path))

    def names(self, path: Any) -> list[str]:
        return Study.names(self.at(path))

    def at(self, path: Any) -> str:
        """The address of the service for a file, which is started when it is first needed; for None a new one."""
        if str(path).startswith("http"):
            return str(path)
        if path is None:
            path = self._folder / f"memory-{len(self._addresses)}.db"
        if path not in self._addresses:
            self._addresses[path] = self._serve(path)
        return self._addresses[path]


@pytest.fixture(params=["here", "service"])
def everywhere(request: pytest.FixtureRequest, served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test twice: with studies as it makes them, and with the same studies behind a service."""
    if request.param == "service":
        if request.node.get_closest_marker("local"):
            pytest.skip("it is about studies in memory or in a file alone")
        monkeypatch.setattr("driftwise.log.sqlite.SYNCHRONOUS", "OFF")  # these tests pull no plug
        folder = tmp_path / "served"
        folder.mkdir()
        monkeypatch.setattr(request.module, "Study", Elsewhere(served, folder))
    return request.param
