"""ATA-GP-UCB and MoMA-GP-UCB: their estimates by brute force, gp-ucb as a limit, and bands for a fixed design."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import binom

from driftwise import RBF, Candidates, Float, Matern, Study, policy
from driftwise.errors import InvalidInput
from driftwise.policies import replay
from driftwise.policies.ata_gp_ucb import AdaptiveWidth, Tails, estimate
from driftwise.policies.beliefs.feature_ridge import FeatureRidge
from driftwise.policies.ldp import Mechanism
from driftwise.policies.moma_gp_ucb import BAD, MedianWidth, enough, median_of
from driftwise.records import Ask, Observation

POINTS = np.linspace(0, 1, 20)[:, None]
LINE = Candidates(POINTS)
BOX = {"a": Float(0, 1)}
NAMES = ("ata-gp-ucb", "moma-gp-ucb")


def observation(t, x, y):
    return Observation(t, float(t), tuple(np.atleast_1d(x).tolist()), float(y))


# --- estimates -------------------------------------------------------------------------------------------------------


def test_atas_estimate_by_brute_force():
    rng = np.random.default_rng(0)
    phi, y, noise, level = rng.standard_normal((9, 4)), rng.standard_t(2, size=9), 0.3, 0.4
    V = noise * np.eye(4) + sum(np.outer(row, row) for row in phi)
    values, vectors = np.linalg.eigh(V)
    half = sum(np.outer(v, v) / math.sqrt(value) for value, v in zip(values, vectors.T, strict=True))
    r = np.zeros(4)
    for i in range(4):
        for row, reward in zip(phi, y, strict=True):
            product = (half[i] @ row) * reward
            r[i] += product if abs(product) <= level else 0.0
    theta, made = estimate(phi, y, noise, level)
    np.testing.assert_allclose(made, V)
    np.testing.assert_allclose(theta, half @ r)
    np.testing.assert_allclose(estimate(phi, y, noise, math.inf)[0], np.linalg.solve(V, phi.T @ y))
    assert not np.allclose(theta, np.linalg.solve(V, phi.T @ y))


def test_atas_level():
    """b = √(v/ln(2mT/δ)) for second moments; (v t^{(1−α)/2}/ℓ)^{1/(1+α)} in general; without T, t(t + 1)."""
    assert Tails(4.0, delta=0.2, horizon=50).level(7, 10) == pytest.approx(math.sqrt(4 / math.log(2 * 10 * 50 / 0.2)))
    log = math.log(2 * 10 * 50 / 0.2)
    assert Tails(8.0, 0.5, 0.2, 50).level(16, 10) == pytest.approx((8 * 16**0.25 / log) ** (1 / 1.5))
    assert Tails(4.0).log(9, 10) == pytest.approx(math.log(2 * 10 * 90 / 0.1))


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_momas_choice_by_brute_force(k):
    rng = np.random.default_rng(k)
    thetas, A = rng.standard_normal((k, 3)), rng.standard_normal((5, 3))
    V = A.T @ A + np.eye(3)
    medians = [np.median([math.sqrt((a - b) @ V @ (a - b)) for b in thetas]) for a in thetas]
    assert medians[int(np.argmin(medians))] == min(medians)
    np.testing.assert_array_equal(median_of(thetas, V), thetas[int(np.argmin(medians))])


@pytest.mark.parametrize("k", [3, 5, 9])
def test_a_minority_of_rewards_can_be_anything(k):
    """If more than half of the θ_j are within r of θ, the one chosen is within 3r, wherever the others are."""
    rng = np.random.default_rng(k)
    for _ in range(200):
        centre, bad = rng.standard_normal(4), (k - 1) // 2
        good = rng.standard_normal((k - bad, 4))
        good *= rng.random((k - bad, 1)) / np.linalg.norm(good, axis=1, keepdims=True)  # within r = 1
        wild = 10 ** rng.uniform(-1, 9) * rng.standard_normal((bad, 4))
        thetas = centre + rng.permutation(np.vstack([good, wild]))
        assert np.linalg.norm(median_of(thetas, np.eye(4)) - centre) <= 3 + 1e-6


@pytest.mark.parametrize(("horizon", "delta"), [(10, 0.1), (1000, 0.1), (10**6, 1e-4)])
def test_how_many_replicas_are_enough(horizon, delta):
    """With p = 1/9 the exact probability that half of k estimates are bad, over all epochs, is δ at most."""
    k = enough(horizon, delta)
    assert math.ceil(horizon / k) * binom.sf(math.ceil(k / 2) - 1, k, BAD) <= delta
    few = k // 4
    assert math.ceil(horizon / few) * binom.sf(math.ceil(few / 2) - 1, few, BAD) > delta


# --- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "told"), [("ata-gp-ucb", {"moment": 1e12}), ("moma-gp-ucb", {"replicas": 1})])
@pytest.mark.parametrize("space", [LINE, BOX], ids=["candidates", "box"])
def test_without_truncation_or_replicas_it_is_gp_ucb(name, told, space):
    """On candidates with all features choice for choice; on a box as far as ninety features go."""
    shared = {"kernel": Matern(1.5, 0.3), "noise": 0.1}
    made, twin = policy(name, space, rank=90, **told, **shared), policy("gp-ucb", space, **shared)
    first = observation(1, 0.0, 0.3)  # before it all points are level
    one, other, rng = made.update(made.start(), first), twin.update(twin.start(), first), np.random.default_rng(0)
    for t in range(2, 16):
        ask = Ask(t, float(t), pending=((0.0,),) if t % 4 == 0 else ())
        x = twin.choose(other, ask)
        if space is LINE:
            np.testing.assert_array_equal(made.choose(one, ask), x)
        seen = observation(t, x, math.sin(6 * x[0]) + 0.3 * rng.normal())
        one, other = made.update(one, seen), twin.update(other, seen)
    beliefs = made.belief(one, ask), twin.belief(other, ask)
    np.testing.assert_allclose(*(b.predict(POINTS) for b in beliefs), atol=1e-6 if space is LINE else 0.01)


def test_equal_replicas_make_moma_the_ridge_regression():
    shared = {"kernel": RBF(0.3), "noise": 0.1}
    made, twin = policy("moma-gp-ucb", LINE, replicas=3, rank=20, **shared), policy("gp-ucb", LINE, **shared)
    rng, log, each = np.random.default_rng(0), [], []
    for epoch in range(6):
        x, y = LINE.coordinates[rng.integers(20)], rng.standard_normal()
        each.append(observation(epoch + 1, x, y))
        log += [observation(3 * epoch + j, x, y) for j in (1, 2, 3)]
    one, other = replay(made, log), replay(twin, each)
    ask = Ask(19, 19.0)
    np.testing.assert_allclose(made.belief(one, ask).predict(POINTS), other.predict(POINTS), atol=1e-5)


def test_moma_asks_every_point_k_times_in_a_row():
    made, state, asked = policy("moma-gp-ucb", LINE, replicas=4), None, []
    state = made.start()
    for t in range(1, 25):
        asked.append(tuple(made.choose(state, Ask(t, float(t))).tolist()))
        if t not in (6, 13):  # never told
            state = made.update(state, observation(t, asked[-1], math.sin(t)))
    for e in range(6):
        assert len(set(asked[4 * e : 4 * e + 4])) == 1
    assert len(set(asked)) > 2


# --- bands -----------------------------------------------------------------------------------------------------------

WIDE = RBF(0.3)


def unit(rng):
    centres, a = rng.random((5, 1)), rng.standard_normal(5)
    return WIDE(POINTS, centres) @ a / math.sqrt(a @ WIDE(centres, centres) @ a)


def failures(name, share, *, runs=40, steps=90, adaptive=False, **told):
    """Runs in which f, of norm 1, leaves `share` of the band; noise is Student's t of 3 degrees, of variance 3."""
    shared = {"kernel": WIDE, "noise": 1.0, "width": "fixed-design", "B": 1.0, "delta": 0.2, "horizon": steps}
    made, failed = policy(name, LINE, **shared, **told), 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        f, state, left, i = unit(rng), made.start(), False, 0
        for t in range(1, steps + 1):
            ask = Ask(t, float(t))
            if adaptive:
                i = int(np.argmax((made.choose(state, ask) == POINTS).all(axis=1)))
            elif name == "ata-gp-ucb" or (t - 1) % made.replicas == 0:
                i = int(rng.integers(20))
            state = made.update(state, observation(t, POINTS[i], f[i] + rng.standard_t(3)))
            if name == "ata-gp-ucb" or t % made.replicas == 0:
                belief = made.belief(state, ask)
                mean, std = belief.predict(POINTS)
                left |= bool((np.abs(f - mean) > share * made.width(belief, t + 1) * std).any())
        failed += left
    return failed


@pytest.mark.slow
@pytest.mark.parametrize(("name", "told"), [("ata-gp-ucb", {"moment": 4.0}), ("moma-gp-ucb", {"variance": 3.0})])
def test_the_band_covers_for_points_that_follow_no_rewards(name, told):
    assert failures(name, 1.0, **told) <= 0.2 * 40
    assert failures(name, 0.05, **told) > 0.2 * 40  # so that the test can fail
    assert failures(name, 1.0, **told, adaptive=True, runs=10) <= 2  # which nobody has proved


def test_the_widths_by_hand():
    """√(B² + β²), β = B(1 + √(Σρ²/λ)) + (5/3 + √2)√m ℓb/√λ, or + 9√(v·tr V⁻¹(V − λI))/√λ."""
    made = policy("ata-gp-ucb", LINE, kernel=WIDE, noise=0.25, width="fixed-design", B=2.0, moment=3.0, rank=3)
    state = replay(made, [observation(t, POINTS[3 * t], 1.0) for t in (1, 2, 3)])
    belief = made.belief(state, Ask(4, 4.0))
    phi = made.features(POINTS[[3, 6, 9]])
    left_out = float((1 - (phi**2).sum(axis=1)).sum())
    assert belief.left_out == pytest.approx(left_out)
    tails = Tails(3.0)
    noise = (5 / 3 + math.sqrt(2)) * math.sqrt(3) * tails.log(3, 3) * tails.level(3, 3)
    beta = 2.0 * (1 + math.sqrt(left_out / 0.25)) + noise / 0.5
    assert made.width == AdaptiveWidth(tails, 3, 2.0)
    assert made.width(belief, 4) == pytest.approx(math.hypot(2.0, beta))
    V = phi.T @ phi + 0.25 * np.eye(3)
    ridge = FeatureRidge(made.features, 0.25, np.zeros(3), V, POINTS[:3])
    effective = np.trace(np.linalg.inv(V) @ phi.T @ phi)
    expected = math.hypot(2.0, 2.0 + 9 * math.sqrt(5.0 * effective) / 0.5)
    assert MedianWidth(5.0, 2.0)(ridge, 1) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_names_without_a_theorem_are_refused(name):
    with pytest.raises(InvalidInput, match="sub-Gaussian"):
        policy(name, LINE, width="lemma", horizon=9)
    with pytest.raises(InvalidInput, match="nystrom"):
        policy(name, LINE, kernel=RBF(0.2), width="fixed-design", horizon=9, features="quadrature")
    with pytest.raises(InvalidInput, match="RBF"):
        policy(name, LINE, features="quadrature")
    made = policy(name, LINE, kernel=RBF(0.5), features="quadrature", rank=40)
    assert made.features.rank == 40
    assert made.choose(made.start(), Ask(1, 1.0)).shape == (1,)


@pytest.mark.parametrize(("name", "field"), [(NAMES[0], "features"), (NAMES[1], "features"), (NAMES[0], "tails")])
def test_fields_that_are_no_such_thing_are_refused(name, field):
    for wrong in (0.5, "nystrom", type):
        with pytest.raises(InvalidInput, match=f"{field} must be"):
            dataclasses.replace(policy(name, LINE), **{field: wrong})
    with pytest.raises(InvalidInput, match="tails must be"):
        AdaptiveWidth(0.5, 3)


def test_moma_needs_as_many_replicas_as_are_proved():
    assert policy("moma-gp-ucb", LINE, width="fixed-design", horizon=1000).replicas == enough(1000, 0.1) == 15
    assert policy("moma-gp-ucb", LINE).replicas == 5
    with pytest.raises(InvalidInput, match="replicas ≥ 15"):
        policy("moma-gp-ucb", LINE, width="fixed-design", horizon=1000, replicas=14)
    with pytest.raises(InvalidInput, match="horizon"):
        policy("moma-gp-ucb", LINE, width="fixed-design")


# --- with privacy, and in a study ------------------------------------------------------------------------------------


def test_under_ldp_they_are_told_the_mechanisms_moment():
    """E(ȳ − centre)² ≤ c²(1 + 8/ε²) = 12 for ε = 2 and c = 2; nothing is truncated before the median."""
    told = {"epsilon": 2.0, "bound": 2.0, "centre": 5.0, "horizon": 100, "width": "private"}
    ata, moma = (policy("ldp", LINE, inner=name, **told).inner for name in NAMES)
    assert Mechanism(2.0, 2.0, 5.0).moment == 12.0
    assert (ata.name, ata.tails.moment, ata.centre) == ("ata-gp-ucb", 12.0, 5.0)
    assert isinstance(ata.width, AdaptiveWidth)
    assert (moma.name, moma.width, moma.centre) == ("moma-gp-ucb", MedianWidth(12.0, 1.0), 5.0)
    assert moma.replicas == enough(100, 0.1)
    assert (
        policy("ldp", LINE, inner="moma-gp-ucb", variance=7.0, width="private", horizon=9).inner.width.variance == 7.0
    )


@pytest.mark.parametrize("name", [*NAMES, "ldp"])
def test_a_study_of_it_opens_again(tmp_path, name):
    told = {"inner": "moma-gp-ucb"} if name == "ldp" else {}
    study = Study("prices", {"price": Float(5, 20)}, path=tmp_path / "s.study", policy=name, **told)
    for t in range(12):
        study.tell(study.ask(), math.sin(t))
    again = Study.open("prices", path=tmp_path / "s.study")
    assert again.policy == study.policy
    assert again.ask("next").params == study.ask("next").params
