"""Kill −9 in turn, under load: `python -m tests.service.kills KILLS SEED [SETTING=VALUE ...]`. Prints figures as JSON.

A service runs in a process of its own, and clients in others ask and tell through it as fast as they can. Each writes
down what has returned. In turn a client and the service are killed at a random moment and started again. If settings of
a PostgreSQL are given, for example fsync=on, the store is on one, which is killed as well. Whoever lives goes on by
itself: nothing else is killed before every client has got a further answer. At the end, or after a SIGTERM, the store
must hold all that was acknowledged, once, and its next question must be that of a fold over its whole log.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.servers import Server, programs

from driftwise import RBF, Candidates, Study
from driftwise.policies import replay
from driftwise.records import Ask

SPACE = Candidates([[i / 10] for i in range(11)], names=["x"])
CLIENTS = int(os.environ.get("DRIFTWISE_KILLS_CLIENTS", 4))
HARMS = ("lost", "doubled", "gaps", "changed questions")
RESTART = 900.0  # seconds that a client waits for a service that is started again, on a busy machine, too


def make(path: str, name: str) -> Study:
    return Study(name, SPACE, policy="sw-gp-ucb", path=path, window=8, kernel=RBF(0.3), timeout=RESTART)


def reward(number: int) -> float:
    return (number * 37 % 101) / 7


def write(url: str, name: str) -> None:
    """A client: what it says on standard output has been answered."""
    study = make(url, name)
    while True:
        s = study.ask()
        print(json.dumps(["ask", s.id, s.number]), flush=True)
        study.tell(s, reward(s.number))
        print(json.dumps(["tell", s.id, s.number]), flush=True)


def free_port() -> int:
    """A port that nobody is given by chance while the service is down: the system gives those from 32768 on."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Processes:
    """The server, the service and its clients, each of which may be killed and started again."""

    def __init__(self, folder: Path, server: Server | None) -> None:
        self.port = free_port()
        self.folder, self.server = folder, server
        self.store = str(folder / "a.db") if server is None else server.url()
        self.url = f"http://127.0.0.1:{self.port}"
        self.service = self.serve()
        self.outputs: list[tuple[str, Path]] = []  # of a study
        self.output: dict[str, Path] = {}  # of each client that lives
        self.clients = {f"s{i // 2}-{i}": self.client(f"s{i // 2}-{i}") for i in range(CLIENTS)}

    def serve(self) -> subprocess.Popen[bytes]:
        code = "from driftwise.cli import main; main()"
        words = ["serve", "--path", self.store, "--port", str(self.port), "--log-level", "error"]
        return subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL)

    def client(self, label: str) -> subprocess.Popen[bytes]:
        """Two clients share each study."""
        output = self.output[label] = self.folder / f"{label}-{len(self.outputs)}.jsonl"
        self.outputs.append((label.partition("-")[0], output))
        words = [sys.executable, "-m", "tests.service.kills", "write", self.url, label.partition("-")[0]]
        with output.open("wb") as file:
            return subprocess.Popen(words, stdout=file)

    @property
    def kinds(self) -> list[str]:
        return ["client", "service"] + ["PostgreSQL"] * (self.server is not None)

    def kill(self, what: str, draw: random.Random) -> None:
        if what == "service":
            self.service.kill()
            self.service.wait()
            self.service = self.serve()
        elif what == "client":
            label = draw.choice(sorted(self.clients))
            self.clients[label].kill()
            self.clients[label].wait()
            self.clients[label] = self.client(label)
        else:
            assert self.server is not None
            self.server.kill()
            self.server.start()

    def go_on(self) -> None:
        """Wait until each client has got an answer to a call that it began from now on."""
        goal = {output: lines(output) + 2 for output in self.output.values()}
        while any(lines(output) < least for output, least in goal.items()):
            assert all(client.poll() is None for client in self.clients.values()), "a client ended by itself"
            time.sleep(0.02)

    def acknowledged(self) -> dict[str, list[list]]:
        found: dict[str, list[list]] = {}
        for study, output in self.outputs:
            lines = [json.loads(line) for line in output.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
            found.setdefault(study, []).extend(lines)
        return found

    def end(self) -> None:
        for client in self.clients.values():
            client.kill()
            client.wait()
        self.service.send_signal(signal.SIGTERM)
        self.service.wait()


def lines(output: Path) -> int:
    return output.read_bytes().count(b"\n")


def compare(store: str, name: str, said: list[list], figures: dict[str, int]) -> None:
    study = Study.open(name, path=store)
    log, counts = list(study.observations()), study.describe().counts
    stored = {seen.number: seen.reward for seen in log}
    told = {number for what, _, number in said if what == "tell"}
    figures["acknowledged"] += len(said)
    figures["lost"] += sum(stored.get(number) != reward(number) for number in told)
    figures["doubled"] += len(log) - len(stored)
    ids = {number: id for what, id, number in said if what == "ask"}
    figures["doubled"] += len({id for what, id, _ in said if what == "ask"}) - len(ids)
    figures["lost"] += sum(number > counts.last for number in ids)
    figures["gaps"] += counts.asked + counts.unasked != counts.last
    pending = tuple(s.x for s in study.pending())
    ask = Ask(counts.last + 1, float(counts.last + 1), pending, seed=0)
    figures["changed questions"] += study.ask().x != tuple(study.policy.choose(replay(study.policy, log), ask))


def main(kills: int, seed: int, **settings: str) -> dict[str, int]:
    draw, found = random.Random(seed), programs() if settings else None
    assert found is not None or not settings, "there is no PostgreSQL"
    server = None if found is None else Server(found, **settings)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if server is not None:
                server.start()
            return _kills(Processes(Path(folder), server), kills, draw)
        finally:
            if server is not None:
                server.remove()


def _kills(running: Processes, kills: int, draw: random.Random) -> dict[str, int]:
    figures = dict.fromkeys((*running.kinds, "acknowledged", *HARMS), 0)
    enough = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: enough.set())
    try:
        for round_ in range(kills):
            if enough.is_set():
                break
            running.go_on()
            time.sleep(draw.uniform(0, 0.2))
            what = running.kinds[round_ % len(running.kinds)]
            running.kill(what, draw)
            figures[what] += 1
            if (round_ + 1) % 30 == 0:
                print(json.dumps(figures), file=sys.stderr, flush=True)
        running.go_on()
    finally:
        running.end()
    for name, said in running.acknowledged().items():
        compare(running.store, name, said, figures)
    return figures


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:4])
    else:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        given = dict(each.split("=") for each in sys.argv[3:])
        print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), **given)))
