"""Any sequence of calls, crashes included, against a dictionary."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from driftwise import RBF, Candidates, Study
from driftwise.errors import ConflictError
from driftwise.log import Outcome
from driftwise.log.base import observation_of
from driftwise.policies import decision, replay
from driftwise.records import Ask
from serving import serving

SPACE = Candidates([[0.0], [0.3], [0.5], [0.8], [1.0]], names=["x"])
WINDOW, PATIENCE = 3, 4

outcomes = st.one_of(
    st.integers(-3, 3).map(lambda y: Outcome(float(y))),
    st.integers(-3, 3).map(lambda y: Outcome(float(y), std=0.5)),
    st.integers(-3, 3).map(lambda y: Outcome(float(y), repeats=4, measures=(("ms", 7.0),))),
    st.just(Outcome(0.0, failed=True)),
)
keys = st.sampled_from("abcdef")
picks = st.integers(0, 10**6)


def said(outcome):
    """An outcome as the arguments of `tell`. `std` is that of the mean already, so it goes without repeats."""
    if outcome.failed:
        return {"failed": True, "measures": dict(outcome.measures)}
    details = {"std": outcome.std, "repeats": outcome.repeats, "measures": dict(outcome.measures)}
    return {"reward": outcome.y} | details


def outcome_of_reading(seen):
    return Outcome(seen.y, seen.std, seen.repeats, tuple(sorted(seen.measures.items())), seen.failed)


class Promises(RuleBasedStateMachine):
    """`asked`, `told` and `now_holds` are the log as a dictionary would keep it."""

    kinds = ("crash", "close", "second", "rename", "copy")

    def at(self, path):
        """How a study is opened: by the path of its file."""
        return path

    @initialize(direction=st.sampled_from(["maximize", "minimize"]))
    def create(self, direction):
        self.path = self.new_place()
        self.name = "s"
        self.study = Study(
            self.name,
            SPACE,
            policy="sw-gp-ucb",
            path=self.at(self.path),
            window=WINDOW,
            patience=PATIENCE,
            kernel=RBF(0.3),
            direction=direction,
        )
        self.asked = {}  # number → suggestion
        self.told = {}  # number → (at, x, outcome), as it was told
        self.now_holds = {}  # number → outcome, None if it is retracted
        self.corrected = 0
        self.abandoned = set()
        self.by_key = {}
        self.batches = {}  # key → suggestions
        self.told_by_key = {}

    def teardown(self):
        if hasattr(self, "study"):
            self.study.close()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    # --- where it is: a file; tests/study/test_on_a_server.py has another place ---------------------------------

    def new_place(self):
        """Where there is no study yet."""
        if not hasattr(self, "folder"):
            self.folder, self.places = Path(tempfile.mkdtemp()), 0
        self.places += 1
        return self.folder / f"{self.places}.db"

    def crashed(self, path):
        """Where a crash leaves what was stored: a copy of the file and its log, taken while it is open."""
        new = self.new_place()
        shutil.copy(path, new)
        log = Path(f"{path}-wal")
        if log.exists():
            shutil.copy(log, f"{new}-wal")
        return new

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

    def has_reward(self, number):
        outcome = self.now_holds[number]
        return outcome is not None and not outcome.failed

    def in_window(self, number):
        return sum(n > number and self.has_reward(n) for n in self.told) < WINDOW

    def log(self):
        """The observations as they hold now, in the order of their numbers, to be maximised."""
        seen = (observation_of(o.number, o.at, o.x, outcome_of_reading(o)) for o in self.study.observations())
        expected = [
            observation_of(n, *self.told[n][:2], self.now_holds[n])
            for n in sorted(self.told)
            if self.now_holds[n] is not None
        ]
        assert list(seen) == expected
        sign = self.study.description.sign
        return [o if o.failed or sign > 0 else replace(o, y=-o.y) for o in expected]

    def now(self, number):
        """The number, or the newest observation's own time if it has one."""
        newest = max((n for n in self.told if self.now_holds[n] is not None), default=None)
        own = newest is not None and self.told[newest][0] != newest
        return self.told[newest][0] if own else float(number)

    # --- what may happen ----------------------------------------------------------------------------------------

    def expected(self, number, at, pending):
        ask = Ask(number, at, pending, seed=0)
        policy = self.study.description.feasible
        return tuple(decision(policy, replay(policy, self.log()), ask).x)

    @rule(key=st.none() | keys, at=st.none() | st.floats(-1e6, 1e6))
    def ask(self, key, at):
        if key in self.batches:
            with pytest.raises(ConflictError):
                self.study.ask(key=key, at=at)
            return
        if key in self.by_key:
            assert self.study.ask(key=key, at=at) == self.by_key[key]
            return
        number = self.last + 1
        time = self.now(number) if at is None else at + 0.0
        expected = self.expected(number, time, tuple(self.asked[n].x for n in self.pending))
        s = self.study.ask(key=key, at=at)
        assert (s.number, s.at, s.x) == (number, time, expected)
        self.asked[s.number] = s
        self.by_key[s.key] = s

    @rule(key=st.none() | keys, n=st.integers(2, 3))
    def ask_many(self, key, n):
        known = self.batches.get(key)
        if key in self.by_key or (known is not None and len(known) != n):
            with pytest.raises(ConflictError):
                self.study.ask(key=key, n=n)
            return
        if known is not None:
            assert self.study.ask(key=key, n=n) == known
            return
        number, pending = self.last + 1, tuple(self.asked[m].x for m in self.pending)
        first = self.expected(number, self.now(number), pending)
        made = self.study.ask(key=key, n=n)
        assert [s.number for s in made] == list(range(number, number + n))
        assert made[0].x == first
        self.asked |= {s.number: s for s in made}
        self.by_key |= {s.key: s for s in made[1:]}
        self.batches[made[0].key] = made

    @precondition(lambda self: [n for n in self.asked if n not in self.told])
    @rule(pick=picks, outcome=outcomes, at=st.none() | st.floats(-1e6, 1e6), by_id=st.booleans(), key=st.none() | keys)
    def tell(self, pick, outcome, at, by_id, key):
        """In order, out of order, late, or after it was abandoned."""
        number = self.one_of([n for n in self.asked if n not in self.told], pick)
        s = self.asked[number]
        if key in self.told_by_key:
            with pytest.raises(ConflictError):
                self.study.tell(s, **said(outcome), at=at, key=key)
            return
        receipt = self.study.tell(s.id if by_id else s, **said(outcome), at=at, key=key)
        self.store(number, (s.at if at is None else at + 0.0, s.x, outcome), key)
        self.abandoned.discard(number)
        assert (receipt.number, receipt.new, receipt.in_window) == (number, True, self.in_window(number))

    def store(self, number, entry, key):
        self.told[number] = entry
        self.now_holds[number] = entry[2]
        if key is not None:
            self.told_by_key[key] = number

    @precondition(lambda self: set(self.asked) & set(self.told))
    @rule(pick=picks, outcome=outcomes)
    def tell_again(self, pick, outcome):
        number = self.one_of(set(self.asked) & set(self.told), pick)
        if outcome in (self.told[number][2], self.now_holds[number]):
            receipt = self.study.tell(self.asked[number], **said(outcome))
            assert (receipt.number, receipt.new, receipt.in_window) == (number, False, self.in_window(number))
        else:
            with pytest.raises(ConflictError):
                self.study.tell(self.asked[number], **said(outcome))

    @rule(pick=picks, outcome=outcomes, key=st.none() | keys)
    def observe(self, pick, outcome, key):
        x = SPACE.coordinates[pick % len(SPACE)]
        known = self.told_by_key.get(key)
        if known is not None:
            same = self.told[known][1] == x
            if not (same and outcome in (self.told[known][2], self.now_holds[known])):
                with pytest.raises(ConflictError):
                    self.study.observe({"x": x[0]}, **said(outcome), key=key)
                return
        time = self.now(self.last + 1)
        receipt = self.study.observe({"x": x[0]}, **said(outcome), key=key)
        assert receipt.new == (known is None)
        if known is None:
            assert receipt.number == self.last + 1
            self.store(receipt.number, (time, x, outcome), key)

    @rule(picked=st.lists(st.tuples(picks, outcomes, st.none() | keys), min_size=1, max_size=4))
    def load(self, picked):
        """All or none. A key that is there already, with the same content, is skipped."""
        rows = [{"params": {"x": SPACE.coordinates[i % len(SPACE)][0]}, "key": k} | said(o) for i, o, k in picked]
        fresh, conflict = {}, False
        for i, outcome, key in picked:
            x = SPACE.coordinates[i % len(SPACE)]
            number = self.told_by_key.get(key)
            if number is not None:
                same = self.told[number][1] == x
                conflict |= not (same and outcome in (self.told[number][2], self.now_holds[number]))
            elif key in fresh:
                conflict |= fresh[key] != (x, outcome)
            elif key is not None:
                fresh[key] = (x, outcome)
        if conflict:
            with pytest.raises(ConflictError):
                self.study.load(rows)
            return
        new = 0
        for i, outcome, key in picked:
            if key is None or key not in self.told_by_key:
                number = self.last + 1
                self.store(number, (self.now(number), SPACE.coordinates[i % len(SPACE)], outcome), key)
                new += 1
        loaded = self.study.load(rows)
        assert (loaded.new, loaded.known) == (new, len(picked) - new)

    @precondition(lambda self: self.told)
    @rule(pick=picks, outcome=st.none() | outcomes)
    def correct(self, pick, outcome):
        number = self.one_of(self.told, pick)
        if outcome is None:
            receipt = self.study.retract(number, who="me", why="a typing error")
        else:
            receipt = self.study.correct(number, **said(outcome), who="me", why="a typing error")
        assert receipt.new == (self.now_holds[number] != outcome)
        self.corrected += receipt.new
        self.now_holds[number] = outcome
        if receipt.new:
            last = self.study.corrections()[-1]
            assert (last.number, last.after, last.who, last.why) == (number, outcome, "me", "a typing error")

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

    @rule(pick=picks)
    def come_back(self, pick):
        """Crash: the file and its log as they are now, opened elsewhere. Second: another object on the same file."""
        old, kind = self.study, self.kinds[pick % len(self.kinds)]
        if kind == "rename":
            self.name = f"{self.name}'"
            old.rename(self.name)
            return
        if kind == "copy":
            self.path = self.new_place()
            self.study = old.copy(self.name, path=self.path)
            old.close()
            return
        if kind == "crash":
            self.path = self.crashed(self.path)
        if kind != "second":
            old.close()
        self.study = Study.open(self.name, path=self.at(self.path))

    # --- what must hold -----------------------------------------------------------------------------------------

    @invariant()
    def the_log_is_the_dictionary(self):
        if not hasattr(self, "study"):
            return
        assert len(self.log()) == sum(outcome is not None for outcome in self.now_holds.values())
        assert set(self.asked) | set(self.told) == set(range(1, self.last + 1))
        assert [s.number for s in self.study.pending()] == self.pending
        counts = self.study.describe().counts
        assert (counts.last, counts.asked, counts.told) == (self.last, len(self.asked), len(self.told))
        assert (counts.abandoned, counts.unanswered) == (len(self.abandoned), len(self.awaited))
        assert (counts.corrected, len(self.study.corrections())) == (self.corrected, self.corrected)
        assert counts.rewards == sum(map(self.has_reward, self.told))
        assert counts.failed == sum(o is not None and o.failed for o in self.now_holds.values())


class PromisesBehindAService(Promises):
    """The same, with every file behind a service of its own."""

    kinds = ("crash", "close", "second", "rename")

    def __init__(self):
        super().__init__()
        self.services, self.addresses = ExitStack(), {}

    def at(self, path):
        if path not in self.addresses:
            self.addresses[path] = self.services.enter_context(serving(path))
        return self.addresses[path]

    def teardown(self):
        self.services.close()
        super().teardown()


TestPromises = Promises.TestCase
TestPromises.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)

TestPromisesBehindAService = pytest.mark.slow(PromisesBehindAService.TestCase)
TestPromisesBehindAService.settings = settings(max_examples=4, stateful_step_count=25, deadline=None)
