"""The best expert of a bank with length scales of its own along each coordinate, or with a noise beyond the bank's.

There are two ways to such length scales. One begins with all coordinates alike, and changes one length scale at a time.
That is enough where most of them matter. Where few do, it would have to do so for each of the others; so the second way
begins with coordinates none of which matters, and adds those that do. It has more variants to choose from.
"""

from __future__ import annotations

from dataclasses import replace

from driftwise.auto.bank import Bank
from driftwise.auto.experts import Expert
from driftwise.auto.pieces import Pieces
from driftwise.auto.pool import AHEAD, CLEARLY, Pool, Scored, best_of, better

STRETCHES, LIMITS = (0.5, 2.0), (0.25, 8.0)  # factors of one length scale at a time, and bounds of their product
COORDINATES = 64  # up to which coordinates have length scales of their own
SEVERAL = 5  # coordinates from which on most of them may not matter
QUIETER, NOISIER, BEYOND = 0.1, 3.0, (1e-7, 3.0)  # factors of the noise beyond the bank's, and its bounds
PASSES, ADDED = 8, 6  # steps of one at a time, and coordinates that are added, at most


def refined(pool: Pool, best: Scored, bank: Bank) -> Pieces[Scored]:
    """`best`, or what predicts clearly better: with length scales of their own, or another noise."""
    d = pool.forecaster.data.X.shape[1]
    lengths = bank.ard and 1 < d <= COORDINATES  # in one dimension the bank has enough
    found = yield from _step_by_step(pool, best, bank, lengths)
    if not lengths or d < SEVERAL:
        return found
    few = yield from _few_that_matter(pool, best.expert, d)
    few = yield from _step_by_step(pool, few, bank, lengths)
    return few if few.log_likelihood > found.log_likelihood + AHEAD else found


def _step_by_step(pool: Pool, best: Scored, bank: Bank, lengths: bool) -> Pieces[Scored]:
    """`best` with one length scale, or the noise, changed at a time while it predicts clearly better."""
    for _ in range(PASSES):
        near = _stretches(best.expert, pool.forecaster.data.X.shape[1]) if lengths else []
        found = yield from better(pool, best, near + _noises(best.expert, bank), CLEARLY)
        if found is best:
            break
        best = found
    return best


def _few_that_matter(pool: Pool, expert: Expert, d: int) -> Pieces[Scored]:
    """`expert` for which only a few coordinates matter, added one by one while each makes it predict clearly better."""
    nothing = replace(expert, stretch=(LIMITS[1],) * d)
    best = best_of((yield from pool.forecaster.panel(_one_more(nothing), pool.panel)))
    for _ in range(ADDED - 1):
        found = yield from better(pool, best, _one_more(best.expert), CLEARLY)
        if found is best:
            break
        best = found
    return best


def _one_more(expert: Expert) -> list[Expert]:
    """Copies for which one more coordinate matters."""
    now = expert.stretch
    left = [j for j, length in enumerate(now) if length == LIMITS[1]]
    return [replace(expert, stretch=(*now[:j], 1.0, *now[j + 1 :])) for j in left]


def _stretches(expert: Expert, d: int) -> list[Expert]:
    """Copies with one length scale shorter or longer, but not all of them longer."""
    now = expert.stretch or (1.0,) * d
    changed = [(j, now[j] * factor) for j in range(d) for factor in STRETCHES]
    stretches = [(*now[:j], length, *now[j + 1 :]) for j, length in changed if LIMITS[0] <= length <= LIMITS[1]]
    return [replace(expert, stretch=stretch) for stretch in stretches if min(stretch) <= 1]


def _noises(expert: Expert, bank: Bank) -> list[Expert]:
    """Copies with a noise beyond the bank's, if it has the bank's smallest or largest, and every kernel of time."""
    lower = [expert.noise * QUIETER] if expert.noise <= min(bank.noises) else []
    higher = [expert.noise * NOISIER] if expert.noise >= max(bank.noises) else []
    within = [noise for noise in (*lower, *higher) if BEYOND[0] <= noise <= BEYOND[1]]
    return [replace(expert, noise=noise, time=time) for noise in within for time in bank.times]
