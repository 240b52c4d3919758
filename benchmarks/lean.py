"""auto-lean: its step beside one of sw-gp-ucb with the same window, and with many keys at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import driftwise as dw
from benchmarks.candidates import using
from benchmarks.measure import Result, Stopwatch, duration
from driftwise.lab.zoo import zoo
from driftwise.lean.step import LeanState, moments, observe, optimism
from driftwise.records import Ask, Observation

WINDOW, STEPS, KEYS, TARGET = 64, 500, 32, 12.0


def run() -> Iterator[Result]:
    with using(compiled=False):
        lean, plain = raced()
    experts = dw.policy("auto-lean", zoo(kind="slow-0.01", dim=2).space).bank.shares.size
    yield Result(
        what=f"step of auto-lean, {experts} experts, 256 candidates, window {WINDOW}",
        ours=duration(lean),
        theirs=f"{duration(plain)} (sw-gp-ucb, NumPy and SciPy)",
        ratio=lean / plain,
        target=f"≤ {TARGET:.0f}×",
        met=lean / plain <= TARGET,
    )
    many = together()
    yield Result(f"… with {KEYS} keys at once, per key", duration(many), f"{duration(lean)} (one)", many / lean)


def raced() -> tuple[float, float]:
    """Median seconds of a step of each, in turns, on full windows."""
    world = zoo(kind="slow-0.01", dim=2, seed=100)
    policies = dw.policy("auto-lean", world.space), dw.policy("sw-gp-ucb", world.space, window=WINDOW, standardise=True)
    states, watches = [policy.start() for policy in policies], [Stopwatch(), Stopwatch()]
    for t in range(1, STEPS + 1):
        for i, policy in enumerate(policies):
            watch = watches[i] if t > 2 * WINDOW else Stopwatch()
            x = watch(policy.choose, states[i], Ask(t, float(t)))
            seen = Observation(t, float(t), tuple(x.tolist()), world.observe(t, x))
            states[i] = watch(policy.update, states[i], seen)
    lean, plain = (float(np.median(np.reshape(watch.seconds, (-1, 2)).sum(axis=1))) for watch in watches)
    return lean, plain


def together() -> float:
    """Median seconds a key of a step of many."""
    policy = dw.policy("auto-lean", zoo(kind="slow-0.01", dim=2).space)
    bank, state, watch = policy.bank, LeanState.start(policy.bank, KEYS), Stopwatch()
    rng, values = np.random.default_rng(0), np.random.default_rng(1).standard_normal((KEYS, len(policy.bank.points)))
    for t in range(1, 3 * WINDOW + 1):
        number = np.full(KEYS, t)

        def step(state: LeanState = state, number: Any = number) -> LeanState:
            j = np.argmax(optimism(bank, state, moments(bank, state, number), policy.width), axis=1)
            y = values[np.arange(KEYS), j] + 0.1 * rng.standard_normal(KEYS)
            return observe(bank, state, j, y, number)

        state = (watch if t > 2 * WINDOW else Stopwatch())(step)
    return watch.median / KEYS
