"""All the measurements as jobs, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from driftwise.lab.engine import in_processes
from driftwise.lab.theory import coverage, gain, linear, regret
from driftwise.lab.theory.coverage import Checked, Coverage
from driftwise.lab.theory.gain import Growth
from driftwise.lab.theory.linear import LinearPlayed, LinearRow
from driftwise.lab.theory.regret import Cell, Exponent, Played
from driftwise.lab.theory.settings import Settings


class Job(Protocol):
    """A piece of work for one process."""

    def perform(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Measured:
    """Everything that `driftwise lab theory` shows."""

    settings: Settings
    coverage: tuple[Coverage, ...]
    cells: tuple[Cell, ...]
    exponents: tuple[Exponent, ...]
    linear: tuple[LinearRow, ...]
    growth: tuple[Growth, ...]


def plan(settings: Settings) -> list[Job]:
    """All there is to do, the long first so that the last to end is short."""
    return [*regret.jobs(settings), *linear.jobs(settings), *coverage.jobs(settings), *gain.jobs(settings)]


def perform_all(jobs: Sequence[Job], *, workers: int = 1) -> Iterator[Sequence[Any]]:
    """What the jobs find, as it comes. With several workers each is a process with one BLAS thread."""
    return in_processes(_perform, jobs, jobs=workers)


def _perform(job: Job) -> Sequence[Any]:
    return job.perform()


def assemble(settings: Settings, found: Iterable[Sequence[Any]]) -> Measured:
    """The tables, whatever the order in which the pieces came."""
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
    )
