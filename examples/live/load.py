"""The load: a client for each server, which asks for documents at random times and measures how long that takes.

A client plays one kind of load at a time, which a POST of `{"lane": "tuned", "kind": "night"}` chooses. It stops by
itself after `--seconds` or `--most` requests, whichever comes first.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry, Counter, generate_latest

RATE = 120.0  # requests a second, to each server
LATE = 0.5  # seconds of delay after which a client gives up what it should have sent


def popular(kind: str, documents: int) -> Callable[[random.Random], Iterator[str]]:
    """Readers, who want one of some documents."""
    return lambda draw: (f"/{kind}/{draw.randrange(documents)}" for _ in itertools.count())


def crawl(kind: str) -> Callable[[random.Random], Iterator[str]]:
    """An export, which wants every document once."""
    return lambda draw: (f"/{kind}/{number}" for number in itertools.count(draw.randrange(10**6) * 1000))


KINDS = {
    "day": popular("logs", 8),  # people read the newest logs
    "night": crawl("readings"),  # all sensors are exported
    "new": popular("readings", 24),  # after a release people look at sensors
}


class Client:
    """Sends requests to one server."""

    def __init__(self, lane: str, port: int, counters: dict[str, Counter]) -> None:
        self._port, self._draw = port, random.Random(0)  # the same requests for all
        self._seconds, self._count = (counters[name].labels(lane) for name in ("seconds", "count"))
        self.play("day")

    def play(self, kind: str) -> None:
        self._paths = KINDS[kind](self._draw)

    def run(self, seconds: float, most: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        began = due = time.monotonic()
        for _ in range(most):
            due = max(due + self._draw.expovariate(RATE), time.monotonic() - LATE)
            if due - began > seconds:
                break
            time.sleep(max(due - time.monotonic(), 0))
            sent = time.monotonic()
            line.request("GET", next(self._paths))
            answer = line.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            self._seconds.inc(time.monotonic() - sent)
            self._count.inc()
        line.close()


def control(port: int, clients: dict[str, Client], registry: CollectorRegistry) -> ThreadingHTTPServer:
    """Where the kind of load is chosen, and where Prometheus finds what the clients measured."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(generate_latest(registry))

        def do_POST(self) -> None:
            wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            clients[wanted["lane"]].play(wanted["kind"])
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--most", type=int, default=30_000, help="requests to each server")
    parser.add_argument("servers", nargs="+", metavar="LANE=PORT")
    given = parser.parse_args()
    registry = CollectorRegistry()
    counters = {
        "seconds": Counter("live_latency_seconds", "Time until an answer was read.", ["lane"], registry=registry),
        "count": Counter("live_answers", "Answers that were read.", ["lane"], registry=registry),
    }
    servers = dict(word.split("=") for word in given.servers)
    clients = {lane: Client(lane, int(port), counters) for lane, port in servers.items()}
    listener = control(given.port, clients, registry)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    running = [threading.Thread(target=one.run, args=(given.seconds, given.most)) for one in clients.values()]
    for each in running:
        each.start()
    for each in running:
        each.join()
    listener.shutdown()


if __name__ == "__main__":
    main()
