"""The cached state is that of folding the log as it holds now: after late rewards, failures and corrections."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from functools import reduce

import pytest

from driftwise.errors import StoreError
from driftwise.log import FAILED, Chosen, Outcome, open_store
from driftwise.records import Observation
from driftwise.replay import KEPT, Fold


@dataclass(frozen=True)
class Remembering:
    """Its state is what it remembers: the last `memory` rewards, and the failures between them."""

    memory: int | None

    def start(self):
        return ()

    def update(self, state, seen: Observation):
        state = (*state, seen)
        with_reward = [i for i, each in enumerate(state) if not each.failed]
        if self.memory is None or len(with_reward) < self.memory:
            return state
        return state[with_reward[-self.memory] :]


def half(view):
    return lambda: (Chosen((0.5,), float(view.counts.last + 1)),)


def folded(fold: Fold, log):
    return fold.state(log.read(fold.missing))


@pytest.mark.parametrize("memory", [1, 3, 12, None])
@pytest.mark.parametrize("seed", range(2))
def test_the_state_is_that_of_the_log_as_it_holds_now(memory, seed):
    draw, policy = random.Random(seed), Remembering(memory)
    log = open_store(None).create("a", "{}")
    folds = [Fold(policy, 1.0) for _ in range(4)]  # they look at different moments
    waiting: list[str] = []

    def outcome():
        return FAILED if draw.random() < 0.2 else Outcome(draw.random())

    def change(last):
        what = draw.choice(("ask", "tell", "tell", "observe", "observe", "correct", "retract", "retract", "recent"))
        if what == "ask":
            waiting.append(log.ask(None, half, 1000).id)
        elif what == "tell" and waiting:
            log.tell(waiting.pop(draw.randrange(len(waiting))), outcome())
        elif what in ("correct", "retract", "recent") and last:
            stored = log.read(lambda view: [n for n in range(1, last + 1) if view.numbered(n)])
            if stored:
                number = draw.choice(stored[-6:] if what == "recent" else stored)
                log.correct(number, outcome() if what == "correct" else None)
        else:
            log.observe((0.5,), outcome())

    for _ in range(120):
        change(log.read(lambda view: view.counts.last))
        expected = reduce(policy.update, log.observations(), policy.start())
        for fold in folds:
            if draw.random() < 0.5:
                assert folded(fold, log) == expected


def test_a_correction_goes_back_only_as_far_as_it_must():
    log, fold, read = open_store(None).create("a", "{}"), Fold(Remembering(50), 1.0), []
    for i in range(100):
        log.observe((0.5,), Outcome(float(i)))
    folded(fold, log)

    def missing():
        made = log.read(fold.missing)
        read.append(len(made.log))
        fold.state(made)

    log.correct(98, Outcome(7.0))
    missing()
    log.correct(20, None)  # too old to matter
    missing()
    log.correct(60, None)
    missing()
    missing()
    assert read == [3, 0, 50 + KEPT, 0]


def test_a_change_that_was_too_old_matters_when_a_retraction_brings_it_back():
    """Number 1 is corrected while nobody remembers it, then so much is retracted that it is remembered again."""
    log, policy = open_store(None).create("a", "{}"), Remembering(3)
    fold = Fold(policy, 1.0)
    for i in range(4):
        log.observe((0.5,), Outcome(float(i)))
    folded(fold, log)
    log.correct(1, Outcome(9.0))
    folded(fold, log)
    log.correct(4, None)
    assert [seen.y for seen in folded(fold, log)] == [9.0, 1.0, 2.0]


def test_corrections_that_are_gone_are_noticed(tmp_path):
    """As after a restored backup: the observations are the same, their corrections are not."""
    path, backup = tmp_path / "a.db", tmp_path / "backup.db"
    store = open_store(path)
    log = store.create("a", "{}")
    for i in range(4):
        log.observe((0.5,), Outcome(float(i)))
    store.close()
    shutil.copy(path, backup)
    fold = Fold(Remembering(3), 1.0)
    log.correct(2, Outcome(9.0))
    assert folded(fold, log)[0].y == 9.0
    store.close()
    shutil.copy(backup, path)
    with pytest.raises(StoreError, match="Was a backup restored"):
        folded(fold, log)
    assert [seen.y for seen in log.observations()] == [0.0, 1.0, 2.0, 3.0]
