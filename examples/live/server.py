"""The system that is tuned: an HTTP server that renders documents, keeps some of them, and compresses every answer.

It has two knobs: `level`, of the compression, and `slots`, the number of rendered documents that are kept. It takes
them as feature flags with OpenFeature's own client (`--flags`), or from a PUT, as the controls of this example do.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

SERVICES = ("basket", "catalogue", "checkout", "invoice", "login", "payment", "profile", "search")
MESSAGES = (
    "accepted after the second attempt",
    "answered by the replica in the other zone",
    "moved to the queue of the night",
    "refused by the bank and tried again",
    "took longer than its limit",
)
LINES, READINGS = 130, 1600  # of a document
POLL = 0.2  # seconds between two looks at the flags


@dataclass(frozen=True)
class Knobs:
    """A setting. The defaults are those of zlib, and of somebody who thought that a small cache will do."""

    level: int = 6
    slots: int = 16


def logs(number: int) -> bytes:
    """A page of log lines. The more effort, the smaller it gets."""
    draw = random.Random(number)
    lines = [
        {
            "time": 1_700_000_000 + 60 * number + i,
            "service": draw.choice(SERVICES),
            "host": f"web-{draw.randrange(40)}",
            "user": draw.randrange(10**6),
            "message": f"the request was {draw.choice(MESSAGES)}",
        }
        for i in range(LINES)
    ]
    return json.dumps(lines).encode()


def readings(number: int) -> bytes:
    """The temperatures of a sensor. They take long to render, and long to compress for little gain."""
    draw = random.Random(number)
    return json.dumps([round(draw.gauss(20, 0.3), 1) for _ in range(READINGS)]).encode()


RENDER = {"logs": logs, "readings": readings}


class Documents:
    """Rendered documents. The least recently used one makes room."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, slots: int) -> bytes:
        with self._lock:
            found = self._kept.pop(name, None)
        if found is None:
            kind, _, number = name.partition("/")
            found = RENDER[kind](int(number))
        with self._lock:
            self._kept[name] = found
            while len(self._kept) > slots:
                self._kept.popitem(last=False)
        return found


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, lane: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.knobs, self.documents, self.lane, self.registry = Knobs(), Documents(), lane, CollectorRegistry()
        lanes = {"labelnames": ["lane"], "registry": self.registry}
        self.requests = Counter("live_requests", "Answers.", **lanes).labels(lane)
        self.cpu = Counter("live_cpu_seconds", "Processor time of answers.", **lanes).labels(lane)
        self.sent = Counter("live_sent_bytes", "Bytes of answers.", **lanes).labels(lane)
        self.shown = {name: Gauge(f"live_{name}", f"The knob {name}.", **lanes).labels(lane) for name in vars(Knobs())}
        self.use(self.knobs)

    def use(self, knobs: Knobs) -> None:
        self.knobs = knobs
        for name, gauge in self.shown.items():
            gauge.set(getattr(knobs, name))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave together
    server: Server

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._answer(generate_latest(self.server.registry))
            return
        began, knobs = time.thread_time(), self.server.knobs
        body = zlib.compress(self.server.documents.get(self.path[1:], knobs.slots), knobs.level)
        self._answer(body, ("Content-Encoding", "deflate"))
        self.server.cpu.inc(time.thread_time() - began)
        self.server.sent.inc(len(body))
        self.server.requests.inc()

    def do_PUT(self) -> None:
        self.server.use(Knobs(**json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        self._answer(b"")

    def _answer(self, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(200)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def follow_flags(server: Server, address: str) -> None:
    """Take the knobs from the service. While it has none, or is away, everything stays as it is."""
    from openfeature import api
    from openfeature.evaluation_context import EvaluationContext

    from driftwise.service.flags.provider import DriftwiseProvider

    api.set_provider(DriftwiseProvider(address))
    client, who = api.get_client(), EvaluationContext(server.lane)
    while True:
        now = vars(server.knobs)
        server.use(Knobs(**{name: client.get_integer_value(f"web.{name}", now[name], who) for name in now}))
        time.sleep(POLL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--lane", required=True, help="the name of this server in the metrics")
    parser.add_argument("--flags", help="the address of `driftwise serve`")
    given = parser.parse_args()
    server = Server(given.port, given.lane)
    if given.flags:
        threading.Thread(target=follow_flags, args=(server, given.flags), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
