"""Kernels against scikit-learn and finite differences; and the bits of an entry, wherever it is computed."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.gaussian_process import kernels as sk

from driftwise.errors import InvalidInput
from driftwise.gp.difference import Difference
from driftwise.gp.kernels import RBF, Empirical, Level, Linear, Matern, Product, Scaled, Stretched, Sum, check_bounded
from driftwise.gp.time_kernels import Forgetting, SpaceTime
from driftwise.log import codec
from oracles import finite_difference

PER_DIMENSION = (0.3, 0.7, 1.9)
KERNELS = [
    RBF(0.4),
    RBF(PER_DIMENSION),
    Matern(0.5, 0.4),
    Matern(1.5, 0.4),
    Matern(2.5, 0.4),
    Matern(2.5, PER_DIMENSION),
    Linear(),
    Scaled(RBF(0.4), 0.3),
    Sum(Linear(), Matern(1.5, 0.3)),
    Product(Linear(), RBF(0.8)),
    Stretched(RBF(0.1), (3.0, 7.0, 19.0)),
]
SKLEARN = [
    sk.RBF(0.4),
    sk.RBF(PER_DIMENSION),
    sk.Matern(0.4, nu=0.5),
    sk.Matern(0.4, nu=1.5),
    sk.Matern(0.4, nu=2.5),
    sk.Matern(PER_DIMENSION, nu=2.5),
    sk.DotProduct(sigma_0=0),
    0.3 * sk.RBF(0.4),
    sk.DotProduct(sigma_0=0) + sk.Matern(0.3, nu=1.5),
    sk.DotProduct(sigma_0=0) * sk.RBF(0.8),
    sk.RBF(PER_DIMENSION),
]
ids = [repr(k) for k in KERNELS]


def points(seed: int, n: int, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize(("ours", "theirs"), list(zip(KERNELS, SKLEARN, strict=True)), ids=ids)
def test_equals_scikit_learn(ours, theirs):
    X, Y = points(0, 20), points(1, 30)
    np.testing.assert_allclose(ours(X, Y), theirs(X, Y), rtol=0, atol=1e-14)
    np.testing.assert_allclose(ours.diagonal(X), theirs.diag(X), rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_gradient_equals_finite_differences(kernel):
    X, Y = points(2, 5), points(3, 7)
    gradient = kernel.gradient(X, Y)
    assert gradient.shape == (5, 7, 3)
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            expected = finite_difference(lambda z, y=y: kernel(z[None], y[None])[0, 0], x)
            np.testing.assert_allclose(gradient[i, j], expected, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_gradient_where_points_coincide_is_finite_and_for_smooth_kernels_right(kernel):
    x = points(4, 1)
    gradient = kernel.gradient(x, x)[0, 0]
    assert np.isfinite(gradient).all()
    if kernel != Matern(0.5, 0.4):  # it has a cusp there
        expected = finite_difference(lambda z: kernel(z[None], x)[0, 0], x[0])
        np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_the_cusp_of_matern_half_has_gradient_zero():
    x = points(4, 1)
    assert not Matern(0.5, 0.4).gradient(x, x).any()


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 9),
    which=st.sampled_from(["rbf", "matern", "linear", "sum", "product"]),
    rows=st.lists(st.integers(0, 39), min_size=1, max_size=12),
    columns=st.lists(st.integers(0, 39), min_size=1, max_size=12),
    fortran=st.booleans(),
)
def test_an_entry_has_the_same_bits_in_whatever_matrix_it_is_computed(seed, d, which, rows, columns, fortran):
    kernel = {
        "rbf": RBF(0.3),
        "matern": Matern(2.5, tuple(np.linspace(0.2, 0.9, d))),
        "linear": Linear(),
        "sum": Sum(Linear(), Scaled(Matern(1.5, 0.3), 0.7)),
        "product": Product(Linear(), RBF(0.5)),
    }[which]
    X = points(seed, 40, d)
    whole = kernel(X, X)
    A = np.asfortranarray(X[rows]) if fortran else X[rows]
    part = kernel(A, X[columns])
    assert part.tobytes() == np.ascontiguousarray(whole[np.ix_(rows, columns)]).tobytes()
    assert kernel.diagonal(X[rows]).tobytes() == np.diagonal(whole)[rows].tobytes()
    assert whole.tobytes() == np.ascontiguousarray(whole.T).tobytes()


@pytest.mark.parametrize("kernel", [RBF(0.2), *(Matern(nu, 0.2) for nu in (0.5, 1.5, 2.5))], ids=repr)
def test_points_immensely_far_apart_are_uncorrelated(kernel):
    X = np.array([[0.0], [1e200], [-1e200]])
    np.testing.assert_array_equal(kernel(X, X), np.eye(3))


def test_empirical_kernel_looks_up():
    C = [[1.0, 0.5], [0.5, 2.0]]
    kernel = Empirical(C)
    X = np.array([[1.0], [0.0], [1.0]])
    np.testing.assert_array_equal(kernel(X, X), np.array(C)[[1, 0, 1]][:, [1, 0, 1]])
    np.testing.assert_array_equal(kernel.diagonal(X), [2.0, 1.0, 2.0])
    np.testing.assert_array_equal(kernel(np.eye(2), X), np.array(C)[:, [1, 0, 1]])
    np.testing.assert_array_equal(kernel.diagonal(np.eye(2)), [1.0, 2.0])
    assert kernel == Empirical(np.array(C))
    with pytest.raises(InvalidInput, match="no gradient"):
        kernel.gradient(X, X)


def test_an_empirical_covariance_may_lack_full_rank():
    F = points(0, 10, 2)
    X = np.arange(10.0)[:, None]
    np.testing.assert_array_equal(Empirical(F @ F.T)(X, X), F @ F.T)


@pytest.mark.parametrize(
    "C",
    [[[1.0, 2.0]], [[1.0, 0.2], [0.3, 1.0]], [[float("nan")]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0]]],
    ids=["oblong", "asymmetric", "nan", "indefinite", "negative"],
)
def test_an_empirical_covariance_must_be_one(C):
    with pytest.raises(InvalidInput, match="covariance must"):
        Empirical(C)


def test_check_bounded_says_how_to_scale():
    X = points(0, 10)
    check_bounded(RBF(0.2), X)
    check_bounded(Scaled(RBF(0.2), 0.5), X)
    with pytest.raises(InvalidInput, match=r"k\(x, x\) ≤ 1, got 4; .*Scaled\(kernel, 0.25\)"):
        check_bounded(Linear(), np.array([[2.0], [1.0]]))


@pytest.mark.parametrize(
    "bad", [0, -1, float("nan"), float("inf"), True, "0.2", None, (), [[0.2]], (0.2, -1), 1e-200, 1e200]
)
@pytest.mark.parametrize("kernel", [RBF, lambda ell: Matern(1.5, ell)], ids=["rbf", "matern"])
def test_bad_lengthscales_are_refused(kernel, bad):
    with pytest.raises(InvalidInput, match="lengthscale must"):
        kernel(bad)


def test_other_bad_options_are_refused():
    with pytest.raises(InvalidInput, match=r"nu must be 0.5, 1.5 or 2.5, got 2; .* RBF"):
        Matern(2)
    with pytest.raises(InvalidInput, match="variance must be > 0, got 0"):
        Scaled(RBF(), 0)
    with pytest.raises(InvalidInput, match="2 lengthscales given for 3 dimensions"):
        RBF((0.1, 0.2))(points(0, 2), points(0, 2))
    for kernel in (RBF(), Linear()):
        with pytest.raises(InvalidInput, match="same number of coordinates, got 3 and 2"):
            kernel(points(0, 2), points(0, 2, d=2))


def test_kernels_are_added_multiplied_and_scaled_by_operators():
    X, Y = points(0, 6), points(1, 4)
    first, second = RBF(0.4), Matern(1.5, 0.7)
    made = {
        first + second: first(X, Y) + second(X, Y),
        first * second: first(X, Y) * second(X, Y),
        2.0 * first: 2.0 * first(X, Y),
        first * 2: 2.0 * first(X, Y),
        np.float64(2.0) * first: 2.0 * first(X, Y),
        2 * first + second * Linear(): 2.0 * first(X, Y) + second(X, Y) * Linear()(X, Y),
    }
    for kernel, matrix in made.items():
        assert kernel(X, Y).tobytes() == matrix.tobytes()
        assert codec.loads(codec.dumps(kernel)) == kernel
    assert (first + second, first * second, 2 * first) == (
        Sum(first, second),
        Product(first, second),
        Scaled(first, 2.0),
    )


@pytest.mark.parametrize("kernel", [*KERNELS, Level(), Empirical([[1.0]]), SpaceTime(RBF(), Forgetting(0.1))], ids=repr)
def test_every_kernel_has_the_operators(kernel):
    assert kernel + RBF() == Sum(kernel, RBF())
    assert RBF() * kernel == Product(RBF(), kernel)
    assert 0.5 * kernel == Scaled(kernel, 0.5)


class Mine:
    """A kernel of the user's own, which knows nothing of ours."""

    def __call__(self, X, Y):
        return RBF(1.0)(X, Y)

    def diagonal(self, X):
        return np.ones(len(X))

    def gradient(self, X, Y):
        return RBF(1.0).gradient(X, Y)


def test_a_kernel_of_ones_own_may_stand_on_either_side():
    X, mine = points(0, 5), Mine()
    assert (mine + RBF(0.4), RBF(0.4) + mine) == (Sum(mine, RBF(0.4)), Sum(RBF(0.4), mine))
    assert (mine * RBF(0.4), RBF(0.4) * mine) == (Product(mine, RBF(0.4)), Product(RBF(0.4), mine))
    np.testing.assert_array_equal((mine + RBF(0.4))(X, X), RBF(1.0)(X, X) + RBF(0.4)(X, X))


@pytest.mark.parametrize("bad", [1.0, "2", None, RBF, np.ones(2), Forgetting(0.1)], ids=repr)
def test_what_is_no_kernel_cannot_be_added(bad):
    with pytest.raises(TypeError):
        RBF() + bad
    with pytest.raises(TypeError):
        bad + RBF()


@pytest.mark.parametrize("bad", ["2", None, RBF, np.ones(2), Forgetting(0.1), 1j], ids=repr)
def test_what_is_neither_kernel_nor_number_cannot_multiply(bad):
    with pytest.raises(TypeError):
        RBF() * bad
    with pytest.raises(TypeError):
        bad * RBF()


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf"), True])
def test_a_number_that_is_no_variance_is_refused(bad):
    with pytest.raises(InvalidInput, match="variance must"):
        bad * RBF()


def test_kernels_can_be_compared_and_hashed():
    assert RBF([0.1, 0.2]) == RBF((0.1, np.float64(0.2)))
    assert len({RBF(1), RBF(1.0), Matern(1.5, 1), Sum(RBF(1), Linear())}) == 3


# --- differences to an incumbent --------------------------------------------------------------------------------------

AT = (0.1, -0.4, 0.7)


@pytest.mark.parametrize("kernel", [RBF(0.9), Linear(), Sum(Matern(1.5, 0.8), Level(2.0))], ids=repr)
def test_the_kernel_of_differences_is_their_covariance(kernel):
    X, at = points(0, 12), np.array([AT])
    whole = kernel(np.vstack([X, at]), np.vstack([X, at]))
    apart = np.hstack([np.eye(12), -np.ones((12, 1))])  # f(x) − f(x₀)
    found = Difference(kernel, AT)
    np.testing.assert_allclose(found(X, X), apart @ whole @ apart.T, atol=1e-13)
    np.testing.assert_allclose(found.diagonal(X), np.diag(apart @ whole @ apart.T), atol=1e-13)
    assert np.linalg.eigvalsh(found(X, X)).min() > -1e-12


def test_the_incumbent_differs_from_itself_by_nothing():
    kernel, at = Difference(RBF(0.4), AT), np.array([AT])
    assert kernel.diagonal(at).tolist() == [0.0]
    assert not kernel(at, points(0, 5)).any()


def test_the_gradient_of_differences():
    kernel = Difference(RBF(0.9), AT)
    X, Y = points(2, 4), points(3, 5)
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            expected = finite_difference(lambda z, y=y: kernel(z[None], y[None])[0, 0], x)
            np.testing.assert_allclose(kernel.gradient(X, Y)[i, j], expected, atol=1e-8)


def test_the_kernel_of_differences_is_stored():
    assert codec.loads(codec.dumps(Difference(RBF(0.4), AT) + Level(1.0))) == Difference(RBF(0.4), AT) + Level(1.0)
