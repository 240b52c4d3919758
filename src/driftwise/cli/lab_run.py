"""driftwise lab run: experiments that can be stopped and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftwise import text
from driftwise.cli import failure, limits, parse, recording, show
from driftwise.cli.options import Jobs, Policies
from driftwise.errors import InvalidInput
from driftwise.text import visible

if TYPE_CHECKING:
    from driftwise.lab.cases import Suite
    from driftwise.lab.experiment import Account
    from driftwise.lab.results import Folder
    from driftwise.lab.trials import Trial


def run(
    policy: Policies,
    suite: Annotated[
        list[str] | None, typer.Option(help="A suite; give it once for each. See: driftwise suites")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            help="A simulated world, NAME or NAME:KEY=VALUE,…, where NAME may be module:function or module:Class; give "
            "it once for each. See: driftwise environments"
        ),
    ] = None,
    rewards: recording.Rewards = None,
    points: recording.Points = None,
    minimize: recording.Minimize = False,
    time: recording.Time = None,
    gaps: recording.Gaps = "refuse",
    case: Annotated[str, typer.Option(help="Only the cases whose name is like this: 'abrupt*', 'deng/abrupt'.")] = "*",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Worlds and noises of each case, counted from --first; the case's own if not given."),
    ] = None,
    first: Annotated[int, typer.Option(min=0, max=2**32, help="The first seed.")] = 0,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Lay every case out for this many steps; its own number if not given.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the published size.")] = False,
    out: Annotated[Path, typer.Option(help="The folder that the results go into.")] = Path("results"),
    jobs: Jobs = None,
    engine: Annotated[
        str, typer.Option(help="joblib (this machine), serial (this process) or ray (a cluster).")
    ] = "joblib",
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster: auto, or ray://HOST:10001. Without it, a Ray of our own.")
    ] = None,
) -> None:
    """Run policies on suites, on all cores, and store every result.

    Results are written as they come. Stop it whenever you like: the same command resumes where it stopped and runs
    only what is missing. Policies meet the same worlds and the same noise, and are given the world's own kernel and
    noise variance unless their options say otherwise.

    [bold]Examples[/bold]

      driftwise lab run --suite deng --policy gp-ucb --policy sw-gp-ucb:window=50 --seeds 20

      driftwise lab run --suite drift-zoo --policy sw-gp-ucb --quick --out /tmp/zoo

      driftwise lab run --rewards r.csv --points p.csv --policy gp-ucb --policy tv-gp-ucb

      driftwise lab run --env bogunovic:epsilon=0.03 --policy mypackage.greedy:EpsilonGreedy:epsilon=0.2 --policy auto

      driftwise lab table results
    """
    from driftwise.lab import experiment
    from driftwise.lab.engine import engine as engine_named
    from driftwise.lab.results import Folder, versions

    limits.within(horizon=horizon, seeds=seeds)
    options = recording.options(rewards, points, minimize=minimize, time=time, gaps=gaps)
    trials = experiment.plan(
        _suites(suite or [], env or [], rewards, points, quick, options),
        parse.entrants(policy),
        seeds=seeds,
        horizon=horizon,
        pattern=case,
        first=first,
    )
    performer = engine_named(engine, jobs=jobs, address=address)
    with show.waiting("policies"), parse.making(", ".join(policy)):
        experiment.check(trials)
    asked = {"suites": suite or [], "policies": policy, "case": case, "seeds": seeds, "horizon": horizon}
    asked |= ({"first": first} if first else {}) | ({"envs": env} if env else {})
    asked |= {"quick": quick} | ({} if rewards is None else {"rewards": rewards.name} | options)
    with Folder(out) as folder:
        if before := folder.describe(asked):
            failure.tell(
                f"results in {out} were made with {_said(before)}; now it is {_said(versions())}",
                "they may differ in the last digits; give another --out to keep them apart",
            )
        account = _conduct(trials, folder, performer)
    _report(account, out)
    if account.failed:
        raise typer.Exit(1)


def _suites(
    names: list[str], envs: list[str], rewards: Path | None, points: Path | None, quick: bool, options: dict[str, Any]
) -> list[Suite]:
    from driftwise.lab import named, recordings
    from driftwise.lab.suites import suite

    found = [suite(name) for name in names]
    if envs:
        with parse.making(", ".join(envs)):
            found.append(named.environments(parse.named(spec, what="an environment") for spec in envs))
    found = [each.quick() for each in found] if quick else found
    if rewards is not None:
        found.append(recordings.recording(rewards, points, **options))
    if not found:
        raise InvalidInput(
            "there is nothing to run on; give --suite NAME (see: driftwise suites), --env NAME or --rewards FILE"
        )
    return found


def _said(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _conduct(trials: list[Trial], folder: Folder, performer: Any) -> Account:
    """Under a bar, which counts what was there already as done."""
    from driftwise.lab.experiment import conduct

    there = sum(trial.key in folder.done for trial in trials)
    with show.progress() as progress:
        bar = progress.add_task("", total=len(trials), completed=there)

        def tell(key: str) -> None:
            progress.update(bar, advance=1, description=key.partition(" ")[0])

        try:
            return conduct(trials, folder, performer, tell=tell)
        except KeyboardInterrupt:
            left = sum(trial.key not in folder.done for trial in trials)
            failure.tell(f"{left} of {len(trials)} runs are missing; the same command does them")
            raise


def _report(account: Account, out: Path) -> None:
    console = show.out()
    rate = account.done / account.seconds if account.seconds > 0 else 0.0
    there = f", {account.there} were there already" if account.there else ""
    console.print(f"{account.done} runs in {account.seconds:.1f} s ({rate:.1f} a second){there}")
    if account.stale:
        console.print(f"{text.counted(account.stale, 'older result')} of other code or defaults were removed")
    if account.done:
        console.print(f"{account.share:.0%} of {account.cpu:.1f} s of CPU were spent inside policies and environments")
    if account.failed:
        failure.tell(
            f"{account.failed} of {account.asked} runs failed; driftwise lab failures {out} says why",
            "the same command tries them again",
        )
    where = visible(str(out))
    show.say("The results are in ", (where, "bold"), ".")
    show.say(f"Next: driftwise lab table {where}")
