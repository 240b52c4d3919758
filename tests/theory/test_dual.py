"""The band of rewards and a norm: against the convex program that it bounds, and in simulation."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from driftwise import RBF, Candidates, Float, Matern, Posterior, policy
from driftwise.errors import InvalidInput
from driftwise.log import codec
from driftwise.records import Ask, Observation
from driftwise.theory import dual
from driftwise.theory.dual import envelope, ridges, squared_radii
from driftwise.theory.widths import DualBand, MixtureBand

KERNEL, B, R, DELTA = RBF(0.2), 1.0, 0.1, 0.1
SPACE = Candidates(np.linspace(0, 1, 25)[:, None])
X = SPACE.points


def seen(n, *, noise=0.01, seed=0, move=None):
    """A function of norm 1 on five centres, its values at X, and a posterior of n noisy ones; `move` is added to y."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(5)
    centres = rng.random((5, 1))
    a /= math.sqrt(a @ KERNEL(centres, centres) @ a)
    posterior = Posterior(KERNEL, noise)
    for i in range(n):
        x = rng.random((1, 1)) ** 2
        y = (KERNEL(x, centres) @ a)[0] + R * rng.standard_normal() + (0 if move is None else move[i])
        posterior = posterior.append(x[0], y)
    return KERNEL(X, centres) @ a, posterior


def largest(posterior, x, radius, norm=B):
    """max f(x) over ‖y − f‖ ≤ ϱ and ‖f‖ ≤ B, f in the span of the observations and x, by a general solver."""
    P = np.vstack([posterior.X, x])
    K = KERNEL(P, P) + 1e-9 * np.eye(len(P))
    L = np.linalg.cholesky(K)  # f = L z at P, and ‖f‖ = ‖z‖
    rules = [
        {"type": "ineq", "fun": lambda z: norm**2 - z @ z, "jac": lambda z: -2 * z},
        {
            "type": "ineq",
            "fun": lambda z: radius**2 - np.sum((posterior.y - L[:-1] @ z) ** 2),
            "jac": lambda z: 2 * L[:-1].T @ (posterior.y - L[:-1] @ z),
        },
    ]
    start = np.linalg.solve(K + posterior.noise * np.eye(len(P)), np.append(posterior.y, 0.0)) @ L
    start *= min(1.0, 0.9 * norm / np.linalg.norm(start))
    told = {"maxiter": 500, "ftol": 1e-12}
    found = minimize(lambda z: -L[-1] @ z, start, jac=lambda z: -L[-1], constraints=rules, method="SLSQP", options=told)
    assert all(rule["fun"](found.x) >= -1e-7 for rule in rules), found.message
    return -found.fun


@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize("n", [1, 4, 9])
def test_it_is_the_convex_program_but_for_the_grid_of_alphas(n, noise, monkeypatch):
    _, posterior = seen(n, noise=noise, seed=n)
    gain = posterior.information_gain
    residual = noise * posterior.y @ np.linalg.solve(KERNEL(posterior.X, posterior.X) + noise * np.eye(n), posterior.y)
    radius = math.sqrt(residual + R**2 * (2 * gain + 2 * math.log(1 / DELTA)))
    points = np.array([[0.05], [0.4], [0.95]])
    exact = np.array([largest(posterior, x[None], radius) for x in points])
    coarse = envelope(posterior, B=B, R=R, delta=DELTA)(points)
    monkeypatch.setattr(dual, "FACTORS", 1.05 ** np.arange(-200, 250))
    fine = envelope(posterior, B=B, R=R, delta=DELTA)(points)
    assert (fine <= coarse + 1e-9).all() or noise == 1.0  # of which the grids do not contain each other
    assert (exact <= fine + 1e-6).all()
    assert fine == pytest.approx(exact, abs=2e-3)
    assert coarse == pytest.approx(exact, rel=0.15)


@pytest.mark.parametrize("noise", [1e-4, 0.01, 1.0])
def test_it_is_within_the_mixtures_band(noise):
    for seed in range(5):
        _, posterior = seen(12, noise=noise, seed=seed)
        band, plain = DualBand(B=B, R=R, delta=DELTA), MixtureBand(B=B, R=R, delta=DELTA)
        mean, std = posterior.predict(X)
        beta = plain(posterior, 13)
        assert band(posterior, 13) == beta
        index = band.index(posterior, ())
        upper, lower = index(X), index.lower(X)
        assert (upper <= mean + beta * std + 1e-9).all()
        assert (lower >= mean - beta * std - 1e-9).all()
        assert (upper - lower).mean() < (0.98 if noise == 1 else 0.8) * (2 * beta * std).mean()
        assert upper.max() <= 1.05 * B


def test_the_radius_at_lambda_is_the_mixtures():
    _, posterior = seen(7)
    squares = squared_radii([posterior], posterior, B=2.0, R=0.3, delta=0.05, drift=9.0)
    assert squares[0] / posterior.noise == pytest.approx(MixtureBand(B=2.0, R=0.3, delta=0.05)(posterior, 8) ** 2)


def test_nothing_seen_is_the_norm():
    index = envelope(Posterior(KERNEL, 0.01), B=2.0, R=0.0, delta=0.1)
    assert index(X) == pytest.approx(np.full(25, 2.0))


@pytest.mark.slow  # it says nothing about versions of other packages
def test_it_covers_and_could_fail():
    """Its own choices in 15 steps of 20 worlds: the truth leaves the band in δ of them at most, unless R is wrong."""

    def left(claimed):
        made, count = policy("gp-ucb", SPACE, kernel=KERNEL, B=B, R=claimed, delta=DELTA, width="dual"), 0
        for seed in range(20):
            rng, f = np.random.default_rng(seed), seen(0, seed=seed)[0]
            state, out = made.start(), False
            for t in range(1, 16):
                index = made.width.index(state, ())
                upper = index(X)
                out |= bool(((f > upper + 1e-9) | (f < index.lower(X) - 1e-9)).any())
                i = int(np.argmax(upper))
                assert t > 3 or made.choose(state, Ask(number=t, at=float(t))) == X[i]
                y = float(f[i] + R * rng.standard_normal())
                state = made.update(state, Observation(t, float(t), SPACE.coordinates[i], y))
            count += out
        return count

    assert left(R) <= DELTA * 20
    assert left(R / 10) > DELTA * 20


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_drift_that_is_told_is_in_the_band(noise):
    """Rewards moved by ±V, with the signs that hurt: the same noise leaves the wider band no more often."""
    rng, V = np.random.default_rng(0), np.linspace(0.3, 0.0, 10)
    for seed in range(40):
        still, posterior = seen(10, noise=noise, seed=seed)
        inside = envelope(posterior, B=B, R=R, delta=1e-3)
        assert (still <= inside(X) + 1e-9).all()
        signs = rng.choice([-1, 1], size=10) if seed % 2 else np.sign(posterior.weights(X[12:13])[0])
        _, moved = seen(10, noise=noise, seed=seed, move=signs * V)
        told = envelope(moved, B=B, R=R, delta=1e-3, drift=V)
        assert (still <= told(X) + 1e-9).all()
        assert (still >= told.lower(X) - 1e-9).all()
        at_lambda = moved.predict(X)[0] + DualBand(B=B, R=R, delta=1e-3)(moved, 11) * moved.predict(X)[1]
        assert (told(X) <= at_lambda + np.abs(moved.weights(X)) @ V + 1e-9).all()


def test_the_norm_of_the_quadratic_form():
    """ν = |√λ − √α|/(√λ + √α) is the largest k|λ − α|/((k + λ)(k + α)), which a k on the way attains."""
    k = np.geomspace(1e-6, 1e6, 100_001)
    for own, alpha in ((1.0, 0.1), (0.01, 3.0), (2.0, 2.5)):
        nu = abs(math.sqrt(own) - math.sqrt(alpha)) / (math.sqrt(own) + math.sqrt(alpha))
        assert (k * abs(own - alpha) / ((k + own) * (k + alpha))).max() == pytest.approx(nu, rel=1e-6)


def test_rewards_that_no_function_of_the_norm_gives():
    """Twice the same point, 1,000 apart: the set is empty, and what is left is the mixture's band."""
    posterior = Posterior(KERNEL, 0.01).append([0.5], 1000.0).append([0.5], 1000.0)
    index = envelope(posterior, B=1.0, R=0.1, delta=0.1)
    mean, std = posterior.predict(X)
    assert index(X) == pytest.approx(mean + MixtureBand()(posterior, 3) * std)


@pytest.mark.parametrize("drift", [False, True])
def test_gradients(drift):
    _, posterior = seen(8)
    V = np.linspace(0.2, 0.0, 8) if drift else None
    index = envelope(posterior, B=B, R=R, delta=DELTA, drift=V)
    points = np.linspace(0.03, 0.97, 12)[:, None]
    value, slope = index.gradient(points)
    assert value == pytest.approx(index(points))
    step = 1e-6
    numeric = (index(points + step) - index(points - step)) / (2 * step)
    assert slope[:, 0] == pytest.approx(numeric, rel=1e-3, abs=1e-4)
    assert index.anchors() == pytest.approx(posterior.X)


def test_pending_points_keep_the_mean_and_narrow_the_band():
    _, posterior = seen(6)
    before, after = (DualBand().index(posterior, pending) for pending in ((), ((0.5,), (0.9,))))
    assert (after(X) <= before(X) + 1e-9).all()
    assert after(X)[12] < before(X)[12]


def test_as_a_width_of_policies():
    told = {"kernel": KERNEL, "noise": 0.01, "B": 2.0, "R": 0.3, "delta": 0.05, "width": "dual"}
    made = policy("gp-ucb", SPACE, **told)
    assert made.width == DualBand(B=2.0, R=0.3, delta=0.05)
    assert policy("drift-aware", SPACE, horizon=40, drift=0.1, length=5, **told).width.unions == 40
    for name in ("r-gp-ucb", "sw-gp-ucb", "wgp-ucb"):
        with pytest.raises(InvalidInput, match="has no theorem here: its radius follows from the rewards"):
            policy(name, SPACE, horizon=40, **told)
    with pytest.raises(InvalidInput, match="standardise=True changes these"):
        policy("gp-ucb", SPACE, standardise=True, **told)
    assert codec.loads(codec.dumps(made)) == made


def test_on_a_box_the_choice_is_the_best_of_a_fine_grid():
    box = policy("drift-aware", {"x": Float(0, 1)}, kernel=Matern(2.5, 0.2), width="dual", drift=0.02, horizon=30)
    state = box.start()
    for t, (x, y) in enumerate([(0.2, 0.3), (0.7, 0.6), (0.75, 0.5), (0.4, 0.1)], start=1):
        state = box.update(state, Observation(t, float(t), (x,), y))
    ask = Ask(number=5, at=5.0)
    fine = np.linspace(0, 1, 4001)[:, None]
    band = box.band(state, ask)
    assert float(band(box.choose(state, ask)[None])[0]) >= float(band(fine).max()) - 1e-6


def test_ridges_without_the_extremes():
    alphas = [each.noise for each in ridges(seen(3, noise=1e-9)[1])]
    assert min(alphas) == 1e-9
    assert max(alphas) <= 1e3
    assert [len(each) for each in ridges(Posterior(KERNEL, 0.1))] == [0]
