"""The posterior against dense algebra and scikit-learn: over many slides, at odd inputs, and never changing."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Linear, Matern, Scaled, Sum
from driftwise.gp.posterior import Posterior, location_scale
from driftwise.records import Observation
from oracles import dense_information_gain, dense_posterior, finite_difference


def clustered(rng: np.random.Generator, n: int) -> np.ndarray:
    """Points in a few tight clusters, many of them the very same: what an optimiser that has converged asks for."""
    centres = rng.random((4, 2))
    X = centres[rng.integers(4, size=n)] + 1e-3 * rng.standard_normal((n, 2))
    repeats = rng.random(n) < 0.4
    X[repeats] = centres[rng.integers(4, size=int(repeats.sum()))]
    X[rng.random(n) < 0.2] = rng.random(2)
    return X


def filled(kernel, noise: float, n: int = 12, seed: int = 0, **options) -> Posterior:
    rng = np.random.default_rng(seed)
    posterior = Posterior(kernel, noise, **options)
    for x in rng.random((n, 2)):
        posterior = posterior.append(x, 5.0 + float(rng.standard_normal()))
    return posterior


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "tolerance"), [(1e-4, 1e-8), (1e-6, 1e-6)])
def test_equals_the_dense_solve_over_100_000_slides(noise, tolerance):
    """Clustered and repeated points; the error is looked at along the whole way, and does not gather."""
    slides, window = 100_000, 20
    rng = np.random.default_rng(1)
    X, y = clustered(rng, slides), rng.standard_normal(slides)
    kernel, at = RBF(0.2), rng.random((50, 2))
    posterior = Posterior(kernel, noise)
    worst = 0.0
    for t in range(slides):
        posterior = posterior.observe(Observation(t + 1, float(t), X[t], y[t]), keep=window)
        if t % 499 == 498 or t == slides - 1:
            kept = slice(max(t + 1 - window, 0), t + 1)
            mean, var = dense_posterior(kernel, noise, X[kept], y[kept], at)
            ours, std = posterior.predict(at)
            worst = max(worst, np.abs(ours - mean).max(), np.abs(std**2 - var).max())
    assert worst <= tolerance


@pytest.mark.parametrize(("noise", "tolerance"), [(1e-4, 1e-8), (1e-6, 1e-6)])
@pytest.mark.parametrize("order", ["append first", "drop first"])
def test_append_and_drop_equal_the_dense_solve(noise, tolerance, order):
    slides, window = 2_000, 40
    rng = np.random.default_rng(2)
    X, y = clustered(rng, slides), rng.standard_normal(slides)
    kernel, at = Matern(2.5, 0.3), rng.random((50, 2))
    posterior = Posterior(kernel, noise)
    for t in range(slides):
        if order == "drop first" and len(posterior) == window:
            posterior = posterior.drop_oldest()
        posterior = posterior.append(X[t], y[t])
        if len(posterior) > window:
            posterior = posterior.drop_oldest()
        if t % 97 == 0:
            kept = slice(max(t + 1 - window, 0), t + 1)
            mean, var = dense_posterior(kernel, noise, X[kept], y[kept], at)
            ours, std = posterior.predict(at)
            np.testing.assert_allclose(ours, mean, rtol=0, atol=tolerance)
            np.testing.assert_allclose(std**2, var, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("noise", "tolerance"), [(1e-2, 1e-10), (1e-4, 1e-8), (1e-6, 1e-6)])
@pytest.mark.parametrize("kernel", [RBF(0.2), Linear()], ids=repr)
def test_appending_without_end_equals_the_dense_solve(kernel, noise, tolerance):
    rng = np.random.default_rng(3)
    X, at = clustered(rng, 500), rng.random((50, 2))
    y = X.sum(axis=1) + 0.1 * rng.standard_normal(500)
    posterior = Posterior(kernel, noise)
    for x, reward in zip(X, y, strict=True):
        posterior = posterior.append(x, reward)
    mean, var = dense_posterior(kernel, noise, X, y, at)
    np.testing.assert_allclose(posterior.predict(at)[0], mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(posterior.predict(at)[1] ** 2, var, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (RBF(0.3), sk.RBF(0.3)),
        (Matern(1.5, (0.2, 0.5)), sk.Matern((0.2, 0.5), nu=1.5)),
        (Linear(), sk.DotProduct(0.0, "fixed")),
    ],
    ids=["rbf", "matern", "linear"],
)
def test_equals_scikit_learn_on_a_fixed_window(ours, theirs):
    posterior = filled(ours, 0.01, n=40)
    peer = GaussianProcessRegressor(theirs, alpha=0.01, optimizer=None).fit(posterior.X, posterior.y)
    at = np.random.default_rng(3).random((60, 2))
    mean, std = peer.predict(at, return_std=True)
    np.testing.assert_allclose(posterior.predict(at)[0], mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(posterior.predict(at)[1], std, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [0, 12])
@pytest.mark.parametrize("kernel", [RBF(0.4), Matern(2.5, (0.3, 0.8)), Sum(Linear(), Matern(1.5, 0.4))], ids=repr)
def test_gradients_equal_finite_differences(kernel, n):
    posterior = filled(kernel, 0.01, n=n)
    X = np.random.default_rng(4).random((6, 2))
    mean, std, dmean, dstd = posterior.predict_gradient(X)
    for value, expected in zip((mean, std), posterior.predict(X), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-12)
    for i, x in enumerate(X):
        for which, gradient in ((0, dmean[i]), (1, dstd[i])):
            expected = finite_difference(lambda z, which=which: posterior.predict(z[None])[which][0], x)
            np.testing.assert_allclose(gradient, expected, atol=2e-6)


@pytest.mark.parametrize("kernel", [RBF((0.2, 0.5)), Matern(0.5, 0.3), Matern(1.5, 0.3), Matern(2.5, (0.3, 0.1))])
def test_the_gradient_by_products_of_matrices_is_the_one_of_any_kernel(kernel):
    """A scaled kernel takes the way that every kernel can; the points include one that was observed."""
    one, any_kernel = filled(kernel, 0.01), filled(Scaled(kernel, 1.0), 0.01)
    X = np.vstack([np.random.default_rng(1).random((5, 2)), one.X[:1]])
    for ours, theirs in zip(one.predict_gradient(X), any_kernel.predict_gradient(X), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("kernel", [RBF(0.2), Linear(), Scaled(Matern(0.5, 0.2), 3.0)], ids=repr)
def test_information_gain_equals_the_log_determinant(kernel):
    posterior = filled(kernel, 0.01, n=30)
    expected = dense_information_gain(kernel, 0.01, posterior.X)
    assert posterior.information_gain == pytest.approx(expected, rel=1e-10)
    shorter = posterior.drop_oldest()
    assert shorter.information_gain == pytest.approx(dense_information_gain(kernel, 0.01, shorter.X), rel=1e-10)


def test_the_prior_knows_nothing():
    mean, std = Posterior(Scaled(RBF(0.2), 0.25), 0.01).predict(np.array([[0.3], [0.6]]))
    assert mean.tolist() == [0.0, 0.0]
    assert std.tolist() == [0.5, 0.5]
    assert Posterior(RBF(0.2), 0.01).information_gain == 0.0
    assert Posterior(RBF(0.2), 0.01).weights(np.array([[0.3]])).shape == (1, 0)


@pytest.mark.parametrize("standardise", [False, True])
def test_weights_give_the_mean(standardise):
    posterior = filled(RBF(0.3), 0.01, standardise=standardise)
    at = np.random.default_rng(5).random((7, 2))
    np.testing.assert_allclose(posterior.weights(at) @ posterior.targets, posterior.predict(at)[0], atol=1e-12)


def test_no_state_ever_changes():
    at = np.random.default_rng(6).random((9, 2))
    states = [filled(RBF(0.3), 1e-4, n=n) for n in (0, 1, 8)]
    before = [[a.tobytes() for a in s.predict(at)] for s in states]
    for state in states:
        state.append([0.5, 0.5], 100.0).append([0.1, 0.1], -100.0).predict(at)
        state.observe(Observation(9, 9.0, (0.5, 0.5), 3.0), keep=3).predict(at)
        state.imagine([(0.2, 0.2), (0.3, 0.3)]).predict(at)
        if len(state):
            state.drop_oldest().append([0.9, 0.9], 5.0).predict(at)
    assert [[a.tobytes() for a in s.predict(at)] for s in states] == before


def test_a_kept_window_is_a_function_of_its_contents_to_the_last_bit():
    """Whether it was asked in between, and how much came before, leaves no trace."""
    rng = np.random.default_rng(7)
    log = [
        Observation(t, float(t), tuple(x), float(rng.standard_normal())) for t, x in enumerate(rng.random((60, 3)), 1)
    ]
    at = rng.random((20, 3))

    def fold(entries, *, ask: bool) -> Posterior:
        posterior = Posterior(Sum(Linear(), RBF(0.3)), 1e-3)
        for seen in entries:
            if ask:
                posterior.predict(at)
                posterior.imagine([(0.1, 0.1, 0.1)])
            posterior = posterior.observe(seen, keep=10)
        return posterior

    live, replayed = fold(log, ask=True), fold(log[-10:], ask=False)
    for a, b in zip(live.predict(at), replayed.predict(at), strict=True):
        assert a.tobytes() == b.tobytes()
    assert live.information_gain == replayed.information_gain


@pytest.mark.parametrize("standardise", [False, True])
def test_imagined_answers_leave_the_mean_and_shrink_the_variance(standardise):
    kernel, noise = RBF(0.3), 0.01
    posterior = filled(kernel, noise, standardise=standardise)
    pending = [(0.2, 0.9), (0.21, 0.9), (0.2, 0.9)]
    imagined = posterior.imagine(pending)
    at = np.vstack([np.random.default_rng(8).random((30, 2)), pending])
    np.testing.assert_allclose(imagined.predict(at)[0], posterior.predict(at)[0], atol=1e-10)
    X = np.vstack([posterior.X, pending])
    _, var = dense_posterior(kernel, noise, X, np.zeros(len(X)), at)
    np.testing.assert_allclose(imagined.predict(at)[1] ** 2, var, atol=1e-10)
    assert imagined.units == posterior.units
    assert posterior.imagine([]) is posterior


def test_standardised_rewards_come_back_in_the_users_units():
    """Adding and multiplying rewards changes location and scale, and nothing else."""
    at = np.random.default_rng(9).random((10, 2))
    plain = filled(RBF(0.3), 0.01, standardise=True)
    moved = Posterior(RBF(0.3), 0.01, standardise=True)
    for x, y in zip(plain.X, plain.y, strict=True):
        moved = moved.append(x, -300.0 + 7.0 * y)
    for a, b in zip(plain.predict(at), moved.predict(at), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)
    assert moved.units == pytest.approx((-300 + 7 * plain.units[0], 7 * plain.units[1]))
    assert plain.targets.mean() == pytest.approx(0, abs=1e-12)
    assert plain.targets.std() == pytest.approx(1)


def test_rewards_without_spread_have_scale_one_and_small_ones_their_own():
    assert location_scale(np.zeros(0)) == (0.0, 1.0)
    assert location_scale(np.array([0.1] * 7))[1] == 1.0
    assert location_scale(np.array([1e12] * 7))[1] == 1.0
    assert location_scale(np.array([1e-15, 3e-15])) == pytest.approx((2e-15, 1e-15))


REWARDS = {
    "constant": lambda rng, n: np.full(n, 3.0),
    "1e12": lambda rng, n: 1e12 * rng.standard_normal(n),
    "1e12 and constant": lambda rng, n: np.full(n, 1e12),
    "ordinary": lambda rng, n: rng.standard_normal(n),
}


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize(("noise", "keep"), [(1e-2, 20), (1e-300, None), (1e-300, 20)])
@pytest.mark.parametrize(("kernel", "standardise"), [(RBF(0.2), True), (Linear(), False)], ids=repr)
def test_no_numerical_failure(rewards, noise, standardise, keep, kernel):
    """Duplicates, constants, huge rewards, no noise to speak of: finite, and 0 ≤ σ² ≤ k(x, x)."""
    rng = np.random.default_rng(10)
    n = 60
    X, y = clustered(rng, n), REWARDS[rewards](rng, n)
    X[n // 2 :] = X[n // 2]
    at = np.vstack([rng.random((20, 2)), X[-1:]])
    posterior = Posterior(kernel, noise, standardise)
    for t in range(n):
        posterior = posterior.observe(Observation(t + 1, float(t), tuple(X[t]), float(y[t])), keep=keep)
    mean, std, dmean, dstd = posterior.imagine([tuple(X[0])]).predict_gradient(at)
    for array in (mean, std, dmean, dstd):
        assert np.isfinite(array).all()
    assert (std >= 0).all()
    assert (std**2 <= kernel.diagonal(at) * (1 + 1e-15)).all()
    assert np.isfinite(posterior.information_gain)


def test_jitter_is_zero_where_none_was_needed_and_reported_where_it_was():
    points = [[0.5, 0.5]] * 30
    ordinary, singular = Posterior(RBF(0.2), 1e-6), Posterior(RBF(0.2), 1e-300)
    for x in points:
        ordinary, singular = ordinary.append(x, 1.0), singular.append(x, 1.0)
    assert ordinary.jitter == 0
    assert singular.jitter == 1e-10
    assert singular.predict(np.array([[0.5, 0.5]]))[0][0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("noise", [0, -1.0, float("nan"), float("inf"), "0.1", True])
def test_bad_noise_is_refused(noise):
    with pytest.raises(InvalidInput, match="noise must be"):
        Posterior(RBF(0.2), noise)


@pytest.mark.parametrize("y", [float("nan"), float("inf"), True, "1", None, 10**400])
def test_bad_rewards_are_refused(y):
    with pytest.raises(InvalidInput, match="y must be"):
        Posterior(RBF(0.2), 0.01).append([0.5], y)


def test_bad_points_are_refused():
    posterior = Posterior(RBF(0.2), 0.01).append([0.5], 1.0)
    with pytest.raises(InvalidInput, match="x must be finite"):
        posterior.append([float("nan")], 1.0)
    with pytest.raises(InvalidInput, match="same number of coordinates, got 2 and 1"):
        posterior.append([0.5, 0.5], 1.0)
    with pytest.raises(InvalidInput, match=r"rows of points, \(n, d\), got shape \(1,\)"):
        posterior.predict(np.array([0.5]))


def test_nothing_cannot_be_dropped():
    with pytest.raises(InvalidInput, match="an observation to drop"):
        Posterior(RBF(0.2), 0.01).drop_oldest()


def test_a_selection_has_the_bits_of_the_same_observations_alone():
    rng = np.random.default_rng(5)
    X, y, kept = rng.random((12, 2)), rng.standard_normal(12), np.array([1, 4, 5, 11])
    whole = alone = Posterior(RBF(0.3), noise=0.01)
    for x_i, y_i in zip(X, y, strict=True):
        whole = whole.append(x_i, y_i)  # its factor is extended, and is not that of a selection
    for i in kept:
        alone = alone.observe(Observation(int(i), 0.0, tuple(X[i]), float(y[i])), keep=4)
    for one, other in zip(whole.select(kept).predict(X), alone.predict(X), strict=True):
        assert one.tobytes() == other.tobytes()
