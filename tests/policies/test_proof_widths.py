"""The widths that single policies have by name: their formulas by hand, and whether the bands hold."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Linear, Matern, policy
from driftwise.errors import InvalidInput
from driftwise.gp.posterior import Posterior
from driftwise.log import codec
from driftwise.records import Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.theory.widths import Constant, Doubled, Lemma, Permuted, SrinivasFinite, TvTheorem

POINTS = np.linspace(0, 1, 30)[:, None]
LINE, BOX = Candidates(POINTS), {"a": Float(0, 1), "b": Float(0, 1)}
EMPTY = Posterior(RBF(0.2), 0.25)
NAMED = [
    ("tv-gp-ucb", LINE, {"width": "theorem"}),
    ("tv-gp-ucb", BOX, {"width": "theorem", "a": 1.0, "b": 2.0}),
    ("tv-gp-ucb", LINE, {"width": "mandl"}),
    ("tv-gp-ucb", LINE, {"width": "mandl-epsilon"}),
    ("master-gp-ucb", LINE, {"width": "proof", "kappa": "proof", "horizon": 50}),
    ("r-perp", LINE, {"width": "proof", "interval": 9, "horizon": 50}),
]


@pytest.mark.parametrize(("name", "space", "told"), NAMED)
def test_they_survive_json(name, space, told):
    made = policy(name, space, **told)
    assert codec.loads(codec.dumps(made)) == made


@pytest.mark.parametrize(("name", "space", "told"), NAMED)
def test_what_is_proved_is_not_of_standardised_rewards(name, space, told):
    if name == "master-gp-ucb":  # which takes rewards from their range
        pytest.skip("it does not standardise")
    with pytest.raises(InvalidInput, match="has no theorem here"):
        policy(name, space, standardise=True, **told)


# --- tv-gp-ucb -----------------------------------------------------------------------------------------------------


def test_bogunovics_theorem():
    """β² = 2 ln(π²t²/2δ) + 2d ln(d b t² √ln(d a π²t²/2δ)) on a box; on candidates the union over these."""
    made = policy("tv-gp-ucb", BOX, width="theorem", a=3.0, b=2.0, delta=0.2).width
    assert made == TvTheorem(2, 3.0, 2.0, 0.2)
    spent = math.pi**2 * 49 / 0.4
    expected = 2 * math.log(spent) + 4 * math.log(2 * 2.0 * 49 * math.sqrt(math.log(2 * 3.0 * spent)))
    assert made(EMPTY, 7) ** 2 == pytest.approx(expected)
    assert policy("tv-gp-ucb", LINE, width="theorem", delta=0.2).width == SrinivasFinite(30, 0.2)
    assert TvTheorem(1, 1e-9, 1e-9, 0.9)(EMPTY, 1) == pytest.approx(math.sqrt(2 * math.log(math.pi**2 / 1.8)))
    with pytest.raises(InvalidInput, match="needs a and b"):
        policy("tv-gp-ucb", BOX, width="theorem")


def test_mandls_constants():
    """A 20 × 20 grid: 2(ln(6/δ) + 2 ln 20); and 2 ln 6 + a(1 + d) ln(1/ε), a = ½ or 4ν/(8ν + 3d)."""
    grid = Candidates(np.random.default_rng(0).random((400, 2)))
    beta = policy("tv-gp-ucb", grid, width="mandl", delta=0.1).width
    assert beta == Constant(beta.beta)
    assert beta.beta**2 == pytest.approx(2 * (math.log(60) + 2 * math.log(20)))
    told = {"width": "mandl-epsilon", "epsilon": 0.03}
    rbf = policy("tv-gp-ucb", grid, kernel=RBF(0.1), **told).width.beta
    assert rbf**2 == pytest.approx(2 * math.log(6) + 1.5 * math.log(1 / 0.03))
    matern = policy("tv-gp-ucb", grid, kernel=2.0 * Matern(2.5, 0.1), **told).width.beta
    assert matern**2 == pytest.approx(2 * math.log(6) + 10 / 26 * 3 * math.log(1 / 0.03))
    for refused in ({"kernel": Linear()}, {"kernel": RBF(0.1), "epsilon": 0.0}):
        with pytest.raises(InvalidInput, match="mandl-epsilon"):
            policy("tv-gp-ucb", grid, **told | refused)
    with pytest.raises(InvalidInput, match="finitely many"):
        policy("tv-gp-ucb", BOX, width="mandl")


def left(width, *, runs, horizon, epsilon=0.05):
    """Of worlds of the policy's own prior: how many runs leave the band, and how many steps do."""
    made = policy("tv-gp-ucb", LINE, kernel=RBF(0.2), noise=0.01, epsilon=epsilon, width=width, delta=0.3)
    root = np.linalg.cholesky(RBF(0.2)(POINTS, POINTS) + 1e-9 * np.eye(30))
    some, steps = 0, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        f, state, before = root @ rng.standard_normal(30), made.start(), steps
        for t in range(1, horizon + 1):
            ask = Ask(t, float(t))
            mean, std = made.belief(state, ask).predict(POINTS)
            steps += bool((np.abs(f - mean) > made.width(None, t) * std + 1e-4).any())
            i = int(np.argmax((made.choose(state, ask) == POINTS).all(axis=1)))
            state = made.update(state, Observation(t, float(t), LINE.coordinates[i], f[i] + 0.1 * rng.normal()))
            f = math.sqrt(1 - epsilon) * f + math.sqrt(epsilon) * root @ rng.standard_normal(30)
        some += steps > before
    return some, steps


def test_their_bands_hold_for_worlds_of_the_prior():
    """The theorem's in 1 − δ of all runs, Mandl's in 1 − δ/6 of all steps; and β = 2 in neither."""
    runs, horizon, delta = 40, 40, 0.3
    assert left("theorem", runs=runs, horizon=horizon)[0] <= delta * runs
    assert left("mandl", runs=runs, horizon=horizon)[1] <= delta / 6 * runs * horizon
    some, steps = left(2.0, runs=runs, horizon=horizon)
    assert some > delta * runs
    assert steps > delta / 6 * runs * horizon


# --- master-gp-ucb ---------------------------------------------------------------------------------------------------


def test_master_as_the_proof_has_it():
    told = {"kernel": RBF(0.2), "noise": 0.25, "B": 1.5, "R": 0.4, "delta": 1e-4}
    made = policy("master-gp-ucb", LINE, width="proof", kappa="proof", horizon=10_000, **told)
    assert isinstance(made.width, Doubled)
    lemma = made.width.width
    assert (lemma.B, lemma.R, lemma.delta, lemma.unions) == (1.5, 0.4, 1e-4, 10_000)
    assert made.width(EMPTY, 1) == 2 * lemma(EMPTY, 1)
    log, gamma = math.log(1e8), lemma.gain(10_000)
    assert 6 * (math.log2(1e4) + 1) * log == pytest.approx(1579, abs=1)
    beta = Lemma(lemma.gain, 1.5, 0.4, 1e-4, 10_000)
    full = 1.5 + 0.4 / 0.5 * math.sqrt(2 * gamma + 2 * log)
    assert beta(EMPTY, 1) < full
    assert made.kappa == pytest.approx(6 * (math.log2(1e4) + 1) * log * full * math.sqrt(gamma * log))


@pytest.mark.parametrize("told", [{"width": "proof"}, {"kappa": "proof"}])
def test_masters_proof_needs_a_horizon(told):
    with pytest.raises(InvalidInput, match="horizon"):
        policy("master-gp-ucb", LINE, **told)
    with pytest.raises(InvalidInput, match="give width='proof'"):
        policy("master-gp-ucb", LINE, width="lemma", horizon=9)
    with pytest.raises(InvalidInput, match="proof"):
        policy("master-gp-ucb", LINE, kappa="large")


# --- r-perp ----------------------------------------------------------------------------------------------------------


def test_r_perps_width():
    """β = B(1 + (2√2/√λ)√ℓ) + (R/√λ)√(2ℓ), ℓ = ln(4nQ/δ); 5 intervals of 4 batches and one of 2: Q = 22."""
    made = policy("r-perp", LINE, width="proof", interval=100, horizon=506, B=2.0, R=0.3, delta=0.2, noise=0.25)
    assert [len(made.batches(i)) for i in (0, 5)] == [4, 2]
    assert made.width == Permuted(30, 22, 2.0, 0.3, 0.2)
    log = math.log(4 * 30 * 22 / 0.2)
    expected = 2 * (1 + 2 * math.sqrt(2) / 0.5 * math.sqrt(log)) + 0.3 / 0.5 * math.sqrt(2 * log)
    assert made.width(EMPTY, 1) == pytest.approx(expected)
    with pytest.raises(InvalidInput, match="horizon"):
        policy("r-perp", LINE, width="proof", interval=100)
    with pytest.raises(InvalidInput, match="give width='proof'"):
        policy("r-perp", LINE, width="realised", interval=100, horizon=500)


@pytest.mark.parametrize("alpha", [np.ones(12), np.r_[np.ones(2), np.zeros(10)], np.linspace(-1, 2, 12)])
def test_the_constant_of_a_random_order(alpha):
    """Σ α_i f_{π(i)} leaves its mean by B√(8 ln(2/δ))‖α‖ in δ of all orders at most, here for f = ±B."""
    rng, delta = np.random.default_rng(0), 0.2
    f = np.where(np.arange(12)[:, None] < 6, 1.0, -1.0) * np.where(np.arange(12) % 2, 1.0, -1.0)  # f_t(x_i): (t, i)
    sums = np.array([alpha @ f[rng.permutation(12), np.arange(12)] for _ in range(4000)])
    error = np.abs(sums - alpha @ f.mean(axis=0)) / np.linalg.norm(alpha)
    assert np.mean(error > Permuted.C * math.sqrt(math.log(2 / delta))) <= delta
    assert np.mean(error > 0.1) > delta  # the order does matter


def _unit(rng):
    """A function of norm 1, at POINTS."""
    centres, a = rng.random((6, 1)), rng.standard_normal(6)
    return RBF(0.2)(POINTS, centres) @ a / math.sqrt(a @ RBF(0.2)(centres, centres) @ a)


def leaves(batch, beta):
    """Whether the mean of f over a batch of (candidate, reward, f) is outside the band that the batch gives."""
    belief = Posterior(RBF(0.2), 0.01)
    for i, y, _ in batch:
        belief = belief.append(POINTS[i], y)
    mean, std = belief.predict(POINTS)
    return bool((np.abs(np.mean([f for _, _, f in batch], axis=0) - mean) > beta * std).any())


def perp_failures(share, *, runs=10, horizon=120):
    """Runs in which some batch leaves `share` of its band, in a world that jumps back and forth within it."""
    told = {"interval": 60, "horizon": horizon, "kernel": RBF(0.2), "noise": 0.01, "R": 0.1}
    made, failed = policy("r-perp", LINE, width="proof", **told), 0
    for seed in range(runs):
        rng = generator(seed, 0, Stream.WORLD)
        worlds, state, batch, bad = (_unit(rng), _unit(rng)), made.start(), [], False
        for t in range(1, horizon + 1):
            f = worlds[t // 7 % 2]
            i = int(np.argmax((made.choose(state, Ask(t, float(t), seed=seed)) == POINTS).all(axis=1)))
            batch.append((i, f[i] + 0.1 * rng.standard_normal(), f))
            after = made.update(state, Observation(t, float(t), LINE.coordinates[i], batch[-1][1]))
            if after.begun != state.begun:
                bad, batch = bad or leaves(batch, share * made.width(EMPTY_AT, t)), []
            state = after
        failed += bad
    return failed


EMPTY_AT = Posterior(RBF(0.2), 0.01)


def test_r_perps_band_holds():
    assert perp_failures(1.0) <= 1  # δ = 0.1 of 10 runs
    assert perp_failures(0.03) > 1
