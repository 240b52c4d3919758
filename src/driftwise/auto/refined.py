"""The best expert of a bank with a length scale of its own for each parameter, or with a noise beyond the bank's.

A choice has a coordinate for each value, and one length scale for all of them: if only one of its values differed from
the others in a model, these would be the same to it, and it would never tell them apart.

There are two ways to such length scales. One begins with all parameters alike, and changes one length scale at a time.
That is enough where most of them matter. Where few do, it would have to do so for each of the others; so the second way
begins with parameters none of which matters, and adds those that do. It has more variants to choose from.
"""

from __future__ import annotations

from dataclasses import replace

from driftwise.auto.bank import Bank, Part
from driftwise.auto.experts import Expert, Stretch
from driftwise.auto.pieces import Pieces
from driftwise.auto.pool import AHEAD, CLEARLY, Pool, Scored, best_of, better

ENTERING = (1.0, 0.5)  # factors of the length scale of a parameter that begins to matter
STRETCHES, LIMITS = (0.5, 2.0), (0.25, 8.0)  # factors of one length scale at a time, and bounds of their product
SEVERAL = 5  # parameters from which on most of them may not matter
QUIETER, NOISIER, BEYOND = 0.1, 3.0, (1e-7, 3.0)  # factors of the noise beyond the bank's, and its bounds
PASSES, ADDED = 8, 6  # steps of one at a time, and parameters that are added, at most


def refined(pool: Pool, best: Scored, bank: Bank) -> Pieces[Scored]:
    """`best`, or what predicts clearly better: with length scales of their own, or another noise."""
    found = yield from _step_by_step(pool, best, bank)
    if len(bank.parts) < SEVERAL:
        return found
    few = yield from _few_that_matter(pool, best.expert, bank)
    few = yield from _step_by_step(pool, few, bank)
    return few if few.log_likelihood > found.log_likelihood + AHEAD else found


def _step_by_step(pool: Pool, best: Scored, bank: Bank) -> Pieces[Scored]:
    """`best` with one length scale, or the noise, changed at a time while it predicts clearly better."""
    for _ in range(PASSES):
        found = yield from better(pool, best, _stretches(best.expert, bank) + _noises(best.expert, bank), CLEARLY)
        if found is best:
            break
        best = found
    return best


def _few_that_matter(pool: Pool, expert: Expert, bank: Bank) -> Pieces[Scored]:
    """`expert` for which only a few parameters matter, added one by one while each makes it predict clearly better."""
    nothing = replace(expert, stretch=(LIMITS[1],) * bank.dim)
    best = best_of((yield from pool.forecaster.panel(_one_more(nothing, bank), pool.panel)))
    for _ in range(ADDED - 1):
        found = yield from better(pool, best, _one_more(best.expert, bank), CLEARLY)
        if found is best:
            break
        best = found
    return best


def _one_more(expert: Expert, bank: Bank) -> list[Expert]:
    """Copies for which one more parameter matters, a little or more.

    Length scales grow with the number of coordinates. If few matter, they are too long.
    """
    left = [part for part in bank.parts if expert.stretch[part[0]] == LIMITS[1]]
    return [replace(expert, stretch=_with(expert.stretch, part, length)) for part in left for length in ENTERING]


def _stretches(expert: Expert, bank: Bank) -> list[Expert]:
    """Copies with one length scale shorter or longer, but not all of them longer."""
    now = expert.stretch or (1.0,) * bank.dim
    changed = [(part, now[part[0]] * factor) for part in bank.parts for factor in STRETCHES]
    stretches = [_with(now, part, length) for part, length in changed if LIMITS[0] <= length <= LIMITS[1]]
    return [replace(expert, stretch=stretch) for stretch in stretches if min(stretch) <= 1]


def _with(stretch: Stretch, part: Part, factor: float) -> Stretch:
    """The same with this factor for the coordinates of one parameter."""
    return tuple(factor if j in part else each for j, each in enumerate(stretch))


def _noises(expert: Expert, bank: Bank) -> list[Expert]:
    """Copies with a noise beyond the bank's, if it has the bank's smallest or largest, and every kernel of time."""
    lower = [expert.noise * QUIETER] if expert.noise <= min(bank.noises) else []
    higher = [expert.noise * NOISIER] if expert.noise >= max(bank.noises) else []
    within = [noise for noise in (*lower, *higher) if BEYOND[0] <= noise <= BEYOND[1]]
    return [replace(expert, noise=noise, time=time) for noise in within for time in bank.times]
