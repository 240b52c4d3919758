"""Interrupts at every statement of a call, at every line, and at random moments.

`interrupts.py statements POLICY EVERY SEED` (EVERY 1 is each statement, 50 each fiftieth, from a place that SEED says),
`interrupts.py lines POLICY COUNT SEED` (each line that a call runs, the first time and the last time it runs it, of our
files and of all others; of each kind of call COUNT of them, drawn by SEED, or all if COUNT is 0), and
`interrupts.py moments POLICY COUNT SEED`. With one more argument, `memory`, the study is in memory.

A study is interrupted in the middle of a call, as Ctrl-C or an alarm would: by an exception raised between two
statements (of ours, of SQLAlchemy, of the standard library), or by a real signal at a random moment. The exception is
kept, as a notebook keeps it. Then another connection must get the file's write lock (in memory, another thread), the
same call must work, and its answer must be that of a twin that nobody disturbed. Prints a JSON of figures.
"""

from __future__ import annotations

import itertools
import json
import logging
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftwise import Float, Study
from driftwise.log import Choice, Chosen, NewObservation, Outcome, View

HARMS = ("lock-outs", "errors", "other answers")
# They release locks at the end of a `with`, before which a trace function can raise, but no signal's handler runs.
OUTSIDE = ("threadpoolctl.py", "threading.py", "log/threads.py", __file__)
IN_A_ROW = 4  # lines at which one call is interrupted, one after the other
PATIENCE = 30  # rounds in which nothing that is left was reached, before it is given up
OPTIONS: dict[str, dict[str, Any]] = {"sw-gp-ucb": {"window": 8}, "auto": {"window": 12}}


class Interrupted(BaseException):
    """What is raised, as KeyboardInterrupt is."""


class Pair:
    """A study and its twin, and the calls that are made of both."""

    def __init__(self, folder: Path | None, policy: str) -> None:
        space = {"x": Float(0, 1), "z": Float(1, 2)}
        self.study, self.twin = (
            Study("s", space, policy, path=folder and folder / f"{name}.db", **OPTIONS[policy])
            for name in ("disturbed", "twin")
        )
        self.kept: list[BaseException] = []
        self.step = 0
        for _ in range(4):
            for call in self.calls():
                call(self.study), call(self.twin)

    def calls(self) -> list[Callable[[Study], Any]]:
        """One round: ask, tell, observe, a late reward, several at once, an import, a correction, and what is known."""
        self.step += 1
        step, draw = self.step, random.Random(self.step)
        rewards = [draw.random() for _ in range(3)]
        point = {"x": draw.random(), "z": 1 + draw.random()}

        def told(study: Study, key: str, reward: float) -> Any:
            return study.tell(study.ask(key=key), reward)

        def loaded(study: Study, key: str) -> Any:
            study._log.load([NewObservation((y, y), Outcome(y), key=f"{key} {i}") for i, y in enumerate(rewards)])
            return study.describe().counts

        def corrected(study: Study, key: str) -> Any:
            number = study.ask(key=key).number
            study._log.correct(number, Outcome(0.5) if step % 2 else None)
            # not the list of all of them: each round would have more statements than the one before
            return study._log.outcome(number), study.describe().counts.corrected

        made: list[Callable[[Study], Any]] = [
            lambda study: _plain(study.ask(key=f"late {step}")),
            lambda study: _plain(study.ask(key=f"k {step}")),
            lambda study: told(study, f"k {step}", rewards[0]).number,
            lambda study: study.observe(point, rewards[1], key=f"o {step}").number,
            lambda study: told(study, f"late {step}", rewards[2]).number,
            lambda study: [each.number for each in study._log.ask_many(f"b {step}", three, 0, 3)],
            lambda study: loaded(study, f"row {step}"),
            lambda study: corrected(study, f"k {step}"),
            lambda study: study.recommend(),
        ]
        return [*made, lambda study: study.drift()] if hasattr(self.study.policy, "diagnose") else made

    def close(self) -> None:
        """Close both files, which the next call opens again."""
        self.study.close()
        self.twin.close()

    def is_locked(self) -> bool:
        """Whether nobody else gets the write lock, once what was begun is done."""
        if self.study.path is None:
            other = threading.Thread(target=self.study.describe, daemon=True)
            other.start()
            other.join(5.0)
            return other.is_alive()
        raw = sqlite3.connect(self.study.path, timeout=5.0, isolation_level=None)
        try:
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
        finally:
            raw.close()
        return False

    def harms(self, call: Callable[[Study], Any], expected: Any) -> dict[str, int]:
        """What is wrong after `call` was interrupted."""
        found = dict.fromkeys(HARMS, 0)
        if self.is_locked():
            return found | {"lock-outs": 1}
        try:
            found["other answers"] += call(self.study) != expected
        except Exception as error:
            print(repr(error)[:300], file=sys.stderr)
            found["errors"] += 1
        return found


def three(view: View) -> Choice:
    return lambda: tuple(Chosen((x, x), 1.0) for x in (0.1, 0.2, 0.3))


def _plain(suggestion: Any) -> Any:
    """Without its id, which is random."""
    return suggestion.number, suggestion.x, suggestion.at, suggestion.key


def at_statement(n: int, call: Callable[[], Any]) -> BaseException | None:
    """Run `call`, and raise at its n-th statement; None where it has fewer."""
    left = n

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line" and not frame.f_code.co_filename.endswith(OUTSIDE):
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise Interrupted
        return trace

    try:
        sys.settrace(trace)
        call()
    except Interrupted as error:
        return error
    finally:
        sys.settrace(None)
    return None


Line = tuple[str, int]  # file and number


def at_line(file: str, number: int, n: int, call: Callable[[], Any]) -> bool:
    """Run `call`, and raise the n-th time that it comes to this line. Whether that was reached.

    An exception in a finalizer ends there; Python does not pass it on.
    """
    left = n

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line" and frame.f_lineno == number:
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise Interrupted
        return trace

    def entered(frame: Any, event: str, argument: Any) -> Any:
        return trace if frame.f_code.co_filename == file else None

    try:
        sys.settrace(entered)
        call()
    except Interrupted:
        return True
    finally:
        sys.settrace(None)
    return left == 0


def recorded(call: Callable[[], Any]) -> tuple[Any, Counter[Line]]:
    """The result of `call`, and how often it ran each line."""
    counts: Counter[Line] = Counter()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if event == "line" and not frame.f_code.co_filename.endswith(OUTSIDE):
            counts[frame.f_code.co_filename, frame.f_lineno] += 1
        return trace

    try:
        sys.settrace(trace)
        result = call()
    finally:
        sys.settrace(None)
    return result, counts


def at_moment(seconds: float, call: Callable[[], Any]) -> BaseException | None:
    """Run `call`, and interrupt it by a signal after so many seconds; None where it was faster."""

    def handler(*_: Any) -> None:
        raise Interrupted

    signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupted as error:
        return error
    return None


def statements(pair: Pair, every: int, seed: int) -> dict[str, int]:
    """Each `every`-th statement of each kind of call."""
    figures = dict.fromkeys(("interrupts", *HARMS), 0)
    for kind in range(len(pair.calls())):
        for n in itertools.count(1 + seed % every, every):
            caught = None
            for i, call in enumerate(pair.calls()):
                expected = call(pair.twin)
                if i == kind:
                    caught = at_statement(n, lambda call=call: call(pair.study))  # type: ignore[misc]
                _add(figures, pair.harms(call, expected))
            figures["interrupts"] += caught is not None
            if caught is None or figures["lock-outs"]:
                break
    return figures


Place = tuple[Line, bool]  # a line, and whether the last time that it is run


@dataclass
class Places:
    """Where one kind of call is still to be interrupted: lines, the first and the last time that each is run."""

    known: set[Place] = field(default_factory=set)
    left: list[Place] = field(default_factory=list)

    def add(self, counts: Counter[Line]) -> None:
        """What was not known yet. A line that is run once has no last time."""
        found = {(line, last) for line, times in counts.items() for last in (False, True)[: min(times, 2)]}
        self.left += sorted(found - self.known)
        self.known |= found

    def take(self, counts: Counter[Line]) -> list[Place]:
        """The next few of those that a call with these counts runs."""
        taken = list(itertools.islice((place for place in self.left if counts[place[0]]), IN_A_ROW))
        self.left = [place for place in self.left if place not in taken]
        return taken


def lines(pair: Pair, count: int, seed: int) -> dict[str, int]:
    """Each line that a kind of call runs, of whatever file, the first and the last time that it runs it.

    First of calls of an open study, and then, for what these do not run, of calls that open the file again.
    """
    figures, draw = dict.fromkeys(("interrupts", "not reached", *HARMS), 0), random.Random(seed)
    places = [Places() for _ in pair.calls()]
    for reopened in (False, True):
        idle = 0
        for turn in itertools.count():
            before = figures["interrupts"]
            for place, call in zip(places, pair.calls(), strict=True):
                if reopened:
                    pair.close()
                expected, counts = recorded(lambda call=call: call(pair.twin))  # type: ignore[misc]
                if turn == 0 or not count:
                    place.add(counts)
                if turn == 0 and count:
                    place.left = draw.sample(place.left, min(count, len(place.left)))
                _add(figures, disturbed(pair, place, counts, lambda call=call: call(pair.study)))  # type: ignore[misc]
                _add(figures, pair.harms(call, expected))
            idle = 0 if figures["interrupts"] > before else idle + 1
            left = [line for place in places for line, _ in place.left]
            if turn % 20 == 0:
                print(turn, len(left), figures, file=sys.stderr, flush=True)
            if not left or idle > PATIENCE or figures["lock-outs"]:
                break
    for file, n in Counter(file for file, _ in left).items():
        print("not reached:", n, file, file=sys.stderr)
    ran = [line for place in places for line, last in place.known if not last]
    ours = {"lines": len(ran), "of these ours": sum("driftwise" in file for file, _ in ran)}
    return ours | figures | {"not reached": figures["not reached"] + len(left)}


def disturbed(pair: Pair, places: Places, counts: Counter[Line], call: Callable[[], Any]) -> Counter[str]:
    """Interrupt `call` at some places, one after the other, as long as it starts anew each time."""
    figures, taken = Counter[str](), places.take(counts)
    for i, ((file, number), last) in enumerate(taken):
        try:
            reached = at_line(file, number, counts[file, number] if last else 1, call)
        except Exception as error:
            print(file, number, last, repr(error)[:300], file=sys.stderr, flush=True)
            return figures + Counter({"errors": 1})
        if not reached:  # the call is complete
            places.left += taken[max(i, 1) :]
            return figures + Counter({"not reached": int(i == 0)})
        figures += Counter({"interrupts": 1, "lock-outs": int(pair.is_locked())})
    return figures


def _add(figures: dict[str, int], more: Mapping[str, int]) -> None:
    for name, value in more.items():
        figures[name] += value


def moments(pair: Pair, count: int, seed: int) -> dict[str, int]:
    """Random moments of random calls, until `count` interrupts came."""
    figures, draw = dict.fromkeys(("interrupts", *HARMS), 0), random.Random(seed)
    while figures["interrupts"] < count and not figures["lock-outs"]:
        for call in pair.calls():
            started = time.perf_counter()
            expected = call(pair.twin)
            took = time.perf_counter() - started
            caught = at_moment(draw.uniform(1e-5, took), lambda call=call: call(pair.study))  # type: ignore[misc]
            figures["interrupts"] += caught is not None
            pair.kept = [*pair.kept[-20:], caught] if caught else pair.kept  # as a notebook does
            _add(figures, pair.harms(call, expected))
    return figures


if __name__ == "__main__":
    # An interrupt in a weak reference's callback is printed by Python, or logged by SQLAlchemy's pool.
    sys.unraisablehook = lambda _: None
    logging.disable(logging.ERROR)
    how, policy, count, seed, *place = sys.argv[1:]
    modes = {"statements": statements, "lines": lines, "moments": moments}
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(modes[how](Pair(None if place else Path(folder), policy), int(count), int(seed))))
