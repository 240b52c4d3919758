"""What every store promises of outcomes, failures, corrections, batches, imports and whole logs."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from contracts.store import arrived, at, everything, never
from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.log import FAILED, Chosen, Decided, NewObservation, Outcome, outcome_of
from driftwise.log.decisions import decisions, last_asked, told_since
from driftwise.records import Observation, Serving

RICH = Outcome(1.5, std=0.1 + 0.2, repeats=20, measures=(("p99 ms", 180.0), ("cost", 1 / 3)))


def several(*points: float):
    """A policy that answers these points."""

    def prepare(view):
        chosen = tuple(Chosen((x,), float(view.counts.last + i)) for i, x in enumerate(points, 1))
        return lambda: chosen

    return prepare


def observed(log, count: int) -> list[int]:
    return [log.observe((i / 100,), Outcome(float(i))).number for i in range(count)]


def rewards(log, *arguments, **options) -> list[tuple[int, float]]:
    return [(seen.number, seen.y) for seen in log.read(lambda view: view.tail(*arguments, **options))]


class EntriesContract:
    # --- outcomes -----------------------------------------------------------------------------------------------

    def test_details_of_an_outcome_come_back_bit_for_bit(self, store):
        log = store.create("a", "{}")
        asked = log.ask(None, at(0.25), 1000)
        log.tell(asked.id, RICH)
        log.observe((0.5,), Outcome(2.0, repeats=3), key="k")
        log.observe((0.75,), replace(FAILED, measures=(("ms", 7.0),)))
        first, second, third = self.again(store).open("a").observations()
        assert first == Observation(1, 1.0, (0.25,), 1.5, RICH.std, 20, (("cost", 1 / 3), ("p99 ms", 180.0)))
        assert second == Observation(2, 2.0, (0.5,), 2.0, repeats=3)
        assert third == Observation(3, 3.0, (0.75,), math.nan, measures=(("ms", 7.0),), failed=True)
        assert third.y is math.nan
        assert not log.tell(asked.id, RICH).new
        assert not log.observe((0.5,), Outcome(2.0, repeats=3), key="k").new

    @pytest.mark.parametrize(
        "other", [Outcome(2.5), Outcome(1.5), replace(RICH, std=0.3), replace(RICH, repeats=2), FAILED]
    )
    def test_another_outcome_is_a_conflict_that_says_what_differs(self, store, other):
        log = store.create("a", "{}")
        asked = log.ask(None, at(0.25), 1000)
        log.tell(asked.id, RICH)
        log.observe((0.5,), RICH, key="k")
        before = everything(log)
        said = (
            r"was told 1\.5 with std 0\.30000000000000004, repeats 20, cost 0\.3333333333333333, p99 ms 180\.0 before"
        )
        with pytest.raises(ConflictError, match=said):
            log.tell(asked.id, other)
        with pytest.raises(ConflictError, match="'k'"):
            log.observe((0.5,), other, key="k")
        assert everything(log) == before

    def test_failures_are_counted_and_answer_their_suggestion(self, store):
        log = store.create("a", "{}")
        asked = log.ask(None, at(0.25), 1000)
        assert log.tell(asked.id, FAILED).new
        assert not log.tell(asked.id, FAILED).new
        with pytest.raises(ConflictError, match=r"was told a failure before, now 1\.0"):
            log.tell(asked.id, Outcome(1.0))
        counts = everything(log)[0]
        assert (counts.told, counts.failed, counts.rewards, counts.unanswered) == (1, 1, 0, 0)

    def test_a_limit_counts_rewards_and_gives_the_failures_between_them(self, store):
        log = store.create("a", "{}")
        for i in range(1, 21):  # 4, 8, … 20 and 10 to 13 fail
            log.observe((0.5,), FAILED if i % 4 == 0 or 10 <= i <= 13 else Outcome(float(i)))
        numbers = [[seen.number for seen in log.read(lambda view, n=n: view.tail(n))] for n in (0, 1, 3, 4, 5, 6, 99)]
        expected = [[], range(19, 21), range(17, 21), range(15, 21), range(14, 21), range(9, 21), range(1, 21)]
        assert numbers == [list(each) for each in expected]
        assert log.read(lambda view: [view.start_of_tail(n) for n in (1, 3, 4, 6, 12, 13)]) == [19, 17, 15, 9, 1, 0]
        assert log.read(lambda view: view.newest()).number == 20
        asked = log.ask(None, at(0.1), 1000)
        for i in range(5):
            log.observe((0.5,), FAILED if i % 2 else Outcome(1.0))
        assert log.tell(asked.id, Outcome(0.0), limit=9).newer == 3
        assert log.tell(asked.id, Outcome(0.0), limit=2).newer == 2

    # --- keys of tells --------------------------------------------------------------------------------------------

    def test_a_tell_with_a_key_is_known_by_it(self, store):
        log = store.create("a", "{}")
        one, two = (log.ask(None, at(x), 1000) for x in (0.1, 0.2))
        assert log.tell(one.id, Outcome(1.0), key="k").new
        before = everything(log)
        assert not self.again(store).open("a").tell(one.id, Outcome(1.0), key="k").new
        with pytest.raises(ConflictError, match=r"1\.0 before, now 2\.0"):
            log.tell(one.id, Outcome(2.0), key="k")
        with pytest.raises(ConflictError, match="key 'k' belongs to observation 1"):
            log.tell(two.id, Outcome(1.0), key="k")
        assert everything(log) == before
        log.correct(1, Outcome(5.0), "me", "typo")
        assert not log.tell(one.id, Outcome(1.0), key="k").new  # sent again, though it was corrected meanwhile
        assert not log.tell(one.id, Outcome(5.0), key="k").new
        assert rewards(log) == [(1, 5.0)]
        assert log.observe((0.5,), Outcome(1.0), key="o").new
        with pytest.raises(ConflictError, match="key 'o' belongs to observation 3"):
            log.tell(two.id, Outcome(1.0), key="o")

    # --- corrections ----------------------------------------------------------------------------------------------

    def test_a_correction_holds_for_every_reader_and_the_log_keeps_what_was_told(self, store):
        log = store.create("a", "{}")
        observed(log, 4)
        assert log.correct(2, Outcome(7.5, std=0.5), "ann", "typed wrong").new
        assert not log.correct(2, Outcome(7.5, std=0.5), "bob", "again").new
        assert log.correct(4, None, why="the sensor was off", limit=9).newer == 0
        assert not log.correct(4, None).new
        assert log.correct(3, FAILED).new
        again = self.again(store).open("a")
        for each in (log, again):
            counts = everything(each)[0]
            assert (counts.told, counts.failed, counts.retracted, counts.corrected, counts.rewards) == (4, 1, 1, 3, 2)
            held = [Observation(1, 1.0, (0.0,), 0.0), Observation(2, 2.0, (0.01,), 7.5, std=0.5)]
            held += [Observation(3, 3.0, (0.02,), math.nan, failed=True)]
            assert list(each.observations()) == list(each.read(arrived)) == each.read(lambda view: view.tail()) == held
            assert each.read(lambda view: view.newest()) == held[-1]
            assert each.read(lambda view: view.tail(1)) == held[1:]
            assert each.read(lambda view: view.tail(above=2)) == held[2:]
            made = each.corrections()
            assert [(c.ordinal, c.number, c.before, c.after) for c in made] == [
                (1, 2, Outcome(1.0), Outcome(7.5, std=0.5)),
                (2, 4, Outcome(3.0), None),
                (3, 3, Outcome(2.0), FAILED),
            ]
            assert [(c.who, c.why) for c in made] == [("ann", "typed wrong"), ("", "the sensor was off"), ("", "")]
            assert all(c.when.endswith("+00:00") for c in made)

    def test_what_was_retracted_may_come_back(self, store):
        log = store.create("a", "{}")
        observed(log, 2)
        log.correct(2, None)
        assert rewards(log) == [(1, 0.0)]
        assert log.correct(2, Outcome(4.0)).new
        assert log.correct(2, Outcome(1.0)).new
        assert rewards(log) == [(1, 0.0), (2, 1.0)]
        counts = everything(self.again(store).open("a"))[0]
        assert (counts.retracted, counts.corrected) == (0, 3)
        assert [c.before for c in log.corrections()] == [Outcome(1.0), None, Outcome(4.0)]

    def test_only_observations_can_be_corrected(self, store):
        log = store.create("a", "{}")
        asked = log.ask(None, at(0.1), 1000)
        for number in (0, -1, 2, 10**30):
            with pytest.raises(NotFoundError, match=f"no observation {number}"):
                log.correct(number, Outcome(1.0))
        with pytest.raises(NotFoundError, match="has no reward to correct"):
            log.correct(1, None)
        log.abandon(asked.id)
        with pytest.raises(NotFoundError, match="has no reward to correct"):
            log.correct(1, Outcome(1.0))
        assert everything(log)[0].corrected == 0

    def test_decisions_are_entries_that_count_for_nothing(self, store):
        log = store.create("a", "{}")
        observed(log, 2)
        before, counts = log.read(lambda view: (view.mark, view.counts))
        log.decide(lambda view: {"what": "one", "after": view.counts.last})
        log.decide(lambda view: None)
        serving = Serving("candidate", 0.25, 0)
        asked = log.ask("k", lambda view: lambda: (Chosen((0.5,), 3.0, serving=serving),), 1000)
        log.decide(lambda view: {"what": "two"})
        for each in (log, self.again(store).open("a")):
            (first, one), (_, two) = each.read(decisions)
            assert (one, two) == (Decided(2, {"what": "one", "after": 2}), Decided(3, {"what": "two"}))
            assert each.read(lambda view: list(told_since(view, before))) == [one, asked, two]
            assert each.read(lambda view, first=first: list(told_since(view, first))) == [asked, two]
            assert each.read(last_asked) == asked
            assert asked.serving == each.ask("k", never, 1000).serving == serving
            assert everything(each)[0] == replace(counts, last=3, asked=1)
            with pytest.raises(StoreError, match="Was a backup restored"):
                each.read(lambda view, first=first: list(told_since(view, replace(first, chain=first.chain + 1))))

    def test_the_numbers_that_were_corrected_since(self, store):
        log = store.create("a", "{}")
        observed(log, 5)
        before = log.read(lambda view: view.mark)
        log.correct(4, None)
        middle = log.read(lambda view: view.mark)
        log.correct(2, Outcome(9.0))
        log.correct(4, Outcome(9.0))
        assert log.read(lambda view: view.since(before).corrected) == [4, 2, 4]
        assert log.read(lambda view: view.since(middle).corrected) == [2, 4]
        for other in (replace(middle, chain=middle.chain + 1), replace(middle, seq=99)):
            with pytest.raises(StoreError, match="Was a backup restored"):
                log.read(lambda view, other=other: view.since(other))

    def test_any_entries_in_any_order_against_a_dictionary(self, store, monkeypatch):
        self.make_pages_small(monkeypatch)
        draw = random.Random(0)
        log = store.create("a", "{}")
        told: dict[int, Outcome] = {}
        holds: dict[int, Outcome | None] = {}
        waiting = []

        def outcome():
            return FAILED if draw.random() < 0.3 else Outcome(draw.random(), std=draw.choice((None, 0.5)))

        for _ in range(150):
            what = draw.choice(("ask", "tell", "observe", "observe", "correct", "correct", "retract"))
            if what == "ask":
                waiting.append(log.ask(None, at(0.5), 1000))
            elif what == "observe" or (what == "tell" and waiting):
                made = outcome()
                sent = waiting.pop(draw.randrange(len(waiting))) if what == "tell" else None
                number = (log.tell(sent.id, made) if sent else log.observe((0.5,), made)).number
                told[number] = holds[number] = made
            elif told:
                number = draw.choice(list(told))
                made = None if what == "retract" else outcome()
                assert log.correct(number, made).new == (holds[number] != made)
                holds[number] = made
            now = {n: each for n, each in sorted(holds.items()) if each is not None}
            with_reward = [n for n, each in now.items() if not each.failed]
            limit = draw.randrange(1, 12)
            start = with_reward[-limit] if len(with_reward) >= limit else 0
            view = log.read(lambda view, n=limit: (view.tail(n), view.start_of_tail(n), view.newest(), arrived(view)))
            tail, begins, newest, order = view
            assert [(seen.number, outcome_of(seen)) for seen in tail] == [(n, o) for n, o in now.items() if n >= start]
            assert begins == start
            assert (newest.number if newest else 0) == max(now, default=0)
            assert [seen.number for seen in order] == [n for n in told if n in now]
            counts = everything(log)[0]
            assert (counts.told, counts.rewards) == (len(told), len(with_reward))
            if told:
                number = draw.choice(list(told))
                newer = log.correct(number, holds[number], limit=limit).newer
                assert newer == min(limit, sum(n > number for n in with_reward))
        assert [(seen.number, outcome_of(seen)) for seen in log.observations()] == list(now.items())
        assert everything(self.again(store).open("a")) == everything(log)

    # --- several at once --------------------------------------------------------------------------------------------

    def test_several_suggestions_are_made_at_once(self, store):
        log = store.create("a", "{}")
        first = log.ask_many("k", several(0.1, 0.2, 0.3), 1000, 3)
        assert [asked.number for asked in first] == [1, 2, 3]
        assert [asked.x for asked in first] == [(0.1,), (0.2,), (0.3,)]
        assert len({asked.id for asked in first}) == 3
        assert self.again(store).open("a").ask_many("k", never, 1000, 3) == first
        assert log.ask(first[2].key, never, 1000) == first[2]
        before = everything(log)
        for n in (1, 2, 4):
            with pytest.raises(ConflictError, match=f"n=3 before, now for n={n}"):
                log.ask_many("k", never, 1000, n)
        log.ask("one", at(0.5), 1000)
        with pytest.raises(ConflictError, match="n=1 before, now for n=2"):
            log.ask_many("one", never, 1000, 2)
        unnamed = log.ask_many(None, several(0.1, 0.2), 1000, 2)
        assert log.ask_many(unnamed[0].key, never, 1000, 2) == unnamed
        assert everything(log)[1][:3] == before[1]
        for asked in reversed(unnamed):
            assert log.tell(asked.id, Outcome(1.0)).new
        counts = everything(log)[0]
        assert (counts.last, counts.asked, counts.told, counts.unanswered) == (6, 6, 2, 4)

    # --- many observations ------------------------------------------------------------------------------------------

    def test_loading_is_repeatable_by_keys(self, store):
        log = store.create("a", "{}")
        log.observe((0.5,), Outcome(1.0), key="m")
        entries = [NewObservation((i / 10,), Outcome(float(i)), key=key) for i, key in enumerate("zmaqbé")]
        entries[1] = NewObservation((0.5,), Outcome(1.0), key="m")
        entries += [
            NewObservation((0.9,), FAILED, at=70.5),
            NewObservation((0.2,), Outcome(2.0), key="a"),
            NewObservation((1.0,), RICH),
        ]
        loaded = log.load(entries)
        assert (loaded.new, loaded.known) == (7, 2)
        keyed = [entry for entry in entries if entry.key]
        again = self.again(store).open("a").load(keyed)
        assert (again.new, again.known) == (0, len(keyed))
        log.correct(2, Outcome(99.0))
        assert log.load(keyed).new == 0
        assert [(seen.number, seen.at, seen.x) for seen in log.observations()] == [
            *((1, 1.0, (0.5,)), (2, 2.0, (0.0,)), (3, 3.0, (0.2,)), (4, 4.0, (0.3,)), (5, 5.0, (0.4,))),
            *((6, 6.0, (0.5,)), (7, 70.5, (0.9,)), (8, 70.5, (1.0,))),
        ]
        counts = everything(log)[0]
        assert (counts.last, counts.told, counts.unasked, counts.failed) == (8, 8, 8, 1)
        assert not log.observe((0.0,), Outcome(0.0), key="z").new
        assert log.ask("z", at(0.5), 1000).number == 9

    def test_nothing_of_a_load_is_stored_if_a_row_contradicts(self, store):
        log = store.create("a", "{}")
        log.load([NewObservation((0.5,), Outcome(1.0), at=3.0, key="k")])
        before = everything(log)
        fresh = NewObservation((0.1,), Outcome(1.0), key="new")
        for other, what in (
            (NewObservation((0.6,), Outcome(1.0), key="k"), "point"),
            (NewObservation((0.5,), Outcome(2.0), key="k"), "reward"),
            (NewObservation((0.5,), Outcome(1.0), at=4.0, key="k"), "time"),
            (NewObservation((0.6,), Outcome(2.0), key="k"), "point and reward"),
        ):
            with pytest.raises(ConflictError, match=f"row 12: key 'k' is known with another {what} "):
                log.load([fresh, fresh, other], first=10)
        with pytest.raises(ConflictError, match="row 2: key 'new'"):
            log.load([fresh, replace(fresh, outcome=FAILED)])
        assert everything(log) == before
        assert log.load([]).new == 0
        assert log.load([fresh]).new == 1

    def test_keys_of_a_load_go_between_those_that_are_there(self, store):
        draw = random.Random(1)
        log, known = store.create("a", "{}"), {}
        for _ in range(12):
            batch = [NewObservation((0.5,), Outcome(float(k)), key=f"{k:x}") for k in draw.sample(range(400), 30)]
            new = {entry.key for entry in batch} - known.keys()
            assert log.load(batch).new == len(new)
            known |= {entry.key: entry for entry in batch}
        for key, entry in known.items():
            assert not log.observe(entry.x, entry.outcome, key=key).new
        assert log.observe((0.5,), Outcome(1.0), key="new").number == len(known) + 1

    # --- whole logs -------------------------------------------------------------------------------------------------

    def fill(self, log):
        batch = log.ask_many("batch", several(0.1, 0.2, 0.3), 2, 3)
        log.tell(batch[1].id, RICH, key="told")
        log.abandon(batch[0].id)
        log.load([NewObservation((i / 10,), FAILED if i == 3 else Outcome(float(i)), key=f"o{i}") for i in range(6)])
        log.correct(5, None, "me", "why")
        log.correct(2, Outcome(3.0))
        log.ask("late", at(0.7, jitter=1e-9), 2)
        return batch

    def test_a_renamed_log_is_the_same(self, store):
        log = store.create("a", "{}")
        batch = self.fill(log)
        before, corrections = everything(log), log.corrections()
        other = store.create("b", "[]")
        with pytest.raises(ConflictError, match="already has a study 'b'"):
            store.rename("a", "b")
        with pytest.raises(NotFoundError, match="'nobody'"):
            store.rename("nobody", "c")
        store.rename("a", "a")
        store.rename("a", "c")
        assert self.again(store).names() == ["b", "c"]
        renamed = store.open("c")
        assert (everything(renamed), renamed.corrections(), renamed.description) == (before, corrections, "{}")
        assert renamed.ask_many("batch", never, 2, 3) == batch
        with pytest.raises(StoreError, match="no longer in it"):
            everything(log)
        assert everything(other)[0].last == 0
        assert everything(store.create("a", "new"))[0].last == 0

    def test_a_deleted_log_is_gone_and_its_place_is_not_taken(self, store):
        logs = [store.create(name, "{}") for name in "abc"]
        for log in logs:
            self.fill(log)
        kept = everything(logs[0])
        for name in "cb":
            store.delete(name)
        with pytest.raises(NotFoundError, match="'b'"):
            store.delete("b")
        assert self.again(store).names() == ["a"]
        anew = store.create("b", "[]")
        assert everything(anew)[0].last == 0
        self.fill(anew)
        for log in logs[1:]:  # who had it open must not write into another one
            with pytest.raises(StoreError, match="no longer in it"):
                log.ask(None, at(0.5), 1000)
        assert everything(store.open("a")) == kept
        assert everything(store.open("b")) != kept

    def test_a_copy_has_everything(self, store):
        log = store.create("a", "{}")
        batch = self.fill(log)
        made = store.copy("a", store, "b")
        with pytest.raises(ConflictError, match="already has a study 'b'"):
            store.copy("a", store, "b")
        assert (everything(made), made.corrections(), made.description) == (everything(log), log.corrections(), "{}")
        assert made.ask_many("batch", never, 2, 3) == batch
        assert not made.tell(batch[1].id, RICH, key="told").new
        assert not made.observe((0.1,), Outcome(1.0), key="o1").new
        before = everything(log)
        assert made.tell(batch[2].id, Outcome(5.0)).new
        made.correct(5, Outcome(1.0))
        assert everything(log) == before
        assert everything(self.again(store).open("b")) == everything(made)
