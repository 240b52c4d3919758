"""At the least noise that compiled engines take, beliefs are those of dense algebra to 1e-9 after many slides."""

from __future__ import annotations

import numpy as np
import pytest

import driftwise as dw
from driftwise.fleet.windowed import terms_of
from driftwise.policies.window import Window

POINTS, W, NOISE, KEYS = np.linspace(0, 1, 80)[:, None], 40, 1e-3, 6


def beliefs(engine):
    policy = Window.of(dw.Candidates(POINTS), window=W, kernel=dw.RBF(0.3), noise=NOISE, standardise=False)
    terms = terms_of(policy, windows=1)
    if engine == "compiled":
        pytest.importorskip("numba", reason="the compiled engine needs Numba")
        from driftwise.fleet.compiled import CompiledBeliefs

        return CompiledBeliefs(terms)
    pytest.importorskip("triton", reason="the engine on a GPU needs Triton")
    if not pytest.importorskip("torch", reason="the engine on a GPU needs PyTorch").cuda.is_available():
        pytest.skip("the engine on a GPU needs a CUDA device")
    from driftwise.fleet.gpu import GpuBeliefs

    return GpuBeliefs(terms)


def dense(where, y):
    K = dw.RBF(0.3)(POINTS, POINTS)
    solved = np.linalg.solve(K[np.ix_(where, where)] + NOISE * np.eye(len(where)), K[where])
    return y @ solved, 1 - (K[where] * solved).sum(axis=0)


@pytest.mark.parametrize("engine", ["compiled", "gpu"])
def test_errors_do_not_grow_at_the_least_noise(engine):
    b, rng, slots, width = beliefs(engine), np.random.default_rng(0), np.arange(KEYS), np.full(KEYS, 2.0)
    b.grow(KEYS)
    none = np.zeros(KEYS, np.int32)
    b.fill(slots, none, np.zeros((KEYS, W), np.int32), np.zeros((KEYS, W)))
    b.choose(slots, none, width)
    for step in range(400):
        where, counts = b.chosen(slots), np.full(KEYS, min(step, W), np.int32)
        y = np.sin(7 * POINTS[where, 0] + slots + step / 50) + np.sqrt(NOISE) * rng.standard_normal(KEYS)
        b.slide(slots, counts, np.full(KEYS, step % W, np.int32), where, y, width)
    for key, (where, y) in enumerate(zip(*b.windows(slots), strict=True)):
        mean, variance = dense(where, y)
        found, deviation, _ = b.predict(slots[key : key + 1], np.array([W], np.int32))
        np.testing.assert_allclose(found[0], mean, atol=1e-9)
        np.testing.assert_allclose(deviation[0] ** 2, np.clip(variance, 0.0, 1.0), atol=1e-9)
