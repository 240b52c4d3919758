"""What a search finds in a window: the expert whose world it is, changes and their dates, cycles, moving levels."""

from dataclasses import replace

import numpy as np
import pytest

from driftwise import RBF, Float, Matern, Study
from driftwise.auto.bank import Bank
from driftwise.auto.data import Frame, Memory, Observations
from driftwise.auto.experts import Expert, MovingLevel
from driftwise.auto.search import PERIODS, Search
from driftwise.gp.time_kernels import Cyclic, Forgetting, MaternInTime, Wave
from driftwise.log import Outcome, SqlStore
from driftwise.log.sqlite import Sqlite

TIMES = (Forgetting(0.0), Forgetting(0.05), MaternInTime(2.5, 30.0))
BANK = Bank((RBF(0.1), Matern(2.5, 0.6)), TIMES, (0.003, 0.03, 0.3), parts=((0,), (1,)))
N = 150
WARPED = Expert(1, TIMES[0], 0.003, stretch=(0.5, 8.0))


def drawn(*experts, seed=5, gap=1.0):
    """Rewards drawn from one expert, or from several one after the other, each on as many observations."""
    rng = np.random.default_rng(seed)
    X, at = rng.random((N, 2)), gap * np.arange(1.0, N + 1)
    y = np.zeros(N)
    for part, truth in zip(np.array_split(np.arange(N), len(experts)), experts, strict=True):
        clock, level = at[part] / gap, truth.level
        A = BANK.kernel(truth.shape)(X[part], X[part]) * truth.time(clock, clock) + truth.noise * np.eye(len(part))
        A += level.variance * level.time(clock, clock) if level else 0.0
        y[part] = np.linalg.cholesky(A) @ rng.standard_normal(len(part))
    return Memory(Observations(np.arange(1, N + 1), at, X, y, Frame((1.0, 1.0))), np.zeros(N, dtype=int), N)


def heaviest(memory, bank=BANK):
    experts, w = Search(bank, memory).leading
    assert w.sum() == pytest.approx(1.0)
    return experts[int(np.argmax(w))]


@pytest.mark.parametrize("truth", [Expert(0, TIMES[0], 0.003), Expert(1, TIMES[1], 0.03), Expert(1, TIMES[2], 0.003)])
def test_the_expert_whose_world_it_is(truth):
    found = heaviest(drawn(truth))
    assert (found.kernel, found.time, found.since, found.earlier, found.level) == (
        truth.kernel,
        truth.time,
        0,
        (),
        None,
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_new_function_is_dated(seed):
    old = Expert(1, TIMES[0], 0.003)
    found = heaviest(drawn(old, old, seed=seed))
    assert abs(found.since - 76) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_a_noise_that_changes_twice_is_no_new_function(seed):
    """Quiet, loud, quiet, the function being the same all along."""
    memory = drawn(Expert(1, TIMES[0], 1e-9), seed=seed)
    loud = np.repeat([0.003, 0.3, 0.003], 50)
    y = memory.all.y + np.sqrt(loud) * np.random.default_rng(seed).standard_normal(N)
    data = Observations(memory.all.numbers, memory.all.at, memory.all.X, y, memory.all.frame)
    found = heaviest(Memory(data, memory.newer, N))
    assert found.since == 0
    assert [(abs(until - at) <= 6, noise) for (until, noise), at in zip(found.earlier, (51, 101), strict=True)] == [
        (True, pytest.approx(0.003)),
        (True, pytest.approx(0.3)),
    ]
    assert found.noise == pytest.approx(0.003)


@pytest.mark.parametrize(("period", "gap"), [(24.0, 1.0), (7.0, 86_400.0)])
def test_a_cycle_and_its_period(period, gap):
    truth = Expert(1, Cyclic(period, 1.0, 0.0003), 0.003)
    found = heaviest(drawn(truth, gap=gap))
    assert isinstance(found.time, Cyclic)
    assert found.time.period == period


def test_no_cycle_where_there_is_none():
    for seed in range(6):
        experts, _ = Search(BANK, drawn(Expert(1, TIMES[seed % 3], 0.03), seed=seed)).leading
        assert not any(isinstance(e.time, Cyclic) for e in experts)


def test_a_period_is_looked_for_once_it_had_time_to_come_back():
    truth = Expert(1, Cyclic(96.0, 1.0, 0.0), 0.003)
    assert 96.0 in PERIODS
    experts, _ = Search(BANK, drawn(truth)).weighted
    assert not any(isinstance(e.time, Cyclic) and e.time.period == 96.0 for e in experts)


@pytest.mark.parametrize(("period", "gap"), [(75.0, 1.0), (100.0, 3600.0), (200.0, 1.0)])
def test_a_function_that_turns_is_found_after_a_part_of_two_turns(period, gap):
    """The kernel of time of the zoo's rotations."""
    found = heaviest(drawn(Expert(1, Wave(period, 1.0, 0.0), 0.003), gap=gap))
    assert isinstance(found.time, Wave)
    assert found.time.period == pytest.approx(period, rel=0.1)


@pytest.mark.parametrize("period", [75.0, 100.0])
def test_a_level_that_swings_is_no_function_that_turns(period):
    experts, w = Search(
        BANK, drawn(Expert(1, TIMES[0], 0.003, level=MovingLevel(1.0, Wave(period, 1.0, 0.0))))
    ).weighted
    assert not any(isinstance(e.time, Wave) for e in experts)
    best = experts[int(np.argmax(w))]
    assert best.level is not None
    assert best.level.time.period == pytest.approx(period, rel=0.1)


def test_nothing_turns_or_swings_where_nothing_does():
    for seed in range(6):
        experts, _ = Search(BANK, drawn(Expert(1, TIMES[seed % 3], 0.03), seed=seed)).weighted
        assert not any(isinstance(time, Wave) for e in experts for time in (e.time, e.level and e.level.time))


def test_a_level_that_moves_on_its_own():
    truth = Expert(1, TIMES[0], 0.003, level=MovingLevel(1.0, Forgetting(0.5)))
    experts, w = Search(BANK, drawn(truth)).leading
    assert sum(weight for e, weight in zip(experts, w, strict=True) if e.level) > 0.9
    assert experts[0].time in (Forgetting(0.0), Forgetting(0.003), MaternInTime(2.5, 200.0))  # the rest hardly moves


def test_a_level_that_moves_where_there_is_no_noise():
    level = MovingLevel(1.0, MaternInTime(2.5, 60.0))
    found = heaviest(drawn(Expert(1, TIMES[0], 1e-6, level=level)))
    assert found.level is not None
    assert found.noise < min(BANK.noises)


@pytest.mark.parametrize("seed", range(3))
def test_a_level_that_moves_where_all_else_slides(seed):
    found = heaviest(
        drawn(Expert(1, MaternInTime(2.5, 60.0), 0.003, level=MovingLevel(3.0, MaternInTime(2.5, 15.0))), seed=seed)
    )
    assert found.level is not None
    assert isinstance(found.time, MaternInTime)


@pytest.mark.parametrize("jump", [60, 63, 65, 69])
def test_a_level_that_jumps_is_no_new_function_whatever_the_date(jump):
    memory = drawn(Expert(1, TIMES[0], 0.003), seed=jump)
    y = memory.all.y + 3.0 * (np.arange(N) >= jump)
    found = heaviest(Memory(replace(memory.all, y=y), memory.newer, N))
    assert found.since == 0
    assert len(found.shifts) == 1
    assert abs(found.shifts[0] - jump - 1) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_coordinates_have_lengthscales_of_their_own(seed):
    found = heaviest(drawn(Expert(0, TIMES[0], 0.003, stretch=(2.0, 8.0)), seed=seed))
    lengths = np.array(found.stretch) * (0.1, 0.6)[found.kernel]  # RBF(0.1) and Matern(0.6)
    assert 2 <= lengths[1] / lengths[0] <= 8


def test_a_coordinate_that_does_nothing_is_found_out():
    found = heaviest(drawn(Expert(1, TIMES[0], 0.003, stretch=(0.5, 1e6))))
    assert found.stretch[1] >= 4
    assert found.stretch[0] <= 1


@pytest.mark.parametrize("seed", range(3))
def test_no_lengthscales_of_their_own_where_they_are_all_the_same(seed):
    experts, _ = Search(BANK, drawn(Expert(1, TIMES[0], 0.003), seed=seed)).weighted
    assert all(e.stretch == () for e in experts)


@pytest.mark.parametrize("seed", range(4))
def test_after_a_noisy_time_what_is_at_one_place_is_no_new_function(seed):
    """The noise grows for a dozen observations; then, as a policy does, only the best place is looked at."""
    rng, parts = np.random.default_rng(seed), (40, 12, 98)
    X, noise, old = rng.random((N, 2)), np.repeat([0.003, 0.3, 0.003], parts), slice(0, parts[0])
    f = np.linalg.cholesky(Matern(2.5, 0.6)(X, X) + 1e-8 * np.eye(N)) @ rng.standard_normal(N)
    best = int(np.argmax(f[old]))
    X[-parts[2] :], f[-parts[2] :] = X[best], f[best]
    y, numbers = f + np.sqrt(noise) * rng.standard_normal(N), np.arange(1, N + 1)
    memory = Memory(Observations(numbers, numbers.astype(float), X, y, Frame((1.0, 1.0))), np.zeros(N, dtype=int), N)
    experts, w = Search(BANK, memory).leading
    assert sum(share for e, share in zip(experts, w, strict=True) if e.since) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_outliers_are_left_out_and_no_new_function(seed):
    memory = drawn(Expert(1, TIMES[0], 0.003), seed=seed)
    y = memory.all.y.copy()
    y[[60, 100]] += 6.0, -4.0
    wild = Observations(memory.all.numbers, memory.all.at, memory.all.X, y, memory.all.frame)
    search = Search(BANK, Memory(wild, memory.newer, N))
    assert all(fit.expert.last_change == 0 for fit in search.fits[:1])
    assert {60, 100} <= set(search.fits[0].ignored)


@pytest.mark.parametrize(("noise", "noises"), [(1e-6, (0.003, 0.03)), (0.3, (0.003, 0.03)), (3e-5, (0.03, 0.3))])
def test_a_noise_beyond_the_banks_is_found(noise, noises):
    found = heaviest(drawn(Expert(1, TIMES[0], noise)), replace(BANK, noises=noises))
    assert noise / 10 < found.noise < noise * 10


@pytest.mark.parametrize("noise", BANK.noises)
def test_no_noise_beyond_the_banks_where_it_is_one_of_these(noise):
    experts, _ = Search(BANK, drawn(Expert(1, TIMES[0], noise))).weighted
    assert {e.noise for e in experts} <= set(BANK.noises)


def test_what_is_not_wanted_is_not_looked_for():
    bank = Bank(BANK.kernels, BANK.times, BANK.noises, changes=False, cycles=False, levels=False)
    for truth in (
        Expert(1, Cyclic(24.0, 1.0, 0.0), 0.003),
        Expert(1, Wave(75.0, 1.0, 0.0), 0.03),
        Expert(1, TIMES[0], 0.003, level=MovingLevel(1.0, TIMES[1])),
        WARPED,
    ):
        assert set(Search(bank, drawn(truth)).weighted[0]) <= set(bank.experts)


def test_no_lock_is_held_while_a_search_runs(tmp_path, monkeypatch):
    """Somebody else tells during the search, which the file's lock would keep them from doing."""
    study = Study("a", {"x": Float(0, 1)}, policy="auto", path=tmp_path / "a.db")
    for x in (0.2, 0.5, 0.8):
        study.observe({"x": x}, reward=x)
    other, search, told = SqlStore(Sqlite(tmp_path / "a.db")).open("a"), Search._pieces, []

    def searched(self):
        if not told:
            told.append(other.observe((0.5,), Outcome(1.0)))
        return search(self)

    monkeypatch.setattr(Search, "_pieces", searched)
    assert study.ask().number == 5
    assert len(told) == 1


def wide(matter, seed, n=60, d=10):
    """Rewards of a function of the first of d coordinates that `matter`, so many, with little noise."""
    X = np.random.default_rng(seed).random((n, d))
    return seen(X, np.sin(5 * X[:, :matter]).sum(axis=1), seed)


def seen(X, f, seed):
    n, d = X.shape
    y, numbers = f + 0.03 * np.random.default_rng(1000 + seed).standard_normal(n), np.arange(1, n + 1)
    return Memory(Observations(numbers, numbers.astype(float), X, y, Frame((1.0,) * d)), np.zeros(n, dtype=int), n)


def wide_bank(parts):
    return Bank((RBF(1.0), Matern(2.5, 0.6)), TIMES, (0.003, 0.03, 0.3), parts=parts)


def one_by_one(d):
    return tuple((j,) for j in range(d))


@pytest.mark.parametrize("seed", range(3))
def test_the_few_coordinates_that_matter_are_found_among_many(seed):
    stretch = np.array(heaviest(wide(2, seed), wide_bank(one_by_one(10))).stretch)
    assert stretch[:2].max() <= 2
    assert stretch[2:].min() >= 4


@pytest.mark.parametrize("seed", range(3))
def test_coordinates_that_all_matter_are_none_of_them_left_out(seed):
    assert max(heaviest(wide(6, seed, d=6), wide_bank(one_by_one(6))).stretch, default=1.0) < 8


@pytest.mark.parametrize("seed", range(3))
def test_a_choice_has_one_length_scale_however_alike_some_of_its_values_are(seed):
    """Of three values one is far from the others, which differ a little. Eight more parameters do nothing."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(3, size=80)
    X = np.hstack([rng.random((80, 8)), np.eye(3)[chosen] / np.sqrt(2)])
    memory = seen(X, np.array([0.0, 0.3, 2.0])[chosen], seed)
    stretch = heaviest(memory, wide_bank((*one_by_one(8), (8, 9, 10)))).stretch
    assert len(set(stretch[8:])) == 1
    assert stretch[8] < min(stretch[:8])
