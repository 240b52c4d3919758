"""What every store promises. Inherit `StoreContract`, give it a `store` and a way to come back to it after a crash."""

from __future__ import annotations

import pytest

from driftwise.errors import ConflictError, NotFoundError
from driftwise.log import BEGINNING, Chosen, Outcome
from driftwise.records import Observation


def at(x: float, *, jitter: float = 0.0):
    """A policy that always answers x."""

    def prepare(view):
        chosen = Chosen((x,), float(view.counts.last + 1), jitter)
        return lambda: (chosen,)

    return prepare


def never(view):
    raise AssertionError("this ask must not be computed again")


def everything(log) -> tuple:
    """All that a log says."""
    return log.read(lambda view: (view.counts, tuple(view.pending(1000)), tuple(view.tail()), arrived(view)))


def arrived(view, after: int = 0) -> tuple:
    """The observations in the order they arrived."""
    return tuple(view.since(BEGINNING).arrived)[after:]


class StoreContract:
    @pytest.fixture
    def store(self):
        raise NotImplementedError

    def again(self, store):
        """The store as another process, or the same after a crash, finds it."""
        return store

    def test_studies_are_kept_apart_by_name(self, store):
        first, second = store.create("a", "{}"), store.create("b", "[]")
        first.ask("k", at(0.5), 1000)
        assert store.names() == ["a", "b"]
        assert everything(second)[0].asked == 0
        assert second.ask("k", at(0.1), 1000).x == (0.1,)
        assert self.again(store).open("a").description == "{}"

    def test_create_gives_the_study_that_is_there(self, store):
        store.create("a", "one").ask(None, at(0.5), 1000)
        assert store.create("a", "two").description == "one"
        assert everything(store.create("a", "two"))[0].asked == 1

    def test_an_unknown_study_is_named(self, store):
        with pytest.raises(NotFoundError, match="'nobody'"):
            store.open("nobody")

    def test_ask_is_idempotent_by_key(self, store):
        log = store.create("a", "{}")
        first = log.ask("k", at(0.25), 1000)
        assert self.again(store).open("a").ask("k", never, 1000) == first
        made = log.ask(None, at(0.5), 1000)
        assert log.ask(made.key, never, 1000) == made
        assert (first.number, made.number) == (1, 2)

    def test_keys_may_look_like_ids_and_come_in_any_order(self, store):
        log = store.create("a", "{}")
        log.observe((0.0,), Outcome(1.0))
        given = ["0", "1", "2-", "1-ab", "-", "é", "𝟙", "zz", "a", "", "2", "99999999999999999999-a"]
        asked = {key: log.ask(key, at(0.5), 1000) for key in given if key}
        assert [asked[key].number for key in given if key] == list(range(2, 2 + len(asked)))
        again = self.again(store).open("a")
        assert {key: again.ask(key, never, 1000) for key in asked} == asked
        observed = [log.observe((0.1,), Outcome(1.0), None, key).number for key in asked]
        assert [log.observe((0.1,), Outcome(1.0), None, key).number for key in asked] == observed

    def test_an_ask_that_fails_leaves_nothing(self, store):
        log = store.create("a", "{}")
        before = everything(log)
        with pytest.raises(AssertionError):
            log.ask("k", never, 1000)
        assert everything(log) == before
        assert log.ask("k", at(0.0), 1000).number == 1

    def test_tell_is_exactly_once(self, store):
        log = store.create("a", "{}")
        asked = log.ask(None, at(0.25), 1000)
        assert log.tell(asked.id, Outcome(1.5)).new
        before = everything(log)
        again = self.again(store).open("a").tell(asked.id, Outcome(1.5))
        assert (again.number, again.new) == (1, False)
        with pytest.raises(ConflictError, match=r"1\.5 before, now 2\.5"):
            log.tell(asked.id, Outcome(2.5))
        assert everything(log) == before
        assert list(log.observations()) == [Observation(1, 1.0, (0.25,), 1.5)]

    def test_unknown_suggestions_are_named(self, store):
        log = store.create("a", "{}")
        asked = log.ask(None, at(0.25), 1000)
        for id in ("", "1", "1-", "x-y", "2-" + asked.id[2:], asked.id + "0", "9" * 30 + "-a", "-1-ab", "１-ab"):
            with pytest.raises(NotFoundError, match="has no suggestion"):
                log.tell(id, Outcome(1.0))
            with pytest.raises(NotFoundError, match="has no suggestion"):
                log.abandon(id)
        assert everything(log)[0].told == 0

    def test_observe_is_exactly_once_by_key(self, store):
        log = store.create("a", "{}")
        assert log.observe((0.5,), Outcome(1.0), None, "k").new
        assert not log.observe((0.5,), Outcome(1.0), None, "k").new
        for x, y, time in (((0.6,), 1.0, None), ((0.5,), 2.0, None), ((0.5,), 1.0, 7.0)):
            with pytest.raises(ConflictError, match="'k'"):
                log.observe(x, Outcome(y), time, "k")
        assert log.observe((0.5,), Outcome(1.0), 7.0, None).number == 2
        assert [seen.at for seen in log.observations()] == [1.0, 7.0]

    def test_numbers_are_contiguous_over_asks_and_observations(self, store):
        log = store.create("a", "{}")
        numbers = [
            log.ask(None, at(0.1), 1000).number,
            log.observe((0.5,), Outcome(1.0)).number,
            log.ask(None, at(0.2), 1000).number,
        ]
        assert numbers == [1, 2, 3]

    def test_late_rewards_take_the_place_of_their_number(self, store):
        log = store.create("a", "{}")
        asked = [log.ask(None, at(i / 10), 1000) for i in range(5)]
        newer = [log.tell(asked[i].id, Outcome(float(i)), limit=2).newer for i in (4, 2, 3, 0)]
        assert newer == [0, 1, 1, 2]  # three are newer than the last one told; it was asked to count to two
        assert [seen.number for seen in log.read(lambda view: view.tail())] == [1, 3, 4, 5]
        assert [seen.number for seen in log.read(lambda view: view.tail(2))] == [4, 5]
        assert [seen.number for seen in log.read(lambda view: view.tail(above=3))] == [4, 5]
        assert [seen.number for seen in log.read(lambda view: arrived(view, 1))] == [3, 4, 1]
        assert log.read(lambda view: [view.start_of_tail(n) for n in (1, 3, 4, 5)]) == [5, 3, 1, 0]
        assert log.read(lambda view: view.newest()).number == 5

    def test_an_abandoned_suggestion_is_no_observation_and_may_still_be_told(self, store):
        log = store.create("a", "{}")
        first, second = log.ask(None, at(0.1), 1000), log.ask(None, at(0.2), 1000)
        log.abandon(first.id)
        log.abandon(first.id)
        counts, pending, *_ = everything(log)
        assert [asked.id for asked in pending] == [second.id]
        assert (counts.abandoned, counts.unanswered, counts.told) == (1, 1, 0)
        assert log.tell(first.id, Outcome(1.0)).new
        counts = everything(log)[0]
        assert (counts.abandoned, counts.unanswered, counts.told) == (0, 1, 1)
        with pytest.raises(ConflictError, match="has its reward"):
            log.abandon(first.id)

    def test_pending_expires_by_later_suggestions_and_not_by_observations(self, store):
        log = store.create("a", "{}")
        asked = [log.ask(None, at(i / 10), 1000) for i in range(4)]
        for _ in range(5):
            log.observe((0.5,), Outcome(1.0))
        assert [a.number for a in log.read(lambda view: view.pending(2))] == [3, 4]
        assert log.read(lambda view: view.pending(0)) == []
        assert log.tell(asked[0].id, Outcome(1.0)).new

    def test_jitter_is_counted(self, store):
        log = store.create("a", "{}")
        for jitter in (0.0, 1e-9, 1e-10):
            log.ask(None, at(0.5, jitter=jitter), 1000)
        counts = everything(self.again(store).open("a"))[0]
        assert (counts.jittered, counts.jitter) == (2, 1e-9)

    def test_floats_come_back_bit_for_bit(self, store):
        log = store.create("a", "{}")
        x = (0.1 + 0.2, 5e-324, 1e308, -1e-17)
        log.observe(x, Outcome(1 / 3), 2 / 3, None)
        assert list(self.again(store).open("a").observations()) == [Observation(1, 2 / 3, x, 1 / 3)]

    def make_pages_small(self, monkeypatch):
        """So that a few observations fill several pages."""

    def test_observations_come_in_pages(self, store, monkeypatch):
        self.make_pages_small(monkeypatch)
        log = store.create("a", "{}")
        for i in range(23):
            log.observe((0.0,), Outcome(float(i)))
        reader = log.observations()
        assert next(reader).number == 1
        log.observe((0.0,), Outcome(7.0))  # a reader in the middle keeps nobody from writing
        assert [seen.number for seen in reader][:22] == list(range(2, 24))
