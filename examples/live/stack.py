"""Everything that runs: three servers, their load, Prometheus and driftwise. It is started here, and stopped here."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

HERE = Path(__file__).parent
LANES = ("tuned", "defaults", "fixed")
SCRAPE = "150ms"
PATIENCE = 60.0  # seconds for a process to answer, on a busy machine


@dataclass(frozen=True)
class Stack:
    """The addresses of what runs."""

    driftwise: str
    prometheus: str
    load: str
    servers: dict[str, str]  # by lane

    def play(self, lane: str, kind: str) -> None:
        httpx.post(self.load, json={"lane": lane, "kind": kind}).raise_for_status()

    def query(self, query: str, **params: Any) -> list[dict[str, Any]]:
        """The series of a PromQL query; over a time, if it has a `start`, an `end` and a `step`."""
        path = "query_range" if "step" in params else "query"
        answer = httpx.get(f"{self.prometheus}/api/v1/{path}", params={"query": query, **params}, timeout=30)
        return answer.raise_for_status().json()["data"]["result"]


@contextlib.contextmanager
def started(seconds: float) -> Iterator[Stack]:
    """Start everything in a folder of its own. However the block ends, all of it is stopped and removed."""
    program = shutil.which("prometheus")
    if program is None:
        raise SystemExit("prometheus must be on the PATH, and is not; on Debian: apt-get install prometheus")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="driftwise-live-")))
        ports = dict(zip((*LANES, "load", "prometheus", "driftwise"), free_ports(6), strict=True))
        at = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
        running: list[subprocess.Popen[bytes]] = []
        stack.callback(stop, running)

        def start(*command: object) -> None:
            # in a session of their own, so that Ctrl-C reaches this process alone, which then stops them in order
            with (folder / "log").open("ab") as log:
                process = subprocess.Popen(
                    [str(word) for word in command], stdout=log, stderr=log, start_new_session=True
                )
            running.append(process)

        driftwise = Path(sys.executable).with_name("driftwise")
        start(driftwise, "serve", "--path", folder / "live.db", "--port", ports["driftwise"], "--log-level", "warning")
        for lane in LANES:
            flags = ("--flags", at["driftwise"]) if lane == "tuned" else ()
            start(sys.executable, HERE / "server.py", "--port", ports[lane], "--lane", lane, *flags)
        targets = ", ".join(f"'127.0.0.1:{ports[name]}'" for name in (*LANES, "load"))
        config = folder / "prometheus.yml"
        config.write_text(
            f"global: {{scrape_interval: {SCRAPE}, scrape_timeout: {SCRAPE}}}\n"
            "scrape_configs:\n"
            f"- {{job_name: live, static_configs: [{{targets: [{targets}]}}]}}\n"
            "- job_name: driftwise\n  scrape_interval: 2s\n"
            f"  static_configs: [{{targets: ['127.0.0.1:{ports['driftwise']}']}}]\n"
        )
        start(
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{ports['prometheus']}",
            "--log.level=error",
        )
        for name, path in (
            *((lane, "metrics") for lane in LANES),
            ("prometheus", "-/ready"),
            ("driftwise", "v1/studies"),
        ):
            answers(f"{at[name]}/{path}", folder)
        servers = [f"{lane}={ports[lane]}" for lane in LANES]
        start(sys.executable, HERE / "load.py", "--port", ports["load"], "--seconds", seconds, *servers)
        answers(at["load"], folder)
        yield Stack(at["driftwise"], at["prometheus"], at["load"], {lane: at[lane] for lane in LANES})


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on. They are held until all are found, so that they differ."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in found]


def answers(address: str, folder: Path) -> None:
    """Wait until there is an answer."""

    def answered() -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(address).status_code == 200
        return False

    wait(answered, lambda: f"{address} does not answer: {(folder / 'log').read_text()[-2000:]}")


def wait(until: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        if time.monotonic() > deadline:
            raise SystemExit(otherwise())
        time.sleep(0.1)


def stop(running: list[subprocess.Popen[bytes]]) -> None:
    """End processes: politely, and by force where that does not help."""
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
