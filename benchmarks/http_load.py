"""A client that costs little: many connections on one event loop, each with one request at a time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any


class Wire:
    """One connection. It reads answers that say their length, as all of ours but streams do."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Wire:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the answer."""
        text = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(text)}\r\n"
        self.writer.write(head.encode() + b"content-type: application/json\r\n\r\n" + text)
        status, length = await self.head()
        data = await self.reader.readexactly(length)
        return status, json.loads(data) if data else None

    async def head(self) -> tuple[int, int]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)
        return int(lines[0].split()[1]), length

    def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def service(store: str, *words: str) -> AsyncIterator[tuple[int, int]]:
    """A `driftwise serve` of its own process: its port and its process id."""
    port = free_port()
    command = [sys.executable, "-c", "from driftwise.cli import main; main()", "serve", "--path", store]
    quiet = ["--port", str(port), "--log-level", "warning", "--requests-per-second", "1e6"]
    process = subprocess.Popen([*command, *quiet, *words], stdout=subprocess.DEVNULL)
    try:
        await ready(port)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


async def ready(port: int) -> None:
    for _ in range(600):
        try:
            wire = await Wire.to(port)
            status, _ = await wire.call("GET", "/readyz")
            wire.close()
            if status == 200:
                return
        except OSError:
            pass
        await asyncio.sleep(0.1)
    raise SystemExit("the service did not start")


async def timed(calls: Callable[[], Awaitable[tuple[int, Any]]], seconds: list[float], errors: list[Any]) -> Any:
    began = time.perf_counter()
    status, answer = await calls()
    seconds.append(time.perf_counter() - began)
    if status >= 300:
        errors.append(answer)
    return answer


def cpu_seconds(pid: int) -> float:
    """What the threads of a process have used; to the nanosecond, where `stat` counts ticks."""
    used = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            used += int(file.read().split()[0])
    return used / 1e9


def memory_mb(pid: int) -> float:
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
