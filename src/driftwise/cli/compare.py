"""driftwise compare: policies against each other, on a simulated world or on a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from driftwise import text
from driftwise.cli import files, limits, parse, recording, show
from driftwise.cli.command import Answer, answered
from driftwise.cli.options import Policies
from driftwise.environments import SeededEnvironment, environment, recorded
from driftwise.errors import InvalidInput
from driftwise.lab.engine import perform_all
from driftwise.lab.recordings import case_of
from driftwise.lab.statistics import INTERVAL, interval
from driftwise.lab.trials import Trial, TrialOutcome

WORLD = "deng-abrupt"
HEADER = ("policy", "regret", "95% interval", "per step", "µs per step")


@answered
def compare(
    policy: Policies,
    env: Annotated[
        str | None,
        typer.Option(
            help="A simulated world, NAME or NAME:KEY=VALUE,…, where NAME may be module:function or module:Class. "
            "See: driftwise environments",
            show_default=WORLD,
        ),
    ] = None,
    rewards: recording.Rewards = None,
    points: recording.Points = None,
    minimize: recording.Minimize = False,
    time: recording.Time = None,
    gaps: recording.Gaps = "refuse",
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Steps of each run; the world's own (or the recording's) if not given.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many worlds and noises, counted from 0.")] = 20,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, at most four a core, with one BLAS thread each.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the figures of every run to this file, as JSON.")
    ] = None,
) -> Answer:
    """Compare policies by their regret.

    Policies meet the same worlds and the same noise. They are given the world's own kernel and noise variance unless
    their options say otherwise, as kernel=rbf:0.2 (or matern:2.5:0.2, or linear) and noise=0.01. Rewards reach them as
    they are; for a recording whose rewards are far from ±1, add standardise=true. Without --points, the first half of
    a recording gives the kernel (its empirical covariance) and the second half is played back.

    [bold]Examples[/bold]

      driftwise compare --policy gp-ucb --policy sw-gp-ucb:window=50 --policy r-gp-ucb:interval=50 --jobs 2

      driftwise compare --policy sw-gp-ucb:window=50,width=1.5 --env bogunovic:epsilon=0.03 --seeds 5

      driftwise compare --policy gp-ucb --policy random --rewards r.csv --points p.csv --out runs.json
    """
    limits.within(horizon=horizon, seeds=seeds)
    if out is not None:
        files.check(out, inputs=[rewards, points])
    asked = recording.options(rewards, points, minimize=minimize, time=time, gaps=gaps)
    contenders = parse.entrants(policy)
    if len({c.label for c in contenders}) < len(contenders):
        raise InvalidInput("each --policy must be a different one; drop the repeated one or change an option")
    with show.waiting("the world"):
        world = _world(env, rewards, points, asked)
    steps = horizon or world.horizon
    limits.within(horizon=steps)
    # what cannot be is told before anything runs: a policy, a step that was not recorded
    with show.waiting("policies"):
        for contender in contenders:
            with parse.making(contender.label):
                contender.on(world)
    if rewards is not None:
        world.best(steps)
    case = case_of(world)
    trials = [Trial(contender, "compare", case, steps, seed) for contender in contenders for seed in range(seeds)]
    with show.progress() as progress:
        bar = progress.add_task(world.name, total=len(trials))
        outcomes = perform_all(trials, workers=jobs, tell=lambda: progress.advance(bar))
    found = {"results": [_record(o) for o in outcomes]}
    if out is not None:
        files.write(out, text.as_json(found) + "\n", inputs=[rewards, points])
    title = f"{world.name}, T = {steps}, {text.counted(seeds, 'seed')}"
    return found, [_table(outcomes, [c.label for c in contenders], title), [(INTERVAL, "dim")]]


def _world(env: str | None, rewards: Path | None, points: Path | None, asked: Mapping[str, Any]) -> SeededEnvironment:
    if rewards is not None:
        if env is not None:
            raise InvalidInput(f"--rewards is a world of its own, got --env {env} beside it; give one of the two")
        return recorded(rewards, points, name=rewards.stem, **asked)
    name, options = parse.named(env or WORLD, what="an environment")
    with parse.making(env or WORLD):
        return environment(name, **options)


def _record(outcome: TrialOutcome) -> dict[str, Any]:
    result, total = outcome.result, float(outcome.regret.sum())
    return {
        "policy": result.policy,
        "environment": result.case,
        "seed": result.seed,
        "horizon": result.horizon,
        "cumulative_regret": total,
        "mean_regret": total / result.horizon,
        "seconds_per_step": outcome.timing.mean,
    }


def _table(outcomes: Sequence[TrialOutcome], labels: Sequence[str], title: str) -> Any:
    totals = {
        label: interval([float(o.regret.sum()) for o in outcomes if o.result.policy == label]) for label in labels
    }
    means = [float(total.mean) for total in totals.values()]
    horizon = outcomes[0].result.horizon
    rows = []
    for label, total in totals.items():
        seconds = np.mean([o.timing.mean for o in outcomes if o.result.policy == label])
        figures = f"{total.mean:.1f}", total.written(".1f"), f"{total.mean / horizon:.3f}", f"{1e6 * seconds:.0f}"
        rows.append((label, *figures))
    return show.table(title, HEADER, rows, best=[means.index(min(means))])
