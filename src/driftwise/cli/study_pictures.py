"""What a study believes, as a picture in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import STILL
from driftwise.auto.drift_history import Moment
from driftwise.cli import files, show
from driftwise.cli.over_time import standing
from driftwise.plots import LIGHT, Theme, belief_now, belief_of_choices, drift_over_time, picture
from driftwise.study import Study
from driftwise.study.slices import Slice
from driftwise.text import visible

ROWS = 40  # choices that a picture has room for

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_belief(shown: Slice, study: Study, path: Path) -> None:
    """The posterior along one parameter."""
    _save(figure_of(shown, f"{study.name}: what it believes now"), study, path)


def figure_of(shown: Slice, title: str) -> Figure:
    return _curve(shown, title) if shown.numeric else _choices(shown, title)


def _curve(shown: Slice, title: str) -> Figure:
    return belief_now(
        np.array(shown.values),
        shown.mean,
        shown.std,
        observed=(np.array([v for v, _ in shown.seen]), np.array([r for _, r in shown.seen])),
        failed=np.array(shown.failed),
        recommended=shown.best,
        title=title,
        label=shown.name,
        axis=shown.axis,
        log=shown.log,
        steps=shown.whole,
    )


def _choices(shown: Slice, title: str) -> Figure:
    order = shown.ranked()[:ROWS]
    places = {shown.values[i]: row for row, i in enumerate(order)}
    seen = [(places[value], reward) for value, reward in shown.seen if value in places]
    some = f"the best {ROWS} of " if len(order) < len(shown.values) else ""
    return belief_of_choices(
        [shown.written(value) for value in places],
        shown.mean[order],
        shown.std[order],
        observed=(np.array([row for row, _ in seen]), np.array([reward for _, reward in seen])),
        failed=np.array([places[value] for value in shown.failed if value in places]),
        best=places[shown.best],
        title=f"{title}, by {some}{shown.name}",
        axis=shown.axis,
    )


def save_over_time(moments: Sequence[Moment], changes: Sequence[NoticedChange], study: Study, path: Path) -> None:
    """How the world moved."""
    _save(moved(moments, changes, study.name), study, path)


def moved(moments: Sequence[Moment], changes: Sequence[NoticedChange], name: str, theme: Theme = LIGHT) -> Figure:
    """How the world of the study `name` moved."""
    return drift_over_time(
        np.array([m.number for m in moments]),
        rate=np.array([m.drift.rate for m in moments]),
        in_use=np.array([m.drift.in_use for m in moments]),
        kept=np.array([m.drift.seen for m in moments]),
        changes=[each.number for each in standing(changes)],
        floor=STILL,
        title=f"{name}: how the world moved",
        theme=theme,
    )


def _save(figure: Figure, study: Study, path: Path) -> None:
    files.write(path, picture(figure, path), inputs=[study.path])
    show.say(f"The picture is in {visible(str(path))}.")
