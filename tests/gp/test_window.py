"""The window engine: its backends against dense algebra and against each other, on the same observations."""

from __future__ import annotations

import os

import numpy as np
import pytest

from driftwise.gp.grid import Grid, GridPosterior
from driftwise.gp.kernels import RBF
from driftwise.gp.window.density import log_density
from driftwise.gp.window.experts import Beliefs, Experts, HeldSlots, foreseen, slide
from driftwise.records import Observation

POINTS, KERNEL, KEYS, W, STEPS = np.random.default_rng(0).random((40, 2)), RBF(0.3), 3, 9, 60
PAIRS = KERNEL(POINTS, POINTS)


def history(seed: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
    """A candidate and a reward of each key, step by step; many are repeated."""
    rng = np.random.default_rng(seed)
    return [(rng.integers(12, size=KEYS) * 3, rng.standard_normal(KEYS)) for _ in range(STEPS)]


def dense(noise: float, step: int, key: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of rewards, and of ones, and the variance after so many steps: with a row for each observation."""
    held = history()[max(step - W, 0) : step]
    where, y = np.array([j[key] for j, _ in held]), np.array([y[key] for _, y in held])
    solved = np.linalg.solve(PAIRS[np.ix_(where, where)] + noise * np.eye(len(where)), PAIRS[where])
    return y @ solved, solved.sum(axis=0), np.diagonal(PAIRS) - (PAIRS[where] * solved).sum(axis=0)


def by_slots(noise: float):
    """One key at a time: slots of distinct candidates."""
    states = [GridPosterior.prior(Grid(POINTS, KERNEL, noise, standardise=True)) for _ in range(KEYS)]
    for t, (where, y) in enumerate(history(), 1):
        for key in range(KEYS):
            seen = Observation(t, float(t), tuple(POINTS[where[key]].tolist()), float(y[key]))
            states[key] = states[key].observe(seen, keep=W if t > W else None)
        yield [(*state.mean, state.var) for state in states]


def by_experts(noise: float):
    """All keys at once, in NumPy: a single expert, which stands still."""
    experts = Experts(PAIRS[None], np.array([[noise]]), np.zeros(1), 1, np.zeros((2, 1)), W)
    beliefs, where, Y = Beliefs.prior(experts, KEYS), np.zeros((KEYS, W), np.intp), np.zeros((KEYS, W, 2))
    for t, (j, y) in enumerate(history()):
        slot, held = np.full(KEYS, t % W), HeldSlots(where, Y, np.zeros((KEYS, W)))
        beliefs = slide(experts, beliefs, held, slot, j, y, foreseen(experts, beliefs, held, j))
        where[:, t % W], Y[:, t % W, 0], Y[:, t % W, 1] = j, y, 1.0
        yield [(*b.mean[0, 0], PAIRS.diagonal() - b.explained[0, 0]) for b in map(_key(beliefs), range(KEYS))]


def _key(beliefs: Beliefs):
    return lambda key: Beliefs(*(part[key] for part in beliefs))


def compiled(noise: float):
    """All keys at once, in Numba."""
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    from driftwise.gp.window.compiled import slide as slide_compiled

    P, mean, var = np.zeros((KEYS, W, W)), np.zeros((KEYS, 2, len(POINTS))), np.tile(PAIRS.diagonal(), (KEYS, 1))
    where, Y, best = np.zeros((KEYS, W), np.int32), np.zeros((KEYS, W)), np.zeros(KEYS, np.int32)
    prior, keys, width = np.ascontiguousarray(PAIRS.diagonal()), np.arange(KEYS), np.full(KEYS, 2.0)
    for t, (j, y) in enumerate(history()):
        counts, places = np.full(KEYS, min(t, W), np.int32), np.full(KEYS, t % W, np.int32)
        slide_compiled(
            keys, j.astype(np.int32), y, width, PAIRS, PAIRS, prior, noise, noise < 1e-2, P, where, Y, counts, places,
            mean, var, best, np.empty(KEYS),
        )  # fmt: skip
        yield [(*mean[key], var[key]) for key in range(KEYS)]


def on_a_card(noise: float):
    """All keys at once, in Triton; without a card, `TRITON_INTERPRET=1` runs the kernels in Python, slowly."""
    torch = pytest.importorskip("torch", reason="the engine on a GPU needs PyTorch")
    pytest.importorskip("triton", reason="the engine on a GPU needs Triton")
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not (torch.cuda.is_available() or interpreted):
        pytest.skip("the engine on a GPU needs a CUDA device, or Triton's interpreter")
    from driftwise import Candidates
    from driftwise.fleet.gpu import GpuBeliefs
    from driftwise.fleet.windowed import terms_of
    from driftwise.policies.window import Window

    policy = Window.of(Candidates(POINTS), window=W, kernel=KERNEL, noise=noise, standardise=True)
    b, keys = GpuBeliefs(terms_of(policy, windows=8), "cpu" if interpreted else "cuda"), np.arange(KEYS)
    b.grow(KEYS)
    b.fill(keys, np.zeros(KEYS, np.int32), np.zeros((KEYS, W), np.int32), np.zeros((KEYS, W)))
    for t, (j, y) in enumerate(history()):
        counts, places = np.full(KEYS, min(t, W), np.int32), np.full(KEYS, t % W, np.int32)
        b.slide(keys, counts, places, j.astype(np.int32), y, np.full(KEYS, 2.0))
        yield [(*b.mean[key].cpu().numpy(), b.var[key].cpu().numpy()) for key in range(KEYS)]


@pytest.mark.parametrize("backend", [by_slots, by_experts, compiled, on_a_card])
@pytest.mark.parametrize("noise", [0.1, 5e-3])
def test_every_backend_is_the_dense_posterior_while_windows_fill_and_slide(backend, noise):
    for step, states in enumerate(backend(noise), 1):
        for key, said in enumerate(states):
            for ours, theirs in zip(said, dense(noise, step, key), strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-10)


@pytest.mark.parametrize("backend", [by_experts, compiled, on_a_card])
def test_backends_agree_with_that_of_distinct_candidates(backend):
    for ours, theirs in zip(backend(0.05), by_slots(0.05), strict=True):
        np.testing.assert_allclose(np.array(ours), np.array(theirs), atol=1e-11)


def test_the_density_of_the_first_reward_is_a_students_t():
    """Of 2 STRENGTH degrees, because the variance of the signal is integrated out."""
    from scipy.stats import t as student

    experts = Experts(PAIRS[None], np.array([[0.1]]), np.zeros(1), 1, np.zeros((2, 1)), W)
    beliefs, j = Beliefs.prior(experts, 1), np.array([4])
    held = HeldSlots(np.zeros((1, W), np.intp), np.zeros((1, W, 2)), np.zeros((1, W)))
    of = foreseen(experts, beliefs, held, j)
    found = log_density(experts, beliefs, np.array([0.5]), np.array([2.0]), of, np.array([1.3]))
    assert found.item() == pytest.approx(student(10, scale=np.sqrt(1.1)).logpdf(0.4), rel=1e-12)
