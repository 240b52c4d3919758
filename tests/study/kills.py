"""Kill −9 at random points of a busy writer. Run as a script: `kills.py FOLDER KILLS SEED`; prints a JSON of figures.

One process imports the library once and forks a writer a round, which asks (also for several at once), tells, abandons,
observes, corrects, retracts and imports as fast as it can and acknowledges on a pipe every call that has returned. It
is killed after a random while; then the file must hold all that was acknowledged, once, nothing by halves, and ask what
a fold over its whole log asks. The next writer repeats whatever was not acknowledged. Every other writer
is interrupted, too, in the middle of its calls, which it then repeats.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import random
import select
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from driftwise import RBF, Candidates, Study
from driftwise.errors import NotFoundError
from driftwise.log import Chosen, Log, NewObservation, Outcome
from driftwise.policies import replay
from driftwise.records import Ask, Observation

SPACE = Candidates([[i / 10] for i in range(11)], names=["x"])
ROUNDS_A_FILE = 20


def reward(number: int) -> float:
    return (number * 37 % 101) / 7


def make(path: Path | str, name: str = "s") -> Study:
    return Study(name, SPACE, policy="sw-gp-ucb", path=path, window=8, kernel=RBF(0.3))


def three(view):
    return lambda: tuple(Chosen((x,), float(view.counts.last + 1)) for x in (0.1, 0.2, 0.3))


def rows_of(i: int) -> list[NewObservation]:
    """What is imported in round i: told apart by their rewards."""
    return [NewObservation((j / 10,), Outcome(1000.0 + i + j / 8), key=f"row {i} {j}") for j in range(5)]


class Interrupted(BaseException):
    """What an alarm raises, as Ctrl-C would."""


def interrupt(*_: object) -> None:
    raise Interrupted


def write(path: Path | str, first: int, pipe: int, draw: random.Random | None, name: str = "s") -> None:
    """The writer: i is asked under key i, then told, or every fifth time abandoned; then something is observed.

    With `draw` it is interrupted after random whiles, and does again what it was about to do.
    """
    kept = []  # the exceptions, as a notebook keeps them

    def acknowledge(*words: object) -> None:
        os.write(pipe, (json.dumps(words) + "\n").encode())

    def steadily(call, *args, **options):
        while draw is not None:
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.0002, 0.02))
                result = call(*args, **options)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted as error:
                kept.append(error)
                acknowledge("interrupt", 0)
            else:
                return result
        return call(*args, **options)

    signal.signal(signal.SIGALRM, interrupt)
    # An interrupt in a weak reference's callback is printed by Python, or logged by SQLAlchemy's pool.
    sys.unraisablehook = lambda _: None
    logging.disable(logging.ERROR)
    study = make(path, name)
    i = first
    while True:
        s = steadily(study.ask, key=f"k{i}")
        acknowledge("ask", i, s.id, s.number, s.x)
        if i % 5 == 4:
            steadily(study.abandon, s)
            acknowledge("abandon", i, s.number)
        else:
            steadily(study.tell, s, reward(s.number))
            acknowledge("tell", i, s.number)
        if i % 3 == 0:
            receipt = steadily(study.observe, {"x": 0.5}, float(i), key=f"o{i}")
            acknowledge("observe", i, receipt.number)
            corrected = None if i % 2 else Outcome(-1.0 - i)
            steadily(study._log.correct, receipt.number, corrected, "writer", "to be killed")
            acknowledge("correct", i, receipt.number)
        if i % 4 == 1:
            several = steadily(study._log.ask_many, f"b{i}", three, 0, 3)
            acknowledge("batch", i, [s.id for s in several])
            steadily(study._log.load, rows_of(i))
            acknowledge("load", i)
        acknowledge("done", i)
        i += 1


def killed_after(
    seconds: float, path: Path, first: int, *, at_once: bool, interrupts: random.Random | None
) -> list[list]:
    """What a writer acknowledged before it was killed, `seconds` after its start or after its first acknowledgement."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            write(path, first, writer, interrupts)
        except BaseException as error:
            os.write(2, f"the writer failed: {error!r}\n".encode())
        os._exit(1)
    os.close(writer)
    if not at_once:
        select.select([reader], [], [], 10.0)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the writer must die of the kill and of nothing else"
    with os.fdopen(reader, "rb") as lines:
        return [json.loads(line) for line in lines if line.endswith(b"\n")]


class Ledger:
    """What was acknowledged of one file, and what the file must therefore hold."""

    def __init__(self) -> None:
        self.asked: dict[str, tuple] = {}
        self.told: dict[int, float] = {}
        self.abandoned: set[int] = set()
        self.corrected: dict[int, float | None] = {}
        self.batches: dict[int, list[str]] = {}
        self.loaded: set[int] = set()
        self.next = 0  # the first operation that is not known to be done
        self.asked_by_us = 0

    def add(self, acknowledged: list[list]) -> None:
        for what, i, *rest in acknowledged:
            if what == "ask":
                known = self.asked.setdefault(f"k{i}", tuple(map(repr, rest)))
                assert known == tuple(map(repr, rest)), "the same key must give the same suggestion"
            elif what == "tell":
                self.told[rest[0]] = reward(rest[0])
            elif what == "abandon":
                self.abandoned.add(rest[0])
            elif what == "observe" and rest[0] not in self.corrected:
                self.told[rest[0]] = float(i)
            elif what == "correct":
                self.correct(rest[0], i)
            elif what == "batch":
                assert self.batches.setdefault(i, rest[0]) == rest[0], "the same key must give the same suggestions"
            elif what == "load":
                self.loaded.add(i)
            elif what == "done":
                self.next = i + 1

    def correct(self, number: int, i: int) -> None:
        self.told.pop(number, None)
        self.corrected[number] = None if i % 2 else -1.0 - i

    def compare_whole(self, log: Log, seen: list[Observation], figures: dict[str, int]) -> None:
        """Batches, imports and corrections: all of one or nothing, and all that was acknowledged."""
        rounds = range(1, self.next + 2, 4)
        found = log.read(lambda view: {i: [s.id for s in view.with_key(f"b{i}")] for i in rounds})
        rows = Counter(int(each.y - 1000.0) for each in seen if each.y >= 1000.0)
        figures["halves"] += sum(len(ids) not in (0, 3) for ids in found.values())
        figures["halves"] += sum(count != 5 for count in rows.values())
        figures["lost"] += sum(found[i] != ids for i, ids in self.batches.items())
        figures["lost"] += len(self.loaded - rows.keys())
        made = [(c.number, c.who, c.why) for c in log.corrections()]
        figures["doubled"] += len(made) - len(set(made))
        figures["lost"] += len(self.corrected.keys() - {number for number, *_ in made})
        for number in {number for number, *_ in made} - self.corrected.keys():  # stored, not acknowledged
            self.correct(number, int(self.told[number]))
        self.in_batches = 3 * sum(map(bool, found.values()))

    def compare(self, study: Study, figures: dict[str, int]) -> None:
        log = list(study.observations())
        counts = study.describe().counts
        self.compare_whole(study._log, log, figures)
        log_of_calls = [seen for seen in log if seen.y < 1000.0 and seen.number not in self.corrected]
        figures["lost"] += sum(
            {seen.number: seen.y for seen in log}.get(number) != y for number, y in self.corrected.items()
        )
        stored = {seen.number: seen.y for seen in log_of_calls}
        figures["lost"] += sum(stored.get(number) != y for number, y in self.told.items())
        figures["doubled"] += len(log_of_calls) - len(stored)
        figures["stored, not acknowledged"] += len(stored.keys() - self.told.keys())
        figures["lost"] += len(self.abandoned & stored.keys())
        # One operation at most was under way: everything else in the file was acknowledged.
        figures["too many"] += (
            len(stored.keys() - self.told.keys()) > 1
            or counts.asked > self.next + 1 + self.asked_by_us + self.in_batches
        )
        pending = tuple(s.x for s in study.pending())
        keyed = study._log.read(lambda view: {key: view.with_key(key) for key in self.asked})
        for key, known in self.asked.items():
            now = keyed[key]
            figures["lost"] += [(repr(s.id), repr(s.number), repr(list(s.x))) for s in now] != [known]
        figures["gaps"] += counts.asked + counts.unasked != counts.last
        ask = Ask(counts.last + 1, float(counts.last + 1), pending, seed=0)
        expected = study.policy.choose(replay(study.policy, log), ask)
        s = study.ask()
        figures["changed questions"] += s.x != tuple(expected)
        study.abandon(s)
        self.asked_by_us += 1


HARMS = ("lost", "doubled", "halves", "gaps", "too many", "changed questions")


def main(folder: str, kills: int, seed: int) -> dict[str, int]:
    """Until so many writers were killed after the study was there; those killed before that come on top."""
    draw = random.Random(seed)
    Path(folder).mkdir(parents=True, exist_ok=True)
    figures = dict.fromkeys(
        ("kills", "earlier kills", "interrupts", "acknowledged", "stored, not acknowledged", *HARMS), 0
    )
    for round_ in itertools.count():
        if round_ % ROUNDS_A_FILE == 0:
            path, ledger = Path(folder) / f"{round_}.db", Ledger()
        early = round_ % ROUNDS_A_FILE < 4  # some while the file itself is made
        acknowledged = killed_after(
            draw.uniform(0, 0.05), path, ledger.next, at_once=early, interrupts=draw if round_ % 2 else None
        )
        figures["interrupts"] += sum(what == "interrupt" for what, *_ in acknowledged)
        figures["acknowledged"] += sum(what not in ("done", "interrupt") for what, *_ in acknowledged)
        ledger.add(acknowledged)
        try:
            study = Study.open("s", path=path)
        except NotFoundError:
            assert not [what for what, *_ in acknowledged if what != "interrupt"]
            figures["earlier kills"] += 1
            continue
        figures["kills"] += 1
        ledger.compare(study, figures)
        study.close()
        if figures["kills"] == kills:
            return figures
    raise AssertionError


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
