"""WGP-UCB against weighted regression in features, gp-ucb at η = 1, and D-LinUCB with a linear kernel."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Linear, Matern, policy
from driftwise.errors import InvalidInput
from driftwise.gp.posterior import Posterior
from driftwise.policies import replay
from driftwise.policies.beliefs.faded import WeightedPosterior
from driftwise.policies.wgp_ucb import CUTOFF
from driftwise.records import Ask, Observation
from oracles import finite_difference

SQUARE = Candidates(np.random.default_rng(0).random((60, 2)))
BOX = {"a": Float(0, 1), "b": Float(0, 1)}


def reward(t, x):
    top = 0.5 + 0.3 * np.array([np.cos(t / 20), np.sin(t / 20)])
    return float(np.exp(-8 * np.sum((x[:2] - top) ** 2)) + 0.1 * np.random.default_rng(t).standard_normal())


def played(made, steps, untold=()):
    state, asked = made.start(), []
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(t, float(t), seed=3))
        asked.append(x)
        if t not in untold:
            state = made.update(state, Observation(t, float(t), tuple(x.tolist()), reward(t, x)))
    return np.array(asked)


def test_two_observations_by_hand():
    """k ≡ 1, λ = 1, η = ½, y = (1, 0): μ̃ = 0.2, σ̃² = 0.4, σ́² = 0.36, γ̄ = ½ ln 2.25."""
    for norm, variance in [("single", 0.4), ("double", 0.36)]:
        made = policy("wgp-ucb", Candidates([[1.0]]), kernel=Linear(), noise=1.0, eta=0.5, norm=norm)
        log = [Observation(1, 1.0, (1.0,), 1.0), Observation(2, 2.0, (1.0,), 0.0)]
        belief = made.belief(replay(made, log), Ask(3, 3.0))
        mean, std = belief.predict(np.array([[1.0]]))
        assert mean[0] == pytest.approx(0.2)
        assert std[0] ** 2 == pytest.approx(variance)
        assert belief.information_gain == pytest.approx(0.5 * math.log(2.25))


@pytest.fixture(params=[RBF(0.3), Matern(1.5, 0.4)], ids=["rbf", "matern"])
def case(request):
    """Observations with gaps in their numbers, and the dense weighted regression in the features of K's factor."""
    rng, noise, eta, kernel = np.random.default_rng(1), 0.2, 0.9, request.param
    numbers = np.array([1, 2, 3, 7, 8, 15, 16, 17, 18, 25])
    which, y = rng.integers(60, size=10), rng.standard_normal(10)
    K = kernel(SQUARE.points, SQUARE.points)
    phi = np.linalg.cholesky(K + 1e-12 * np.eye(60))  # k(x, x′) = φᵀφ′
    u = eta ** (28.0 - 1 - numbers)
    V, double = (noise * np.eye(60) + (phi[which].T * w) @ phi[which] for w in (u, u**2))
    inverse = np.linalg.inv(V)
    dense = {
        "mean": phi @ inverse @ (phi[which].T @ (u * y)),
        "single": np.sqrt(noise * np.einsum("ij,jk,ik->i", phi, inverse, phi)),
        "double": np.sqrt(noise * np.einsum("ij,jk,ik->i", phi, inverse @ double @ inverse, phi)),
        "gain": 0.5 * np.linalg.slogdet(np.eye(10) + np.outer(u, u) * K[np.ix_(which, which)] / noise)[1],
    }
    log = [
        Observation(int(s), float(s), SQUARE.coordinates[i], float(r))
        for s, i, r in zip(numbers, which, y, strict=True)
    ]
    return {"kernel": kernel, "noise": noise, "eta": eta}, log, dense


@pytest.mark.parametrize("norm", ["single", "double"])
def test_against_weighted_regression(case, norm):
    told, log, dense = case
    made = policy("wgp-ucb", SQUARE, norm=norm, **told)
    belief = made.belief(replay(made, log), Ask(28, 28.0))
    mean, std = belief.predict(SQUARE.points)
    np.testing.assert_allclose(mean, dense["mean"], atol=1e-9)
    np.testing.assert_allclose(std, dense[norm], atol=1e-9)
    assert belief.information_gain == pytest.approx(dense["gain"])


def test_the_papers_width(case):
    """B + (R/√λ)√(2 ln(T/δ) + 2γ̄); and with the unweighted γ, no less."""
    told, log, dense = case
    made = policy("wgp-ucb", SQUARE, width="realised", B=2.0, R=0.3, delta=0.05, horizon=40, **told)
    belief = made.belief(replay(made, log), Ask(28, 28.0))
    expected = 2 + 0.3 / math.sqrt(0.2) * math.sqrt(2 * math.log(40 * 20) + 2 * dense["gain"])
    assert made.width(belief, 28) == pytest.approx(expected)
    wider = policy("wgp-ucb", SQUARE, width="lemma", B=2.0, R=0.3, delta=0.05, horizon=40, **told)
    assert wider.width(belief, 28) >= expected


@pytest.mark.parametrize("double", [False, True])
def test_gradients(double):
    rng = np.random.default_rng(2)
    posterior = Posterior(Matern(2.5, 0.4), 0.1)
    for x in rng.random((7, 2)):
        posterior = posterior.append(x, float(rng.standard_normal()))
    belief = WeightedPosterior.of(posterior, 0.7 ** np.arange(6.0, -1, -1), double=double)
    X = rng.random((5, 2))
    mean, std, dmean, dstd = belief.predict_gradient(X)
    np.testing.assert_allclose([mean, std], belief.predict(X), atol=1e-12)
    for i, x in enumerate(X):
        np.testing.assert_allclose(dmean[i], finite_difference(lambda z: belief.predict(z[None])[0][0], x), atol=1e-6)
        np.testing.assert_allclose(dstd[i], finite_difference(lambda z: belief.predict(z[None])[1][0], x), atol=1e-6)


def test_imagined_points_leave_the_mean_and_count_in_full(case):
    told, log, _ = case
    made = policy("wgp-ucb", SQUARE, norm="double", **told)
    belief = made.belief(replay(made, log), Ask(28, 28.0))
    pending = SQUARE.coordinates[5]
    imagined = belief.imagine([pending])
    np.testing.assert_allclose(imagined.predict(SQUARE.points)[0], belief.predict(SQUARE.points)[0], atol=1e-9)
    answered = belief.observe(Observation(27, 27.0, pending, 3.0))
    np.testing.assert_allclose(imagined.predict(SQUARE.points)[1], answered.predict(SQUARE.points)[1], atol=1e-9)


@pytest.mark.parametrize("norm", ["single", "double"])
@pytest.mark.parametrize("standardise", [False, True])
def test_without_fading_it_is_gp_ucb_choice_for_choice(norm, standardise):
    told = {"kernel": Matern(2.5, 0.3), "width": 2.0, "standardise": standardise}
    still = played(policy("gp-ucb", SQUARE, **told), 60, untold=(4, 5))
    assert np.array_equal(played(policy("wgp-ucb", SQUARE, eta=1.0, norm=norm, **told), 60, untold=(4, 5)), still)
    assert not np.array_equal(played(policy("wgp-ucb", SQUARE, eta=0.9, norm=norm, **told), 60, untold=(4, 5)), still)


def test_without_fading_it_is_gp_ucb_on_a_box_too():
    told = {"kernel": Matern(2.5, 0.3), "width": 2.0}
    still = played(policy("gp-ucb", BOX, **told), 15)
    np.testing.assert_allclose(played(policy("wgp-ucb", BOX, eta=1.0, **told), 15), still, atol=1e-5)


# --- a linear kernel --------------------------------------------------------------------------------------------------


@pytest.fixture
def ball():
    X = np.random.default_rng(5).standard_normal((50, 3))
    return Candidates(X / (1.01 * np.linalg.norm(X, axis=1).max()))


@pytest.mark.parametrize("norm", ["double", "single"])
def test_with_a_linear_kernel_it_is_d_linucb_choice_for_choice(ball, norm):
    told = {"noise": 0.1, "width": 1.5, "norm": norm}
    direct = played(policy("d-linucb", ball, discount=0.9, **told), 200, untold=(7, 30, 31))
    kernel = played(policy("wgp-ucb", ball, kernel=Linear(), eta=0.9, **told), 200, untold=(7, 30, 31))
    assert np.array_equal(direct, kernel)
    assert len(np.unique(direct, axis=0)) > 5


def test_its_own_norm_has_d_linucbs_mean_and_a_wider_width(ball):
    made = policy("wgp-ucb", ball, kernel=Linear(), eta=0.9, noise=0.1)
    linear = policy("d-linucb", ball, discount=0.9, noise=0.1)
    rng = np.random.default_rng(6)
    log = [Observation(t, float(t), ball.coordinates[rng.integers(50)], float(rng.random())) for t in range(1, 30)]
    ask = Ask(30, 30.0)
    mean, std = made.belief(replay(made, log), ask).predict(ball.points)
    linear_mean, linear_std = linear.belief(replay(linear, log), ask).predict(ball.points)
    np.testing.assert_allclose(mean, linear_mean, atol=1e-6)  # what the cutoff drops
    assert (std > linear_std + 1e-3).all()


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_no_more_is_kept_than_counts():
    made = policy("wgp-ucb", SQUARE, eta=0.5)
    assert made.window == made.memory == 20  # 2^−19 ≥ 10⁻⁶ > 2^−20
    state = made.start()
    for t in range(1, 50):
        state = made.update(state, Observation(t, float(t), SQUARE.coordinates[t], 0.1 * t))
    assert len(state.numbers) == 20
    belief = made.belief(state, Ask(50, 50.0))
    assert belief.u.min() >= CUTOFF
    assert (len(belief), len(made.belief(state, Ask(55, 55.0)))) == (20, 15)  # five steps later five have faded
    assert len(made.belief(state, Ask(10**6, 1e6))) == 0
    assert [made.remembers(n, newest=49, newer=49 - n) for n in (29, 30)] == [False, True]


def test_eta_from_the_budget():
    told = {"kernel": RBF(0.3), "noise": 0.1}
    made = policy("wgp-ucb", SQUARE, horizon=400, budget=4.0, **told)
    gamma = policy("sw-gp-ucb", SQUARE, window=1, width="lemma", horizon=400, **told).width.gain(400)
    assert made.eta == pytest.approx(1 - gamma**-0.25 * 0.1)
    assert policy("wgp-ucb", SQUARE, horizon=400, **told).eta == pytest.approx(1 - gamma**-0.25 / 20)
    assert policy("wgp-ucb", SQUARE, horizon=400, budget=0.0, **told).memory is None
    assert policy("wgp-ucb", SQUARE, horizon=4, budget=1e9, **told).eta == 0.01


@pytest.mark.parametrize(
    ("options", "words"),
    [({"eta": 1.1}, "at most 1"), ({"eta": 0.0}, "eta must be > 0"), ({"norm": "both"}, "norm must be one of")],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        policy("wgp-ucb", SQUARE, **options)
