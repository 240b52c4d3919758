"""The page of a fleet: how its figures are distributed over keys, and which keys stand out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.fleet.overview import ALARMS, EXPECTED, HEADER, REGRET, SPREAD, TOLD, Overview
from driftwise.plots.distributions import counts, distribution
from driftwise.records import Array
from driftwise.report.page import page
from driftwise.report.parts import Data, Part, Picture, Table, as_html

WORST, OFTEN = 15, 8  # rows
CAPTIONS = {
    TOLD: "How many rewards the keys have.",
    SPREAD: "The running mean of squared surprises. It is 1 (dashed) where rewards are as the belief expects them; "
    "larger where the world moves or the noise is greater than assumed, smaller where the noise is less.",
    ALARMS: "How often the rewards of a key were so surprising that its world must have changed.",
    EXPECTED: "What the keys expect to earn with the setting that is advised now.",
    REGRET: "What the keys lost, as it was given.",
}


def fleet_page(view: Overview, *, version: str) -> str:
    """The whole file."""
    moved = view.movement
    asked, told = (int(each.sum(dtype=int)) for each in (moved.asked, moved.told))
    lead = (
        f"{len(moved.keys):,} keys were asked {asked:,} times and told {told:,} rewards. "
        f"{int((moved.alarms > 0).sum()):,} keys had an alarm."
    )
    return page(
        f"The fleet {view.name}",
        lead,
        *(as_html(part, folder="") for part in _parts(view)),
        footer=f"Made by driftwise {version}: {view.description}.",
    )


def _parts(view: Overview) -> Iterator[Part]:
    yield Part("Over all keys", tables=[Table("", HEADER, view.quantiles())])
    worst = "with the largest regret" if view.regret is not None else "with the most alarms, and then the widest spread"
    yield Part("Keys that stand out", [f"The keys {worst}."], tables=[Table("", view.worst_header, view.worst(WORST))])
    if view.figures:
        yield Part(
            "Distributions", ["The outermost bars contain what lies beyond them."], pictures=list(_pictures(view))
        )
    if view.advised:
        yield _advice(view)


def _pictures(view: Overview) -> Iterator[Picture]:
    for name, values in view.figures.items():
        yield _picture(name, values, CAPTIONS[name], reference=1.0 if name == SPREAD else None)


def _advice(view: Overview) -> Part:
    """Which settings are advised, and how often."""
    often = Counter(tuple(params.items()) for params in view.advised).most_common(OFTEN)
    total = len(view.advised)
    rows = [
        (", ".join(f"{n} = {_short(v)}" for n, v in setting), f"{times:,}", f"{times / total:.1%}")
        for setting, times in often
    ]
    numeric = [name for name, value in view.advised[0].items() if isinstance(value, int | float)]
    return Part(
        "What is advised",
        [f"The best setting of {total:,} keys, as far as they know it, taken at equal distances from the list of all."],
        pictures=[
            _picture(name, np.array([float(params[name]) for params in view.advised]), f"The advised values of {name}.")
            for name in numeric
        ],
        tables=[Table("The settings that are advised most often", ("setting", "keys", "share"), rows)],
    )


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _picture(name: str, values: Array, caption: str, reference: float | None = None) -> Picture:
    found, edges = counts(values)
    draw = partial(distribution, values, label=name, reference=reference)
    rows = list(zip(edges[:-1].tolist(), edges[1:].tolist(), found.tolist(), strict=True))
    return Picture(name, lambda theme: draw(theme=theme), caption, Data(name, ("from", "to", "keys"), rows))
