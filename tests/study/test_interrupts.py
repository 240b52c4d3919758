"""Ctrl-C at any moment of any call: no lock stays behind, the next call works, and its answer is right.

Here at a sample of the moments; `tests/study/interrupts.py lines sw-gp-ucb 0 0` does it at every line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
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
        ("statements", "sw-gp-ucb", 421, 100),
        ("statements", "auto", 5009, 12),
        ("lines", "sw-gp-ucb", 6, 54),
        ("lines", "auto", 4, 40),
        ("moments", "sw-gp-ucb", 150, 150),
        ("moments", "auto", 50, 50),
    ],
)
def test_interrupts_leave_nothing_behind(how, policy, count, least):
    command = [sys.executable, INTERRUPTS, how, policy, str(count), "0"]
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


def test_a_call_from_within_a_call_is_refused_and_harms_neither(tmp_path):
    """As a signal's handler makes it that asks or tells."""
    study = Study("s", Candidates([[0.0], [1.0]]), "sw-gp-ucb", path=tmp_path / "a.db")
    s = study.ask()

    def nested(connection):
        with pytest.raises(StoreError, match="from within one of its own calls"):
            study.tell(s, 2.0)
        return "done"

    assert study._store.writing(nested) == "done"
    assert study.tell(s, 1.0).new


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
