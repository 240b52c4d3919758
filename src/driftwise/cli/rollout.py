"""driftwise rollout: the candidate of a live study from the shell: look, propose, approve, reject, go back."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any

import typer

from driftwise.cli import parse, show
from driftwise.cli.command import Answer, answered, on_study
from driftwise.cli.failure import group
from driftwise.cli.options import Setting
from driftwise.cli.study_tell import login_name
from driftwise.cli.study_words import setting
from driftwise.study import Study
from driftwise.study.rollouts import Rollout

app = group(
    """Decide about the candidate of a live study, one that was made with live=Live(...).

    [bold]Example[/bold]

      driftwise rollout show web

      driftwise rollout approve web workers=12 --why "seen in staging"

      driftwise rollout back web --why "pager"
    """
)

Who = Annotated[str | None, typer.Option(help="Who decides. By default your login name.", show_default=False)]
Why = Annotated[str, typer.Option(help="Why, in your own words. It is kept with the decision.", show_default=False)]
Candidate = Annotated[
    list[str] | None,
    typer.Argument(
        help="The setting that you mean: refused if it is the candidate no longer.",
        show_default=False,
        metavar="[NAME=VALUE]...",
    ),
]


@app.command("show")
@answered
@on_study
def show_rollout(study: Study) -> Answer:
    """Show the setting in force, the candidate with its effect so far, and who decided what.

    The interval of the effect holds at all times at once, however often you look.
    """
    found, in_force = study.rollout, study.in_force
    data = {"in_force": dict(in_force), "rollout": None if found is None else _for_scripts(found)}
    first = ["In force: ", (setting(in_force), "bold")]
    if found is None:
        return data, [first, "There was no candidate yet."]
    rows = [(act.what, str(act.number), act.who, _when(act.when), act.why) for act in found.acts]
    return data, [
        first,
        ["Candidate: ", (setting(found.candidate), "bold"), f", {found.state}: {found.share:.0%} of the asks."],
        f"Its effect on the reward is {found.effect:.4g} so far, {_known(found)}, by {found.readings} readings.",
        show.table("", ("state", "after number", "who", "when (UTC)", "why"), rows, words=(0, 2, 3, 4)),
    ]


@app.command()
@answered
@on_study
def propose(study: Study, params: Setting, why: Why = "", who: Who = None) -> Answer:
    """Propose a candidate yourself. It is tried and guarded as one that the study found."""
    study.propose(parse.params(params, study.space), why, who=login_name(who))
    return _said(study)


@app.command()
@answered
@on_study
def approve(study: Study, candidate: Candidate = None, why: Why = "", who: Who = None) -> Answer:
    """Approve the candidate that is proposed: it goes on trial."""
    study.approve(parse.some_params(candidate, study.space), why, who=login_name(who))
    return _said(study)


@app.command()
@answered
@on_study
def reject(study: Study, candidate: Candidate = None, why: Why = "", who: Who = None) -> Answer:
    """Reject the candidate that is proposed."""
    study.reject(why, who=login_name(who), candidate=parse.some_params(candidate, study.space))
    return _said(study)


@app.command()
@answered
@on_study
def back(study: Study, candidate: Candidate = None, why: Why = "", who: Who = None) -> Answer:
    """Go back to the incumbent, from a candidate on trial or from the one that was accepted last."""
    study.roll_back(why, who=login_name(who), candidate=parse.some_params(candidate, study.space))
    return _said(study)


def _said(study: Study) -> Answer:
    """What a decision led to."""
    found, in_force = study.rollout, study.in_force
    assert found is not None
    data = {"in_force": dict(in_force), "rollout": _for_scripts(found)}
    return data, [[(setting(found.candidate), "bold"), f" is {found.state}; in force is {setting(in_force)}."]]


def _known(found: Rollout) -> str:
    """What the interval says, of which an end may be infinite."""
    low, high = found.interval
    if math.isfinite(low):
        return f"between {low:.4g} and {high:.4g}" if math.isfinite(high) else f"at least {low:.4g}"
    return f"at most {high:.4g}" if math.isfinite(high) else "which may still be anything"


def _when(given: str) -> str:
    return given.replace("T", " ").removesuffix("+00:00")


def _for_scripts(found: Rollout) -> dict[str, Any]:
    ends = [end if math.isfinite(end) else None for end in found.interval]
    return asdict(found) | {"interval": ends}
