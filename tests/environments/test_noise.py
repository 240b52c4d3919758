"""Noise: R is a sub-Gaussian constant, the smallest one, and draws are functions of (seed, t)."""

import math

import numpy as np
import pytest

from driftwise.environments import (
    REGISTRY,
    Changing,
    Gaussian,
    Rademacher,
    Uniform,
    environment,
    options_of,
    recorded,
)
from driftwise.errors import InvalidInput

# each with its moment generating function, E exp(sη)
NOISES = [
    (Gaussian(0.3), lambda s: math.exp((0.3 * s) ** 2 / 2)),
    (Uniform(0.3), lambda s: math.sinh(0.3 * s) / (0.3 * s)),
    (Rademacher(0.3), lambda s: math.cosh(0.3 * s)),
]


@pytest.mark.parametrize(("noise", "mgf"), NOISES)
def test_r_bounds_the_moment_generating_function_and_no_smaller_one_does(noise, mgf):
    for s in (0.01, 0.1, 1.0, 5.0, 20.0, 60.0):
        assert mgf(s) <= math.exp(s**2 * noise.R**2 / 2) * (1 + 1e-12)
    assert mgf(0.5) > math.exp(0.5**2 * (0.99 * noise.R) ** 2 / 2)


@pytest.mark.parametrize(("noise", "mgf"), NOISES)
def test_draws_have_the_stated_mean_variance_and_moment_generating_function(noise, mgf):
    n = 8_000
    draws = np.array([noise.draw(seed=4, t=t) for t in range(1, n + 1)])
    assert abs(draws.mean()) < 4 * math.sqrt(noise.variance / n)
    assert abs(draws.var() / noise.variance - 1) < 4 * math.sqrt(2 / n)
    assert np.exp(2 * draws).mean() == pytest.approx(mgf(2), rel=0.05)
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / math.sqrt(n)


@pytest.mark.parametrize(("noise", "_mgf"), NOISES)
def test_a_draw_depends_on_seed_and_step_alone(noise, _mgf):
    assert [noise.draw(1, t) for t in (3, 1, 2)] == [noise.draw(1, t) for t in (1, 2, 3, 1, 2, 3)][2:5]
    assert any(noise.draw(1, t) != noise.draw(2, t) for t in range(1, 40))


def test_no_noise_is_allowed_and_a_negative_one_is_not():
    assert Gaussian(0.0).draw(1, 1) == 0.0
    for make in (Gaussian, Uniform, Rademacher):
        with pytest.raises(InvalidInput, match="≥ 0"):
            make(-0.1)


def test_changing_noise_is_loud_at_its_times_and_has_the_mean_variance():
    noise = Changing((0.05, 0.5, 0.1), (2000, 4000))
    draws = np.array([noise.draw(seed=1, t=t) for t in range(1, 6001)])
    for piece, std in zip(np.split(draws, 3), noise.stds, strict=True):
        assert piece.std() == pytest.approx(std, rel=4 / math.sqrt(2 * 2000))
    assert noise.variance == pytest.approx((0.05**2 + 0.5**2 + 0.1**2) / 3)
    assert noise.R == 0.5
    assert draws[4] == pytest.approx(0.05 * Gaussian(1.0).draw(1, 5))  # the same noise, smaller or larger
    for stds, times in (((0.1,), (5,)), ((0.1, 0.2, 0.3), (5, 5)), ((0.1, 0.2, 0.3), (6, 5))):
        with pytest.raises(InvalidInput, match="one more than the times"):
            Changing(stds, times)


def test_a_number_given_to_a_world_says_that_it_is_a_standard_deviation():
    assert environment("still", noise_std=0.3).noise == recorded(np.eye(4), noise_std=0.3).noise == Gaussian(0.3)
    for name in REGISTRY:
        assert "noise_std" in options_of(name)
        with pytest.raises(InvalidInput, match=r"noise is the variance .*; a world takes noise_std"):
            environment(name, noise=0.01)
