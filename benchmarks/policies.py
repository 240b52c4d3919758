"""1,000 candidates: a step of every policy that keeps a window or an interval, against sw-gp-ucb's at that length."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration
from benchmarks.worlds import Drifting
from driftwise.policies import AnyPolicy, options_of
from driftwise.records import Ask, Observation

CANDIDATES, WINDOW, TURN, WARM_UP, ROUNDS = 1000, 100, 50, 4, 16
KERNEL, TARGET = dw.RBF(0.2), 3.0
REFERENCE = "sw-gp-ucb"

POLICIES: dict[str, dict[str, Any]] = {
    REFERENCE: {"window": WINDOW},
    "r-gp-ucb": {"interval": WINDOW},
    "tv-r-gp-ucb": {"epsilon": (12 / WINDOW) ** 4},
    "drift-aware": {"length": WINDOW, "drift": 0.01},
    "drift-aware (restart)": {"length": WINDOW, "drift": 0.01, "forget": "restart"},
    "bob-gp-ucb": {"horizon": 10_000, "block": 1000, "lengths": (WINDOW,)},
    "bob-gp-ucb (interval)": {"horizon": 10_000, "block": 1000, "lengths": (WINDOW,), "over": "interval"},
    "tgp-ucb": {"inner": REFERENCE, "window": WINDOW},
    "ldp": {"inner": REFERENCE, "window": WINDOW, "epsilon": 5.0},
    "sw-linucb": {"window": WINDOW},
    "restart-linucb": {"interval": WINDOW},
    "r-perp": {"interval": WINDOW, "horizon": 10_000},
}
EXCEPTED: dict[str, dict[str, Any]] = {  # reported without a target
    "wgp-ucb": {"eta": 1e-6 ** (1 / (WINDOW - 1))},  # a weight of 10⁻⁶ at WINDOW observations
    "w-dbo": {"most": WINDOW},
    "ada-opkb": {"horizon": 10_000},
}


def run() -> Iterator[Result]:
    players = {label: player(label, options) for label, options in {**POLICIES, **EXCEPTED}.items()}
    for turn in range(WARM_UP + ROUNDS):
        for label, play in players.items():
            if label in POLICIES or turn < WARM_UP + 2:  # the slow ones take fewer turns
                play(timed=turn >= WARM_UP)
    own = players[REFERENCE].mean
    for label, play in players.items():
        if label == REFERENCE:
            continue
        ratio, judged = play.mean / own, label in POLICIES
        yield Result(
            what=f"step of {label}, window {WINDOW}",
            ours=duration(play.mean),
            theirs=f"{duration(own)} ({REFERENCE})",
            ratio=ratio,
            target=f"≤ {TARGET:.0f}×" if judged else "",
            met=ratio <= TARGET if judged else None,
        )


class Player:
    """A policy in its own drifting world, and the seconds of its steps."""

    def __init__(self, policy: AnyPolicy) -> None:
        self.policy, self.state = policy, policy.start()
        self.world, self.number = Drifting.of(KERNEL, dim=2), 0
        self.watch = Stopwatch()

    def __call__(self, *, timed: bool) -> None:
        """TURN steps more."""
        watch = self.watch if timed else Stopwatch()
        for _ in range(TURN):
            self.number += 1
            t = self.number
            x = watch(self.policy.choose, self.state, Ask(t, float(t)))
            seen = Observation(t, float(t), tuple(x.tolist()), self.world.observe(t, x))
            self.state = watch(self.policy.update, self.state, seen)

    @property
    def mean(self) -> float:
        """Seconds of a step, choose and update; restarts and batches count in."""
        return 2 * statistics.fmean(self.watch.seconds)


def player(label: str, options: dict[str, Any]) -> Player:
    name = label.partition(" ")[0]
    told = {"kernel": KERNEL} if "kernel" in options_of(name) else {}
    space = dw.Candidates(np.random.default_rng(0).random((CANDIDATES, 2)))
    return Player(dw.policy(name, space, **told, **options))
