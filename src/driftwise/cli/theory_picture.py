"""The bounds of `driftwise theory` over T and over P_T, as a picture."""

from __future__ import annotations

from pathlib import Path

from driftwise.cli import files
from driftwise.plots.bounds import BoundsAlong, bounds_figure
from driftwise.plots.files import picture
from driftwise.theory.bounds import Problem
from driftwise.theory.curves import over_budget, over_horizon


def save_bounds(problem: Problem, path: Path, *, contrast: float, reach: float) -> None:
    """In double logarithms, with λ as the problem has it."""
    told = {"contrast": contrast, "reach": reach}
    along = [
        BoundsAlong("T", f"P_T = {problem.budget:.3g}", over_horizon(problem, **told), {}),
        BoundsAlong("P_T", f"T = {problem.horizon:,}", over_budget(problem, **told), {}),
    ]
    files.write(path, picture(bounds_figure(along), path))
