"""driftwise study show: where a study stands and what it believes, in the terminal, as a picture or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from driftwise.auto.changes import NoticedChange
from driftwise.auto.drift_history import FEW, Moment
from driftwise.cli import files, show, study_words
from driftwise.cli.chart import chart, legend
from driftwise.cli.command import on_study
from driftwise.cli.options import Json
from driftwise.cli.over_time import over_time
from driftwise.cli.study_words import in_context, setting
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.records import Params, Recommendation
from driftwise.study import Study
from driftwise.study.slices import Slice, newest_context, slices
from driftwise.text import counted, did_you_mean


@on_study
def show_study(
    study: Study,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", "--png", help="Draw into this file instead: .png, .svg or .pdf.", metavar="FILE"),
    ] = None,
    parameter: Annotated[
        str | None,
        typer.Option(help="Show only this parameter. By default the terminal shows all, and a picture the first."),
    ] = None,
    only_time: Annotated[
        bool, typer.Option("--over-time", help="Show only how the world moved. This needs the policy auto.")
    ] = False,
    context: Annotated[
        list[str] | None,
        typer.Option(help="Show it in this context; give all of its parameters.", metavar="NAME=VALUE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where a study stands and what it believes.

    For each parameter, a chart shows the mean of the posterior and two standard deviations around it, while the other
    parameters are at the best setting, and • and × are what was observed and what failed. A study with a context is
    shown in that of the newest observation unless you give another. With the policy auto it also shows how the world
    moved: the rate of drift, the observations in use, and the abrupt changes.

    [bold]Examples[/bold]

      driftwise study show prices

      driftwise study show prices --parameter price --picture belief.svg
    """
    if picture is not None:
        from driftwise.plots.files import format_of  # loads the lab, which no other command of a study needs

        files.check(picture, inputs=[study.path])
        format_of(picture)
    inside = newest_context(study)
    if context:
        inside = in_context(study, context)
        study.description.pins(inside, None)  # refused here if it is not one of the study's
    if as_json:
        show.as_json(study_words.for_scripts(study, inside))
    elif only_time:
        _show_over_time(study, picture)
    elif picture is not None:
        from driftwise.cli.study_pictures import save_belief

        save_belief(_only(parameter, slices(study, inside)[1])[0], study, picture)
    else:
        _show_all(study, parameter, inside)


def _show_all(study: Study, parameter: str | None, context: Params | None) -> None:
    study_words.head(study.describe())
    for line in (*study_words.definition(study), *study_words.failures(study), *study_words.awaited(study)):
        show.paragraph(line)
    if not study.describe().counts.rewards:
        show.paragraph("It has no rewards yet; ask, and tell at least one.")
        return
    try:
        best, drawn = slices(study, context)
    except InvalidInput as nothing:  # a policy without a posterior
        show.paragraph(str(nothing))
        return
    drawn = _only(parameter, drawn)
    _show_best(study, best)
    moments, changes = _moments(study)
    if moments:
        show.paragraph(*study_words.drift_in_words(moments[-1].drift, changes))
    else:
        show.paragraph("")
    for each in drawn:
        show.out().print(chart(each, show.width()))
    show.paragraph(("\n".join(dict.fromkeys(map(legend, drawn))) + "\n", "dim"))
    if moments:
        show.out().print(over_time(moments, changes, show.width()))


def _show_best(study: Study, best: Recommendation) -> None:
    if best.context is not None:
        newest = "newest " if best.context == newest_context(study) else ""
        show.paragraph(f"In the {newest}context, {setting(best.context)}:")
    show.paragraph("Best now: ", *study_words.expected(best))
    if not best.sure:
        show.paragraph(study_words.doubt(study))
    for line in study_words.limits_in_words(study, study.predict(best.params, context=best.context)):
        show.paragraph(line)


def _moments(study: Study) -> tuple[Sequence[Moment], Sequence[NoticedChange]]:
    """What was said of the drift over time, and the changes; nothing if the policy does not say, or cannot yet."""
    if not hasattr(study.policy, "diagnose"):
        return [], []
    with show.waiting("how the world moved"):
        moments = study.drift_history()
        if moments[-1].drift.seen >= FEW:
            return moments, study_words.changes_in(study, moments)
    told = counted(moments[-1].drift.seen, "reward")
    show.paragraph(f"How the world moves is estimated from {FEW} rewards on; the study has {told}.")
    return [], []


def _show_over_time(study: Study, picture: Path | None) -> None:
    moments = study.drift_history()
    if len(moments) < 2:
        told = counted(len(moments), "reward")
        raise InvalidInput(f"--over-time needs at least 2 rewards, and study {study.name!r} has {told}; tell more")
    changes = study_words.changes_in(study, moments)
    if picture is not None:
        from driftwise.cli.study_pictures import save_over_time

        save_over_time(moments, changes, study, picture)
        return
    sentences = [str(each) for each in changes] or ["No abrupt change was noticed."]
    show.paragraph("\n".join(sentences) + "\n")
    show.out().print(over_time(moments, changes, show.width()))


def _only(parameter: str | None, drawn: list[Slice]) -> list[Slice]:
    found = [each for each in drawn if parameter in (None, each.name)]
    if not found:
        names = [each.name for each in drawn]
        question = did_you_mean(parameter, names)
        raise NotFoundError(f"no parameter is called {parameter!r:.80}; {question}the study has {', '.join(names)}")
    return found
