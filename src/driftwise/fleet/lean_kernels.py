"""The step of `auto-lean` on a GPU, as four Triton kernels with one matrix product between them.

`seat` finds the slot of an observation, and the units of rewards (`lean/window.py`). `exchange` reads and writes A⁻¹ of
one expert, in three blocks as `gpu_kernels.py` has it, and spreads τ∘c and τ∘ũ over the candidates: their products with
the kernel matrices are g and −h (`lean/slide.py`). What an expert expected of the reward follows from A⁻¹, too: with P′
the inverse without slot s and c divided by √p,

    mean_j = uᵀY + (cᵀk)(cᵀY)        V_j = kᵀu + (cᵀk)²        Q = YᵀA⁻¹Y ← Q − (Yᵀc)(cᵀY) + r rᵀ,  r = (Y_new − uᵀY)/√δ

so that `weigh` needs no posterior at candidates (`lean/weigh.py`). `move` brings these up to date, and chooses.
An expert that has seen nothing is read as zeros, whatever is in its memory.
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


@triton.jit
def _before(i, s, where_ptr, Y_ptr, numbers_ptr, left, left_number, left_y, w: tl.constexpr):
    """What slots held before an observation took slot s: candidates, rewards, numbers (0 if empty)."""
    where = tl.where(i == s, left, tl.load(where_ptr + i, mask=i < w, other=0))
    y = tl.where(i == s, left_y, tl.load(Y_ptr + i, mask=i < w, other=0.0))
    numbers = tl.where(i == s, left_number, tl.load(numbers_ptr + i, mask=i < w, other=0))
    return where, y, numbers


@triton.jit
def exchange(
    slots_ptr, entering_ptr, number_ptr,  # (r,)
    ints_ptr, reals_ptr,  # of `seat`
    P_ptr, seen_ptr,  # (C, E, 3, H, H), (C, E)
    where_ptr, Y_ptr, numbers_ptr,  # (C, w)
    kernel_ptr, noise_ptr,  # (S, n, n), (S,)
    rates_ptr, sloped_ptr, level_ptr,  # (D,), (D,), (2, D): variance and rate of the level that moves
    entered_ptr,  # (r, E, 2H): out: ũ
    spread_ptr,  # (S, r, R, n): out: τ∘c of each drift, τ∘ũ of each, and both of the slopes
    scalars_ptr,  # (r, E, 8): out: cᵀY, r, mean_j (two each), V_j, whether slot s was held
    n, keys,
    w: tl.constexpr, H: tl.constexpr, N: tl.constexpr, D: tl.constexpr, STEADY: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """One expert of one key a program. Vectors over the window come in two halves, _a and _b."""
    b = tl.program_id(0).to(tl.int64)
    e = tl.program_id(1)
    shape, drift = e // D, e % D
    E = tl.num_programs(1)
    r = tl.load(slots_ptr + b)
    j = tl.load(entering_ptr + b)
    number = tl.load(number_ptr + b)
    s = tl.load(ints_ptr + 4 * b)
    left = tl.load(ints_ptr + 4 * b + 1)
    left_number = tl.load(ints_ptr + 4 * b + 2)
    y = tl.load(reals_ptr + 6 * b)
    left_y = tl.load(reals_ptr + 6 * b + 2)
    live = tl.load(seen_ptr + r * E + e) > 0
    noise = tl.load(noise_ptr + shape)
    rate = tl.load(rates_ptr + drift)
    sloped = tl.load(sloped_ptr + drift)
    P_ptr += (r * E + e) * (3 * H * H)

    i = tl.arange(0, H)
    row, column = i[:, None], i[None, :]
    tile = row * H + column
    A = tl.load(P_ptr + tile, mask=live & (row >= 0), other=0.0)
    B = tl.load(P_ptr + H * H + tile, mask=live & (row >= 0), other=0.0)
    C = tl.load(P_ptr + 2 * H * H + tile, mask=live & (row >= 0), other=0.0)
    where_ptr += r * w
    Y_ptr += r * w
    numbers_ptr += r * w
    where_a, y_a, number_a = _before(i, s, where_ptr, Y_ptr, numbers_ptr, left, left_number, left_y, w)
    where_b, y_b, number_b = _before(i + H, s, where_ptr, Y_ptr, numbers_ptr, left, left_number, left_y, w)
    filled_a, filled_b = number_a > 0, number_b > 0
    age_a, age_b = rate * (number - number_a), rate * (number - number_b)
    e_a, e_b = tl.exp(-age_a), tl.exp(-age_b)
    tau_a, tau_b = e_a * (1.0 + sloped * age_a), e_b * (1.0 + sloped * age_b)

    # c/√p, the column of what leaves; zeros if it is not held
    above = s < H
    t = tl.where(above, s, s - H)
    p = tl.load(P_ptr + tl.where(above, 0, 2 * H * H) + t * H + t, mask=live, other=0.0)
    held = p > 0.0
    c_a = tl.load(P_ptr + tl.where(above, 0, H * H) + t * H + i, mask=live & (i < w), other=0.0)
    c_b = tl.load(
        tl.where(above, P_ptr + H * H + i * H + t, P_ptr + 2 * H * H + t * H + i), mask=live & (i + H < w), other=0.0
    )
    scale = tl.where(held, 1.0 / tl.sqrt(tl.where(held, p, 1.0)), 0.0)
    c_a *= scale
    c_b *= scale

    # ũ/√δ of what enters; k has the covariances with all slots, and with all but s
    kernel_row = kernel_ptr + (shape * n + j).to(tl.int64) * n
    k_a = tau_a * tl.load(kernel_row + where_a, mask=filled_a, other=0.0)
    k_b = tau_b * tl.load(kernel_row + where_b, mask=filled_b, other=0.0)
    level, level_rate = tl.load(level_ptr + drift), tl.load(level_ptr + D + drift)
    passed_a, passed_b = level_rate * (number - number_a), level_rate * (number - number_b)
    k_a += tl.where(filled_a, level * (1.0 + passed_a) * tl.exp(-passed_a), 0.0)
    k_b += tl.where(filled_b, level * (1.0 + passed_b) * tl.exp(-passed_b), 0.0)
    along_all = tl.sum(c_a * k_a, 0) + tl.sum(c_b * k_b, 0)
    k_a = tl.where(i == s, 0.0, k_a)
    k_b = tl.where(i + H == s, 0.0, k_b)
    along = tl.sum(c_a * k_a, 0) + tl.sum(c_b * k_b, 0)
    u_a = tl.sum(A * k_a[:, None], 0) + tl.sum(B * k_b[:, None], 0) - along * c_a
    u_b = tl.sum(C * k_b[:, None], 0) + tl.sum(B * k_a[None, :], 1) - along * c_b
    u_a = tl.where(i == s, 0.0, u_a)
    u_b = tl.where(i + H == s, 0.0, u_b)
    known = tl.sum(u_a * k_a, 0) + tl.sum(u_b * k_b, 0)
    root = tl.sqrt(tl.maximum(tl.load(kernel_row + j) + level - known, 0.0) + noise)
    scale = 1.0 / root
    # through memory, so that all of A⁻¹ is changed by the same u (`gpu_kernels.py`)
    entered_ptr += (b * E + e) * 2 * H
    tl.store(entered_ptr + i, tl.where(i == s, -1.0, u_a) * scale)
    tl.store(entered_ptr + H + i, tl.where(i + H == s, -1.0, u_b) * scale)
    rows = spread_ptr + ((shape * keys + b) * R + drift) * n
    slopes = rows + (2 * D - STEADY) * n
    v = tl.arange(0, N)
    tl.store(rows + v, tl.zeros((N,), tl.float64), mask=v < n)
    tl.store(rows + D * n + v, tl.zeros((N,), tl.float64), mask=v < n)
    if drift >= STEADY:
        tl.store(slopes + v, tl.zeros((N,), tl.float64), mask=v < n)
        tl.store(slopes + (D - STEADY) * n + v, tl.zeros((N,), tl.float64), mask=v < n)
    tl.debug_barrier()
    u_a = tl.load(entered_ptr + i)
    u_b = tl.load(entered_ptr + H + i)

    A = tl.where((row == s) | (column == s), 0.0, A - c_a[:, None] * c_a[None, :]) + u_a[:, None] * u_a[None, :]
    tl.store(P_ptr + tile, A)
    B = tl.where((row + H == s) | (column == s), 0.0, B - c_b[:, None] * c_a[None, :]) + u_b[:, None] * u_a[None, :]
    tl.store(P_ptr + H * H + tile, B)
    C = tl.where((row + H == s) | (column + H == s), 0.0, C - c_b[:, None] * c_b[None, :]) + u_b[:, None] * u_b[None, :]
    tl.store(P_ptr + 2 * H * H + tile, C)

    keep_a, keep_b = filled_a & (i != s), filled_b & (i + H != s)
    tl.atomic_add(rows + where_a, tau_a * c_a, mask=filled_a, sem="relaxed")
    tl.atomic_add(rows + where_b, tau_b * c_b, mask=filled_b, sem="relaxed")
    tl.atomic_add(rows + D * n + where_a, tau_a * u_a, mask=keep_a, sem="relaxed")
    tl.atomic_add(rows + D * n + where_b, tau_b * u_b, mask=keep_b, sem="relaxed")
    tl.atomic_add(rows + D * n + j, -scale, sem="relaxed")
    if drift >= STEADY:
        tl.atomic_add(slopes + where_a, -age_a * e_a * c_a, mask=filled_a, sem="relaxed")
        tl.atomic_add(slopes + where_b, -age_b * e_b * c_b, mask=filled_b, sem="relaxed")
        slopes += (D - STEADY) * n
        tl.atomic_add(slopes + where_a, -age_a * e_a * u_a, mask=keep_a, sem="relaxed")
        tl.atomic_add(slopes + where_b, -age_b * e_b * u_b, mask=keep_b, sem="relaxed")

    # cᵀY, r and what was expected, of rewards and of ones
    y_a, y_b = tl.where(filled_a, y_a, 0.0), tl.where(filled_b, y_b, 0.0)
    one_a, one_b = filled_a.to(tl.float64), filled_b.to(tl.float64)
    out = scalars_ptr + (b * E + e) * 8
    dropped = tl.sum(c_a * y_a, 0) + tl.sum(c_b * y_b, 0)
    dropped_one = tl.sum(c_a * one_a, 0) + tl.sum(c_b * one_b, 0)
    u_a, u_b = tl.where(i == s, 0.0, u_a), tl.where(i + H == s, 0.0, u_b)
    expected = (tl.sum(u_a * y_a, 0) + tl.sum(u_b * y_b, 0)) * root
    expected_one = (tl.sum(u_a * one_a, 0) + tl.sum(u_b * one_b, 0)) * root
    tl.store(out, dropped)
    tl.store(out + 1, dropped_one)
    tl.store(out + 2, (y - expected) * scale)
    tl.store(out + 3, (1.0 - expected_one) * scale)
    tl.store(out + 4, expected + along_all * dropped)
    tl.store(out + 5, expected_one + along_all * dropped_one)
    tl.store(out + 6, known + along_all * along_all)
    tl.store(out + 7, held.to(tl.float64))
