"""Kill −9 of a process that appends and makes snapshots: `python -m tests.fleet.journal_kills KILLS SEED [PATH]`.

The child says on a pipe what it is about to append, and when that was acknowledged. It is killed at a random moment,
and the journal is opened again. Entries and snapshot together must then be the numbers from 0 on, each once and in
order: all that were acknowledged, and of the one call in flight all or none. Prints a JSON of figures.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from functools import partial

import numpy as np
from tests.fleet.killing import said_before_kill

from driftwise.fleet.frames import JournalEntry
from driftwise.fleet.journal import Journal, open_journal

HARMS = ("lost", "doubled or out of order", "torn calls", "errors")
EVERY = 20  # calls between two snapshots


def stored(journal: Journal) -> list[int]:
    """The numbers that a journal holds."""
    latest = journal.latest()
    numbers = [] if latest is None else latest["numbers"].tolist()
    for entry in journal.entries():
        numbers += entry.arrays["numbers"].tolist()
    return numbers


def write(path: str, seed: int) -> None:
    """The child: what it says after `+` has been acknowledged."""
    draw, journal = random.Random(seed), open_journal(path, "killed")
    numbers = stored(journal)
    for call in range(1, 10**9):
        new = list(range(len(numbers), len(numbers) + draw.choice([1, 10, 3000])))
        print(f"? {new[-1] + 1}", flush=True)
        cuts = sorted(draw.randrange(len(new) + 1) for _ in range(2))
        parts = [new[: cuts[0]], new[cuts[0] : cuts[1]], new[cuts[1] :]]
        journal.append(*(JournalEntry("add", {"numbers": np.array(part, dtype=np.int64)}) for part in parts))
        print(f"+ {new[-1] + 1}", flush=True)
        numbers += new
        if call % EVERY == 0:
            journal.snapshot({"numbers": np.array(numbers)})


def killed(path: str, draw: random.Random) -> tuple[int, int]:
    """How many numbers were acknowledged, and how many there are if the call in flight counts."""
    child = partial(write, path, draw.randrange(10**9))
    said = [line.split() for line in said_before_kill(child, draw.choice([0.002, 0.02, 0.2]) * draw.random())]
    return max((int(n) for sign, n in said if sign == b"+"), default=0), max((int(n) for _, n in said), default=0)


def run(kills: int, seed: int, path: str) -> dict[str, int]:
    draw, figures, before = random.Random(seed), dict.fromkeys(("kills", "entries", "in flight", *HARMS), 0), 0
    for _ in range(kills):
        acknowledged, begun = killed(path, draw)
        acknowledged = max(acknowledged, before)
        journal = open_journal(path, "killed")
        numbers = stored(journal)
        journal.close()
        figures["kills"] += 1
        figures["lost"] += max(acknowledged - len(numbers), 0)
        figures["doubled or out of order"] += numbers != list(range(len(numbers)))
        figures["torn calls"] += len(numbers) not in (acknowledged, max(acknowledged, begun))
        figures["in flight"] += begun > acknowledged
        figures["errors"] += begun == 0
        before = len(numbers)
    figures["entries"] = before
    return figures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        kills, seed, path = [*sys.argv[1:], *[folder][len(sys.argv) - 3 :]]
        print(json.dumps(run(int(kills), int(seed), path)))
