"""What the measurements show, in sentences: which bounds are vacuous, and which exponents are far from the theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from driftwise.lab.theory.coverage import BANDS, Coverage
from driftwise.lab.theory.gain import Growth
from driftwise.lab.theory.held import Held
from driftwise.lab.theory.linear import LinearRow
from driftwise.lab.theory.regret import FAR, Cell, Exponent, share_vacuous


def of_coverage(rows: Sequence[Coverage], delta: float) -> list[str]:
    """Which bands hold, how tight they are, and which are uninformative."""
    said = []
    for band in BANDS:
        mine = [row for row in rows if row.band == band]
        worst = max(mine, key=lambda row: row.failures / row.runs)
        if worst.failures > delta * worst.runs:
            said.append(
                f"**{band}** does not hold: it is left in {worst.failures} of {worst.runs} runs "
                f"({worst.policy}, {worst.world} world). δ = {delta:g} allows {delta * worst.runs:.0f}."
            )
            continue
        tight = max(row.tightest for row in mine)
        said.append(
            f"**{band}** holds everywhere: it is left in {worst.failures or 'none'} of {worst.runs:,} runs. "
            f"δ = {delta:g} allows {delta * worst.runs:.0f}. The largest error was {tight:.2f} of the band."
        )
        silent = [row for row in mine if row.informative < 0.05]
        said += [
            f"**{band}** is uninformative in the {row.world} world with {row.policy}: at "
            f"{1 - row.informative:.0%} of all steps and points it is wider than |f| ≤ B."
            for row in silent
        ]
    return said


def of_held(rows: Sequence[Held], runs: int) -> list[str]:
    """How many runs were below their bound, and where the bound could have failed."""
    telling = [row for row in rows if not row.bound.vacuous]
    below, total = sum(row.below for row in rows), runs * len(rows)
    said = [
        f"The regret was below the bound in {below:,} of {total:,} runs. In {len(telling)} of {len(rows)} cells the "
        "bound is below 2BT, so that it could have been above."
    ]
    if telling:
        close = max(telling, key=lambda row: row.largest / row.bound.total)
        said.append(
            f"In these the largest regret was {close.largest / close.bound.total:.0%} of the bound "
            f"({close.job.bound}, P_T = {close.job.budget:g}, {close.job.world} world)."
        )
    return said


def of_bounds(cells: Sequence[Cell]) -> list[str]:
    """Vacuous or not, and how far above the regret."""
    told = [c for c in cells if not math.isnan(c.realised)]
    if not told:
        return []
    said = []
    for sharp, name in ((False, "Theorems 1 and 2"), (True, "the sharper drift term")):
        vacuous, n = share_vacuous(cells, sharp=sharp)
        least = min((c.sharp if sharp else c.bound).total / c.bound.trivial for c in told)
        said.append(
            f"A priori, the bound with {name} is vacuous (no better than 2BT, which holds whatever is done) in "
            f"{vacuous} of {n} cells. The least is {least:.3g} times 2BT."
        )
    for name, values in (
        ("the realised bound", [c.realised for c in told]),
        ("the realised bound with the sharper drift term", [c.realised_sharp for c in told]),
    ):
        ratios = np.array(values) / [c.bound.trivial for c in told]
        over = np.array(values) / [c.regret for c in told]
        said.append(
            f"Afterwards, {name} is above 2BT in {int((ratios >= 1).sum())} of {len(told)} cells. It is "
            f"{over.min():.3g} to {over.max():.3g} times the regret."
        )
    runs, covered = sum(c.runs for c in told), sum(c.covered for c in told)
    said.append(f"The regret was within the realised bound in {covered} of {runs} runs.")
    return said


def of_exponents(exponents: Sequence[Exponent]) -> list[str]:
    """Range by setting, and the far ones."""
    said = []
    for setting in dict.fromkeys(e.setting for e in exponents):
        for of, power in (("T", "3/4"), ("P_T", "1/4")):
            mine = [e for e in exponents if (e.setting, e.of) == (setting, of)]
            if not mine:
                continue
            far = [e for e in mine if e.far]
            low, high = min(e.slope for e in mine), max(e.slope for e in mine)
            verdict = (
                f"{len(far)} of {len(mine)} are far from this (by more than {FAR:g}, and outside the interval)."
                if far
                else f"None is far from this (by more than {FAR:g}, and outside the interval)."
            )
            said.append(f"{setting.label}: the exponent of {of} is {low:.2f} to {high:.2f}, beside {power}. {verdict}")
    return said


def of_linear(rows: Sequence[LinearRow]) -> list[str]:
    """Twins, exponents and the bound."""
    said = []
    for name in dict.fromkeys(row.policy for row in rows):
        mine = [row for row in rows if row.policy == name]
        first = mine[0]
        said.append(
            f"**{name}** with a linear kernel makes the choices of **{first.twin}** in {first.same:,} of "
            f"{first.steps:,} steps" + (", every one." if first.same == first.steps else ".")
        )
        said += [
            f"{name}: the exponent of {row.of} is {row.slope:.2f} ({row.low:.2f} to {row.high:.2f}), far from "
            f"{row.theorem:g}."
            for row in mine
            if abs(row.slope - row.theorem) > FAR and not row.low <= row.theorem <= row.high
        ]
        word = "vacuous" if first.bound >= first.trivial else "not vacuous"
        sharp = "vacuous" if first.sharp >= first.trivial else "not vacuous"
        said.append(
            f"{name}, in the middle of the grid: R(T) = {first.regret:.0f} and 2BT = {first.trivial:.0f}. The a-priori "
            f"bound is {word} ({first.bound:.0f}), and the sharper one is {sharp} ({first.sharp:.0f})."
        )
    return said


def of_growth(curves: Sequence[Growth]) -> list[str]:
    """Which orders grow as γ does, in the last decade of n."""
    kinds = {"agree": 0, "faster": 0, "slower": 0}
    for g in curves:
        for slope in g.order_slopes:
            kinds["agree" if abs(g.slope - slope) <= 0.05 else "faster" if slope > g.slope else "slower"] += 1
    words = {
        "agree": "grow as γ does, within 0.05",
        "faster": "grow faster than γ: they are right as upper bounds, and too large as estimates",
        "slower": "grow more slowly than γ: their asymptotic regime is not reached yet",
    }
    n = sum(kinds.values())
    return [f"In the last decade of n, {count} of {n} orders {words[kind]}." for kind, count in kinds.items() if count]
