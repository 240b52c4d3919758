"""Kill −9 of clients and of the service in turn, under load: `python -m tests.service.kills KILLS SEED [STORE]`.

A service runs in a process of its own, and clients in others ask and tell through it as fast as they can. Each
acknowledges on a pipe what has returned. In turn a client or the service is killed at a random moment and started
again. Clients that live go on: their calls are repeated until the service is back. At the end the store must hold all
that was acknowledged, once, and its next question must be that of a fold over its whole log. Prints a JSON of figures.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from driftwise import RBF, Candidates, Study
from driftwise.policies import replay
from driftwise.records import Ask
from driftwise.service.connection import Connection

SPACE = Candidates([[i / 10] for i in range(11)], names=["x"])
CLIENTS = 4
HARMS = ("lost", "doubled", "gaps", "changed questions", "errors")


def make(path: str, name: str) -> Study:
    return Study(name, SPACE, policy="sw-gp-ucb", path=path, window=8, kernel=RBF(0.3))


def reward(number: int) -> float:
    return (number * 37 % 101) / 7


def write(url: str, name: str) -> None:
    """A client: what it says on standard output has been answered."""
    way = Connection.to(url, None)  # which the study shares
    way.patience = 3600.0  # the service is killed again and again, perhaps whenever this client calls
    study = make(url, name)
    while True:
        s = study.ask()
        print(json.dumps(["ask", s.id, s.number]), flush=True)
        study.tell(s, reward(s.number))
        print(json.dumps(["tell", s.id, s.number]), flush=True)


class Processes:
    """The service and its clients, each of which may be killed and started again."""

    def __init__(self, store: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port = found.getsockname()[1]
        self.store, self.folder = store, folder
        self.url = f"http://127.0.0.1:{self.port}"
        self.service = self.serve()
        self.outputs: list[tuple[str, Path]] = []
        self.clients = {f"s{i % 2}-{i}": self.client(f"s{i % 2}-{i}") for i in range(CLIENTS)}

    def serve(self) -> subprocess.Popen[bytes]:
        code = "from driftwise.cli import main; main()"
        words = ["serve", "--path", self.store, "--port", str(self.port), "--log-level", "error"]
        return subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL)

    def client(self, label: str) -> subprocess.Popen[bytes]:
        """Two clients share each study."""
        output = self.folder / f"{label}-{len(self.outputs)}.jsonl"
        self.outputs.append((label.partition("-")[0], output))
        words = [sys.executable, "-m", "tests.service.kills", "write", self.url, label.partition("-")[0]]
        with output.open("wb") as file:
            return subprocess.Popen(words, stdout=file)

    def kill(self, draw: random.Random, round_: int) -> str:
        if round_ % 2:
            self.service.kill()
            self.service.wait()
            self.service = self.serve()
            self.wait()
            return "service"
        label = draw.choice(sorted(self.clients))
        self.clients[label].kill()
        self.clients[label].wait()
        self.clients[label] = self.client(label)
        return "client"

    def wait(self) -> None:
        """Until the service listens again. Clients are patient for a minute, and a busy machine may take long."""
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                time.sleep(0.05)
            else:
                return

    def acknowledged(self) -> dict[str, list[list]]:
        found: dict[str, list[list]] = {}
        for study, output in self.outputs:
            lines = [json.loads(line) for line in output.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
            found.setdefault(study, []).extend(lines)
        return found

    def progress(self) -> int:
        return sum(output.stat().st_size for _, output in self.outputs)

    def end(self) -> list[int]:
        """The exit codes of clients that ended by themselves: there should be none."""
        early = [code for client in self.clients.values() if (code := client.poll()) is not None]
        for client in self.clients.values():
            client.kill()
            client.wait()
        self.service.send_signal(signal.SIGTERM)
        self.service.wait()
        return early


def compare(store: str, name: str, lines: list[list], figures: dict[str, int]) -> None:
    study = Study.open(name, path=store)
    log, counts = list(study.observations()), study.describe().counts
    stored = {seen.number: seen.reward for seen in log}
    told = {number for what, _, number in lines if what == "tell"}
    figures["acknowledged"] += len(lines)
    figures["lost"] += sum(stored.get(number) != reward(number) for number in told)
    figures["doubled"] += len(log) - len(stored)
    ids = {number: id for what, id, number in lines if what == "ask"}
    figures["doubled"] += len({id for what, id, _ in lines if what == "ask"}) - len(ids)
    figures["lost"] += sum(number > counts.last for number in ids)
    figures["gaps"] += counts.asked + counts.unasked != counts.last
    pending = tuple(s.x for s in study.pending())
    ask = Ask(counts.last + 1, float(counts.last + 1), pending, seed=0)
    figures["changed questions"] += study.ask().x != tuple(study.policy.choose(replay(study.policy, log), ask))


def main(kills: int, seed: int, store: str | None = None) -> dict[str, int]:
    draw, figures = random.Random(seed), dict.fromkeys(("client", "service", "acknowledged", *HARMS), 0)
    with tempfile.TemporaryDirectory() as folder:
        store = store or str(Path(folder) / "a.db")
        running = Processes(store, Path(folder))
        for round_ in range(kills):
            before = running.progress()
            while running.progress() == before:  # something was answered since the last kill
                time.sleep(0.02)
            time.sleep(draw.uniform(0, 0.2))
            figures[running.kill(draw, round_)] += 1
        before = running.progress()
        while running.progress() == before:
            time.sleep(0.02)
        figures["errors"] += len(running.end())
        for name, lines in running.acknowledged().items():
            compare(store, name, lines, figures)
    return figures


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:4])
    else:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])))
