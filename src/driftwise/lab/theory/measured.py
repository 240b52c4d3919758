"""All the measurements as jobs, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from driftwise.lab.engine import Job
from driftwise.lab.theory import coverage, gain, held, linear, regret
from driftwise.lab.theory.coverage import Checked, Coverage
from driftwise.lab.theory.gain import Growth
from driftwise.lab.theory.held import DrawnCurve, DrawnPoint, Held
from driftwise.lab.theory.linear import LinearPlayed, LinearRow
from driftwise.lab.theory.regret import Cell, Exponent, Played
from driftwise.lab.theory.settings import Settings


@dataclass(frozen=True)
class Measured:
    """Everything that `driftwise lab theory` shows."""

    settings: Settings
    coverage: tuple[Coverage, ...]
    cells: tuple[Cell, ...]
    exponents: tuple[Exponent, ...]
    linear: tuple[LinearRow, ...]
    growth: tuple[Growth, ...]
    held: tuple[Held, ...]
    drawn: tuple[DrawnCurve, ...]


def plan(settings: Settings) -> list[Job]:
    """All there is to do, the long first so that the last to end is short."""
    return [
        *held.jobs(settings),
        *regret.jobs(settings),
        *linear.jobs(settings),
        *coverage.jobs(settings),
        *gain.jobs(settings),
    ]


def assemble(settings: Settings, found: Iterable[Sequence[Any]]) -> Measured:
    """The tables, from what the jobs of `plan` found, in their order."""
    pieces = [piece for part in found for piece in part]
    played = sorted((p for p in pieces if isinstance(p, Played)), key=lambda p: p.job.seed)
    order = [case.name for case in gain.CASES]
    return Measured(
        settings,
        coverage=tuple(coverage.rows([p for p in pieces if isinstance(p, Checked)])),
        cells=tuple(regret.cells(played)),
        exponents=tuple(regret.exponents(played)),
        linear=tuple(linear.rows([p for p in pieces if isinstance(p, LinearPlayed)], settings)),
        growth=tuple(sorted((p for p in pieces if isinstance(p, Growth)), key=lambda g: order.index(g.case))),
        held=tuple(held.rows(p for p in pieces if isinstance(p, Held))),
        drawn=tuple(held.curves(p for p in pieces if isinstance(p, DrawnPoint))),
    )
