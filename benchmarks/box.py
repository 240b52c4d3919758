"""A box, window 100: ask and tell, against BoTorch's optimize_acqf on the same posteriors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration
from benchmarks.worlds import Drifting
from driftwise.gp.belief import Ucb
from driftwise.records import Ask, Observation

PEER = Path(".venv-bench/bin/python")
WINDOW, WARM_UP, CASES, NOISE, BETA = 100, 150, 100, 0.01, 2.0
LENGTHSCALES = {2: 0.2, 6: 0.5}  # by dimension
FASTER, WITHIN, OFTEN = 20.0, 1e-3, 95


@dataclass
class Score:
    """How one dimension went."""

    ours: float
    theirs: float
    as_good: int
    better: int


def run() -> Iterator[Result]:
    if not PEER.exists():
        yield Result("a box against BoTorch", "not measured", "BoTorch is not installed: run make bench")
        return
    for dim, lengthscale in LENGTHSCALES.items():
        score = race(dim, lengthscale)
        ratio = score.theirs / score.ours
        yield Result(
            what=f"ask and tell in a box, d = {dim}, window {WINDOW}",
            ours=duration(score.ours),
            theirs=f"{duration(score.theirs)} (BoTorch)",
            ratio=ratio,
            target=f"≥ {FASTER:.0f}×",
            met=ratio >= FASTER,
        )
        yield Result(
            what=f"… UCB found at least as good within 1e-3, d = {dim}",
            ours=f"{score.as_good} of {CASES} (better by more in {score.better})",
            target=f"≥ {OFTEN} of {CASES}",
            met=score.as_good >= OFTEN,
        )


def race(dim: int, lengthscale: float, *, block: int = 10) -> Score:
    """A closed loop with our choices; after every block of steps, BoTorch is asked about the same windows."""
    kernel = dw.Matern(2.5, lengthscale)
    space = {f"x{j}": dw.Float(0, 1) for j in range(dim)}
    policy = dw.policy("sw-gp-ucb", space, window=WINDOW, kernel=kernel, noise=NOISE, width=BETA)
    world, state = Drifting.of(kernel, dim=dim), policy.start()
    asks, tells, theirs, gaps, windows = Stopwatch(), Stopwatch(), [], [], []
    fixed = {"lengthscale": lengthscale, "noise": NOISE, "beta": BETA}
    with subprocess.Popen([PEER, "benchmarks/botorch_peer.py"], stdin=-1, stdout=-1, text=True) as peer:
        for t in range(1, WARM_UP + CASES + 1):
            x = asks(policy.choose, state, Ask(t, float(t)))
            windows.append((state, x))
            seen = Observation(t, float(t), tuple(x.tolist()), world.observe(t, x))
            state = tells(policy.update, state, seen)
            if t <= WARM_UP - block:  # from here on the peer warms up too
                windows = []
            elif t % block == 0:
                for posterior, x in windows:
                    task = {"X": posterior.X.tolist(), "y": posterior.y.tolist(), "seed": t, **fixed}
                    answer = _answer(peer, task)
                    theirs.append(answer["seconds"])
                    gaps.append(_gap(Ucb(posterior, BETA), x, answer))
                windows = []
        peer.stdin.close()
    ours, gap = np.add(asks.seconds, tells.seconds)[-CASES:], np.array(gaps[-CASES:])
    as_good, better = int((gap >= -WITHIN).sum()), int((gap > WITHIN).sum())
    return Score(float(np.median(ours)), float(np.median(theirs[-CASES:])), as_good, better)


def _answer(peer: Any, task: dict[str, Any]) -> dict[str, Any]:
    peer.stdin.write(json.dumps(task) + "\n")
    peer.stdin.flush()
    answer: dict[str, Any] = json.loads(peer.stdout.readline())
    return answer


def _gap(ucb: Ucb, x: np.ndarray, answer: dict[str, Any]) -> float:
    """How much higher our UCB is than theirs, as a part of the larger; both by our own posterior."""
    ours, theirs = ucb(np.array([x, np.clip(answer["x"], 0.0, 1.0)])).tolist()
    assert abs(theirs - answer["value"]) < 1e-4 * max(1.0, abs(theirs)), "the two posteriors are not the same"
    return (ours - theirs) / max(abs(ours), abs(theirs))
