"""The step of `auto-lean` on a GPU before its slide: `seat` finds the slot of an observation, and the units of rewards.

As `lean/window.py` has it. The slide itself is that of `gp/window/gpu_kernels.py`, and `lean_scores.py` has the rest.
"""

from __future__ import annotations

import triton
import triton.language as tl

NEWER = tl.constexpr(1 << 40)
EMPTY = tl.constexpr(1 << 62)


@triton.jit
def seat(
    slots_ptr, entering_ptr, y_ptr, number_ptr,  # (r,)
    where_ptr, Y_ptr, numbers_ptr, newer_ptr,  # (C, w): updated
    ring_where_ptr, ring_y_ptr, ring_number_ptr, told_ptr,  # (C, span) and (C,): the last observations as they came
    units_ptr, origin_ptr, last_ptr,  # (C, 4), (C,), (C,): updated
    near_ptr, same_ptr,  # (n, n)
    expected_ptr, quantiles_ptr,  # (n,), (most + 1,)
    prior_ptr,  # (3,): location, scale, strength
    ints_ptr,  # (r, 4): out: slot, what was there, its number, steps since the observation before
    reals_ptr,  # (r, 6): out: y, y as it came, the reward that leaves, location and scale before, whether any was seen
    n, most, span,
    w: tl.constexpr, W: tl.constexpr, KEEP: tl.constexpr, SEVERAL: tl.constexpr, CLIPPED: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    r = tl.load(slots_ptr + b)
    j = tl.load(entering_ptr + b)
    given = tl.load(y_ptr + b)
    number = tl.load(number_ptr + b)
    i = tl.arange(0, W)
    inside = i < w
    where = tl.load(where_ptr + r * w + i, mask=inside, other=0)
    Y = tl.load(Y_ptr + r * w + i, mask=inside, other=0.0)
    numbers = tl.load(numbers_ptr + r * w + i, mask=inside, other=0)
    newer = tl.load(newer_ptr + r * w + i, mask=inside, other=0)
    if KEEP:
        told = tl.load(told_ptr + r)
        at = r * span + told % span
        tl.store(ring_where_ptr + at, j)
        tl.store(ring_y_ptr + at, given)
        tl.store(ring_number_ptr + at, number)
        tl.store(told_ptr + r, told + 1)

    # the slot
    superseded = tl.where(numbers > 0, newer.to(tl.int64) * NEWER - numbers, EMPTY)
    s = tl.argmax(tl.where(inside, superseded, -EMPTY), 0, tie_break_left=True)
    last = tl.load(last_ptr + r)
    tl.store(ints_ptr + 4 * b, s)
    tl.store(ints_ptr + 4 * b + 1, tl.sum(tl.where(i == s, where, 0), 0))
    tl.store(ints_ptr + 4 * b + 2, tl.sum(tl.where(i == s, numbers, 0), 0))
    tl.store(ints_ptr + 4 * b + 3, number - last)
    tl.store(last_ptr + r, number)

    # the reward
    location = tl.load(units_ptr + 4 * r)
    reach = tl.load(units_ptr + 4 * r + 3)
    y = given - tl.load(expected_ptr + j)
    origin = tl.where(last > 0, tl.load(origin_ptr + r), y)
    tl.store(origin_ptr + r, origin)
    raw = y - origin
    y = tl.minimum(tl.maximum(raw, location - reach), location + reach)
    tl.store(reals_ptr + 6 * b, y)
    tl.store(reals_ptr + 6 * b + 1, raw)
    tl.store(reals_ptr + 6 * b + 2, tl.sum(tl.where(i == s, Y, 0.0), 0))
    tl.store(reals_ptr + 6 * b + 3, location)
    tl.store(reals_ptr + 6 * b + 4, tl.load(units_ptr + 4 * r + 1))
    tl.store(reals_ptr + 6 * b + 5, tl.where(last > 0, 1.0, 0.0))

    # the window with it
    newer += tl.load(near_ptr + j.to(tl.int64) * n + where, mask=inside, other=0).to(tl.int32)
    where = tl.where(i == s, j, where)
    Y = tl.where(i == s, y, Y)
    numbers = tl.where(i == s, number, numbers)
    tl.store(where_ptr + r * w + i, where, mask=inside)
    tl.store(Y_ptr + r * w + i, Y, mask=inside)
    tl.store(numbers_ptr + r * w + i, numbers, mask=inside)
    tl.store(newer_ptr + r * w + i, tl.where(i == s, 0, newer), mask=inside)

    # units: observations at one place count as one together, and the prior as `strength` places
    filled = (numbers > 0) & inside
    together = tl.load(
        same_ptr + where[:, None].to(tl.int64) * n + where[None, :], mask=filled[:, None] & filled[None, :], other=0
    )
    crowd = tl.sum(together.to(tl.int32), 1).to(tl.float64)
    share = tl.where(filled, 1.0 / tl.maximum(crowd, 1.0), 0.0)
    strength = tl.load(prior_ptr + 2)
    spread = tl.load(prior_ptr + 1)
    level = tl.load(prior_ptr) - origin
    places = tl.sum(share, 0) + strength
    location = (tl.sum(share * Y, 0) + strength * level) / tl.maximum(places, 1e-300)
    away = Y - location
    squares = tl.sum(share * away * away, 0) + strength * (spread * spread + (level - location) * (level - location))
    below = tl.minimum(tl.floor(places), most * 1.0)
    at = below.to(tl.int32)
    low = tl.load(quantiles_ptr + at)
    high = tl.load(quantiles_ptr + tl.minimum(at + 1, most))
    scale = tl.sqrt(squares / (low + (places - below) * (high - low)))
    some = scale > 1e-12 * tl.max(tl.where(filled, tl.abs(Y), 0.0), 0)
    several = tl.sum(filled.to(tl.int32), 0) >= SEVERAL
    tl.store(units_ptr + 4 * r, location)
    tl.store(units_ptr + 4 * r + 1, tl.where(some, scale, 1.0))
    tl.store(units_ptr + 4 * r + 2, places)
    tl.store(units_ptr + 4 * r + 3, tl.where(some & several, CLIPPED * scale, float("inf")))
