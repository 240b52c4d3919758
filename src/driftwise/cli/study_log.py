"""driftwise study correct, retract and corrections: what was told, put right by further entries."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from typing import Annotated, Any

import typer

from driftwise.cli import parse, show
from driftwise.cli.options import DEFAULT, Failed, File, Json, Measures, Name, Repeats, Std, Timeout, Token
from driftwise.log import Correction, Outcome
from driftwise.records import Receipt
from driftwise.study import Study

Which = Annotated[
    str, typer.Argument(help="The number of the observation, or the ID of its suggestion.", show_default=False)
]
Who = Annotated[str | None, typer.Option(help="Who corrects it. By default your login name.", show_default=False)]
Why = Annotated[str, typer.Option(help="Why, in your own words. It is kept with the correction.", show_default=False)]


def correct(
    name: Name,
    which: Which,
    reward: Annotated[
        float | None, typer.Argument(help="The right reward, or cost if the study minimises.", show_default=False)
    ] = None,
    failed: Failed = False,
    std: Std = None,
    repeats: Repeats = 1,
    measures: Measures = None,
    why: Why = "",
    who: Who = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Replace the outcome of an observation, for example a reward that was typed wrong.

    Measures that you do not give stay as they are. What was told stays in the log, and the belief is as if the outcome
    had always been the corrected one. A retracted observation comes back.

    [bold]Example[/bold]

      driftwise study correct prices 12 31.5 --why "the decimal point was missing"
    """
    study = Study.open(name, path=path, token=token, timeout=timeout)
    details: dict[str, Any] = {"failed": failed, "std": std, "repeats": repeats, "measures": parse.measures(measures)}
    made = study.correct(which, reward, who=_user(who), why=why, **details)
    _changed(made, as_json, "corrected", "had this outcome already")


def retract(
    name: Name,
    which: Which,
    why: Why = "",
    who: Who = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Declare that an observation should not count. It stays in the log, and `study correct` brings it back."""
    made = Study.open(name, path=path, token=token, timeout=timeout).retract(which, who=_user(who), why=why)
    _changed(made, as_json, "retracted", "was retracted before")


def corrections(
    name: Name, path: File = DEFAULT, token: Token = None, timeout: Timeout = None, as_json: Json = False
) -> None:
    """List all corrections and retractions, oldest first: what held before and after, who, when and why."""
    made = Study.open(name, path=path, token=token, timeout=timeout).corrections()
    if as_json:
        show.as_json({"study": name, "corrections": [_for_scripts(each) for each in made]})
        return
    if not made:
        show.say("Nothing was corrected.")
        return
    rows = [
        (str(each.number), _outcome(each.before), _outcome(each.after), each.who, _when(each), each.why)
        for each in made
    ]
    header = ("observation", "before", "after", "who", "when (UTC)", "why")
    show.out().print(show.table("", header, rows, words=(0, 1, 2, 3, 4, 5)))


def _user(given: str | None) -> str:
    """The login name unless another is given; nothing where there is none, as in some containers."""
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _changed(made: Receipt, as_json: bool, done: str, already: str) -> None:
    if as_json:
        show.as_json({"number": made.number, "new": made.new, "in_window": made.in_window})
    elif not made.new:
        show.say(f"Observation {made.number} {already}; nothing changed.")
    else:
        late = "" if made.in_window else ", but the policy no longer uses observations that old"
        show.say(f"Observation {made.number} is {done}{late}.")


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
        return {"reward": None if given.failed else given.y, "failed": given.failed} | {
            "std": given.std,
            "repeats": given.repeats,
            "measures": dict(given.measures),
        }

    return asdict(made) | {"before": outcome(made.before), "after": outcome(made.after)}
