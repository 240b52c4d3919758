"""driftwise theory: the regret bounds of both theorems, as numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer

from driftwise.cli import limits, parse, show
from driftwise.cli.options import Json
from driftwise.gp.kernels import Kernel, Scaled
from driftwise.theory.bounds import Bound, Problem
from driftwise.theory.information import MaximumGain
from driftwise.theory.promises import Promise, cube, promises

HEADER = ("policy", "P_T", "H or w", "γ", "β", "bound", "sharper bound")


def theory(
    kernel: Annotated[
        str, typer.Option(help="The kernel: rbf:LENGTHSCALE, matern:NU:LENGTHSCALE or linear.")
    ] = "rbf:0.2",
    dim: Annotated[int, typer.Option(min=1, help="The dimension d of the settings in [0, 1]^d.")] = 1,
    horizon: Annotated[int, typer.Option(min=1, help="The number of steps T.")] = 500,
    budget: Annotated[float, typer.Option(help="The variation budget P_T = Σ‖f_{t+1} − f_t‖.")] = 10.0,
    B: Annotated[float, typer.Option("--B", help="A bound on the norms ‖f_t‖.")] = 5.0,
    R: Annotated[float, typer.Option("--R", help="The noise is R-sub-Gaussian.")] = 0.1,
    noise: Annotated[float, typer.Option(help="The noise variance λ of the model.")] = 0.01,
    delta: Annotated[float, typer.Option(help="The bounds hold with probability 1 − δ.")] = 0.1,
    points: Annotated[
        int, typer.Option(min=2, help="The number of points of [0, 1]^d over which γ is maximised.")
    ] = 200,
    as_json: Json = False,
) -> None:
    """Compute the regret bounds of both theorems for a problem of yours.

    γ is the maximum information gain, bounded from above on the points given. β is the width of the confidence band in
    standard deviations. H is the restart interval and w the window, by Remark (2) if P_T is known and by Remark (3) if
    it is not. The sharper bound is the same theorem with a tighter drift term. Every policy has R(T) ≤ 2BT, so a larger
    bound is vacuous, and the table marks it.

    [bold]Examples[/bold]

      driftwise theory --kernel matern:2.5:0.3 --dim 2 --horizon 2000 --budget 3

      driftwise theory --noise 1 --budget 0.01 --horizon 10000 --B 50
    """
    limits.within(dim=dim, horizon=horizon, points=points)
    used, largest = _bounded(parse.kernel(kernel), dim)
    gain = MaximumGain(used, noise, tuple(map(tuple, cube(dim, points).tolist())))
    problem = Problem(gain.upper, horizon, budget, B=B, R=R, noise=noise, delta=delta)
    with show.progress() as progress:
        progress.add_task(f"γ of {horizon:,} samples", total=None)
        found = promises(problem, estimate=gain)
    if as_json:
        given = {"kernel": kernel, "dim": dim, "horizon": horizon, "budget": budget}
        given |= {"B": B, "R": R, "noise": noise, "delta": delta, "points": points, "kernel_divided_by": largest}
        gamma = {"lower": gain(horizon), "upper": gain.upper(horizon)}
        show.as_json({"problem": given, "gain": gamma, "promises": [_record(promise) for promise in found]})
        return
    console = show.out()
    if largest > 1:
        console.print(
            f"The kernel is divided by {largest:g}, so that k(x, x) ≤ 1 on [0, 1]^{dim} as the theorems assume."
        )
    console.print(f"The information gain γ_T lies between {gain(horizon):.4g} and {gain.upper(horizon):.4g}.")
    console.print(f"Every policy has R(T) ≤ 2BT = {2 * B * horizon:.4g}.\n")
    console.print(show.table(f"With probability {1 - delta:g}", HEADER, [_row(promise) for promise in found]))
    console.print(verdict(found), style="yellow" if any(p.bound.vacuous for p in found) else "")


def _bounded(kernel: Kernel, dim: int) -> tuple[Kernel, float]:
    """The kernel divided by the largest k(x, x) on [0, 1]^d, if that is above 1: it is in the far corner, x = 1."""
    largest = max(1.0, float(kernel.diagonal(np.ones((1, dim)))[0]))
    return (kernel if largest == 1 else Scaled(kernel, 1 / largest)), largest


def verdict(found: list[Promise]) -> str:
    """Which of the bounds say anything, in a sentence."""
    kinds = {"The bounds of the theorems": [p.bound for p in found], "The sharper bounds": [p.sharp for p in found]}
    return "\n".join(_word(name, bounds) for name, bounds in kinds.items())


def _word(name: str, bounds: list[Bound]) -> str:
    vacuous = sum(bound.vacuous for bound in bounds)
    if vacuous == 0:
        return f"{name} are all below 2BT."
    times = min(bound.total / bound.trivial for bound in bounds)
    if vacuous == len(bounds):
        return f"{name} are vacuous here: the smallest is {times:.3g} times 2BT."
    return f"{name} marked with * are vacuous; the smallest is {times:.2g} times 2BT."


def _row(promise: Promise) -> tuple[str, ...]:
    return (
        promise.policy,
        "known" if promise.budget_known else "unknown",
        str(promise.memory),
        f"{promise.gain:.3g}",
        f"{promise.beta:.3g}",
        _marked(promise.bound),
        _marked(promise.sharp),
    )


def _marked(bound: Bound) -> str:
    return f"{bound.total:.3g}" + ("*" if bound.vacuous else "")


def _record(promise: Promise) -> dict[str, Any]:
    def record(bound: Bound) -> dict[str, Any]:
        return asdict(bound) | {"total": bound.total, "vacuous": bound.vacuous}

    said = {name: value for name, value in asdict(promise).items() if name not in ("bound", "sharp")}
    return said | {"bound": record(promise.bound), "sharp_bound": record(promise.sharp)}
