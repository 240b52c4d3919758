"""MASTER: the law of its schedule, its two tests by hand, and what it does when nothing is wrong."""

import math
from dataclasses import replace

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Empirical
from driftwise.log.codec import dumps, loads
from driftwise.policies import policy, replay
from driftwise.policies.master import Instance, Master, MasterBlock
from driftwise.records import Ask, Observation
from driftwise.theory.information import MaximumGain
from driftwise.theory.widths import Algorithm

EYE = Empirical(tuple(map(tuple, np.eye(3).tolist())))
THREE = Candidates([0.0, 1.0, 2.0])
LINE = Candidates(np.linspace(0, 1, 15))


def three(**options) -> Master:
    return Master.of(THREE, kernel=EYE, noise=1.0, **options)


def play(made, f, horizon, seed=0):
    state, log = made.start(), []
    noise = 0.1 * np.random.default_rng(seed).standard_normal(horizon + 1)
    for t in range(1, horizon + 1):
        x = made.choose(state, Ask(t, float(t), seed=seed))
        log.append(Observation(t, float(t), tuple(x.tolist()), float(f(t, x[0]) + noise[t])))
        state = made.update(state, log[-1])
    return log, state


def test_the_law_of_the_schedule():
    """n = 3: the active order is 0, 1, 2, 3 with probabilities 0.3536, 0.3232, 0.2285, 0.0947."""
    counts, seeds = np.zeros(4), 4000
    for seed in range(seeds):
        schedule = three(seed=seed).schedule(8, 3)
        for t in range(8):
            counts[next(m for m in range(4) if schedule[m][t // 2**m])] += 1
    q = [2 ** ((m - 3) / 2) for m in range(4)]  # that a slot has an instance
    p = np.array([q[m] * math.prod(1 - q[i] for i in range(m)) for m in range(4)])
    np.testing.assert_allclose(p, [0.3536, 0.3232, 0.2285, 0.0947], atol=1e-4)
    # rounds of one seed share slots of up to four rounds: a seed counts for two draws at least
    assert (np.abs(counts / (8 * seeds) - p) < 4 * np.sqrt(p * (1 - p) / (2 * seeds))).all()


@pytest.mark.parametrize("m", [0, 2, 4])
def test_how_often_an_order_is_scheduled(m):
    """Each slot of 2^m with probability ρ(2^n)/ρ(2^m) = 2^{(m−n)/2}; that of order n always."""
    n, slots = 4, []
    for seed in range(1500):
        slots.extend(three(seed=seed).schedule(16, n)[m])
    p = 2 ** ((m - n) / 2)
    assert abs(np.mean(slots) - p) <= 4 * math.sqrt(p * (1 - p) / len(slots))


def test_blocks_double_and_the_state_is_what_the_schedule_says():
    """Blocks begin at 1, 2, 4, 8, …; the shortest instance scheduled is active, and it alone learns."""
    made = replace(three(seed=3), kappa=100.0)
    state = made.start()
    for t in range(1, 64):
        n = t.bit_length() - 1
        schedule = made.schedule(2**n, n)
        offset = t - 2**n
        assert (state.clock, state.begun) == (t, 2**n)
        live = [bool(schedule[m][offset // 2**m]) for m in range(n + 1)]
        assert [i is not None for i in state.instances] == live
        assert state.active == live.index(True)
        before = [None if i is None else len(i.belief) for i in state.instances]
        after = made.update(state, Observation(t, float(t), (1.0,), 0.1))
        if (t + 1).bit_length() == t.bit_length():  # within the block, look at the slots that go on
            for m in range(n + 1):
                if live[m] and (offset + 1) % 2**m:
                    assert len(after.instances[m].belief) == before[m] + (m == state.active)
        state = after


def test_the_base_by_hand():
    """K = I₃, λ = 1: after y = 0.8 at the first arm μ = (0.4, 0, 0), σ² = (0.5, 1, 1); and β_1 = 3.5701 at δ = 0.1."""
    belief = three().model.prior().observe(Observation(1, 1.0, (0.0,), 0.8))
    mean, std = belief.predict(THREE.points)
    np.testing.assert_allclose(mean, [0.4, 0, 0], atol=1e-12)
    np.testing.assert_allclose(std**2, [0.5, 1, 1], atol=1e-12)
    width = Algorithm(MaximumGain(EYE, 1.0, THREE.coordinates), B=1.0, R=1.0, delta=0.1)
    assert width(three().model.prior(), 1) == pytest.approx(3.5701, abs=5e-5)


def test_what_it_promises():
    """g̃ = clip((max UCB + 1)/2): with β = 0.5 the UCBs are (0.4 + 0.5√½, 0.5, 0.5)."""
    made = three(width=0.5)
    belief = made.model.prior().observe(Observation(1, 1.0, (0.0,), 0.8))
    seen = Observation(2, 2.0, (1.0,), 0.0)
    assert made.promise(belief, seen) == pytest.approx((1.4 + 0.5 * math.sqrt(0.5)) / 2)
    assert three(width=5.0).promise(belief, seen) == 1.0


def block(made, *, clock, begun, instances, promises, rewards):
    """The state at the end of round `clock`, after these promises and rewards."""
    R, g = np.array(rewards), np.array(promises)
    schedule = made.schedule(begun, len(instances) - 1)
    sums = {"rewards": R.sum(), "excess": (g - R).sum(), "lowest": g.min(), "count": len(R)}
    return MasterBlock(clock, begun, schedule, tuple(instances), **sums)


def test_test_one_by_hand():
    """g̃ = (0.6, 0.5), R = (0.9, 0.95): order 1 at round 2, 0.925 ≥ 0.7546; order 0 at round 1, 0.9 < 0.96."""
    made = three(kappa=0.04)
    whole = Instance(made.model.prior(), 0.0, 0)
    first = block(made, clock=1, begun=1, instances=(whole, whole), promises=[0.6], rewards=[0.9])
    assert not made.changed(first)
    second = block(made, clock=2, begun=1, instances=(None, whole), promises=[0.6, 0.5], rewards=[0.9, 0.95])
    assert made.changed(second)
    assert not made.changed(replace(second, lowest=0.925 - 9 * 0.04 / math.sqrt(2) + 1e-9))


def test_test_two_by_hand():
    """g̃ = (0.9, 0.9), R = (0.8, 0.7): at round 2 0.15 ≥ 0.0849, at round 1 0.1 < 0.12."""
    made = three(kappa=0.04)
    whole = Instance(made.model.prior(), 0.0, 0)
    first = block(made, clock=1, begun=1, instances=(None, whole), promises=[0.9], rewards=[0.8])
    assert not made.changed(first)
    second = block(made, clock=2, begun=1, instances=(None, whole), promises=[0.9, 0.9], rewards=[0.8, 0.7])
    assert made.changed(second)


def test_a_failed_test_begins_again():
    made = three(kappa=0.2)  # Test 2 fires where g̃ − R ≥ 0.6 at the first round
    state = made.update(made.start(), Observation(1, 1.0, (0.0,), -1.0))
    assert (state.restarts, state.begun, len(state.schedule)) == (1, 2, 1)
    calm = made.update(made.start(), Observation(1, 1.0, (0.0,), 1.0))
    assert (calm.restarts, calm.begun, len(calm.schedule)) == (0, 2, 2)


def test_the_theorems_factor_is_inert():
    """At T = 10⁴, δ = 10⁻⁴ it is 1,579 times ρ; with rewards in [0, 1] Test 1 needs 9ρ̂ ≤ 1, Test 2 3ρ̂ ≤ 1."""
    kappa = 6 * (math.log2(1e4) + 1) * math.log(1e4 / 1e-4)  # where β_T and γ_T are 0; else it is larger
    assert kappa == pytest.approx(1579, abs=1)
    assert 3 * Master.of(THREE, kappa=kappa).threshold(10_000) > 1
    _, state = play(Master.of(LINE, kernel=RBF(0.2), kappa=kappa), lambda t, x: (0.8 if t < 60 else -0.8) * x, 200)
    assert state.restarts == 0


def test_a_jump_is_noticed_where_stillness_is_not():
    """Rewards fall from what is promised after t = 700: at this κ Test 2 fires in that world alone."""
    made = Master.of(LINE, kernel=RBF(0.3), kappa=1.3, seed=1)
    _, still = play(made, lambda t, x: 0.8 - 1.6 * abs(x - 0.3), 1000)
    _, jumped = play(made, lambda t, x: (0.8 - 1.6 * abs(x - 0.3)) if t <= 700 else -0.9, 1000)
    assert still.restarts == 0
    assert jumped.restarts >= 1


def test_missing_rounds_pass():
    made = three(kappa=100.0)
    state = replay(made, [Observation(1, 1.0, (0.0,), 0.5), Observation(100, 100.0, (1.0,), 0.5)])
    assert (state.clock, state.begun, state.count) == (101, 64, 1)


def test_rewards_in_any_range():
    made, wide = three(), three(low=900.0, high=1100.0)
    log, state = play(made, lambda t, x: 0.3 * x, 40)
    scaled = replay(wide, [replace(seen, y=1000 + 100 * seen.y) for seen in log])
    assert scaled.excess == pytest.approx(state.excess)
    belief = wide.belief(scaled, Ask(41, 41.0))
    assert belief.units == (1000.0, 100.0)
    np.testing.assert_allclose(
        belief.predict(THREE.points)[0], made.belief(state, Ask(41, 41.0)).predict(THREE.points)[0]
    )


def test_on_a_box():
    made = policy("master-gp-ucb", {"x": Float(0, 1)})
    log, state = play(made, lambda t, x: 0.5 - abs(x - 0.4), 12)
    assert all(0 <= seen.x[0] <= 1 for seen in log)
    assert replay(made, log).excess == state.excess


def test_bad_options():
    with pytest.raises(InvalidInput, match="low must be below high"):
        three(low=1.0, high=0.0)
    with pytest.raises(InvalidInput, match="kappa must be > 0"):
        three(kappa=0.0)


def test_written_down_and_read_back():
    made = Master.of(LINE, kernel=RBF(0.2), kappa=0.7, low=0.0, high=5.0, seed=4)
    assert loads(dumps(made)) == made
