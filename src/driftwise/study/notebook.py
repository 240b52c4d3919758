"""A study in a notebook: what to run now, how the log stands, and a picture of the last rewards."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from driftwise.errors import InvalidInput
from driftwise.text import give_or_take, visible

if TYPE_CHECKING:
    from driftwise.study.readings import Reading
    from driftwise.study.study import Study

SHOWN = 200  # rewards in the picture
WIDTH, HEIGHT, EDGE = 420, 110, 6


def page(study: Study) -> str:
    """A small table and a picture as HTML. Names and values of the user are text, never markup."""
    summary = study.describe()
    counts, rows = summary.counts, study.latest(SHOWN)
    facts = [
        ("study", study.name),
        ("policy", f"{study.policy.name}, {summary.description.direction}"),
        ("rewards", f"{counts.rewards}, {summary.awaited} awaited, {counts.failed} failed"),
        ("recommended", _recommended(study)),
    ]
    cells = "".join(f"<tr><th>{name}</th><td>{escape(visible(str(value)))}</td></tr>" for name, value in facts)
    return f"<div><table>{cells}</table>{picture(rows)}</div>"


def _recommended(study: Study) -> str:
    if study.description.context:
        return "depends on the context"
    try:
        best = study.recommend()
    except InvalidInput as error:  # no rewards yet, or a policy that believes nothing
        return str(error)
    setting = ", ".join(f"{name} = {value}" for name, value in best.params.items())
    return f"{setting}: {give_or_take(best.mean, best.std)}{'' if best.sure else ' (not sure)'}"


def picture(rows: Sequence[Reading]) -> str:
    """The rewards over time as dots, and failures as crosses at the bottom, in SVG."""
    rewards = [row.y for row in rows if not row.failed]
    if not rewards:
        return ""
    low, high = min(rewards), max(rewards)
    first, last = rows[0].number, rows[-1].number
    parts = []
    for row in rows:
        x = _scaled(row.number, first, last, WIDTH)
        if row.failed:
            parts.append(f'<path d="M{x - 3:.1f} {HEIGHT - EDGE - 3}l6 6m0-6l-6 6" stroke="#c0392b" fill="none"/>')
        else:
            y = HEIGHT - _scaled(row.y, low, high, HEIGHT)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="#2b6cb0"/>')
    label = f"Rewards from {low:.4g} to {high:.4g}, observations {first} to {last}"
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}"><title>{escape(label)}</title>{"".join(parts)}</svg>'


def _scaled(value: float, low: float, high: float, size: int) -> float:
    """Where a value is on an axis of this size. Halves keep the difference of two huge numbers finite."""
    part = 0.5 if high == low else (value / 2 - low / 2) / (high / 2 - low / 2)
    return EDGE + part * (size - 2 * EDGE)
