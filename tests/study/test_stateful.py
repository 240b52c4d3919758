"""Any sequence of calls, crashes included, against a dictionary."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from driftwise import RBF, Candidates, Study
from driftwise.errors import ConflictError
from driftwise.policies import replay
from driftwise.records import Ask

SPACE = Candidates([[0.0], [0.3], [0.5], [0.8], [1.0]], names=["x"])
WINDOW, PATIENCE = 3, 4

rewards = st.integers(-3, 3).map(float)
keys = st.sampled_from("abcdef")
picks = st.integers(0, 10**6)


class Promises(RuleBasedStateMachine):
    """`asked` and `told` are the log as a dictionary would keep it."""

    @initialize(direction=st.sampled_from(["maximize", "minimize"]))
    def create(self, direction):
        self.folder = Path(tempfile.mkdtemp())
        self.crashes = 0
        self.path = self.folder / "0.db"
        self.study = Study(
            "s",
            SPACE,
            policy="sw-gp-ucb",
            path=self.path,
            window=WINDOW,
            patience=PATIENCE,
            kernel=RBF(0.3),
            direction=direction,
        )
        self.asked = {}  # number → suggestion
        self.told = {}  # number → (at, x, reward)
        self.abandoned = set()
        self.by_key = {}
        self.observed_by_key = {}

    def teardown(self):
        if hasattr(self, "folder"):
            self.study.close()
            shutil.rmtree(self.folder)

    def one_of(self, numbers, pick):
        return sorted(numbers)[pick % len(numbers)]

    @property
    def last(self):
        return max([0, *self.asked, *self.told])

    @property
    def awaited(self):
        return [n for n in sorted(self.asked) if n not in self.told and n not in self.abandoned]

    @property
    def pending(self):
        recent = sorted(self.asked)[-PATIENCE:]
        return [n for n in self.awaited if n in recent]

    def in_window(self, number):
        return sum(n > number for n in self.told) < WINDOW

    # --- what may happen ----------------------------------------------------------------------------------------

    @rule(key=st.none() | keys, at=st.none() | st.floats(-1e6, 1e6))
    def ask(self, key, at):
        if key in self.by_key:
            assert self.study.ask(key=key, at=at) == self.by_key[key]
            return
        number = self.last + 1
        time = self.now(number) if at is None else at + 0.0
        ask = Ask(number, time, tuple(self.asked[n].x for n in self.pending), seed=0)
        expected = self.study.policy.choose(replay(self.study.policy, self.log()), ask)
        s = self.study.ask(key=key, at=at)
        assert (s.number, s.at, s.x) == (number, time, tuple(expected))
        self.asked[s.number] = s
        self.by_key[s.key] = s

    def now(self, number):
        """The number, or the newest observation's own time if it has one."""
        newest = max(self.told, default=None)
        own = newest is not None and self.told[newest][0] != newest
        return self.told[newest][0] if own else float(number)

    def log(self):
        """The told rewards in the order of their numbers, to be maximised."""
        seen = sorted(self.study.observations(), key=lambda o: o.number)
        assert [(o.number, o.at, o.x, o.y) for o in seen] == [(n, *self.told[n]) for n in sorted(self.told)]
        sign = self.study.description.sign
        return [type(o)(o.number, o.at, o.x, sign * o.y) for o in seen]

    @precondition(lambda self: [n for n in self.asked if n not in self.told])
    @rule(pick=picks, reward=rewards, at=st.none() | st.floats(-1e6, 1e6), by_id=st.booleans())
    def tell(self, pick, reward, at, by_id):
        """In order, out of order, late, or after it was abandoned."""
        number = self.one_of([n for n in self.asked if n not in self.told], pick)
        s = self.asked[number]
        receipt = self.study.tell(s.id if by_id else s, reward, at=at)
        self.told[number] = (s.at if at is None else at + 0.0, s.x, reward)
        self.abandoned.discard(number)
        assert (receipt.number, receipt.new, receipt.in_window) == (number, True, self.in_window(number))

    @precondition(lambda self: set(self.asked) & set(self.told))
    @rule(pick=picks, change=st.sampled_from([0.0, 0.0, 1.0, -1e-12]))
    def tell_again(self, pick, change):
        number = self.one_of(set(self.asked) & set(self.told), pick)
        reward = self.told[number][2]
        if change and reward + change != reward:
            with pytest.raises(ConflictError):
                self.study.tell(self.asked[number], reward + change)
        else:
            receipt = self.study.tell(self.asked[number], reward)
            assert (receipt.number, receipt.new, receipt.in_window) == (number, False, self.in_window(number))

    @rule(pick=picks, reward=rewards, key=st.none() | keys)
    def observe(self, pick, reward, key):
        x = SPACE.coordinates[pick % len(SPACE)]
        known = self.observed_by_key.get(key)
        if known is not None and self.told[known][1:] != (x, reward):
            with pytest.raises(ConflictError):
                self.study.observe({"x": x[0]}, reward, key=key)
            return
        time = self.now(self.last + 1)
        receipt = self.study.observe({"x": x[0]}, reward, key=key)
        assert receipt.new == (known is None)
        if known is None:
            assert receipt.number == self.last + 1
            self.told[receipt.number] = (time, x, reward)
            if key is not None:
                self.observed_by_key[key] = receipt.number

    @precondition(lambda self: self.asked)
    @rule(pick=picks)
    def abandon(self, pick):
        number = self.one_of(self.asked, pick)
        if number in self.told:
            with pytest.raises(ConflictError):
                self.study.abandon(self.asked[number])
        else:
            self.study.abandon(self.asked[number])
            self.abandoned.add(number)

    @rule(kind=st.sampled_from(["crash", "close", "second"]))
    def come_back(self, kind):
        """Crash: the file and its log as they are now, opened elsewhere. Second: another object on the same file."""
        old = self.study
        if kind == "crash":
            self.crashes += 1
            self.path = self.folder / f"{self.crashes}.db"
            shutil.copy(old.path, self.path)
            log = Path(f"{old.path}-wal")
            if log.exists():
                shutil.copy(log, f"{self.path}-wal")
        if kind != "second":
            old.close()
        self.study = Study.open("s", path=self.path)

    # --- what must hold -----------------------------------------------------------------------------------------

    @invariant()
    def the_log_is_the_dictionary(self):
        if not hasattr(self, "study"):
            return
        assert len(self.log()) == len(self.told)
        assert set(self.asked) | set(self.told) == set(range(1, self.last + 1))
        assert [s.number for s in self.study.pending()] == self.pending
        counts = self.study.describe().counts
        assert (counts.last, counts.asked, counts.told) == (self.last, len(self.asked), len(self.told))
        assert (counts.abandoned, counts.awaited) == (len(self.abandoned), len(self.awaited))


TestPromises = Promises.TestCase
TestPromises.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
