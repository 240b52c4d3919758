"""Ctrl-C at any moment of any call: no lock stays behind, the next call works, and its answer is right.

Here at a sample of the moments; `tests/study/interrupts.py lines sw-gp-ucb 0 0` does it at every line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from driftwise import Candidates, Study
from driftwise.concurrency.guard import Guard
from driftwise.errors import StoreError
from driftwise.policies.window import Window

INTERRUPTS = str(Path(__file__).parent / "interrupts.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "policy", "count", "least"),
    [
        ("statements", "sw-gp-ucb", 421, 25),
        ("statements", "auto", 5009, 12),
        ("lines", "sw-gp-ucb", 6, 54),
        ("lines", "auto", 4, 40),
        ("moments", "sw-gp-ucb", 150, 150),
        ("moments", "auto", 50, 50),
    ],
)
@pytest.mark.parametrize("place", [[], ["memory"]], ids=["file", "memory"])
def test_interrupts_leave_nothing_behind(how, policy, count, least, place):
    command = [sys.executable, INTERRUPTS, how, policy, str(count), "0", *place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["interrupts"] >= least
    assert not any(figures[harm] for harm in ("lock-outs", "errors", "other answers")), done.stderr


def test_a_fold_that_is_interrupted_is_forgotten(monkeypatch):
    """A late reward is folded in again from an earlier state; half of that must not be taken for all of it."""
    study, twin = (Study("s", Candidates([[i / 9] for i in range(10)]), "sw-gp-ucb", window=5) for _ in range(2))
    for each in (study, twin):
        asked = [each.ask(key=str(i)) for i in range(8)]
        for i in (0, 1, 2, 4, 5, 6, 7):
            each.tell(asked[i], float(i))
        each.recommend()
        each.tell(asked[3], 3.0)
    update, calls = Window.update, []

    def interrupted(self, state, seen):
        calls.append(seen.number)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return update(self, state, seen)

    monkeypatch.setattr(Window, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.recommend()
    monkeypatch.undo()
    assert len(calls) == 2
    assert study.recommend() == twin.recommend()


def test_a_handler_may_use_the_study_within_a_call(tmp_path):
    """As a signal's handler does that tells: the transaction that it falls into is in another thread."""
    study, numbers = Study("s", Candidates([[0.0], [1.0]]), "sw-gp-ucb", path=tmp_path / "a.db"), []
    before = signal.signal(signal.SIGALRM, lambda *_: numbers.append(study.observe({"x0": 0.0}, 1.0).number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert study._store.writing(lambda connection: time.sleep(0.5) or "done") == "done"
    finally:
        signal.signal(signal.SIGALRM, before)
    assert numbers == [1]


def test_in_memory_a_handler_that_falls_into_a_transaction_is_refused():
    """It runs in the thread whose transaction is not over. The transaction goes on, and so does the study."""
    study, refused = Study("s", Candidates([[0.0], [1.0]]), "sw-gp-ucb"), []

    def handler(*_):
        with pytest.raises(StoreError, match="used from within one of its own calls") as raised:
            study.observe({"x0": 0.0}, 1.0)
        refused.append(raised.value)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert study._store.writing(lambda connection: time.sleep(0.5) or "done") == "done"
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(refused) == 1
    assert study.observe({"x0": 0.0}, 1.0).number == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_study_in_memory_goes_on_in_a_child_that_was_forked():
    study = Study("s", Candidates([[0.0], [1.0]]), "sw-gp-ucb")
    study.observe({"x0": 0.0}, 1.0)
    child = os.fork()
    if child == 0:
        os._exit(study.observe({"x0": 0.0}, 1.0).number)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert study.observe({"x0": 0.0}, 1.0).number == 2


def test_a_guard_is_free_after_an_exception_at_each_of_its_statements():
    for n in range(1, 30):
        guard, left = Guard(), n

        def trace(frame, event, argument):
            nonlocal left
            if event == "line" and frame.f_code.co_filename.endswith("guard.py"):
                left -= 1
                if left == 0:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        try:
            sys.settrace(trace)
            guard.run(lambda: None)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        entered = threading.Event()
        other = threading.Thread(target=guard.run, args=(entered.set,), daemon=True)
        other.start()
        assert entered.wait(60), f"held after an exception at statement {n}"
        other.join()
        if left > 0:
            assert n > 3
            return
    raise AssertionError
