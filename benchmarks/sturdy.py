"""`auto` where live systems hurt: `python -m benchmarks.sturdy PART OUT`.

PART is one of `readings` (wrong readings of a cost), `levels` (a level that moves for all settings) and `arms`
(unordered arms under a daily level). Each run is one line of JSON in OUT, and what is there is not run again. Each row
of the table is the mean over seeds, and its ratio to that of the same seeds without the trouble, with a 95% interval.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import json  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import driftwise as dw  # noqa: E402
from benchmarks.sturdy_worlds import (  # noqa: E402
    ARMS,
    FROM,
    LEVELS,
    TROUBLES,
    Boxed,
    Service,
    Table,
    arm_world,
    level_world,
)
from driftwise.lab.statistics import hindsight  # noqa: E402

AFTER = 20  # steps in which its loss is counted
ADVISED = 4  # steps after each of which a recommendation must be good

Run = dict[str, float]


def reading_run(case: str, seed: int) -> Run:
    """One run in which readings go wrong: the loss, whether the alarm rang, and whether the advice was good."""
    trouble = TROUBLES[case]
    world = Service(seed, trouble)
    study = dw.Study("sturdy", space=world.space, direction="minimize", seed=seed)
    losses, alarm, close, reading = list[float](), False, True, 0.0
    for t in range(1, trouble.horizon + 1):
        asked = study.ask()
        losses.append(world.cost(asked.params) - world.best)
        reading = world.reading(t, asked.params, reading)
        study.tell(asked, reading)
        alarm = alarm or (t >= FROM and study.alarm)
        if FROM <= t < FROM + ADVISED:
            close = close and world.cost(study.recommend().params) <= 1.1 * world.best
    counted = losses if trouble.throughout else losses[FROM : FROM + AFTER]
    return {"loss": float(sum(counted)), "alarm": float(alarm), "close": float(close)}


def level_run(case: str, seed: int) -> Run:
    """One run under a level: the share of random's regret, and the weight of "level" and of "change" at the end."""
    return _shared(level_world(case, seed), seed)


def arm_run(case: str, seed: int) -> Run:
    return _shared(arm_world(case, seed), seed)


def _shared(world: Table | Boxed, seed: int) -> Run:
    policy = dw.policy("auto", world.space)
    steps, changes = [], 0
    state = policy.start()
    for t in range(1, world.horizon + 1):
        ask = dw.Ask(t, float(t), seed=seed)
        x = policy.choose(state, ask)
        state = policy.update(state, dw.Observation(t, float(t), tuple(x.tolist()), world.observe(t, x)))
        steps.append(world.regret(t, x))
        changes += int(policy.just_changed(state, dw.Ask(t + 1, float(t + 1), seed=seed)))
    said = policy.diagnose(state, dw.Ask(world.horizon + 1, float(world.horizon + 1), seed=seed))
    share = float(np.sum(steps) / world.random_regret())
    return {"loss": share, "alarm": changes / world.horizon, "level": said.level}


PARTS: dict[str, tuple[Sequence[str], Callable[[str, int], Run]]] = {
    "readings": (tuple(TROUBLES), reading_run),
    "levels": (tuple(LEVELS), level_run),
    "arms": (tuple(ARMS), arm_run),
}


@dataclass(frozen=True)
class Row:
    """All runs of one case, beside those of the case that it is compared with."""

    case: str
    runs: Sequence[Run]
    base: Sequence[Run]

    def cells(self) -> tuple[str, ...]:
        loss, base = (np.array([run["loss"] for run in runs]) for runs in (self.runs, self.base))
        found = hindsight(loss, base[:, None])
        others = [f"{np.mean([run[name] for run in self.runs]):.2f}" for name in self.runs[0] if name != "loss"]
        ratio = f"{found.ratio:.2f} ({found.interval.written('.2f', '-')})"
        return self.case, f"{loss.mean():.3g}", ratio, f"{loss.max():.3g}", *others


def base_of(part: str, case: str) -> str:
    """The case without the trouble."""
    if part == "readings":
        return f"{case.split(':')[0]}:clean"
    return f"{case.split('/')[0]}/none"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sturdy", description=__doc__)
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("out", type=Path, help="a file of JSON lines, in which what is there already is not run again")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=1000, help="the first seed (1000)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--cases", nargs="*", help="some of the cases (all)")
    asked = parser.parse_args(given)
    cases, run = PARTS[asked.part]
    wanted = [case for case in cases if asked.cases is None or case in asked.cases]
    wanted = list(dict.fromkeys([*(base_of(asked.part, case) for case in wanted), *wanted]))
    seeds = range(asked.first, asked.first + asked.seeds)
    found = _found(asked.out)
    keys = [(asked.part, case, seed) for seed in seeds for case in wanted]
    missing = [key for key in keys if key not in found]
    with asked.out.open("a", encoding="utf-8") as file, ProcessPoolExecutor(asked.jobs) as pool:
        for key, made in zip(missing, pool.map(run, *zip(*(key[1:] for key in missing), strict=True)), strict=True):
            found[key] = made
            print(json.dumps([key, made]), file=file, flush=True)
    for case in wanted:
        of = {name: [found[asked.part, name, seed] for seed in seeds] for name in (case, base_of(asked.part, case))}
        row = Row(case, of[case], of[base_of(asked.part, case)])
        print("  ".join(f"{cell:<24}" if i == 0 else f"{cell:>18}" for i, cell in enumerate(row.cells())))


def _found(path: Path) -> dict[tuple[Any, ...], Run]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {tuple(key): value for key, value in map(json.loads, lines)}


if __name__ == "__main__":
    main()
