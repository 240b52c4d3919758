"""Kill −9 of a durable fleet: `python -m tests.fleet.kills KILLS SEED [ENGINE] [PATH]`.

A child asks and tells batches of keys, makes a snapshot now and then, and says on a pipe what it is about to do and
what was answered. It is killed at a random moment, and the fleet is opened again. A second fleet, in memory, is never
killed. It is given all that was acknowledged and, of the one call in flight, what each shard says that it has. Both
must then agree on the counts, the surprises and the advice of every key, on what a reward is that is told again, and on
the next question of every key. Prints a JSON of figures. DRIFTWISE_KILLS_SPACE=box in the environment takes a fleet
on a box.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from functools import partial
from typing import Any

import numpy as np
from tests.fleet.killing import said_before_kill

from driftwise import RBF, Candidates, Fleet, Float
from driftwise.fleet.places import shard_of

SPACES = {"candidates": Candidates([[i / 10] for i in range(11)], names=["x"]), "box": {"x": Float(0, 1)}}
SPACE = SPACES[os.environ.get("DRIFTWISE_KILLS_SPACE", "candidates")]
SHARDS = 2
MOST = 200  # keys
HARMS = ("lost", "doubled", "changed answers", "changed advice", "changed questions", "errors")


def make(path: str | None, engine: str) -> Fleet:
    given: dict[str, Any] = {"window": 8, "kernel": RBF(0.3), "patience": 4, "shards": SHARDS}
    return Fleet("killed", SPACE, "sw-gp-ucb", path=path, engine=engine, **given)


def numbers_of(ids: list[int]) -> list[int]:
    return [id & 0xFFFFFFFF for id in ids]


def rewards(keys: list[int], ids: list[int]) -> list[float]:
    """A function of the key and the number of its suggestion."""
    return [(key * 37 + number * 11) % 101 / 7 for key, number in zip(keys, numbers_of(ids), strict=True)]


def write(path: str, seed: int, engine: str) -> None:
    """The child. What it says in the past tense has been acknowledged."""
    draw, fleet = random.Random(seed), make(path, engine)
    awaited: list[tuple[int, int]] = []
    while True:
        keys = draw.sample(range(min(len(fleet) + 10, MOST)), draw.choice([1, 5, 10]))
        say("ask", keys)
        batch = fleet.ask(keys)
        say("asked", keys, batch.ids.tolist(), batch.where.tolist())
        awaited += zip(keys, batch.ids.tolist(), strict=True)
        draw.shuffle(awaited)  # rewards come late and out of order, and some never
        some = dict(awaited[: draw.randrange(len(awaited) + 1)])
        awaited = [each for each in awaited if some.get(each[0]) != each[1]][-50:]
        keys, ids = list(some), list(some.values())
        say("tell", keys, ids)
        fleet.tell(np.array(ids, np.int64), rewards(keys, ids))
        say("told", keys, ids)
        if draw.random() < 0.1:
            fleet.snapshot()


def say(*words: Any) -> None:
    print(json.dumps(words), flush=True)


class Unharmed:
    """The fleet that is never killed, and what its suggestions are called there."""

    def __init__(self, engine: str) -> None:
        self.fleet = make(None, engine)
        self._ids: dict[tuple[int, int], int] = {}

    def ask(self, keys: list[int]) -> list[int]:
        batch = self.fleet.ask(keys)
        self._ids |= dict(zip(zip(keys, numbers_of(batch.ids.tolist()), strict=True), batch.ids.tolist(), strict=True))
        return batch.where.tolist()

    def tell(self, keys: list[int], ids: list[int]) -> None:
        own = [self._ids[pair] for pair in zip(keys, numbers_of(ids), strict=True)]
        self.fleet.tell(np.array(own, np.int64), rewards(keys, ids))

    def follow(self, said: list[list[Any]], figures: dict[str, int]) -> None:
        """Do what was acknowledged."""
        for what, keys, *answer in said:
            if what == "asked":
                figures["changed questions"] += self.ask(keys) != answer[1]
            elif what == "told":
                self.tell(keys, answer[0])

    def catch_up(self, other: Fleet, what: str, keys: list[int], ids: list[int]) -> None:
        """Do what the other fleet has of a call that was not acknowledged: each shard has all of its part, or none."""
        of = shard_of(keys, SHARDS)
        for shard in range(SHARDS):
            part = [i for i in range(len(keys)) if of[i] == shard]
            mine = [keys[i] for i in part]
            if counts(other, mine) != counts(self.fleet, mine):
                self.ask(mine) if what == "ask" else self.tell(mine, [ids[i] for i in part])


def counts(fleet: Fleet, keys: list[int]) -> list[tuple[int, int]]:
    """How often each key was asked and told; never, if the fleet does not have it."""
    figures = fleet.drift()
    known = dict(zip(figures.keys, zip(figures.asked.tolist(), figures.told.tolist(), strict=True), strict=True))
    return [known.get(key, (0, 0)) for key in keys]


def compare(fleet: Fleet, unharmed: Unharmed, said: list[list[Any]], figures: dict[str, int]) -> None:
    """Count where the fleet that came back differs from the other one."""
    keys = fleet.keys()
    difference = np.array(counts(fleet, keys)) - np.array(counts(unharmed.fleet, keys))
    figures["lost"] += int(np.maximum(-difference, 0).sum()) + len(set(unharmed.fleet.keys()) - set(keys))
    figures["doubled"] += int(np.maximum(difference, 0).sum())
    for _, of, ids in (each for each in said if each[0] == "told"):
        figures["doubled"] += fleet.tell(np.array(ids, np.int64), rewards(of, ids)).new
    known = sorted(set(unharmed.fleet.keys()) & set(keys))
    for name in ("spread", "alarms", "last_alarm"):
        ours, theirs = (getattr(each.drift(known), name).tolist() for each in (fleet, unharmed.fleet))
        figures["changed answers"] += ours != theirs
    ours, theirs = (each.recommend(known) for each in (fleet, unharmed.fleet))
    for name in ("points", "mean", "std"):
        figures["changed advice"] += not np.array_equal(getattr(ours, name), getattr(theirs, name))
    batch = fleet.ask(keys)
    figures["changed questions"] += batch.where.tolist() != unharmed.ask(keys)
    some = [batch.keys[::2], batch.ids[::2].tolist()]
    fleet.tell(np.array(some[1], np.int64), rewards(*some))
    unharmed.tell(*some)


def run(kills: int, seed: int, engine: str, path: str) -> dict[str, int]:
    draw, figures = random.Random(seed), dict.fromkeys(("kills", "keys", "asked", "told", "in flight", *HARMS), 0)
    unharmed = Unharmed(engine)
    for _ in range(kills):
        child = partial(write, path, draw.randrange(10**9), engine)
        lines = said_before_kill(child, draw.choice([0.01, 0.1, 0.5]) * draw.random())
        said = [json.loads(line) for line in lines]
        figures["kills"] += 1
        figures["errors"] += not said
        unharmed.follow(said, figures)
        with make(path, engine) as fleet:
            if said and said[-1][0] in ("ask", "tell"):
                figures["in flight"] += 1
                unharmed.catch_up(fleet, *said[-1], *([[]] if said[-1][0] == "ask" else []))
            compare(fleet, unharmed, said, figures)
            every = fleet.drift()
    return figures | {"keys": len(every.keys), "asked": int(every.asked.sum()), "told": int(every.told.sum())}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        kills, seed, engine, path = [*sys.argv[1:], *["numpy", folder][len(sys.argv) - 3 :]]
        print(json.dumps(run(int(kills), int(seed), engine, path)))
