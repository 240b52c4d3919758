"""`auto-lean` for a fleet on a GPU: `python -m benchmarks.fleet_lean_gpu`. Needs a CUDA device and the extra `gpu`.

Decisions a second of all experts with everything on the card, and with choices and rewards as NumPy arrays; the
parts of a step; and how far choices and beliefs are from those of NumPy.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from benchmarks.fleet_gpu import POINTS, N, W, milliseconds
from driftwise import Candidates
from driftwise.fleet.lean_engine import LeanEngine
from driftwise.fleet.lean_gpu import LeanTensors
from driftwise.fleet.streams import Streams
from driftwise.lean.step import LeanState, moments, observe, optimism
from driftwise.policies.auto_lean import AutoLean

POLICY = AutoLean.of(Candidates(POINTS), window=W)


def on_the_card(streams: int) -> dict[str, float]:
    """Milliseconds of a step of full windows, of its kernels, and of making the states anew."""
    tensors, slots = LeanTensors(POLICY.bank, POLICY.width), torch.arange(streams, device="cuda")
    tensors.grow(streams)
    tensors.reset(slots)
    number = torch.zeros(streams, dtype=torch.int32, device="cuda")

    def step() -> None:
        number.add_(1)
        where = torch.randint(0, N, (streams,), device="cuda", dtype=torch.int32)
        tensors.step(slots, where, torch.randn(streams, device="cuda", dtype=torch.float64), number)

    for _ in range(W + 6):
        step()
    found = {"step": milliseconds(step, 20)}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    for event in sorted(profile.key_averages(), key=lambda each: -each.self_device_time_total)[:5]:
        found[event.key[:24]] = event.self_device_time_total / 1e3
    tensors.remake(slots[:1])  # compiles what it needs
    torch.cuda.synchronize()
    began = time.perf_counter()
    tensors.remake(slots)
    torch.cuda.synchronize()
    return found | {"anew": (time.perf_counter() - began) * 1e3}


def from_the_host(streams: int, steps: int = 20) -> float:
    """Millions of decisions a second with choices and rewards as NumPy arrays."""
    known = Streams(POLICY.memory, 4)
    known.add(streams)
    engine, rows = LeanEngine(POLICY, known, memory=100 << 30), np.arange(streams)
    rewards = np.random.default_rng(0).standard_normal(streams)

    def run(first: int, last: int) -> None:
        for number in range(first, last):
            numbers = np.full(streams, number, np.int32)
            engine.observe(rows, numbers, engine.choose(rows, numbers), rewards)

    run(1, W + 6)
    began = time.perf_counter()
    run(W + 6, W + 6 + steps)
    return streams * steps / (time.perf_counter() - began) / 1e6


def differences(keys: int = 8, first: int = 380, last: int = 560) -> tuple[int, float, float]:
    """Of decisions that are not NumPy's, and the largest error of an expert's mean and of V, over a new beginning."""
    bank, rng, rows = POLICY.bank, np.random.default_rng(0), np.arange(keys)
    known = Streams(POLICY.memory, 4)
    known.add(keys)
    engine, state = LeanEngine(POLICY, known, memory=1 << 30), LeanState.start(bank, keys)
    different, worst = 0, [0.0, 0.0]
    for number in range(first, last):
        numbers = np.full(keys, number)
        said = moments(bank, state, numbers)
        where = np.argmax(optimism(bank, state, said, POLICY.width), axis=1)
        different += int((engine.choose(rows, numbers.astype(np.int32)) != where).sum())
        y = 5 + np.sin(7 * POINTS[where, 0] + rows + number / 50) + 0.2 * rng.standard_normal(keys)
        state = observe(bank, state, where, y, numbers)
        engine.observe(rows, numbers.astype(np.int32), where.astype(np.int32), y)
        got = engine.tensors.known(torch.arange(keys, device="cuda"), inverses=False).beliefs
        errors = np.abs(got.mean - state.beliefs.mean).max(), np.abs(got.explained - state.beliefs.explained).max()
        worst = [max(a, float(e)) for a, e in zip(worst, errors, strict=True)]
    return different, worst[0], worst[1]


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, auto-lean, window {W}, {N} candidates, {POLICY.bank.shares.size} experts")
    different, mean, V = differences()
    print(f"decisions that differ from NumPy's: {different} of 1440; largest error of a mean {mean:.1e}, of V {V:.1e}")
    for streams in (16_384, 65_536):
        found = on_the_card(streams)
        rate, whole = streams / found["step"] / 1e3, found["step"] + found["anew"] / POLICY.span
        print(f"{streams:,} streams: {rate:.2f} M decisions a second,", end=" ")
        print(f"{streams / whole / 1e3:.2f} with what is made anew; milliseconds:", end=" ")
        print(", ".join(f"{name} {value:.2f}" for name, value in found.items()))
    print(f"16,384 streams, NumPy arrays on the host: {from_the_host(16_384):.2f} M decisions a second")


if __name__ == "__main__":
    main()
