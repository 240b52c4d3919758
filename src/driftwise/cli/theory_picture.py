"""The bounds of `driftwise theory` over T and over P_T, as a picture."""

from __future__ import annotations

from pathlib import Path

from driftwise.cli import files
from driftwise.plots.files import picture
from driftwise.plots.growth import Curve, GrowthPanel, growth
from driftwise.theory.bounds import Problem
from driftwise.theory.curves import BoundCurves, over_budget, over_horizon


def save_bounds(problem: Problem, path: Path, *, contrast: float, reach: float) -> None:
    """Two panels in double logarithms: over T and over P_T."""
    told = {"contrast": contrast, "reach": reach}
    panels = [
        _panel(f"over T, P_T = {problem.budget:.3g}", over_horizon(problem, **told)),
        _panel(f"over P_T, T = {problem.horizon:,}", over_budget(problem, **told)),
    ]
    figure = growth(panels, x="T, or P_T", y="regret", columns=2, panel_size=(3.6, 3.2))
    files.write(path, picture(figure, path))


def _panel(title: str, curves: BoundCurves) -> GrowthPanel:
    lines = [
        Curve("2BT", curves.trivial, 5),
        Curve("Theorem 1", curves.theorem, 1, measured=True),
        Curve("sharper drift term", curves.sharp, 2, measured=True),
        Curve("best, R-GP-UCB", curves.tight, 0, measured=True),
        Curve("… its drift", curves.drift, 3),
        Curve("… its estimation", curves.estimation, 0),
        Curve("drift-aware", curves.drift_aware, 4, measured=True),
        Curve("lower bound", curves.lower, 5, measured=True),
    ]
    return GrowthPanel(title, curves.x, [line for line in lines if (line.y > 0).all()])
