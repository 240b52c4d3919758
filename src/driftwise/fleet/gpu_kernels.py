"""The step of `windowed.py` on a GPU: two Triton kernels with one matrix product between them.

A⁻¹ is symmetric. It is stored as three quarters of itself, [[A, Bᵀ], [B, C]] as A, B and C, so that a step moves less
memory, and all but one of the sums in A⁻¹k run along what a thread already has. `leave_and_enter` reads and writes it
once, and spreads c and ũ over the candidates. Their products with the kernel matrix are one product for all keys, which
the tensor cores do. `move` adds them to mean and variance, and chooses.

With little noise A⁻¹k loses digits to cancellation, which its column of A⁻¹ lacks until it leaves. There u is refined
once by its residual (Wilkinson): u ← u + A⁻¹(k − A u).
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _times(A, B, C, x_a, x_b):
    """[[A, Bᵀ], [B, C]] x, in two halves."""
    y_a = tl.sum(A * x_a[:, None], 0) + tl.sum(B * x_b[:, None], 0)
    y_b = tl.sum(C * x_b[:, None], 0) + tl.sum(B * x_a[None, :], 1)
    return y_a, y_b


@triton.jit
def _kernel_block(kernel_ptr, rows, columns, some_rows, some_columns, n):
    """k(x, x′) of the candidates in two halves of a window: (H, H)."""
    return tl.load(
        kernel_ptr + rows[:, None].to(tl.int64) * n + columns[None, :],
        mask=some_rows[:, None] & some_columns[None, :],
        other=0.0,
    )


@triton.jit
def leave_and_enter(
    slots_ptr, counts_ptr, places_ptr, entering_ptr, y_ptr,  # (r,)
    P_ptr,  # (C, 3, H, H)
    where_ptr, Y_ptr,  # (C, w)
    kernel_ptr,  # (n, n)
    noise_ptr,  # (1,): as a tensor, because a number would come as single precision
    entered_ptr,  # (r, 2H): out: ũ
    spread_ptr,  # (2r, n): out: c and ũ of each key at its candidates
    scalars_ptr,  # (r, 6): out: cᵀy/√p, cᵀ1/√p, √δ, location, scale, count before
    n,
    w: tl.constexpr, H: tl.constexpr, N: tl.constexpr, REFINED: tl.constexpr,
):  # fmt: skip
    """One key a program. Vectors over the window come in two halves, _a and _b."""
    b = tl.program_id(0).to(tl.int64)
    r = tl.load(slots_ptr + b)
    m = tl.load(counts_ptr + b)
    s = tl.load(places_ptr + b)
    entering = tl.load(entering_ptr + b)
    y = tl.load(y_ptr + b)
    noise = tl.load(noise_ptr)
    full = m == w
    size = tl.where(full, m, m + 1)
    P_ptr += r * (3 * H * H)
    where_ptr += r * w
    Y_ptr += r * w

    i = tl.arange(0, H)
    j = i + H
    row, column = i[:, None], i[None, :]
    tile = row * H + column
    A = tl.load(P_ptr + tile)
    B = tl.load(P_ptr + H * H + tile)
    C = tl.load(P_ptr + 2 * H * H + tile)
    where_a = tl.load(where_ptr + i, mask=i < m, other=0)
    where_b = tl.load(where_ptr + j, mask=j < m, other=0)

    # c/√p, the column of what leaves; zeros while the window fills
    above = s < H
    t = tl.where(above, s, s - H)
    c_a = tl.load(P_ptr + tl.where(above, 0, H * H) + t * H + i, mask=full & (i < w), other=0.0)
    c_b = tl.load(
        tl.where(above, P_ptr + H * H + i * H + t, P_ptr + 2 * H * H + t * H + i), mask=full & (j < w), other=0.0
    )
    p = tl.load(P_ptr + tl.where(above, 0, 2 * H * H) + t * H + t, mask=full, other=1.0)
    scale = 1.0 / tl.sqrt(p)
    c_a *= scale
    c_b *= scale

    # ũ/√δ of what enters
    kernel_row = kernel_ptr + entering.to(tl.int64) * n
    k_a = tl.load(kernel_row + where_a, mask=(i < m) & (i != s), other=0.0)
    k_b = tl.load(kernel_row + where_b, mask=(j < m) & (j != s), other=0.0)
    along = tl.sum(c_a * k_a, 0) + tl.sum(c_b * k_b, 0)
    u_a, u_b = _times(A, B, C, k_a, k_b)
    u_a = tl.where(i == s, 0.0, u_a - along * c_a)
    u_b = tl.where(j == s, 0.0, u_b - along * c_b)
    entered_ptr += b * 2 * H
    if REFINED:
        tl.store(entered_ptr + i, u_a)
        tl.store(entered_ptr + j, u_b)
        tl.debug_barrier()
        u_a = tl.load(entered_ptr + i)  # the same u in the residual and in what it is added to
        u_b = tl.load(entered_ptr + j)
        in_a, in_b = (i < m) & (i != s), (j < m) & (j != s)
        Ku_a, Ku_b = _times(
            _kernel_block(kernel_ptr, where_a, where_a, in_a, in_a, n),
            _kernel_block(kernel_ptr, where_b, where_a, in_b, in_a, n),
            _kernel_block(kernel_ptr, where_b, where_b, in_b, in_b, n),
            u_a, u_b,
        )  # fmt: skip
        rest_a = tl.where(in_a, k_a - Ku_a - noise * u_a, 0.0)
        rest_b = tl.where(in_b, k_b - Ku_b - noise * u_b, 0.0)
        more_a, more_b = _times(A, B, C, rest_a, rest_b)
        along = tl.sum(c_a * rest_a, 0) + tl.sum(c_b * rest_b, 0)
        u_a += tl.where(i == s, 0.0, more_a - along * c_a)
        u_b += tl.where(j == s, 0.0, more_b - along * c_b)
        tl.debug_barrier()
    known = tl.sum(u_a * k_a, 0) + tl.sum(u_b * k_b, 0)
    root = tl.sqrt(tl.maximum(tl.load(kernel_row + entering) - known, 0.0) + noise)
    scale = 1.0 / root
    # Through memory, so that all of A⁻¹ is changed by the same u: the compiler may otherwise sum it twice, in two
    # orders, and so little a difference is enlarged four thousand times in a window of low noise.
    tl.store(entered_ptr + i, tl.where(i == s, -1.0, u_a) * scale)
    tl.store(entered_ptr + j, tl.where(j == s, -1.0, u_b) * scale)
    left = spread_ptr + 2 * b * n
    v = tl.arange(0, 2 * N)
    tl.store(left + v, tl.zeros((2 * N,), tl.float64), mask=v < 2 * n)
    tl.debug_barrier()
    u_a = tl.load(entered_ptr + i)
    u_b = tl.load(entered_ptr + j)

    A = tl.where((row == s) | (column == s), 0.0, A - c_a[:, None] * c_a[None, :]) + u_a[:, None] * u_a[None, :]
    tl.store(P_ptr + tile, A)
    B = tl.where((row + H == s) | (column == s), 0.0, B - c_b[:, None] * c_a[None, :]) + u_b[:, None] * u_a[None, :]
    tl.store(P_ptr + H * H + tile, B)
    C = tl.where((row + H == s) | (column + H == s), 0.0, C - c_b[:, None] * c_b[None, :]) + u_b[:, None] * u_b[None, :]
    tl.store(P_ptr + 2 * H * H + tile, C)

    tl.atomic_add(left + where_a, c_a, mask=full & (i < w), sem="relaxed")
    tl.atomic_add(left + where_b, c_b, mask=full & (j < w), sem="relaxed")
    tl.atomic_add(left + n + tl.where(i == s, entering, where_a), u_a, mask=i < size, sem="relaxed")
    tl.atomic_add(left + n + tl.where(j == s, entering, where_b), u_b, mask=j < size, sem="relaxed")

    y_a = tl.load(Y_ptr + i, mask=i < m, other=0.0)
    y_b = tl.load(Y_ptr + j, mask=j < m, other=0.0)
    out = scalars_ptr + b * 6
    tl.store(out, tl.sum(c_a * y_a, 0) + tl.sum(c_b * y_b, 0))
    tl.store(out + 1, tl.sum(c_a, 0) + tl.sum(c_b, 0))
    tl.store(out + 2, root)
    y_a = tl.where(i == s, y, y_a)
    y_b = tl.where(j == s, y, y_b)
    location = (tl.sum(y_a, 0) + tl.sum(y_b, 0)) / size
    away_a = tl.where(i < size, y_a - location, 0.0)
    away_b = tl.where(j < size, y_b - location, 0.0)
    scale = tl.sqrt((tl.sum(away_a * away_a, 0) + tl.sum(away_b * away_b, 0)) / size)
    largest = tl.maximum(tl.max(tl.abs(y_a), 0), tl.max(tl.abs(y_b), 0))
    tl.store(out + 3, location)
    tl.store(out + 4, tl.where(scale > 1e-12 * largest, scale, 1.0))
    tl.store(out + 5, m.to(tl.float64))
    tl.store(where_ptr + s, entering)
    tl.store(Y_ptr + s, y)


@triton.jit
def move(
    slots_ptr, entering_ptr, y_ptr, beta_ptr,  # (r,)
    swept_ptr,  # (2r, n): g and −h
    scalars_ptr,  # (r, 6)
    units_ptr,  # (C, 2): location and scale of the windows, updated
    prior_ptr,  # (n,)
    mean_ptr, var_ptr,  # (C, q, n), (C, n)
    best_ptr,  # (C,)
    surprise_ptr,  # (r,)
    noise_ptr, n,
    q: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    r = tl.load(slots_ptr + b)
    j = tl.load(entering_ptr + b)
    y = tl.load(y_ptr + b)
    beta = tl.load(beta_ptr + b)
    noise = tl.load(noise_ptr)
    scalars_ptr += b * 6
    root = tl.load(scalars_ptr + 2)
    i = tl.arange(0, N)
    inside = i < n
    here = i == j
    g = tl.load(swept_ptr + 2 * b * n + i, mask=inside, other=0.0)
    h = tl.load(swept_ptr + (2 * b + 1) * n + i, mask=inside, other=0.0)
    var = tl.load(var_ptr + r * n + i, mask=inside, other=0.0)
    deviation = tl.sqrt(tl.maximum(tl.sum(tl.where(here, var, 0.0), 0), 0.0) + noise)
    var += g * g - h * h
    tl.store(var_ptr + r * n + i, var, mask=inside)

    explained = tl.load(scalars_ptr)
    rewards = tl.load(mean_ptr + r * q * n + i, mask=inside, other=0.0)
    expected = tl.sum(tl.where(here, rewards, 0.0), 0)
    rewards -= g * explained
    rewards -= h * ((y - tl.sum(tl.where(here, rewards, 0.0), 0)) / root)
    tl.store(mean_ptr + r * q * n + i, rewards, mask=inside)
    prior = tl.load(prior_ptr + i, mask=inside, other=0.0)
    std = tl.sqrt(tl.minimum(tl.maximum(var, 0.0), prior))
    if q == 2:
        ones = tl.load(mean_ptr + (r * q + 1) * n + i, mask=inside, other=0.0)
        location, scale = tl.load(units_ptr + 2 * r), tl.load(units_ptr + 2 * r + 1)
        expected += location * (1.0 - tl.sum(tl.where(here, ones, 0.0), 0))
        surprise = (y - expected) / scale / deviation
        ones -= g * tl.load(scalars_ptr + 1)
        ones -= h * ((1.0 - tl.sum(tl.where(here, ones, 0.0), 0)) / root)
        tl.store(mean_ptr + (r * q + 1) * n + i, ones, mask=inside)
        location, scale = tl.load(scalars_ptr + 3), tl.load(scalars_ptr + 4)
        tl.store(units_ptr + 2 * r, location)
        tl.store(units_ptr + 2 * r + 1, scale)
        score = (rewards - location * ones) / scale + beta * std
    else:
        surprise = (y - expected) / deviation
        score = rewards + beta * std
    tl.store(surprise_ptr + b, tl.where(tl.load(scalars_ptr + 5) > 0.0, surprise, 0.0))
    score = tl.where(inside, score, float("-inf"))
    tl.store(best_ptr + r, tl.argmax(score, 0, tie_break_left=True).to(tl.int32))
