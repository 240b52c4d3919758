"""driftwise theory: what the theorems promise, as numbers."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from driftwise.cli import limits, parse, show
from driftwise.gp.kernels import Kernel, Scaled
from driftwise.theory.bounds import Bound, Problem
from driftwise.theory.information import MaximumGain
from driftwise.theory.promises import Promise, cube, promises

HEADER = ("policy", "P_T", "H or w", "γ", "β", "bound", "sharper bound")


def theory(
    kernel: Annotated[str, typer.Option(help="rbf:LENGTHSCALE, matern:NU:LENGTHSCALE or linear.")] = "rbf:0.2",
    dim: Annotated[int, typer.Option(min=1, help="Dimension d of the settings, in [0, 1]^d.")] = 1,
    horizon: Annotated[int, typer.Option(min=1, help="T, the number of steps.")] = 500,
    budget: Annotated[float, typer.Option(help="P_T = Σ‖f_{t+1} − f_t‖, how much the world moves in all.")] = 10.0,
    B: Annotated[float, typer.Option("--B", help="The functions' largest norm ‖f_t‖.")] = 5.0,
    R: Annotated[float, typer.Option("--R", help="The noise is R-sub-Gaussian.")] = 0.1,
    noise: Annotated[float, typer.Option(help="λ, the noise variance of the model.")] = 0.01,
    delta: Annotated[float, typer.Option(help="δ: the bounds hold with probability 1 − δ.")] = 0.1,
    points: Annotated[int, typer.Option(min=2, help="Points of [0, 1]^d on which γ is maximised.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """What both theorems promise for a problem of yours.

    γ is the most that can be learned (certified from above on the points given), β how many standard deviations make
    the confidence band, H and w how long to remember by Remark (2), which knows P_T, and Remark (3), which does not.
    The sharper bound is the same theorem with our tighter drift term. Any policy at all has R(T) ≤ 2BT: a bound above
    that is vacuous, and the table says so.

    [bold]Examples[/bold]

      driftwise theory --kernel matern:2.5:0.3 --dim 2 --horizon 2000 --budget 3

      driftwise theory --noise 1 --budget 0.01 --horizon 10000 --B 50
    """
    limits.within(dim=dim, horizon=horizon, points=points)
    largest = _largest(parse.kernel(kernel), dim)
    gain = MaximumGain(_divided(parse.kernel(kernel), largest), noise, tuple(map(tuple, cube(dim, points).tolist())))
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
            f"the kernel is divided by {largest:g}, so that k(x, x) ≤ 1 on [0, 1]^{dim} as the theorems assume"
        )
    console.print(f"γ_T of {horizon} samples lies between {gain(horizon):.4g} and {gain.upper(horizon):.4g}")
    console.print(f"R(T) ≤ 2BT = {2 * B * horizon:.4g} whatever is done\n")
    console.print(show.table(f"With probability {1 - delta:g}", HEADER, [_row(promise) for promise in found]))
    console.print(verdict(found), style="yellow" if any(p.bound.vacuous for p in found) else "")


def _largest(kernel: Kernel, dim: int) -> float:
    """The largest k(x, x) on [0, 1]^d, at least 1: kernels from the command line have it in the far corner."""
    return max(1.0, float(kernel.diagonal(np.ones((1, dim)))[0]))


def _divided(kernel: Kernel, largest: float) -> Kernel:
    return kernel if largest == 1 else Scaled(kernel, 1 / largest)


def verdict(found: list[Promise]) -> str:
    """Which of the bounds say anything, in a sentence."""
    kinds = {"the theorems' bounds": [p.bound for p in found], "the sharper bounds": [p.sharp for p in found]}
    return "\n".join(_word(name, bounds) for name, bounds in kinds.items())


def _word(name: str, bounds: list[Bound]) -> str:
    vacuous = sum(bound.vacuous for bound in bounds)
    if vacuous == 0:
        return f"{name} all promise less than 2BT, which holds whatever is done"
    times = min(bound.total / bound.trivial for bound in bounds)
    if vacuous == len(bounds):
        return f"{name} are vacuous here: the least is {times:.3g} times 2BT, which holds whatever is done"
    return f"{name} are vacuous where marked with *; the least is {times:.2g} of 2BT"


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
        parts = {"drift": bound.drift, "estimation": bound.estimation, "total": bound.total}
        return parts | {"trivial": bound.trivial, "vacuous": bound.vacuous}

    return {
        "policy": promise.policy,
        "budget_known": promise.budget_known,
        "memory": promise.memory,
        "gain": promise.gain,
        "beta": promise.beta,
        "bound": record(promise.bound),
        "sharp_bound": record(promise.sharp),
    }
