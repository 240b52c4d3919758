"""What surrounds a slide on a GPU for policies with a window: the observation's slot before it, the choice after it."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def put(
    slots_ptr, counts_ptr, places_ptr, entering_ptr, y_ptr,  # (r,)
    where_ptr, Y_ptr,  # (C, w): updated
    ints_ptr,  # (r, 4): out: slot, what was there, whether anything was
    reals_ptr,  # (r, 6): out: y, location and scale of the window with it, and the reward that leaves
    w: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """One key a program: y is in the place of what leaves."""
    b = tl.program_id(0).to(tl.int64)
    r = tl.load(slots_ptr + b)
    m = tl.load(counts_ptr + b)
    s = tl.load(places_ptr + b)
    entering = tl.load(entering_ptr + b)
    y = tl.load(y_ptr + b)
    i = tl.arange(0, W)
    before = tl.load(Y_ptr + r * w + i, mask=i < w, other=0.0)
    tl.store(ints_ptr + 4 * b, s)
    tl.store(ints_ptr + 4 * b + 1, tl.load(where_ptr + r * w + s))
    tl.store(ints_ptr + 4 * b + 2, (m == w).to(tl.int32))
    tl.store(reals_ptr + 6 * b, y)
    tl.store(reals_ptr + 6 * b + 2, tl.sum(tl.where(i == s, before, 0.0), 0))
    size = tl.minimum(m + 1, w)
    Y = tl.where(i == s, y, tl.where(i < size, before, 0.0))
    location = tl.sum(Y, 0) / size
    away = tl.where(i < size, Y - location, 0.0)
    scale = tl.sqrt(tl.sum(away * away, 0) / size)
    tl.store(reals_ptr + 6 * b + 3, location)
    tl.store(reals_ptr + 6 * b + 4, tl.where(scale > 1e-12 * tl.max(tl.abs(Y), 0), scale, 1.0))
    tl.debug_barrier()  # what is written next was read by all
    tl.store(where_ptr + r * w + s, entering)
    tl.store(Y_ptr + r * w + s, y)


@triton.jit
def move(
    slots_ptr, counts_ptr, entering_ptr, y_ptr, beta_ptr,  # (r,)
    swept_ptr,  # (2r, n): g and h
    scalars_ptr, reals_ptr,  # (r, 8), (r, 6): of `exchange` and `put`
    units_ptr,  # (C, 2): location and scale of the windows, updated
    prior_ptr,  # (n,)
    mean_ptr, var_ptr,  # (C, q, n), (C, n)
    best_ptr,  # (C,)
    surprise_ptr,  # (r,)
    noise_ptr, n,
    q: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Mean and variance after the slide, what is chosen next, and how far the reward was from what was expected."""
    b = tl.program_id(0).to(tl.int64)
    r = tl.load(slots_ptr + b)
    y = tl.load(y_ptr + b)
    beta = tl.load(beta_ptr + b)
    scalars_ptr += b * 8
    i = tl.arange(0, N)
    inside = i < n
    g = tl.load(swept_ptr + 2 * b * n + i, mask=inside, other=0.0)
    h = tl.load(swept_ptr + (2 * b + 1) * n + i, mask=inside, other=0.0)
    var = tl.load(var_ptr + r * n + i, mask=inside, other=0.0) + g * g - h * h
    tl.store(var_ptr + r * n + i, var, mask=inside)
    rewards = tl.load(mean_ptr + r * q * n + i, mask=inside, other=0.0)
    rewards += h * tl.load(scalars_ptr + 2) - g * tl.load(scalars_ptr)
    tl.store(mean_ptr + r * q * n + i, rewards, mask=inside)
    std = tl.sqrt(tl.minimum(tl.maximum(var, 0.0), tl.load(prior_ptr + i, mask=inside, other=0.0)))
    known = tl.load(scalars_ptr + 6)
    left = tl.load(prior_ptr + tl.load(entering_ptr + b)) - known
    deviation = tl.sqrt(tl.maximum(left, 0.0) + tl.load(noise_ptr))
    expected = tl.load(scalars_ptr + 4)
    if q == 2:
        ones = tl.load(mean_ptr + (r * q + 1) * n + i, mask=inside, other=0.0)
        ones += h * tl.load(scalars_ptr + 3) - g * tl.load(scalars_ptr + 1)
        tl.store(mean_ptr + (r * q + 1) * n + i, ones, mask=inside)
        location, scale = tl.load(units_ptr + 2 * r), tl.load(units_ptr + 2 * r + 1)
        surprise = (y - expected - location * (1.0 - tl.load(scalars_ptr + 5))) / scale / deviation
        location, scale = tl.load(reals_ptr + 6 * b + 3), tl.load(reals_ptr + 6 * b + 4)
        tl.debug_barrier()  # the units before were read by all
        tl.store(units_ptr + 2 * r, location)
        tl.store(units_ptr + 2 * r + 1, scale)
        score = (rewards - location * ones) / scale + beta * std
    else:
        surprise = (y - expected) / deviation
        score = rewards + beta * std
    tl.store(surprise_ptr + b, tl.where(tl.load(counts_ptr + b) > 0, surprise, 0.0))
    score = tl.where(inside, score, float("-inf"))
    tl.store(best_ptr + r, tl.argmax(score, 0, tie_break_left=True).to(tl.int32))
