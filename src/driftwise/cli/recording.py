"""The options of a recording, which `compare` and `lab run` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from driftwise.errors import InvalidInput

Rewards = Annotated[
    Path | None,
    typer.Option(help="A recording of yours: a CSV with a row for each time and a column for each candidate."),
]
Points = Annotated[
    Path | None, typer.Option(help="The candidates' coordinates: a CSV with a row for each. Needs --rewards.")
]
Minimize = Annotated[bool, typer.Option("--minimize", help="The recording holds costs: the least is best.")]
Time = Annotated[
    str | None,
    typer.Option(help="The heading of the recording's column of times: numbers, or dates as 2026-11-16T12:00."),
]
Gaps = Annotated[
    str,
    typer.Option(
        help="Empty cells of the recording: refuse them, take the previous number of the column, or drop the row."
    ),
]


def options(
    rewards: Path | None, points: Path | None, *, minimize: bool, time: str | None, gaps: str
) -> dict[str, Any]:
    """What was asked for beyond the defaults; refused without a recording to apply it to."""
    usual = {"minimize": False, "time": None, "gaps": "refuse"}
    asked = {"minimize": minimize, "time": time, "gaps": gaps}
    given = {name: value for name, value in asked.items() if value != usual[name]}
    if rewards is None and points is not None:
        raise InvalidInput(
            "--points gives the coordinates of a recording's candidates; give the recording as --rewards"
        )
    if rewards is None and given:
        raise InvalidInput(f"--{next(iter(given))} is an option of a recording; give the recording as --rewards")
    return given
