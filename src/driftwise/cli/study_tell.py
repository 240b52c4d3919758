"""driftwise study ask, tell, fail, observe and abandon, which are the loop itself; correct, retract and corrections."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from typing import Annotated, Any

import typer

from driftwise.cli import options, parse, show
from driftwise.cli.command import Answer, answered, on_study
from driftwise.cli.study_words import in_context, next_command, setting, suggestion_for_scripts
from driftwise.log import Correction, Outcome
from driftwise.records import Receipt
from driftwise.study import Study

Id = Annotated[str, typer.Argument(help="The ID of the suggestion, as `study ask` printed it.", show_default=False)]
Which = Annotated[
    str, typer.Argument(help="The number of the observation, or the ID of its suggestion.", show_default=False)
]
Who = Annotated[str | None, typer.Option(help="Who corrects it. By default your login name.", show_default=False)]
Why = Annotated[str, typer.Option(help="Why, in your own words. It is kept with the correction.", show_default=False)]


@answered
@on_study
def ask(
    study: Study,
    n: Annotated[
        int | None, typer.Option("--count", "-n", help="So many suggestions at once, which spread out.")
    ] = None,
    context: options.InContext = None,
    fixed: options.Pinned = None,
    key: Annotated[str | None, typer.Option(help="Asking again with the same key returns the same suggestion.")] = None,
    at: options.At = None,
    path: str = options.DEFAULT,
) -> Answer:
    """Ask for the next setting to try, or for several.

    With -n all of the suggestions are stored, or none. With --json one suggestion is an object, and those of -n are a
    list in "suggestions".

    [bold]Examples[/bold]

      driftwise study ask prices

      driftwise study ask web -n 8 --fixed compression=zstd

      driftwise study ask shop --context traffic=0.4 --context day=mon
    """
    now = in_context(study, context)
    pins = parse.some_params(fixed, study.space)
    if n is None:
        s = study.ask(key=key, at=at, context=now, fixed=pins)
        then = next_command("tell", study.name, s.id, "REWARD", path=path)
        return suggestion_for_scripts(s), [["Try ", (setting(s.params), "bold")], f"Then: {then}"]
    with show.waiting("suggestions"):
        several = study.ask(key=key, at=at, n=n, context=now, fixed=pins)
    return {"suggestions": [suggestion_for_scripts(s) for s in several]}, [
        f"Try {'this setting' if n == 1 else f'these {n} settings'}, each with its ID:",
        *([f"  {s.id}  ", (setting(s.params), "bold")] for s in several),
        f"Then, for each ID: {next_command('tell', study.name, 'ID', 'REWARD', path=path)}",
    ]


@answered
@on_study
def tell(
    study: Study,
    id: Id,
    reward: Annotated[
        float | None, typer.Argument(help="The reward, or the cost if the study minimises.", show_default=False)
    ] = None,
    failed: options.Failed = False,
    std: options.Std = None,
    repeats: options.Repeats = 1,
    measures: options.Measures = None,
    key: options.Key = None,
    at: options.At = None,
) -> Answer:
    """Tell the reward of a suggestion, or with --failed that the setting failed.

    The same reward told again changes nothing. A different reward for the same suggestion is refused; `study correct`
    changes it.

    [bold]Example[/bold]

      driftwise study tell web ID 310.5 --measure p99_ms=180
    """
    details: dict[str, Any] = {"failed": failed, "std": std, "repeats": repeats, "measures": parse.measures(measures)}
    return _stored(study.tell(id, reward, at=at, key=key, **details), failed)


@answered
@on_study
def fail(
    study: Study, id: Id, measures: options.Measures = None, key: options.Key = None, at: options.At = None
) -> Answer:
    """Tell that the setting of a suggestion failed: it crashed, or could not be tried.

    There is no reward. The study learns where settings fail, and asks elsewhere until the world changes.
    """
    return _stored(study.tell(id, failed=True, at=at, key=key, measures=parse.measures(measures)), True)


@answered
@on_study
def observe(
    study: Study,
    setting: options.Setting,
    reward: Annotated[
        float | None, typer.Option(help="The reward, or the cost if the study minimises.", show_default=False)
    ] = None,
    context: options.InContext = None,
    failed: options.Failed = False,
    std: options.Std = None,
    repeats: options.Repeats = 1,
    measures: options.Measures = None,
    at: options.At = None,
    key: Annotated[str | None, typer.Option(help="An observation sent again with the same key counts once.")] = None,
) -> Answer:
    """Add an observation at a setting of your own choice, without asking first."""
    params = parse.params(setting, study.space)
    now = in_context(study, context)
    details: dict[str, Any] = {"failed": failed, "std": std, "repeats": repeats, "measures": parse.measures(measures)}
    return _stored(study.observe(params, reward, at=at, key=key, context=now, **details), failed)


@answered
@on_study
def abandon(
    study: Study, id: Annotated[str, typer.Argument(help="The ID of the suggestion.", show_default=False)]
) -> Answer:
    """Give up a suggestion that will not be tried. It counts as no observation."""
    study.abandon(id)
    said = "The suggestion is abandoned. If a reward arrives later, tell it and it will count."
    return {"id": id, "abandoned": True}, [said]


def _stored(made: Receipt, failed: bool) -> Answer:
    what = f"The {'failure' if failed else 'reward'} is stored as observation {made.number}"
    return _receipt(made, what, "was told before")


def _receipt(made: Receipt, done: str, already: str) -> Answer:
    late = "" if made.in_window else ", but the policy no longer uses observations that old"
    said = f"{done}{late}." if made.new else f"Observation {made.number} {already}; nothing changed."
    return {"number": made.number, "new": made.new, "in_window": made.in_window}, [said]


# --- what was told, put right by further entries --------------------------------------------------------------------


@answered
@on_study
def correct(
    study: Study,
    which: Which,
    reward: Annotated[
        float | None, typer.Argument(help="The right reward, or cost if the study minimises.", show_default=False)
    ] = None,
    failed: options.Failed = False,
    std: options.Std = None,
    repeats: options.Repeats = 1,
    measures: options.Measures = None,
    why: Why = "",
    who: Who = None,
) -> Answer:
    """Replace the outcome of an observation, for example a reward that was typed wrong.

    Measures that you do not give stay as they are. What was told stays in the log, and the belief is as if the outcome
    had always been the corrected one. A retracted observation comes back.

    [bold]Example[/bold]

      driftwise study correct prices 12 31.5 --why "the decimal point was missing"
    """
    details: dict[str, Any] = {"failed": failed, "std": std, "repeats": repeats, "measures": parse.measures(measures)}
    made = study.correct(which, reward, who=login_name(who), why=why, **details)
    return _receipt(made, f"Observation {made.number} is corrected", "had this outcome already")


@answered
@on_study
def retract(study: Study, which: Which, why: Why = "", who: Who = None) -> Answer:
    """Declare that an observation should not count. It stays in the log, and `study correct` brings it back."""
    made = study.retract(which, who=login_name(who), why=why)
    return _receipt(made, f"Observation {made.number} is retracted", "was retracted before")


@answered
@on_study
def corrections(study: Study) -> Answer:
    """List all corrections and retractions, oldest first: what held before and after, who, when and why."""
    made = study.corrections()
    data = {"study": study.name, "corrections": [_for_scripts(each) for each in made]}
    if not made:
        return data, ["Nothing was corrected."]
    rows = [
        (str(each.number), _outcome(each.before), _outcome(each.after), each.who, _when(each), each.why)
        for each in made
    ]
    header = ("observation", "before", "after", "who", "when (UTC)", "why")
    return data, [show.table("", header, rows, words=range(6))]


def login_name(given: str | None) -> str:
    """The login name unless another is given; nothing where there is none, as in some containers."""
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _when(made: Correction) -> str:
    """2026-11-16T19:02:13+00:00 without what goes without saying."""
    return made.when.replace("T", " ").removesuffix("+00:00")


def _outcome(outcome: Outcome | None) -> str:
    """In words, with six digits; --json has all of them."""
    if outcome is None:
        return "retracted"
    known = [] if outcome.std is None else [("std", outcome.std)]
    known += [] if outcome.repeats == 1 else [("repeats", outcome.repeats)]
    details = "".join(f", {name} = {value:.6g}" for name, value in (*known, *outcome.measures))
    return ("failed" if outcome.failed else f"{outcome.y:.6g}") + details


def _for_scripts(made: Correction) -> dict[str, Any]:
    def outcome(given: Outcome | None) -> dict[str, Any] | None:
        if given is None:
            return None
        details = {"std": given.std, "repeats": given.repeats, "measures": dict(given.measures)}
        return {"reward": None if given.failed else given.y, "failed": given.failed} | details

    return asdict(made) | {"before": outcome(made.before), "after": outcome(made.after)}
