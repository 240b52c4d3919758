"""driftwise study recommend, predict and changes: what a study knows now."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from driftwise.auto.changes import REACH, NoticedChange
from driftwise.cli import options, parse, show, study_words
from driftwise.cli.command import Answer, answered, on_study
from driftwise.cli.failure import PAGED
from driftwise.study import Study
from driftwise.text import as_json as json_text
from driftwise.text import give_or_take

LONGEST = 86_400.0  # seconds between two looks


@answered
@on_study
def recommend(
    study: Study, context: options.InContext = None, fixed: options.Pinned = None, at: options.At = None
) -> Answer:
    """Recommend the best setting now that is known: where the posterior mean less its standard deviation is best.

    The setting obeys the rules, and it probably works and keeps the limits. You are told if this is not sure yet,
    because little is known there or because the world has just changed. With a cycle that auto has found, --at gives
    the best setting at a time to come.
    """
    now, pins = study_words.in_context(study, context), parse.some_params(fixed, study.space)
    best = study.recommend(at=at, context=now, fixed=pins)
    doubts = [] if best.sure else [study_words.doubt(study)]
    return study_words.recommendation_for_scripts(best), [study_words.expected(best), *doubts]


@answered
@on_study
def predict(study: Study, setting: options.Setting, context: options.InContext = None, at: options.At = None) -> Answer:
    """Predict the reward at a setting, how probably the setting works, and each measure that has a limit.

    What is expected is the mean of the function there, without noise, and its standard deviation.

    [bold]Example[/bold]

      driftwise study predict prices price=12
    """
    now = study_words.in_context(study, context)
    found = study.predict(parse.params(setting, study.space), at=at, context=now)
    works = [f"It works with probability {found.works:.2f}."] if found.works < 1 else []
    expected = [(give_or_take(found.mean, found.std), "bold"), " is expected."]
    lines = [expected, *works, *study_words.limits_in_words(study, found)]
    return study_words.prediction_for_scripts(study, found), lines


@on_study
def changes(
    study: Study,
    since: Annotated[
        int | None,
        typer.Option(min=0, help="Only changes noticed after this observation.", metavar="NUMBER"),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for further changes until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=0.1, max=LONGEST, help="Seconds between two looks with --follow.")] = 10.0,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help=f"Exit with {PAGED} if there is a change that still stands.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, one for each change.")] = False,
) -> None:
    """List the abrupt changes of the world, each once, oldest first. This needs the policy auto.

    By default the last 240 observations are looked at. To be paged once for each change, give as --since the largest
    "noticed" of the changes that you know. With --follow each change is printed when it is noticed, and once more if it
    is taken back.

    [bold]Examples[/bold]

      driftwise study changes prices --since 120 --exit-code || mail -s "the world changed" me

      driftwise study changes prices --follow --json
    """
    # the same for all looks, so that each goes on from the one before
    first = max(study.describe().counts.last - REACH, 0) if since is None else since
    with show.waiting("changes"):
        found = study.changes(since=first)
    for each in found:
        _print(each, as_json)
    if not found and not as_json and not follow:
        show.say("No abrupt change was noticed.")
    if follow:
        _follow(study, first, every, found, as_json)
    if exit_code and any(each.taken_back is None for each in found):
        raise typer.Exit(PAGED)


def _follow(study: Study, since: int, every: float, found: list[NoticedChange], as_json: bool) -> None:
    """Prints what is new, until it is interrupted."""
    known = {_event(each) for each in found}
    while True:
        time.sleep(every)
        for each in study.changes(since=since):
            if _event(each) not in known:
                known.add(_event(each))
                _print(each, as_json)


def _event(change: NoticedChange) -> tuple[int, int | None]:
    """Its estimates move on; what is told is that it was noticed, and that it was taken back."""
    return change.noticed, change.taken_back


def _print(change: NoticedChange, as_json: bool) -> None:
    if as_json:
        print(json_text(asdict(change), indent=None), flush=True)
    else:
        show.say(str(change))
