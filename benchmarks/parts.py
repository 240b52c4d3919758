"""python -m benchmarks.parts: what each part of auto is worth, and costs: auto without it on the same worlds."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Mapping, Sequence  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from fnmatch import fnmatchcase  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402
from rich.table import Table  # noqa: E402

from driftwise.auto.policy import Auto  # noqa: E402
from driftwise.environments.world import SeededEnvironment  # noqa: E402
from driftwise.gp.time_kernels import Forgetting  # noqa: E402
from driftwise.lab.engine import engine  # noqa: E402
from driftwise.lab.experiment import conduct  # noqa: E402
from driftwise.lab.results import Folder, failures, pairs  # noqa: E402
from driftwise.lab.statistics import Interval, interval  # noqa: E402
from driftwise.lab.suites import suite  # noqa: E402
from driftwise.lab.trials import Result, Timing, Trial  # noqa: E402
from driftwise.plots.dots import Dot, DotPanel, dots  # noqa: E402
from driftwise.records import Array  # noqa: E402

KINDS = ("still", "abrupt-often", "slow-0.01", "rotating", "level-cycle")
SUITE, WORLDS = "drift-zoo", tuple(f"box2d/{kind}" for kind in KINDS)
WIDTH = 160  # of a table that is not on a screen


def one_kernel(auto: Auto) -> Auto:
    """Matérn-5/2 of .35 alone, the middle one."""
    return replace(auto, kernels=auto.kernels[1:2], ard=False)


def one_row(auto: Auto) -> Auto:
    """ε = .01 and a noise of .03, whatever comes."""
    alone = replace(one_kernel(auto), times=(Forgetting(0.01),), noises=(0.03,))
    return replace(alone, changes=False, cycles=False, moving_level=False)


VARIANTS: Mapping[str, Callable[[Auto], Auto]] = {
    "auto": lambda auto: auto,
    "no starts and no shifts": lambda auto: replace(auto, changes=False),
    "no smooth drift": lambda auto: Auto.of(auto.space, smooth=False),
    "no cycles": lambda auto: replace(auto, cycles=False),
    "no moving level": lambda auto: replace(auto, moving_level=False),
    "one lengthscale for all coordinates": lambda auto: replace(auto, ard=False),
    "Matérn kernels only": lambda auto: replace(auto, kernels=(*auto.kernels[:3], *auto.kernels[5:])),
    "no learned kernel: Matérn, .35": one_kernel,
    "one noise, .03": lambda auto: replace(auto, noises=(0.03,)),
    "one row: Matérn .35, ε = .01, noise .03": one_row,
    "c = 1 in place of .8": lambda auto: replace(auto, width=1.0),
}


@dataclass(frozen=True)
class Variant:
    """One of VARIANTS, as `lab.trials.Entrant`."""

    label: str
    name: str = "auto"

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        return () if self.label == "auto" else (("as", self.label),)

    def on(self, world: SeededEnvironment) -> Auto:
        return VARIANTS[self.label](Auto.of(world.space))


@dataclass(frozen=True)
class Row:
    """Mean regret a step in each world, its mean, and how much more that is than auto's: with its interval.

    And the processor time of a step, in milliseconds.
    """

    label: str
    worlds: tuple[float, ...]
    more: Interval
    milliseconds: float

    @property
    def cells(self) -> tuple[str, ...]:
        more = "" if self.label == "auto" else f"{self.more.mean:+.3f} ({self.more.low:+.3f} to {self.more.high:+.3f})"
        means = (f"{x:.3f}" for x in (*self.worlds, np.mean(self.worlds)))
        return self.label, *means, more, f"{self.milliseconds:.1f}"


def plan(seeds: int) -> list[Trial]:
    """Seed by seed, so that what is done can be compared whenever it is stopped."""
    cases = [case for world in WORLDS for case in suite(SUITE).cases if fnmatchcase(case.name, world)]
    each = [(seed, case) for seed in range(seeds) for case in cases]
    return [Trial(Variant(label), SUITE, case, case.horizon, seed) for seed, case in each for label in VARIANTS]


def rows(regrets: Mapping[str, Array], milliseconds: Mapping[str, Array]) -> list[Row]:
    """From the mean regrets and the times of a step of each variant, (worlds, seeds) each."""
    auto = regrets["auto"].mean(axis=0)
    return [
        Row(
            label,
            tuple(R.mean(axis=1).tolist()),
            interval(R.mean(axis=0) - auto, signed=True),
            float(milliseconds[label].mean()),
        )
        for label, R in regrets.items()
    ]


def of_a_step(folder: Path, trials: Sequence[Trial], total: Callable[[Result, Timing], float]) -> dict[str, Array]:
    """A figure of each trial in the folder, divided by its steps: (worlds, seeds) for each variant."""
    found = {result.key: total(result, timing) / result.horizon for result, timing in pairs(folder)}
    cells: dict[tuple[str, str], list[float]] = {}
    for trial in trials:
        cells.setdefault((trial.contender.label, trial.case.name), []).append(found[trial.key])
    return {label: np.array([cells[label, world] for world in WORLDS]) for label in VARIANTS}


def table_of(folder: Path, trials: Sequence[Trial]) -> list[Row]:
    """From what is in the folder."""
    regrets = of_a_step(folder, trials, lambda result, timing: result.regret)
    return rows(regrets, of_a_step(folder, trials, lambda result, timing: 1000 * timing.policy))


def picture(made: Sequence[Row], path: Path) -> None:
    base, *others = made
    ratios = [
        (row.label, [Dot(x / of, colour=i) for i, (x, of) in enumerate(zip(row.worlds, base.worlds, strict=True))])
        for row in others
    ]
    panel = DotPanel("regret without a part, of that with all", ratios, reference=1.0, reference_label="auto")
    legend = [(world.removeprefix("box2d/"), i) for i, world in enumerate(WORLDS)]
    dots([panel], label="ratio", legend=legend, in_line=True, size=(8.2, 4.4)).savefig(path, dpi=130)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parts", description=__doc__)
    parser.add_argument("--seeds", type=int, default=8, help="worlds of each kind (8)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=Path("results/parts"), help="the results folder (results/parts)")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    parser.add_argument("--png", type=Path, help="draw it there")
    asked = parser.parse_args(given)
    if asked.seeds < 2:
        parser.error(f"--seeds must be at least 2, for the intervals, got {asked.seeds}")
    if asked.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {asked.jobs}")
    trials, console = plan(asked.seeds), Console(width=None if sys.stdout.isatty() else WIDTH)
    with Folder(asked.out) as folder, Progress(console=console) as progress:
        folder.describe({"parts": list(VARIANTS), "seeds": asked.seeds})
        bar = progress.add_task("parts", total=sum(trial.key not in folder.done for trial in trials))
        conduct(trials, folder, engine("joblib", jobs=asked.jobs), tell=lambda key: progress.advance(bar))
    if failed := failures(asked.out):
        parser.exit(1, "".join(f"failed: {key}: {problem}\n" for key, problem in failed.items()))
    made = table_of(asked.out, trials)
    head = ("", *(world.removeprefix("box2d/") for world in WORLDS), "mean", "more than auto (95%)", "ms")
    table = Table(*head, title=f"mean regret and processor time of a step, {asked.seeds} seeds")
    for row in made:
        table.add_row(*row.cells)
    console.print(table)
    if asked.markdown:
        lines = [head, ("---",) * len(head), *(row.cells for row in made)]
        asked.markdown.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines), encoding="utf-8")
    if asked.png:
        picture(made, asked.png)


if __name__ == "__main__":
    main()
