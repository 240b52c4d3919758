"""False alarms and delays of policies that restart on a test: `python -m benchmarks.alarms [--runs 40]`.

Functions of norm 6 on 100 candidates of [0, 1], noise of standard deviation 0.1, T = 500: they stand still, or change
once, in each run at another step.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import driftwise as dw  # noqa: E402
from driftwise.environments import Abrupt, Expansion, Gaussian, Still, World  # noqa: E402
from driftwise.environments.drift import Drift  # noqa: E402

LINE, KERNEL, T = dw.Candidates(np.linspace(0, 1, 100)[:, None]), dw.RBF(0.2), 500
POLICIES: dict[str, dict[str, Any]] = {"dal": {}, "et-gp-ucb": {}, "et-gp-ucb, shortest = 20": {"shortest": 20}}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alarms", description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    print("| policy | runs with an alarm, still | restarts per run, still | delay: median, mean, worst | missed |")
    print("|---|---|---|---|---|", flush=True)
    for label, options in POLICIES.items():
        still = [alarms(label, options, Still(), seed) for seed in range(runs)]
        delays = [
            delay(alarms(label, options, Abrupt((205 + 3 * seed,)), seed), 205 + 3 * seed) for seed in range(runs)
        ]
        found = [each for each in delays if each is not None]
        shown = f"{np.median(found):.0f}, {np.mean(found):.1f}, {max(found)}"
        some, mean = sum(map(bool, still)), np.mean([len(each) for each in still])
        print(f"| {label} | {some} of {runs} | {mean:.1f} | {shown} | {runs - len(found)} |", flush=True)


def alarms(label: str, options: dict[str, Any], drift: Drift, seed: int) -> list[int]:
    """The steps after which it began anew."""
    world = World(LINE, Expansion(KERNEL, LINE, norm=6.0), drift, Gaussian(0.1), seed=seed, horizon=T)
    made: Any = dw.policy(label.split(",")[0], LINE, kernel=KERNEL, noise=0.01, **options)
    state, found = made.start(), []
    for step in dw.run(made, world, T):
        after = made.update(state, step.seen)
        found += [step.seen.number] * (after.restarts > state.restarts)
        state = after
    return found


def delay(found: list[int], change: int) -> int | None:
    """How many steps after the change the first alarm came."""
    return next((t - change for t in found if t > change), None)


if __name__ == "__main__":
    main()
