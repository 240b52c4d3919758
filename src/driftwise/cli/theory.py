"""driftwise theory: what is proved about a problem of yours, as numbers."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from driftwise.cli import files, limits, parse, show
from driftwise.cli.command import Answer, answered
from driftwise.gp.kernels import Kernel, Scaled
from driftwise.plots.files import format_of
from driftwise.plots.files import picture as drawn
from driftwise.theory.bounds import Bound, Problem
from driftwise.theory.domains import AGREE, Domain, domain
from driftwise.theory.lower import Lower, lower_bound, lower_order, two_points
from driftwise.theory.promises import Promise, Tightest, promises, tightest

NOISE = 0.01  # λ of the theorems, if it is not given
HEADER = ("policy", "P_T", "H or w", "γ", "β", "drift", "estimation", "bound", "sharper bound")
BEST_HEADER = ("policy", "H or w", "λ", "drift", "estimation", "bound", "of 2BT")


@answered
def theory(
    kernel: Annotated[
        str, typer.Option(help="The kernel: rbf:LENGTHSCALE, matern:NU:LENGTHSCALE or linear.")
    ] = "rbf:0.2",
    dim: Annotated[int, typer.Option(min=1, help="The dimension d of the settings in [0, 1]^d.")] = 1,
    horizon: Annotated[int, typer.Option(min=1, help="The number of steps T.")] = 500,
    budget: Annotated[float, typer.Option(help="The variation budget P_T = Σ‖f_{t+1} − f_t‖.")] = 10.0,
    B: Annotated[float, typer.Option("--B", help="A bound on the norms ‖f_t‖.")] = 5.0,
    R: Annotated[float, typer.Option("--R", help="The noise is R-sub-Gaussian.")] = 0.1,
    noise: Annotated[
        float | None,
        typer.Option(help="The noise variance λ of the model; 0.01 if not given, and the best bounds choose theirs."),
    ] = None,
    delta: Annotated[float, typer.Option(help="The bounds hold with probability 1 − δ.")] = 0.1,
    points: Annotated[
        int | None,
        typer.Option(min=2, help="The number of points of [0, 1]^d on which γ is computed; else as many as it takes."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            callback=files.at_home,
            help="Draw the bounds over T and over P_T into this .png, .svg or .pdf.",
            metavar="FILE",
        ),
    ] = None,
) -> Answer:
    """Compute what is proved about a problem of yours: upper and lower bounds on the regret.

    B and P_T are in the norm of the kernel as you write it; for the linear kernel that is ‖θ‖. γ is the maximum
    information gain, bounded from above on the points given. β is the width of the confidence band in standard
    deviations. H is the restart interval and w the window, by Remark (2) if P_T is known and by Remark (3) if it is
    not. The sharper bound is the same theorem with a tighter drift term. The second table has the best bounds that we
    can prove, each at its best length, for functions f_1, …, f_T that do not depend on the noise. Every policy has R(T)
    ≤ 2BT, so a larger bound is vacuous, and the table marks it. No policy has less regret than the lower bound in every
    world.

    [bold]Examples[/bold]

      driftwise theory --kernel matern:2.5:0.3 --dim 2 --horizon 2000 --budget 3

      driftwise theory --noise 1 --budget 4 --horizon 10000 --B 1 --picture bounds.svg
    """
    limits.within(dim=dim, horizon=horizon, points=points)
    if picture is not None:
        format_of(files.check(picture))  # before the work is done
    used, largest = _bounded(parse.kernel(kernel), dim)
    norm = math.sqrt(largest)  # of f with the kernel k/c it is √c times what it is with k
    told = {"budget": budget * norm, "B": B * norm, "R": R, "delta": delta}
    known = NOISE if noise is None else noise
    Problem(lambda n: 1.0, horizon, noise=known, **told)  # refuses what is no problem before γ is searched
    with show.waiting(f"γ of {horizon:,} samples"):
        found = domain(used, dim, known, horizon, points=points)
        gain = found.gain
        problem = Problem(gain.upper, horizon, noise=known, **told)
        stated = promises(problem, estimate=gain)
        of_noise = partial(_problem, found, horizon, told)
        best = tightest(of_noise, noise=noise)
        C, G = two_points(used, np.array(gain.points))
        lower, orders = lower_bound(problem, contrast=C, reach=G), lower_order(used, dim, problem)
        if picture is not None:
            smallest = min(best, key=lambda row: row.bound.total).noise
            _draw(of_noise(smallest), picture, contrast=C, reach=G)
    given = {"kernel": kernel, "dim": dim, "horizon": horizon, "budget": budget}
    given |= {"B": B, "R": R, "noise": known, "delta": delta, "points": found.points}
    given |= {"kernel_divided_by": largest, "norms_multiplied_by": norm}
    gamma: dict[str, Any] = {"lower": gain(horizon), "upper": gain.upper(horizon), "points": found.points}
    gamma |= {"of_the_whole_cube": found.exact, "settled": found.settled, "growth": found.growth}
    record = {"problem": given, "gain": gamma, "promises": [_record(promise) for promise in stated]}
    record |= {"best": [_best_record(row) for row in best], "lower": asdict(lower) | {"orders": orders}}
    divided = (
        f"The kernel is divided by {largest:g}, so that k(x, x) ≤ 1 on [0, 1]^{dim} as the theorems assume, and B "
        f"and P_T are multiplied by √{largest:g}: the functions and the regret are those of your kernel."
    )
    return record, [
        *([Text(divided)] if largest > 1 else []),
        Text(_interval(found, dim, horizon)),
        *([] if found.settled else [Text(_unsettled(found), style="yellow")]),
        Text(f"Every policy has R(T) ≤ 2BT = {problem.B * 2 * horizon:.4g}."),
        Text(_below(lower, orders) + "\n"),
        show.table(f"Both theorems, with probability {1 - delta:g}", HEADER, [_row(p) for p in stated]),
        Text(verdict(stated) + "\n", style="yellow" if any(p.bound.vacuous for p in stated) else ""),
        show.table("The best bounds, with width=mixture", BEST_HEADER, [_best_row(row) for row in best]),
        Text(_word("The best bounds", [row.bound for row in best])),
    ]


def _draw(problem: Problem, path: Path, *, contrast: float, reach: float) -> None:
    """The bounds over T and over P_T, in double logarithms, with λ as the problem has it."""
    from driftwise.plots.bounds import BoundsAlong, bounds_figure  # slow to import
    from driftwise.theory.curves import over_budget, over_horizon

    told = {"contrast": contrast, "reach": reach}
    along = [
        BoundsAlong("T", f"P_T = {problem.budget:.3g}", over_horizon(problem, **told), {}),
        BoundsAlong("P_T", f"T = {problem.horizon:,}", over_budget(problem, **told), {}),
    ]
    files.write(path, drawn(bounds_figure(along), path))


def _problem(found: Domain, horizon: int, told: dict[str, float], noise: float) -> Problem:
    """The problem with this λ."""
    return Problem(found.with_noise(noise).upper, horizon, noise=noise, **told)


def _bounded(kernel: Kernel, dim: int) -> tuple[Kernel, float]:
    """The kernel divided by the largest k(x, x) on [0, 1]^d, if that is above 1: it is in the far corner, x = 1."""
    largest = max(1.0, float(kernel.diagonal(np.ones((1, dim)))[0]))
    return (kernel if largest == 1 else Scaled(kernel, 1 / largest)), largest


def _interval(found: Domain, dim: int, horizon: int) -> str:
    """What is known of γ_T, and of which points."""
    low, high, cube = found.gain(horizon), found.gain.upper(horizon), "[0, 1]" + (f"^{dim}" if dim > 1 else "")
    if found.exact:
        return f"The information gain γ_T on {cube} lies between {low:.4g} and {high:.4g}."
    return (
        f"The information gain γ_T on these {found.points:,} points of {cube} lies between {low:.4g} and {high:.4g}. "
        f"On all of {cube} it is at least the former."
    )


def _unsettled(found: Domain) -> str:
    """That more points may matter."""
    if found.growth is None:
        return (
            "It was computed on as many points as you gave. Without --points their number is doubled until γ_T settles."
        )
    return (
        f"It changed by {found.growth:.0%} when the points were last doubled, and not by {AGREE:.0%} or less: on the "
        "whole cube γ_T may be much larger, and so may the bounds."
    )


def _below(lower: Lower, orders: dict[str, float]) -> str:
    names = {"rkhs": "norm of the RKHS", "sup": "sup-norm"}
    said = "; ".join(f"{value:.3g} for P_T in the {names[norm]}" for norm, value in orders.items())
    known = f" Lower bounds of the literature, without their constants: {said}." if said else ""
    return f"In some world every policy has an expected regret of {lower.total:.3g} at least.{known}"


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
        f"{promise.bound.drift:.3g}",
        f"{promise.bound.estimation:.3g}",
        _marked(promise.bound),
        _marked(promise.sharp),
    )


def _best_row(row: Tightest) -> tuple[str, ...]:
    bound = row.bound
    parts = (f"{bound.drift:.3g}", f"{bound.estimation:.3g}", _marked(bound), f"{bound.total / bound.trivial:.2f}")
    return (row.policy, str(row.memory), f"{row.noise:.3g}", *parts)


def _marked(bound: Bound) -> str:
    return f"{bound.total:.3g}" + ("*" if bound.vacuous else "")


def _bound_record(bound: Bound) -> dict[str, Any]:
    return asdict(bound) | {"total": bound.total, "vacuous": bound.vacuous}


def _record(promise: Promise) -> dict[str, Any]:
    said = {name: value for name, value in asdict(promise).items() if name not in ("bound", "sharp")}
    return said | {"bound": _bound_record(promise.bound), "sharp_bound": _bound_record(promise.sharp)}


def _best_record(row: Tightest) -> dict[str, Any]:
    return {"policy": row.policy, "memory": row.memory, "noise": row.noise, "bound": _bound_record(row.bound)}
