"""driftwise study: a live study from the shell."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from driftwise.auto.drift_history import FEW
from driftwise.cli import files, parse, show, study_status
from driftwise.cli.study_check import check
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.records import Params
from driftwise.study import Study
from driftwise.text import as_json as json_text
from driftwise.text import csv_line, visible

app = typer.Typer(
    invoke_without_command=True,
    help="""Tune something of your own: ask what to try, tell what it earned.

    A study lives in a file (--path, or the variable DRIFTWISE_PATH; driftwise.db if neither is given). Nothing told is
    ever lost, and several programs may use the file at once.

    [bold]Example[/bold]

      driftwise study create prices --float price=5:20

      driftwise study ask prices

      driftwise study tell prices ID 12.3

      driftwise study recommend prices
    """,
)

Name = Annotated[str, typer.Argument(help="The study's name.", show_default=False)]
File = Annotated[
    Path,
    typer.Option("--path", envvar="DRIFTWISE_PATH", callback=files.at_home, help="The file that keeps the study."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
At = Annotated[float | None, typer.Option(help="Your own time; the number of the step if not given.")]
DEFAULT = Path("driftwise.db")
OURS = ("number", "at", "reward")  # columns of an export that a parameter may be called, too
NEGATIVE = {"ignore_unknown_options": True}  # so that -3.2 is a reward and no option


@app.callback()
def root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def create(
    name: Name,
    floats: Annotated[
        list[str] | None, typer.Option("--float", help="A real number, as price=5:20 or rate=1e-4:1:log.")
    ] = None,
    ints: Annotated[list[str] | None, typer.Option("--int", help="A whole number, as n=1:10 or n=1:1000:log.")] = None,
    choices: Annotated[list[str] | None, typer.Option("--choice", help="One of several, as mode=slow,fast.")] = None,
    policy: Annotated[str, typer.Option(help="NAME or NAME:KEY=VALUE,… See: driftwise policies")] = "auto",
    minimize: Annotated[bool, typer.Option("--minimize", help="Rewards are costs: the least is best.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Where the policy's own randomness comes from.")] = 0,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Make a study.

    Rewards are standardised over what the policy remembers, so their units do not matter.

    [bold]Example[/bold]

      driftwise study create ads --float bid=0.1:5:log --int slots=1:4 --choice site=a,b --policy sw-gp-ucb:window=80
    """
    space = parse.space(floats or [], ints or [], choices or [])
    contender = parse.policy(policy)
    direction = "minimize" if minimize else "maximize"
    with show.progress() as progress, parse.making(policy):
        progress.add_task("a new study", total=None)
        made = Study(name, space, contender.name, path=path, seed=seed, direction=direction, **dict(contender.options))
    if as_json:
        show.as_json(study_status.summary_for_scripts(made.describe()))
    else:
        show.say("study ", (name, "bold"), f" is in {visible(str(path))}")
        show.say(f"next: {_command('ask', name, path=path)}")


@app.command()
def ask(
    name: Name,
    key: Annotated[str | None, typer.Option(help="Asked again with the same key: the same answer.")] = None,
    at: At = None,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """What to try next."""
    s = Study.open(name, path=path).ask(key=key, at=at)
    if as_json:
        show.as_json({"id": s.id, "number": s.number, "params": dict(s.params), "at": s.at, "key": s.key})
        return
    show.say("try ", (study_status.setting(s.params), "bold"))
    show.say(f"then: {_command('tell', name, s.id, 'REWARD', path=path)}")


@app.command(context_settings=NEGATIVE)
def tell(
    name: Name,
    id: Annotated[str, typer.Argument(help="The suggestion's id, as ask gave it.", show_default=False)],
    reward: Annotated[float, typer.Argument(help="What it earned.", show_default=False)],
    at: At = None,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """What a suggestion earned. Told twice it counts once; a different reward is refused."""
    _receipt(Study.open(name, path=path).tell(id, reward, at=at), as_json)


@app.command(context_settings=NEGATIVE)
def observe(
    name: Name,
    setting: Annotated[list[str], typer.Argument(help="The setting, as price=12.5 mode=fast.", show_default=False)],
    reward: Annotated[float, typer.Option(help="What it earned.", show_default=False)],
    at: At = None,
    key: Annotated[str | None, typer.Option(help="Sent again with the same key it counts once.")] = None,
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """A reward at a setting that nobody asked for."""
    study = Study.open(name, path=path)
    _receipt(study.observe(parse.params(setting, study.space), reward, at=at, key=key), as_json)


@app.command()
def abandon(
    name: Name,
    id: Annotated[str, typer.Argument(help="The suggestion's id.", show_default=False)],
    path: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """A suggestion that will not be tried: it counts as no observation."""
    Study.open(name, path=path).abandon(id)
    if as_json:
        show.as_json({"id": id, "abandoned": True})
    else:
        show.say("abandoned; should a reward come after all, tell it and it counts")


@app.command()
def recommend(name: Name, at: At = None, path: File = DEFAULT, as_json: Json = False) -> None:
    """The best setting now, by what was learned so far."""
    best = Study.open(name, path=path).recommend(at=at)
    if as_json:
        show.as_json({"params": dict(best.params), "mean": best.mean, "std": best.std})
    else:
        show.say(*study_status.expected(best))


@app.command("show")
def show_study(
    name: Name,
    path: File = DEFAULT,
    png: Annotated[Path | None, typer.Option(help="Draw a picture into this file instead.")] = None,
    parameter: Annotated[
        str | None, typer.Option(help="Along which parameter; all in the terminal, the first in a picture.")
    ] = None,
    only_time: Annotated[
        bool, typer.Option("--over-time", help="Only how the world moved, of the policy auto; with --png as a picture.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Where a study stands, and what it believes along each parameter, the others at the best setting.

    With the policy auto also how the world moved: the drift and the observations in use over time, and the abrupt
    changes.
    """
    from driftwise.cli.belief_slices import slices
    from driftwise.cli.chart import chart
    from driftwise.cli.over_time import over_time

    study = Study.open(name, path=path)
    if png is not None:
        files.check(png, inputs=[path])
    if as_json:
        show.as_json(study_status.for_scripts(study))
        return
    if only_time:
        study_status.draw_over_time(study, png)
        return
    try:
        best, drawn = slices(study)
    except InvalidInput as nothing:  # no rewards yet, or a policy that believes nothing
        if png is not None:
            raise
        study_status.head(study.describe())
        show.say(visible(str(nothing)))
        return
    if parameter is not None:
        drawn = [each for each in drawn if each.name == parameter]
        if not drawn:
            raise NotFoundError(
                f"no parameter is called {parameter!r:.80}; the study has {', '.join(study.space.names)}"
            )
    if png is not None:
        study_status.draw_belief(drawn[0], study, png)
        return
    study_status.head(study.describe())
    show.say("best now: ", *study_status.expected(best))
    found = study.drift() if hasattr(study.policy, "diagnose") else None
    show.say(*(study_status.drift_in_words(found) if found else [""]))
    for each in drawn:
        show.out().print(chart(each))
    if found and found.seen >= FEW:
        show.out().print(over_time(study.drift_history()))


app.command()(check)


@app.command("list")
def list_studies(path: File = DEFAULT, as_json: Json = False) -> None:
    """The studies in a file."""
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
        Path | None, typer.Option("--out", "-o", help="The file, .csv or .json; stdout if not given.")
    ] = None,
    path: File = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of CSV.")] = False,
) -> None:
    """Every observation, in order: number, at, the setting and the reward.

    In CSV, text that a spreadsheet would run as a formula (it begins with =, +, - or @) gets a ' before it, and control
    characters are written as \\x1b. Numbers stay as they are, and JSON has every value exactly.
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
    """What to type next: with the path where it is not the usual one."""
    where = [] if path == DEFAULT else ["--path", str(path)]
    return visible(shlex.join(["driftwise", "study", verb, name, *rest, *where]))


def _receipt(receipt: Any, as_json: bool) -> None:
    if as_json:
        show.as_json({"number": receipt.number, "new": receipt.new, "in_window": receipt.in_window})
        return
    late = "" if receipt.in_window else "; it is older than what the policy still remembers"
    show.say(
        f"stored as number {receipt.number}{late}"
        if receipt.new
        else f"number {receipt.number} was told before; nothing changed"
    )
