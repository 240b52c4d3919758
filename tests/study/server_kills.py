"""Kill −9 of clients, of PostgreSQL and of single backends in turn, under load.

Run as a script: `server_kills.py KILLS SEED [SETTING=VALUE ...]`; prints a JSON of figures. Settings are those of the
server, for example fsync=on.

Three writers of kills.py work on three studies of one store, each in a process of its own. Something is killed at a
random moment. A writer whose server dies goes on by itself when it is back, and what it was doing must not be lost or
doubled. At the end of a round all writers are killed, and each study must hold what its writer acknowledged, and ask
what a fold over its whole log asks. The next round's writers repeat whatever was not acknowledged.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kills import HARMS, Ledger, write

from driftwise import Study
from servers import Server, programs

NAMES = ("one", "two", "three")
ROUNDS_A_STORE = 20
FIRST, REST = 60.0, 0.15  # seconds: until a writer says something, and how long it works on at most


class Writer:
    """A process that writes to a study, and what it acknowledged."""

    def __init__(self, path: str, name: str, ledger: Ledger) -> None:
        self.reader, pipe = os.pipe()
        self.said = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader)
            try:
                write(path, ledger.next, pipe, None, name)
            except BaseException as error:
                os.write(2, f"the writer failed: {error!r}\n".encode())
            os._exit(1)
        os.close(pipe)

    def wait(self) -> None:
        """Until it acknowledges something that was not read before."""
        ready, _, _ = select.select([self.reader], [], [], FIRST)
        assert ready, "a writer must go on by itself"
        read = os.read(self.reader, 1 << 16)
        assert read, "a writer must not end by itself"
        self.said += read

    def end(self) -> list[list]:
        """Kill it, and return what it acknowledged."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        assert os.WIFSIGNALED(status), "the writer must die of the kill and of nothing else"
        with os.fdopen(self.reader, "rb") as rest:
            said = self.said + rest.read()
        return [json.loads(line) for line in said.split(b"\n")[:-1]]


def main(kills: int, seed: int, **settings: str) -> dict[str, int]:
    """So many kills: in turn of all clients, of a backend and of the whole server."""
    found = programs()
    assert found is not None, "there is no PostgreSQL"
    server = Server(found, **settings)
    try:
        server.start()
        return _rounds(server, kills, random.Random(seed))
    finally:
        server.remove()


def _rounds(server: Server, kills: int, draw: random.Random) -> dict[str, int]:
    figures = dict.fromkeys(
        ("kills", "of clients", "of backends", "of the server", "acknowledged", "stored, not acknowledged", *HARMS), 0
    )
    whom: dict[str, Callable[[], bool]] = {
        "of clients": lambda: True,  # each round ends so
        "of backends": lambda: server.kill_backend(draw.randrange(100)),
        "of the server": lambda: _restarted(server),
    }
    ledgers: dict[str, Ledger] = {}
    for round_ in itertools.count():
        if round_ % ROUNDS_A_STORE == 0:
            path, ledgers = server.url(schema=f"round_{round_}"), {name: Ledger() for name in NAMES}
        writers = {name: Writer(path, name, ledger) for name, ledger in ledgers.items()}
        for writer in writers.values():
            writer.wait()
        time.sleep(draw.uniform(0, REST))
        kind = list(whom)[round_ % len(whom)]
        if whom[kind]():
            figures[kind] += len(NAMES) if kind == "of clients" else 1
            if kind != "of clients":
                for writer in writers.values():
                    writer.said += _drained(writer.reader)
                    writer.wait()  # they go on
                time.sleep(draw.uniform(0, REST))
        for name, writer in writers.items():
            acknowledged = writer.end()
            figures["acknowledged"] += sum(what != "done" for what, *_ in acknowledged)
            ledgers[name].add(acknowledged)
        for name, ledger in ledgers.items():
            study = Study.open(name, path=path)
            ledger.compare(study, figures)
            study.close()
        figures["kills"] = sum(figures[each] for each in whom)
        if figures["kills"] >= kills:
            return figures
    raise AssertionError


def _restarted(server: Server) -> bool:
    server.kill()
    server.start()
    return True


def _drained(pipe: int) -> bytes:
    """What was acknowledged before the server died, or just after."""
    said = b""
    while select.select([pipe], [], [], 0)[0]:
        said += os.read(pipe, 1 << 16)
    return said


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), **dict(each.split("=") for each in sys.argv[3:]))))
