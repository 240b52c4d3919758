"""auto: its steps beside those of the peers on the same observations, and how good its alarm is."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration
from benchmarks.peers.elsewhere import ONE_THREAD, PYTHON, ROOT
from driftwise.auto.diagnosis import ABOUT, RECENT, alarmed
from driftwise.environments.world import SeededEnvironment
from driftwise.lab.trials import changes_of
from driftwise.lab.zoo import zoo
from driftwise.records import Ask, Observation

WARM_UP = 256  # observations: by then as many are kept as ever will be
TOLD = 100  # of which a peer is told so many: a window of 50, and wdbo-algo's telling takes half a second
WORLDS = (100, 101, 102)  # how many experts are heard, and how long a refit takes, depends on the world
RACES = (
    ("botorch-window", 2, WORLDS, 48, (15.0, 12.0)),
    ("botorch-window", 6, WORLDS, 48, (15.0, 12.0)),
    ("wdbo-algo", 2, WORLDS[:1], 16, (50.0, 50.0)),
)  # a peer, the dimension, worlds, steps that are timed, a multiple of those between two searches; aims
EVEN = 4.0  # the 99th percentile of a step relative to the median, at most
HORIZON, SEEDS = 200, range(300, 306)
KINDS = ("abrupt-rarely", "abrupt-often", "still", "slow-0.01", "rotating", "noise")


def run() -> Iterator[Result]:
    for peer, dim, worlds, steps, targets in RACES:
        if PYTHON.exists():
            yield from race(peer, dim, worlds, steps, targets)
        else:
            yield Result(f"auto beside {peer}", "not measured", "the peers are not installed: make .venv-peers/ready")
    yield from map(alarms, KINDS)


# --- speed ----------------------------------------------------------------------------------------------------------


def race(name: str, dim: int, worlds: tuple[int, ...], steps: int, targets: tuple[float, float]) -> Iterator[Result]:
    """On the same worlds, each with the observations that auto chooses; searches and refits included."""
    ours, theirs = zip(*(pair for seed in worlds for pair in timed(name, dim, seed, steps)), strict=True)
    for what, average, target in zip(("median", "mean"), (statistics.median, statistics.mean), targets, strict=True):
        a, b = average(ours), average(theirs)
        bar = {"target": f"≥ {target:.0f}×", "met": b / a >= target}
        yield Result(f"{what} step of auto, d = {dim}", duration(a), f"{duration(b)} ({name})", b / a, **bar)
    late, usual = statistics.quantiles(ours, n=100)[-1], statistics.median(ours)
    even = {"target": f"≤ {EVEN:.0f}×", "met": late <= EVEN * usual}
    yield Result(f"99th percentile, d = {dim}", duration(late), f"{duration(usual)} (median)", late / usual, **even)


def timed(name: str, dim: int, seed: int, steps: int) -> Iterator[tuple[float, float]]:
    """Seconds of each step, ours and theirs, in turns."""
    world = zoo(kind="slow-0.01", dim=dim, box=True, seed=seed, horizon=4000)
    policy = dw.policy("auto", world.space)
    state = policy.start()
    command, environment = [str(PYTHON), "-m", "benchmarks.peers.stepper", name, str(dim)], os.environ | ONE_THREAD
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=-1, stdout=-1, text=True) as peer:
        for t in range(1, WARM_UP + steps + 1):
            watch = Stopwatch()
            x = watch(policy.choose, state, Ask(t, float(t), seed=1))
            seen = Observation(t, float(t), tuple(x.tolist()), world.observe(t, x))
            state = watch(policy.update, state, seen)
            if t > WARM_UP - TOLD:
                theirs = _step(peer, seen, timed=t > WARM_UP)
                if t > WARM_UP:
                    yield sum(watch.seconds), theirs
        peer.stdin.close()


def _step(peer: Any, seen: Observation, *, timed: bool) -> float:
    line = {"number": seen.number, "at": seen.at, "x": seen.x, "y": seen.y, "timed": timed}
    print(json.dumps(line), file=peer.stdin, flush=True)
    answer = peer.stdout.readline()
    if not answer:
        raise RuntimeError(f"{peer.args[-2]} ended with status {peer.wait()}")
    return float(json.loads(answer))


# --- the alarm ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """The steps at which there was an alarm, each with the number of the change that it told of."""

    steps: tuple[tuple[int, int], ...]

    def delay(self, change: int) -> int | None:
        """Steps from the change to its alarm."""
        told = (t - change for t, date in self.steps if 0 <= t - change < RECENT and abs(date - change) <= ABOUT)
        return next(told, None)

    def others(self, changes: tuple[int, ...]) -> int:
        """How many dates that were no changes were told of; dates near each other are one."""
        dates = sorted({date for _, date in self.steps if all(abs(date - change) > ABOUT for change in changes)})
        return len(dates[:1]) + sum(b - a > ABOUT for a, b in pairwise(dates))


def alarms(kind: str) -> Result:
    """Under auto's own choices, on boxes in two dimensions."""
    worlds = [zoo(kind=kind, dim=2, box=True, seed=seed, horizon=HORIZON) for seed in SEEDS]
    changes = tuple(step + 1 for step in changes_of(worlds[0], HORIZON))  # the first number of the new world
    runs = [told_in(world) for world in worlds]
    delays = [run.delay(change) for run in runs for change in changes]
    heard = sorted(delay for delay in delays if delay is not None)
    after = f" after {heard[0]} to {heard[-1]} steps" if heard else ""
    others = sum(run.others(changes) for run in runs)
    told = f"{len(heard)} of {len(delays)} changes{after}; " if changes else ""
    return Result(f"alarms, {kind}", f"{told}{others} other dates in {HORIZON * len(SEEDS):,} steps")


def told_in(world: SeededEnvironment) -> Told:
    policy = dw.policy("auto", world.space)
    state, steps = policy.start(), list[tuple[int, int]]()
    for t in range(1, HORIZON + 1):
        ask = Ask(t, float(t), seed=1)
        change = alarmed(policy.belief(state, ask))
        if change is not None:
            steps.append((t, change.number))
        x = policy.choose(state, ask)
        state = policy.update(state, Observation(t, float(t), tuple(x.tolist()), world.observe(t, x)))
    return Told(tuple(steps))
