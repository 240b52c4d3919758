"""Interrupts at every statement of a call, and at random moments.

`interrupts.py statements POLICY EVERY SEED` (EVERY 1 is each statement, 50 each fiftieth, from a place that SEED says)
and `interrupts.py moments POLICY COUNT SEED`.

A study in a file is interrupted in the middle of a call, as Ctrl-C or an alarm would: by an exception raised between
two statements (of ours, of SQLAlchemy, of the standard library), or by a real signal at a random moment. The exception
is kept, as a notebook keeps it. Then another connection must get the file's write lock at once, the same call must
work, and its answer must be that of a twin that nobody disturbed. Prints a JSON of figures.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftwise import Float, Study

HARMS = ("lock-outs", "errors", "other answers")
OPTIONS: dict[str, dict[str, Any]] = {"sw-gp-ucb": {"window": 8}, "auto": {"window": 12}}


class Interrupted(BaseException):
    """What is raised, as KeyboardInterrupt is."""


class Pair:
    """A study and its twin, and the calls that are made of both."""

    def __init__(self, folder: Path, policy: str) -> None:
        space = {"x": Float(0, 1), "z": Float(1, 2)}
        self.study, self.twin = (
            Study("s", space, policy, path=folder / f"{name}.db", **OPTIONS[policy]) for name in ("disturbed", "twin")
        )
        self.kept: list[BaseException] = []
        self.step = 0
        for _ in range(4):
            for call in self.calls():
                call(self.study), call(self.twin)

    def calls(self) -> list[Callable[[Study], Any]]:
        """One round: ask, tell, observe, a reward that comes late, recommend, and where it can drift."""
        self.step += 1
        step, draw = self.step, random.Random(self.step)
        rewards = [draw.random() for _ in range(3)]
        point = {"x": draw.random(), "z": 1 + draw.random()}

        def told(study: Study, key: str, reward: float) -> Any:
            return study.tell(study.ask(key=key), reward)

        made: list[Callable[[Study], Any]] = [
            lambda study: _plain(study.ask(key=f"late {step}")),
            lambda study: _plain(study.ask(key=f"k {step}")),
            lambda study: told(study, f"k {step}", rewards[0]).number,
            lambda study: study.observe(point, rewards[1], key=f"o {step}").number,
            lambda study: told(study, f"late {step}", rewards[2]).number,
            lambda study: study.recommend(),
        ]
        return [*made, lambda study: study.drift()] if hasattr(self.study.policy, "diagnose") else made

    def harms(self, call: Callable[[Study], Any], expected: Any) -> dict[str, int]:
        """What is wrong after `call` was interrupted."""
        found = dict.fromkeys(HARMS, 0)
        assert self.study.path is not None
        other = sqlite3.connect(self.study.path, timeout=0.0, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        except sqlite3.OperationalError:
            found["lock-outs"] += 1
        finally:
            other.close()
        if found["lock-outs"]:
            return found
        try:
            found["other answers"] += call(self.study) != expected
        except Exception as error:
            print(repr(error)[:300], file=sys.stderr)
            found["errors"] += 1
        return found


def _plain(suggestion: Any) -> Any:
    """Without its id, which is random."""
    return suggestion.number, suggestion.x, suggestion.at, suggestion.key


def at_statement(n: int, call: Callable[[], Any]) -> BaseException | None:
    """Run `call`, and raise at its n-th statement; None where it has fewer.

    Statements of threadpoolctl do not count: it releases its lock at the end of a `with`, before which a trace function
    can raise, while no signal's handler ever runs there.
    """
    left = n

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line" and not frame.f_code.co_filename.endswith("threadpoolctl.py"):
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


def statements(policy: str, every: int, seed: int) -> dict[str, int]:
    """Each `every`-th statement of each kind of call."""
    figures = dict.fromkeys(("interrupts", *HARMS), 0)
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder), policy)
        for kind in range(len(pair.calls())):
            for n in itertools.count(1 + seed % every, every):
                caught = None
                for i, call in enumerate(pair.calls()):
                    expected = call(pair.twin)
                    if i == kind:
                        caught = at_statement(n, lambda call=call: call(pair.study))  # type: ignore[misc]
                    for name, value in pair.harms(call, expected).items():
                        figures[name] += value
                figures["interrupts"] += caught is not None
                if caught is None or figures["lock-outs"]:
                    break
    return figures


def moments(policy: str, count: int, seed: int) -> dict[str, int]:
    """Random moments of random calls, until `count` interrupts came."""
    figures, draw = dict.fromkeys(("interrupts", *HARMS), 0), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder), policy)
        while figures["interrupts"] < count and not figures["lock-outs"]:
            for call in pair.calls():
                started = time.perf_counter()
                expected = call(pair.twin)
                took = time.perf_counter() - started
                caught = at_moment(draw.uniform(1e-5, took), lambda call=call: call(pair.study))  # type: ignore[misc]
                figures["interrupts"] += caught is not None
                pair.kept = [*pair.kept[-20:], caught] if caught else pair.kept  # as a notebook does
                for name, value in pair.harms(call, expected).items():
                    figures[name] += value
    return figures


if __name__ == "__main__":
    sys.unraisablehook = lambda _: None  # an interrupt in a weak reference's callback, which Python would print
    how, policy, count, seed = sys.argv[1:]
    print(json.dumps({"statements": statements, "moments": moments}[how](policy, int(count), int(seed))))
