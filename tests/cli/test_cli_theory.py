"""driftwise theory, and every way to get it wrong."""

import json

import numpy as np
import pytest

from driftwise import RBF, Candidates, Linear, Scaled, policy
from driftwise.theory.bounds import Problem
from driftwise.theory.curves import over_budget, over_horizon
from driftwise.theory.domains import cube, domain
from driftwise.theory.information import MaximumGain, greedy_gain
from driftwise.theory.linear_gain import LinearGain, corners, linear_ceiling
from driftwise.theory.promises import tightest
from driftwise.theory.tight import best, tight_restart_bound


def test_theory_says_where_it_is_vacuous(good):
    assert "are vacuous here" in good("theory --horizon 100")
    text = good("theory --noise 1 --budget 0.001 --horizon 2000 --B 50 --points 50")
    assert "are all below 2BT" in text


@pytest.mark.slow
def test_theory_json_adds_up(good):
    data = json.loads(good("theory --horizon 200 --budget 4 --B 2 --kernel matern:1.5:0.3 --dim 2 --json"))
    assert data["gain"]["lower"] <= data["gain"]["upper"] <= data["gain"]["lower"] * np.e / (np.e - 1)
    assert [(p["policy"], p["budget_known"]) for p in data["promises"]] == [
        (policy, known) for policy in ("r-gp-ucb", "sw-gp-ucb") for known in (True, False)
    ]
    for promise in data["promises"]:
        bound = promise["bound"]
        assert bound["total"] == pytest.approx(bound["drift"] + bound["estimation"])
        assert bound["trivial"] == 2 * 2 * 200
        assert bound["vacuous"] == (bound["total"] >= bound["trivial"])
        assert promise["sharp_bound"]["total"] <= bound["total"]
    known = data["promises"][0]
    assert known["memory"] == round(data["gain"]["lower"] ** 0.25 * (200 / 4) ** 0.5)


@pytest.mark.slow
def test_theory_remembers_as_long_as_the_policies_do(good):
    data = json.loads(good("theory --horizon 300 --budget 3 --points 60 --json"))
    space = Candidates(np.linspace(0, 1, 60))
    told = {"kernel": RBF(0.2), "noise": 0.01, "horizon": 300}
    found = [p["memory"] for p in data["promises"]]
    assert found[:2] == [policy("r-gp-ucb", space, budget=b, **told).interval for b in (3.0, None)]
    assert found[2:] == [policy("sw-gp-ucb", space, budget=b, **told).window for b in (3.0, None)]


def test_theory_divides_a_kernel_that_exceeds_one_and_its_norms_follow(good):
    """‖f‖ with k/c is √c ‖f‖ with k: θ = (1, …, 1)/√d has ‖θ‖ = 1 and can lose √d a step, 223.6 in 100 of them."""
    text = good("theory --kernel linear --dim 5 --B 1 --horizon 100")
    assert "The kernel is divided by 5" in text
    assert "R(T) ≤ 2BT = 447.2" in text
    data = json.loads(good("theory --kernel linear --dim 3 --horizon 50 --B 1 --budget 2 --noise 0.01 --json"))
    assert (data["problem"]["kernel_divided_by"], data["problem"]["norms_multiplied_by"]) == (3, 3**0.5)
    assert data["gain"]["lower"] == pytest.approx(greedy_gain(Scaled(Linear(), 1 / 3), corners(3), 0.01, 50).lower[-1])
    assert data["gain"]["of_the_whole_cube"]
    # the same world in coordinates scaled by √3: the kernel is ≤ 1 as it is, and norms are √3 times as large
    gain = MaximumGain(Linear(), 0.01, corners(3) / 3**0.5)
    other = tightest(lambda noise: Problem(gain.upper, 50, 2 * 3**0.5, B=3**0.5, R=0.1, noise=noise), noise=0.01)
    assert [p["bound"]["total"] for p in data["best"]] == pytest.approx([t.bound.total for t in other], rel=0.02)
    assert json.loads(good("theory --horizon 50 --points 20 --json"))["problem"]["kernel_divided_by"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 0.2])
@pytest.mark.parametrize("dim", [1, 2, 4, 15])
def test_no_points_of_the_cube_gain_more_than_the_linear_kernel_can(dim, scale):
    kernel = Scaled(Linear(), scale)
    found = domain(kernel, dim, 0.1, 300)
    assert found.exact
    anywhere = np.random.default_rng(dim).random((300, dim)) ** 0.1
    for n in (1, 7, 300):
        assert greedy_gain(kernel, anywhere, 0.1, n).lower[-1] <= found.gain.upper(n)
        assert found.gain(n) <= found.gain.upper(n)
    assert found.gain.upper(300) <= 1.03 * found.gain(300)
    assert found.with_noise(0.5) == LinearGain.of(kernel, dim, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_best_linear_design_is_symmetric(dim):
    """Weights on all corners, improved until no corner's slope exceeds the mean: their gain is that of the formula."""
    X, noise, n = corners(dim), 0.3, 40
    w = np.full(len(X), n / len(X))
    for _ in range(20_000):
        V = np.linalg.inv(noise * np.eye(dim) + (X.T * w) @ X)
        slope = np.einsum("ij,jk,ik->i", X, V, X)
        if n * slope.max() <= (1 + 1e-9) * (w @ slope):
            break
        w = n * w * slope / (w @ slope)
    gained = 0.5 * np.linalg.slogdet(np.eye(dim) + (X.T * w) @ X / noise)[1]
    assert linear_ceiling(n, dim, noise) == pytest.approx(gained, rel=1e-6)


@pytest.mark.slow
def test_a_free_noise_is_at_least_as_good_as_those_given(good):
    free = json.loads(good("theory --horizon 300 --B 1 --budget 1 --points 40 --json"))["best"]
    for noise in (0.1, 1.0, 10.0):
        told = json.loads(good(f"theory --horizon 300 --B 1 --budget 1 --points 40 --noise {noise} --json"))["best"]
        assert all(f["bound"]["total"] <= t["bound"]["total"] for f, t in zip(free, told, strict=True))


@pytest.mark.slow
def test_theory_says_of_which_points_gamma_is_and_whether_they_are_enough(good):
    text = " ".join(good("theory --horizon 100").split())
    assert "γ_T on these 256 points of [0, 1] lies between" in text
    assert "when the points were last doubled" not in text
    text = " ".join(good("theory --kernel matern:1.5:0.1 --dim 3 --horizon 600 --noise 1").split())
    assert "on the whole cube γ_T may be much larger" in text


def test_theory_has_the_best_bounds_and_a_lower_one_below_them(good):
    data = json.loads(good("theory --B 1 --budget 4 --noise 1 --json"))
    assert [row["policy"] for row in data["best"]][:2] == ["r-gp-ucb", "sw-gp-ucb"]
    stated = min(p["sharp_bound"]["total"] for p in data["promises"])
    for row in data["best"]:
        assert 0 < data["lower"]["total"] <= row["bound"]["total"] <= stated
    assert not data["best"][0]["bound"]["vacuous"]  # P_T = 4, B = 1, T = 500: the first in print, as far as we know


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_theory_draws(good, refused, tmp_path, kind):
    good(f"theory --horizon 60 --noise 1 --points 20 --picture {tmp_path}/bounds.{kind}")
    assert (tmp_path / f"bounds.{kind}").stat().st_size > 5000
    assert "a picture's file must end in" in refused(f"theory --picture {tmp_path}/bounds.txt")


@pytest.mark.slow
def test_the_curves_are_the_bounds_at_their_best_lengths():
    gain = MaximumGain(RBF(0.2), 1.0, cube(1, 20))
    problem = Problem(gain.upper, 128, 2.0, B=1.0, noise=1.0)
    drawn = over_horizon(problem, contrast=1.4, reach=1.0)
    assert (drawn.x[0], drawn.x[-1]) == (2, 128)
    tight = drawn.total("best, R-GP-UCB")
    assert tight[-1] == pytest.approx(best(tight_restart_bound, problem)[1].total)
    assert tight == pytest.approx(drawn.drift("best, R-GP-UCB") + drawn.estimation("best, R-GP-UCB"))
    for curves in (drawn, over_budget(problem, contrast=1.4, reach=1.0)):
        for name, bounds in curves.upper.items():
            assert len(bounds) == len(curves.x)
            assert (curves.lower <= np.minimum(curves.total(name), curves.trivial)).all()
        assert (curves.total("best, R-GP-UCB") <= curves.total("Theorem 1, sharper") + 1e-9).all()
        assert (curves.total("best, SW-GP-UCB") <= curves.total("Theorem 2, sharper") + 1e-9).all()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--delta 1", "delta must be strictly between 0 and 1, got 1.0"),
        ("--noise 0", "noise must be > 0"),
        ("--budget -1", "budget must be ≥ 0"),
        ("--B nan", "B must be finite"),
        ("--dim 0", "--dim"),
        ("--kernel cosine", "a kernel is written"),
    ],
)
def test_theory_refuses(refused, line, words):
    assert words in refused(f"theory --horizon 20 {line}")
