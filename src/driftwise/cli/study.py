"""driftwise study: a live study from the shell."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from driftwise.cli import arms, files, parse, show, study_status
from driftwise.cli.failure import EXIT_CODES
from driftwise.cli.options import DEFAULT, At, File, Json, Name
from driftwise.cli.ordered import Ordered, in_order
from driftwise.cli.study_check import check
from driftwise.cli.study_show import show_study
from driftwise.errors import InvalidInput
from driftwise.records import Params
from driftwise.study import Study
from driftwise.text import as_json as json_text
from driftwise.text import csv_line, visible

app = typer.Typer(
    invoke_without_command=True,
    epilog=EXIT_CODES,
    help="""Tune something of your own: ask for a setting to try, then tell the reward that it gave.

    A study lives in a file. Give it with --path or in the environment variable DRIFTWISE_PATH; otherwise it is
    driftwise.db. No reward that was stored is ever lost, and several programs may use the file at the same time.

    [bold]Example[/bold]

      driftwise study create prices --float price=5:20

      driftwise study ask prices

      driftwise study tell prices ID 12.3

      driftwise study recommend prices
    """,
)

OURS = ("number", "at", "reward")  # columns of an export that a parameter may be called, too
NEGATIVE = {"ignore_unknown_options": True}  # so that -3.2 is a reward and not an option


@app.callback()
def root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command(cls=Ordered)
def create(
    context: typer.Context,
    name: Name,
    floats: Annotated[
        list[str] | None,
        typer.Option("--float", help="A real number, for example price=5:20 or rate=1e-4:1:log.", metavar="NAME=RANGE"),
    ] = None,
    ints: Annotated[
        list[str] | None,
        typer.Option("--int", help="A whole number, for example n=1:10 or n=1:1000:log.", metavar="NAME=RANGE"),
    ] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option("--choice", help="One of several values, for example mode=slow,fast.", metavar="NAME=VALUES"),
    ] = None,
    arms_listed: Annotated[
        str | None, typer.Option("--arms", help="Arms by name, for example red,green,blue.", metavar="NAMES")
    ] = None,
    arms_from: Annotated[
        Path | None,
        typer.Option(help="A CSV of arms with headings: a column of names, and any others their coordinates."),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="A CSV of what all arms gave in the past: a row for each time, a column for each arm."),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(help="NAME or NAME:OPTION=VALUE,… The command `driftwise policies` lists them."),
    ] = "auto",
    minimize: Annotated[bool, typer.Option("--minimize", help="Rewards are costs: the lowest is the best.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the policy's random numbers.")] = 0,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Create a study.

    Give each parameter with --float, --int or --choice. The study keeps them in the order in which you give them.
    Things that have a name and no order are arms: give them with --arms or --arms-from, and their past with --history.
    Rewards are centred and scaled over the observations that the policy remembers, so their units do not matter.

    [bold]Examples[/bold]

      driftwise study create ads --float bid=0.1:5:log --choice site=a,b

      driftwise study create cache --int size=1:64 --minimize --policy sw-gp-ucb:window=80

      driftwise study create banner --arms red,green,blue --history last-year.csv
    """
    parameters = tuple(in_order(context, {"--float": floats, "--int": ints, "--choice": choices}))
    named = arms_listed is not None or arms_from is not None
    space = arms.space(None if named and not parameters else parse.space(parameters), arms_listed, arms_from)
    contender = parse.policy(policy)
    past = {} if history is None else {"history": arms.history(history, space)}
    direction = "minimize" if minimize else "maximize"
    with show.progress() as progress, parse.making(policy):
        progress.add_task("a new study", total=None)
        made = Study(
            name, space, contender.name, path=path, seed=seed, direction=direction, **dict(contender.options) | past
        )
    if as_json:
        show.as_json(study_status.summary_for_scripts(made.describe()))
    else:
        show.say("study ", (name, "bold"), f" is in {visible(str(path))}")
        show.say(f"next: {_command('ask', name, path=path)}")


@app.command()
def ask(
    name: Name,
    key: Annotated[str | None, typer.Option(help="Asking again with the same key returns the same suggestion.")] = None,
    at: At = None,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Ask for the next setting to try."""
    s = Study.open(name, path=path).ask(key=key, at=at)
    if as_json:
        show.as_json({"id": s.id, "number": s.number, "params": dict(s.params), "at": s.at, "key": s.key})
        return
    show.say("try ", (study_status.setting(s.params), "bold"))
    show.say(f"then: {_command('tell', name, s.id, 'REWARD', path=path)}")


@app.command(context_settings=NEGATIVE)
def tell(
    name: Name,
    id: Annotated[str, typer.Argument(help="The ID of the suggestion, as `study ask` printed it.", show_default=False)],
    reward: Annotated[
        float, typer.Argument(help="The reward, or the cost if the study minimises.", show_default=False)
    ],
    at: At = None,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Tell the reward of a suggestion.

    The same reward told again changes nothing. A different reward for the same suggestion is refused.
    """
    _receipt(Study.open(name, path=path).tell(id, reward, at=at), as_json)


@app.command(context_settings=NEGATIVE)
def observe(
    name: Name,
    setting: Annotated[
        list[str],
        typer.Argument(
            help="The setting, for example price=12.5 mode=fast.", show_default=False, metavar="NAME=VALUE..."
        ),
    ],
    reward: Annotated[float, typer.Option(help="The reward, or the cost if the study minimises.", show_default=False)],
    at: At = None,
    key: Annotated[str | None, typer.Option(help="An observation sent again with the same key counts once.")] = None,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Add an observation at a setting of your own choice, without asking first."""
    study = Study.open(name, path=path)
    _receipt(study.observe(parse.params(setting, study.space), reward, at=at, key=key), as_json)


@app.command()
def abandon(
    name: Name,
    id: Annotated[str, typer.Argument(help="The ID of the suggestion.", show_default=False)],
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Give up a suggestion that will not be tried. It counts as no observation."""
    Study.open(name, path=path).abandon(id)
    if as_json:
        show.as_json({"id": id, "abandoned": True})
    else:
        show.say("The suggestion is abandoned. If a reward arrives later, tell it and it will count.")


@app.command()
def recommend(name: Name, at: At = None, path: File = DEFAULT, as_json: Json = False) -> None:
    """Recommend the best setting now: the one with the best posterior mean."""
    best = Study.open(name, path=path).recommend(at=at)
    if as_json:
        show.as_json({"params": dict(best.params), "mean": best.mean, "std": best.std})
    else:
        show.say(*study_status.expected(best))


app.command("show")(show_study)
app.command()(check)


@app.command("list")
def list_studies(path: File = DEFAULT, as_json: Json = False) -> None:
    """List the studies in a file."""
    found = [study_status.summary_for_scripts(Study.open(name, path=path).describe()) for name in Study.names(path)]
    if as_json:
        show.as_json({"studies": found})
        return
    rows = [(s["name"], s["policy"], ", ".join(s["parameters"]), str(s["told"]), str(s["awaited"])) for s in found]
    show.out().print(show.table(str(path), ("study", "policy", "parameters", "rewards", "awaited"), rows))


@app.command()
def export(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file to write, .csv or .json. By default the export goes to stdout."),
    ] = None,
    path: File = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of CSV.")] = False,
) -> None:
    """Export every observation in order, with its number, its time, the setting and the reward.

    In CSV, text that a spreadsheet would run as a formula, because it begins with =, +, - or @, gets a ' before it, and
    control characters are escaped, for example as \\x1b. Numbers stay as they are, and JSON has every value exactly.
    """
    if out is not None and out.suffix not in (".csv", ".json"):
        raise InvalidInput(f"--out must end in .csv or .json, got {str(out)!r}")
    study = Study.open(name, path=path)
    in_json = as_json or (out is not None and out.suffix == ".json")
    lines = _json_lines(study) if in_json else _csv_lines(study)
    if out is None:
        sys.stdout.writelines(lines)
        return
    with files.opened(out, inputs=[path]) as file:
        file.writelines(line.encode("utf-8", "backslashreplace") for line in lines)


def _rows(study: Study) -> Iterator[tuple[int, float, Params, float]]:
    return ((o.number, o.at, study.space.from_unit(o.x), o.y) for o in study.observations())


def _json_lines(study: Study) -> Iterator[str]:
    log = [{"number": number, "at": at, "params": params, "reward": y} for number, at, params, y in _rows(study)]
    yield json_text({"study": study.name, "observations": log}) + "\n"


def _csv_lines(study: Study) -> Iterator[str]:
    names = (f"params.{name}" if name in OURS else name for name in study.space.names)
    yield csv_line(["number", "at", *names, "reward"])
    for number, at, params, y in _rows(study):
        yield csv_line([number, at, *params.values(), y])


def _command(verb: str, name: str, *rest: str, path: Path) -> str:
    """The command to type next, with the path unless it is the default."""
    where = [] if path == DEFAULT else ["--path", str(path)]
    return visible(shlex.join(["driftwise", "study", verb, name, *rest, *where]))


def _receipt(receipt: Any, as_json: bool) -> None:
    if as_json:
        show.as_json({"number": receipt.number, "new": receipt.new, "in_window": receipt.in_window})
        return
    late = "" if receipt.in_window else ", but the policy no longer uses observations that old"
    show.say(
        f"The reward is stored as observation {receipt.number}{late}."
        if receipt.new
        else f"Observation {receipt.number} was told before; nothing changed."
    )
