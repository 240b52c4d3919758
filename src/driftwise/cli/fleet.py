"""driftwise fleet: many studies at once from the shell."""

from __future__ import annotations

import csv
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from driftwise.cli import arms, files, options, parse, show
from driftwise.cli.command import Answer, answered
from driftwise.cli.failure import group
from driftwise.cli.ordered import Ordered, in_order
from driftwise.errors import InvalidInput
from driftwise.fleet import Fleet
from driftwise.fleet.bench import Pace, Workload, machine, timings
from driftwise.fleet.overview import HEADER, overview
from driftwise.fleet.stream import Conversation, Reply, batches
from driftwise.log import without_password
from driftwise.text import counted, visible

REPORTED = 20  # lines that are wrong and named on stderr; all of them are answered on stdout
HOME = "fleets"
FleetName = Annotated[str, typer.Argument(help="The name of the fleet.", show_default=False)]
FleetPath = Annotated[
    str,
    typer.Option(
        "--path",
        envvar="DRIFTWISE_FLEETS",
        callback=files.store_at_home,
        metavar="PATH",
        help="The folder that holds the fleet, or the address of a PostgreSQL.",
    ),
]

app = group(
    """Tune many things at once: one study for each key, over the same settings, in batches.

    A fleet lives in a folder or in a PostgreSQL database. Give it with --path or in the environment variable
    DRIFTWISE_FLEETS; otherwise it is the folder fleets. One process at a time has it open.

    [bold]Example[/bold]

      driftwise fleet create prices --int price=5:20 --policy sw-gp-ucb:window=64

      driftwise fleet run prices < events.jsonl > answers.jsonl

      driftwise fleet show prices --out prices.html
    """
)


@app.command(cls=Ordered)
@answered
def create(
    context: typer.Context,
    name: FleetName,
    floats: options.Floats = None,
    ints: options.Ints = None,
    choices: options.Choices = None,
    arms_listed: options.Arms = None,
    arms_from: options.ArmsFrom = None,
    policy: Annotated[
        str, typer.Option(help="NAME or NAME:OPTION=VALUE,… The command `driftwise policies` lists them.")
    ] = "sw-gp-ucb:window=64",
    minimize: Annotated[bool, typer.Option("--minimize", help="Lower rewards are better.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of policies that draw random numbers.")] = 0,
    patience: Annotated[int, typer.Option(help="Newer suggestions after which one without a reward is given up.")] = 32,
    engine: Annotated[
        str | None, typer.Option(help="numpy, compiled or gpu.", show_default="the fastest of the processor's")
    ] = None,
    shards: Annotated[int, typer.Option(help="Parts with a journal each. It cannot be changed later.")] = 1,
    together: Annotated[
        bool, typer.Option("--together", help="New keys begin with what others learned. For auto-lean.")
    ] = False,
    path: FleetPath = HOME,
) -> Answer:
    """Create a fleet: the settings and the policy that all of its keys have.

    Give the settings as for `driftwise study create`. Keys need not be listed: a key appears when it is first asked.

    [bold]Examples[/bold]

      driftwise fleet create prices --int price=5:20 --policy sw-gp-ucb:window=64 --shards 4

      driftwise fleet create bids --float bid=0.1:5 --float cap=10:1000

      driftwise fleet create banners --arms red,green,blue --policy r-gp-ucb:interval=200
    """
    parameters = tuple(in_order(context, {"--float": floats, "--int": ints, "--choice": choices}))
    named = arms_listed is not None or arms_from is not None
    space = arms.space(None if named and not parameters else parse.space(parameters), arms_listed, arms_from)
    chosen = parse.policy(policy)
    with parse.making(policy):
        made = Fleet(
            name, space, (chosen.name, dict(chosen.options)), path=path, engine=engine, shards=shards, seed=seed,
            direction="minimize" if minimize else "maximize", patience=patience, together=together,
        )  # fmt: skip
    made.close()
    n = len(made.definition.points)
    where = f"It chooses from {made.definition.where}; its engine is {made.engine}."
    return {"name": name, "policy": chosen.name, "engine": made.engine, "candidates": n, "shards": shards}, [
        ["The fleet ", (name, "bold"), f" is in {visible(without_password(path))}."],
        f"{where} Next: driftwise fleet run {visible(name)}",
    ]


@app.command()
def run(
    name: FleetName,
    path: FleetPath = HOME,
    batch: Annotated[int, typer.Option(min=1, help="The most lines that are answered together.")] = 4096,
    processes: Annotated[int, typer.Option(min=0, help="Processes that the shards run in; 0 is this one.")] = 0,
) -> None:
    """Answer a stream: JSON lines or CSV with headings on standard input, JSON lines on standard output.

    A line with a key asks, and is answered with an id and the setting to try. A line with an id and a reward tells it,
    and is answered when it is on the disk. Each answer has the number of its line. A reward may be sent again: it
    counts once, and another value is refused. Lines that arrive together are one batch, and none waits for more.

    A line that is wrong is answered with an error and reported; the others count. The exit code is then 2.

    [bold]Examples[/bold]

      echo '{"key": "apples"}' | driftwise fleet run prices

      driftwise fleet run prices --path postgresql://me@host/fleets < events.csv > answers.jsonl
    """
    with Fleet.open(name, path=path, processes=processes) as fleet, show.progress("lines") as progress:
        task, talk = progress.add_task(f"fleet {visible(name)}", total=None), Conversation(fleet)
        for lines in batches(sys.stdin.buffer, batch):  # type: ignore[arg-type]
            earlier = talk.refused
            replies = talk.answer(lines)
            sys.stdout.write("".join(json.dumps(reply, separators=(",", ":")) + "\n" for reply in replies))
            sys.stdout.flush()
            _report([reply for reply in replies if "error" in reply][: max(REPORTED - earlier, 0)])
            progress.update(task, completed=talk.lines)
    done = talk.outcomes
    show.aside().print(
        f"{talk.lines:,} lines: {talk.asked:,} suggestions, {done.new:,} new rewards, {done.known:,} known before, "
        f"{done.expired:,} too late.",
        soft_wrap=True,
    )
    if talk.refused:
        raise InvalidInput(f"{talk.refused:,} of {talk.lines:,} lines were refused; mend them and send them again")


def _report(refused: list[Reply]) -> None:
    for reply in refused:
        show.aside().print(f"line {reply['line']}: {reply['error']}", soft_wrap=True)


@app.command("show")
@answered
def show_fleet(
    name: FleetName,
    path: FleetPath = HOME,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a page with pictures: an .html file.")] = None,
    worst: Annotated[int, typer.Option(min=0, help="How many keys that stand out are listed.")] = 5,
    regret: Annotated[
        Path | None, typer.Option(help="A CSV with the columns key and regret, where you know what keys lost.")
    ] = None,
) -> Answer:
    """Show how the figures of a fleet are distributed over its keys, and which keys stand out.

    The spread of surprises is 1 where rewards are as the belief expects them. An alarm is raised when the rewards of a
    key were so surprising that its world must have changed. Keys stand out by their regret if it is given, or else by
    their alarms.

    [bold]Examples[/bold]

      driftwise fleet show prices

      driftwise fleet show prices --out prices.html --worst 20
    """
    if out is not None and out.suffix != ".html":
        raise InvalidInput(f"the page is an .html file, got {str(out)!r}; give --out {name}.html")
    with Fleet.open(name, path=path) as fleet:
        view = overview(fleet, None if regret is None else _known(regret))
    if out is not None:
        from driftwise.fleet.page import fleet_page

        files.write(out, fleet_page(view, version=version("driftwise")))
    listed = [dict(zip(view.worst_header, row, strict=True)) for row in view.worst(worst)]
    figures = {row[0]: dict(zip(HEADER[1:], map(float, row[1:]), strict=True)) for row in view.quantiles()}
    data = {"keys": len(view.movement.keys), "figures": figures, "worst": listed}
    lines: list[Any] = [
        ["The fleet ", (name, "bold"), f" has {counted(len(view.movement.keys), 'key')}: {view.description}."]
    ]
    if view.figures:
        lines.append(show.table("Over all keys", HEADER, view.quantiles()))
    if rows := view.worst(worst):
        lines.append(show.table("Keys that stand out", view.worst_header, rows))
    if out is not None:
        lines.append(["The page is ", (visible(str(out)), "bold"), "."])
    return data, lines


def _known(path: Path) -> dict[str | int, float]:
    """What a CSV says of the regret of keys. A key that looks like a whole number may be one."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    found: dict[str | int, float] = {}
    for number, row in enumerate(rows, start=2):
        try:
            key, value = row["key"], float(row["regret"])
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(f"{path}, row {number}: a row must have a key and a regret, got {row!r:.80}") from None
        found[key] = value
        if key.lstrip("-").isdecimal():
            found[int(key)] = value
    return found


@app.command()
@answered
def bench(
    keys: Annotated[int, typer.Option(min=1, help="How many keys are asked and told at once.")] = 512,
    window: Annotated[int, typer.Option(min=1, help="The window of sw-gp-ucb.")] = 64,
    candidates: Annotated[int, typer.Option(min=2, max=2500, help="How many settings there are.")] = 256,
    steps: Annotated[int, typer.Option(min=1, help="How many steps are timed, once the windows are full.")] = 10,
) -> Answer:
    """Measure a fleet on this machine: a loop over studies, each engine, one and two processes, and durable tells.

    A decision is an ask and a tell of one key. Ratios of one run are comparable between machines; rates are not.

    [bold]Example[/bold]

      driftwise fleet bench --keys 1024 --window 64 --candidates 256
    """
    work = Workload(keys, window, candidates, steps)
    done: dict[str, Pace] = {}
    with show.progress("measurements") as progress:
        task = progress.add_task("measuring", total=None)
        for timing in timings(work):
            done[timing.what] = timing
            progress.advance(task)
    ratios = {name: each.rate / done[each.beside].rate for name, each in done.items() if each.beside}
    listed = [vars(each) | {"ratio": ratios.get(name)} for name, each in done.items()]
    rows = [
        (name, f"{each.rate:,.0f}", f"{ratios[name]:.2f} × {each.beside}" if each.beside else "")
        for name, each in done.items()
    ]
    data = {"machine": machine(), "workload": vars(work), "timings": listed}
    return data, [show.table(machine(), ("what", "keys a second", "ratio"), rows, words=(0, 2))]
