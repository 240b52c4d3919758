"""A fleet's windows on a GPU: `python -m benchmarks.fleet_gpu`. Needs a CUDA device and the extra `gpu`.

Decisions a second with everything on the card, and with asks and rewards as NumPy arrays; the parts of a step beside
the time to read and write all inverses once; and the error against beliefs that are computed afresh.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from driftwise import RBF, Candidates, Fleet
from driftwise.fleet import gpu
from driftwise.fleet.gpu import GpuBeliefs, gpu_engine
from driftwise.fleet.streams import Streams
from driftwise.fleet.windowed import Terms, terms_of
from driftwise.gp.kernels import Kernel
from driftwise.policies.window import Window

W, N = 64, 256
PROFILED = 8  # steps, over which A⁻¹ is written as often as ever
KERNEL = RBF(0.1)
POINTS = np.linspace(0, 1, N)[:, None]


def terms(noise: float = 0.1, kernel: Kernel = KERNEL) -> Terms:
    """Also with a noise that a fleet refuses."""
    made = terms_of(Window.of(Candidates(POINTS), window=W, kernel=kernel, noise=0.1), windows=8)
    return replace(made, model=replace(made.model, noise=noise))


def milliseconds(call: Callable[[], object], repeats: int = 200) -> float:
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / repeats * 1e3


def filled(streams: int, noise: float) -> GpuBeliefs:
    """Beliefs with full windows of random candidates and rewards."""
    rng, beliefs = np.random.default_rng(0), GpuBeliefs(terms(noise))
    beliefs.grow(streams)
    where, y = rng.integers(0, N, (streams, W)).astype(np.int32), rng.standard_normal((streams, W))
    beliefs.fill(np.arange(streams), np.full(streams, W, np.int32), where, y)
    return beliefs


def on_the_card(streams: int, noise: float = 0.1) -> dict[str, float]:
    """Milliseconds of a step, of its kernels, and of reading and writing w × w numbers for each stream."""
    b, r = filled(streams, noise), streams
    slots, where = torch.arange(r, device="cuda"), torch.randint(0, N, (r,), device="cuda", dtype=torch.int32)
    counts, places = torch.full_like(where, W), torch.zeros_like(where)
    y, beta = torch.randn(r, device="cuda", dtype=torch.float64), torch.full((r,), 2.0, device="cuda").double()
    whole = torch.empty(r, W * W, device="cuda", dtype=torch.float64)
    copy = torch.empty_like(whole)

    def step() -> None:
        b.step(slots, counts, places, where, y, beta)
        places.add_(1).remainder_(W)

    found = {"step": milliseconds(step), "floor": milliseconds(lambda: copy.copy_(whole))}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(PROFILED):
            step()
        torch.cuda.synchronize()
    for event in sorted(profile.key_averages(), key=lambda each: -each.self_device_time_total)[:4]:
        found[event.key[:24]] = event.self_device_time_total / 1e3 / PROFILED
    windows = b.windows(np.arange(r))
    found["afresh"] = milliseconds(lambda: b.fill(np.arange(r), np.full(r, W, np.int32), *windows), 1)
    return found


def lazily(steps: int, streams: int = 65_536) -> float:
    """Millions of decisions a second if A⁻¹ is written every so many steps."""
    given, gpu.LAZY = gpu.LAZY, steps
    try:
        return streams / on_the_card(streams)["step"] / 1e3
    finally:
        gpu.LAZY = given


def from_the_host(streams: int) -> float:
    """Millions of decisions a second with choices and rewards as NumPy arrays."""
    known = Streams(terms().memory, 4)
    known.add(streams)
    engine, rows = gpu_engine(terms(), known), np.arange(streams)
    rewards = np.random.default_rng(0).standard_normal(streams)

    def steps(first: int, last: int) -> None:
        for number in range(first, last):
            numbers = np.full(streams, number, np.int32)
            engine.observe(rows, numbers, engine.choose(rows, numbers), rewards)

    steps(1, 70)
    began = time.perf_counter()
    steps(70, 170)
    torch.cuda.synchronize()
    return streams * 100 / (time.perf_counter() - began) / 1e6


def largest_error(
    noise: float, steps: int = 10_000, streams: int = 256, kernel: Kernel = KERNEL
) -> tuple[float, float]:
    """Of mean and variance, just before everything is computed afresh."""
    rng, b, every = np.random.default_rng(0), GpuBeliefs(terms(noise, kernel)), 8 * W
    b.grow(2 * streams)
    own, other = np.arange(streams), np.arange(streams, 2 * streams)
    b.fill(own, np.zeros(streams, np.int32), np.zeros((streams, W), np.int32), np.zeros((streams, W)))
    b.choose(own, np.zeros(streams, np.int32), np.full(streams, 2.0))
    phase, worst, full = rng.random(streams), [0.0, 0.0], np.full(streams, W, np.int32)
    for step in range(steps):
        where, counts = b.chosen(own), np.full(streams, min(step, W), np.int32)
        f = np.sin(7 * POINTS[where, 0] + 6 * phase + step / 50)
        y = f + np.sqrt(noise) * rng.standard_normal(streams)
        b.slide(own, counts, np.full(streams, step % W, np.int32), where, y, np.full(streams, 2.0))
        if step % every == every - 1:
            b.fill(other, full, *b.windows(own))
            error = (b.mean[own] - b.mean[other]).abs().max(), (b.var[own] - b.var[other]).abs().max()
            worst = [max(a, float(e)) for a, e in zip(worst, error, strict=True)]
            b.fill(own, full, *b.windows(own))
    return worst[0], worst[1]


def same_choices() -> int:
    """In how many of 6,000 decisions the GPU and NumPy differ."""
    made = [
        Fleet("f", Candidates(POINTS), window=W, kernel=RBF(0.1), noise=0.1, engine=engine)
        for engine in ("numpy", "gpu")
    ]
    rng, keys, different = np.random.default_rng(0), list(range(30)), 0
    for step in range(200):
        batches = [fleet.ask(keys) for fleet in made]
        different += int((batches[0].where != batches[1].where).sum())
        y = np.sin(7 * batches[0].points[:, 0] + step / 50 + np.arange(30)) + 0.3 * rng.standard_normal(30)
        for fleet, batch in zip(made, batches, strict=True):
            fleet.tell(batch, y)
    return different


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, window {W}, {N} candidates, double precision")
    print(f"decisions that differ from NumPy's: {same_choices()} of 6000")
    for streams in (16_384, 65_536, 131_072):
        found = on_the_card(streams)
        print(f"{streams:,} streams: {streams / found['step'] / 1e3:.1f} M decisions a second; milliseconds:", end=" ")
        print(", ".join(f"{name} {value:.3f}" for name, value in found.items()))
    for steps in (1, 2, 4, 8):
        print(f"65,536 streams, inverses written every {steps} steps: {lazily(steps):.1f} M decisions a second")
    step = on_the_card(65_536, 0.001)["step"]
    print(f"65,536 streams, noise 0.001: {65_536 / step / 1e3:.1f} M decisions a second")
    for streams in (16_384, 65_536, 131_072):
        print(f"{streams:,} streams, NumPy arrays on the host: {from_the_host(streams):.1f} M decisions a second")
    for noise, kernel in [(0.1, RBF(0.1)), (0.01, RBF(0.3)), (0.003, RBF(0.3)), (0.001, RBF(0.1)), (0.001, RBF(0.3))]:
        mean, variance = largest_error(noise, kernel=kernel)
        print(f"noise {noise}, {kernel}, 10,000 steps: error {mean:.1e} of a mean, {variance:.1e} of a variance")


if __name__ == "__main__":
    main()
