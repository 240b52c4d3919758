"""The slide of `gp/window` on a GPU, as a Triton kernel: keys × experts.

A⁻¹ is symmetric. It is stored as three quarters of itself, [[A, Bᵀ], [B, C]] as A, B and C, so that a step moves less
memory, and all but one of the sums in A⁻¹k run along what a thread already has. It is read at every step and written at
every `LAZY`-th: the vectors c and u of the steps between, which are few numbers, wait in `late` and are added to A⁻¹
whenever it is read.

`exchange` spreads τ∘c and τ∘u over the candidates. Their products with the kernel matrices are g and h: one large
matrix product for all keys, which the tensor cores do. What an expert expected of the reward follows from A⁻¹, too:
with c and u as in `gp/window`,

    mean_j = −√δ uᵀY + (cᵀk)(cᵀY)        V_j = k(x, x) + λ − δ + (cᵀk)²

so that a density needs no posterior at candidates. With little noise A⁻¹k is refined once by its residual (Wilkinson).
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
def _exchanged(M, rows, columns, s, c_rows, c_columns, u_rows, u_columns):
    """M − c cᵀ + u uᵀ in a block of A⁻¹, where nothing is left of the slot s before."""
    kept = tl.where((rows == s) | (columns == s), 0.0, M - c_rows[:, None] * c_columns[None, :])
    return kept + u_rows[:, None] * u_columns[None, :]


@triton.jit
def _kernel_block(kernel_ptr, rows, columns, some_rows, some_columns, n):
    """k(x, x′) of the candidates in two halves of a window: (H, H)."""
    return tl.load(
        kernel_ptr + rows[:, None].to(tl.int64) * n + columns[None, :],
        mask=some_rows[:, None] & some_columns[None, :],
        other=0.0,
    )


@triton.jit
def _residual(kernel_ptr, where_a, where_b, in_a, in_b, k_a, k_b, v_a, v_b, noise, n):
    """k − A v of the slots that are in the window."""
    Kv_a, Kv_b = _times(
        _kernel_block(kernel_ptr, where_a, where_a, in_a, in_a, n),
        _kernel_block(kernel_ptr, where_b, where_a, in_b, in_a, n),
        _kernel_block(kernel_ptr, where_b, where_b, in_b, in_b, n),
        v_a, v_b,
    )  # fmt: skip
    return tl.where(in_a, k_a - Kv_a - noise * v_a, 0.0), tl.where(in_b, k_b - Kv_b - noise * v_b, 0.0)


@triton.jit
def _before(i, s, where_ptr, Y_ptr, left, left_y, w: tl.constexpr):
    """What slots held before an observation took slot s: candidates and rewards."""
    where = tl.where(i == s, left, tl.load(where_ptr + i, mask=i < w, other=0))
    return where, tl.where(i == s, left_y, tl.load(Y_ptr + i, mask=i < w, other=0.0))


@triton.jit
def exchange(
    slots_ptr, entering_ptr,  # (r,)
    ints_ptr, reals_ptr,  # (r, 4), (r, 6): slot, what was there, its number (0: nothing); the reward, what was there
    number_ptr, numbers_ptr,  # (r,), (C, w): the step, and those of the slots, 0 if empty; not TIMED, counts before
    P_ptr, late_ptr, lag_ptr,  # (C, E, 3, H, H), (C, E, LAZY, 2, 2H), (C, E, LAZY): how many are late, their slots
    seen_ptr,  # (C, E): 0 is read as A⁻¹ = 0, whatever is in memory; only if TIMED
    where_ptr, Y_ptr,  # (C, w): with the new observation
    kernel_ptr, noise_ptr,  # (S, n, n), (S,)
    rates_ptr, sloped_ptr, level_ptr,  # (D,), (D,), (2, D): variance and rate of the level that moves; if TIMED
    spread_ptr,  # (S, r, R, n): out: τ∘c of each drift, τ∘u of each, and both of the slopes
    scalars_ptr,  # (r, E, 8): out: cᵀY, uᵀY, mean_j (two each), V_j, whether the slot was held
    n, keys,
    w: tl.constexpr, H: tl.constexpr, N: tl.constexpr, D: tl.constexpr, STEADY: tl.constexpr, R: tl.constexpr,
    LAZY: tl.constexpr, TIMED: tl.constexpr, REFINED: tl.constexpr,
):  # fmt: skip
    """One expert of one key a program. Vectors over the window come in two halves, _a and _b."""
    b = tl.program_id(0).to(tl.int64)
    e = tl.program_id(1)
    E = tl.num_programs(1)
    shape, drift = e // D, e % D
    r = tl.load(slots_ptr + b)
    j = tl.load(entering_ptr + b)
    s = tl.load(ints_ptr + 4 * b)
    left = tl.load(ints_ptr + 4 * b + 1)
    left_number = tl.load(ints_ptr + 4 * b + 2)
    y = tl.load(reals_ptr + 6 * b)
    noise = tl.load(noise_ptr + shape)
    where_ptr += r * w
    Y_ptr += r * w
    i = tl.arange(0, H)
    o = i + H
    row, column = i[:, None], i[None, :]
    tile = row * H + column
    where_a, y_a = _before(i, s, where_ptr, Y_ptr, left, tl.load(reals_ptr + 6 * b + 2), w)
    where_b, y_b = _before(o, s, where_ptr, Y_ptr, left, tl.load(reals_ptr + 6 * b + 2), w)
    if TIMED:
        number = tl.load(number_ptr + b)
        number_a = tl.where(i == s, left_number, tl.load(numbers_ptr + r * w + i, mask=i < w, other=0))
        number_b = tl.where(o == s, left_number, tl.load(numbers_ptr + r * w + o, mask=o < w, other=0))
        filled_a, filled_b = number_a > 0, number_b > 0
        live = tl.load(seen_ptr + r * E + e) > 0
        rate, sloped = tl.load(rates_ptr + drift), tl.load(sloped_ptr + drift)
        age_a, age_b = rate * (number - number_a), rate * (number - number_b)
        e_a, e_b = tl.exp(-age_a), tl.exp(-age_b)
        tau_a, tau_b = e_a * (1.0 + sloped * age_a), e_b * (1.0 + sloped * age_b)
    else:
        count = tl.load(number_ptr + b)
        filled_a, filled_b, live = i < count, o < count, count > 0

    # A⁻¹ and c, its column of the slot, with what is late
    P_ptr += (r * E + e) * (3 * H * H)
    late_ptr += (r * E + e) * (LAZY * 4 * H)
    lag_ptr += (r * E + e) * LAZY
    lag = tl.where(live, tl.load(lag_ptr), 0)
    some, used = row < tl.where(live, H, 0), tl.where(live, w, 0)  # all or nothing
    A = tl.load(P_ptr + tile, mask=some, other=0.0)
    B = tl.load(P_ptr + H * H + tile, mask=some, other=0.0)
    C = tl.load(P_ptr + 2 * H * H + tile, mask=some, other=0.0)
    above = s < H
    t = tl.where(above, s, s - H)
    p = tl.load(P_ptr + tl.where(above, 0, 2 * H * H) + t * H + t, mask=live, other=0.0)
    c_a = tl.load(P_ptr + tl.where(above, 0, H * H) + t * H + i, mask=i < used, other=0.0)
    c_b = tl.load(tl.where(above, P_ptr + H * H + i * H + t, P_ptr + 2 * H * H + t * H + i), mask=o < used, other=0.0)
    for past in range(lag):
        from_ptr = late_ptr + past * 4 * H
        q = tl.load(lag_ptr + 1 + past)
        d_a, d_b = tl.load(from_ptr + i), tl.load(from_ptr + o)
        v_a, v_b = tl.load(from_ptr + 2 * H + i), tl.load(from_ptr + 2 * H + o)
        A = _exchanged(A, row, column, q, d_a, d_a, v_a, v_a)
        B = _exchanged(B, row + H, column, q, d_b, d_a, v_b, v_a)
        C = _exchanged(C, row + H, column + H, q, d_b, d_b, v_b, v_b)
        d_s, v_s = tl.load(from_ptr + s), tl.load(from_ptr + 2 * H + s)
        c_a = tl.where((i == q) | (s == q), 0.0, c_a - d_a * d_s) + v_a * v_s
        c_b = tl.where((o == q) | (s == q), 0.0, c_b - d_b * d_s) + v_b * v_s
        p = tl.where(s == q, 0.0, p - d_s * d_s) + v_s * v_s
    held = (p > 0.0) & (left_number > 0)
    scale = tl.where(held, 1.0 / tl.sqrt(tl.where(held, p, 1.0)), 0.0)
    c_a *= scale
    c_b *= scale

    # u of what enters; k has the covariances with all slots, and then with all but s
    kernel_ptr += shape.to(tl.int64) * n * n
    kernel_row = kernel_ptr + j.to(tl.int64) * n
    k_a = tl.load(kernel_row + where_a, mask=filled_a, other=0.0)
    k_b = tl.load(kernel_row + where_b, mask=filled_b, other=0.0)
    own = tl.load(kernel_row + j)
    if TIMED:
        level, level_rate = tl.load(level_ptr + drift), tl.load(level_ptr + D + drift)
        passed_a, passed_b = level_rate * (number - number_a), level_rate * (number - number_b)
        k_a = tau_a * k_a + tl.where(filled_a, level * (1.0 + passed_a) * tl.exp(-passed_a), 0.0)
        k_b = tau_b * k_b + tl.where(filled_b, level * (1.0 + passed_b) * tl.exp(-passed_b), 0.0)
        own += level
    along_all = tl.sum(c_a * k_a, 0) + tl.sum(c_b * k_b, 0)
    k_a = tl.where(i == s, 0.0, k_a)
    k_b = tl.where(o == s, 0.0, k_b)
    along = tl.sum(c_a * k_a, 0) + tl.sum(c_b * k_b, 0)
    v_a, v_b = _times(A, B, C, k_a, k_b)
    v_a = tl.where(i == s, 0.0, v_a - along * c_a)
    v_b = tl.where(o == s, 0.0, v_b - along * c_b)
    late_ptr += lag * 4 * H
    if REFINED:
        tl.store(late_ptr + 2 * H + i, v_a)
        tl.store(late_ptr + 2 * H + o, v_b)
        tl.debug_barrier()
        v_a = tl.load(late_ptr + 2 * H + i)  # the same v in the residual and in what it is added to
        v_b = tl.load(late_ptr + 2 * H + o)
        in_a, in_b = filled_a & (i != s), filled_b & (o != s)
        rest_a, rest_b = _residual(kernel_ptr, where_a, where_b, in_a, in_b, k_a, k_b, v_a, v_b, noise, n)
        along = tl.sum(c_a * rest_a, 0) + tl.sum(c_b * rest_b, 0)
        more_a, more_b = _times(A, B, C, rest_a, rest_b)
        v_a += tl.where(i == s, 0.0, more_a - along * c_a)
        v_b += tl.where(o == s, 0.0, more_b - along * c_b)
        tl.debug_barrier()  # what is stored next was read by all
    known = tl.sum(v_a * k_a, 0) + tl.sum(v_b * k_b, 0)
    root = tl.sqrt(tl.maximum(own - known, 0.0) + noise)
    scale = 1.0 / root
    # through memory, so that all of A⁻¹ is changed by the same vectors, now and later
    tl.store(late_ptr + i, c_a)
    tl.store(late_ptr + o, c_b)
    tl.store(late_ptr + 2 * H + i, tl.where(i == s, 1.0, -v_a) * scale)
    tl.store(late_ptr + 2 * H + o, tl.where(o == s, 1.0, -v_b) * scale)
    rows = spread_ptr + ((shape * keys + b) * R + drift) * n
    slopes = rows + (2 * D - STEADY) * n
    x = tl.arange(0, N)
    tl.store(rows + x, tl.zeros((N,), tl.float64), mask=x < n)
    tl.store(rows + D * n + x, tl.zeros((N,), tl.float64), mask=x < n)
    if TIMED:  # noqa: SIM102 — the first is decided when this is compiled
        if drift >= STEADY:
            tl.store(slopes + x, tl.zeros((N,), tl.float64), mask=x < n)
            tl.store(slopes + (D - STEADY) * n + x, tl.zeros((N,), tl.float64), mask=x < n)
    tl.debug_barrier()
    c_a, c_b = tl.load(late_ptr + i), tl.load(late_ptr + o)
    u_a, u_b = tl.load(late_ptr + 2 * H + i), tl.load(late_ptr + 2 * H + o)
    if (lag == LAZY - 1) | (live == 0):
        tl.store(P_ptr + tile, _exchanged(A, row, column, s, c_a, c_a, u_a, u_a))
        tl.store(P_ptr + H * H + tile, _exchanged(B, row + H, column, s, c_b, c_a, u_b, u_a))
        tl.store(P_ptr + 2 * H * H + tile, _exchanged(C, row + H, column + H, s, c_b, c_b, u_b, u_b))
        tl.store(lag_ptr, 0)
    else:
        tl.store(lag_ptr, lag + 1)
        tl.store(lag_ptr + 1 + lag, s)

    # τ∘c over the candidates of the slots before, and τ∘u over those that stay and the one that enters
    stays_a, stays_b = filled_a & (i != s), filled_b & (o != s)
    if TIMED:
        tl.atomic_add(rows + where_a, tau_a * c_a, mask=filled_a, sem="relaxed")
        tl.atomic_add(rows + where_b, tau_b * c_b, mask=filled_b, sem="relaxed")
        tl.atomic_add(rows + D * n + where_a, tau_a * u_a, mask=stays_a, sem="relaxed")
        tl.atomic_add(rows + D * n + where_b, tau_b * u_b, mask=stays_b, sem="relaxed")
    else:
        tl.atomic_add(rows + where_a, c_a, mask=filled_a, sem="relaxed")
        tl.atomic_add(rows + where_b, c_b, mask=filled_b, sem="relaxed")
        tl.atomic_add(rows + n + where_a, u_a, mask=stays_a, sem="relaxed")
        tl.atomic_add(rows + n + where_b, u_b, mask=stays_b, sem="relaxed")
    tl.atomic_add(rows + D * n + j, scale, sem="relaxed")
    if TIMED:  # noqa: SIM102
        if drift >= STEADY:
            tl.atomic_add(slopes + where_a, -age_a * e_a * c_a, mask=filled_a, sem="relaxed")
            tl.atomic_add(slopes + where_b, -age_b * e_b * c_b, mask=filled_b, sem="relaxed")
            slopes += (D - STEADY) * n
            tl.atomic_add(slopes + where_a, -age_a * e_a * u_a, mask=stays_a, sem="relaxed")
            tl.atomic_add(slopes + where_b, -age_b * e_b * u_b, mask=stays_b, sem="relaxed")

    # cᵀY, uᵀY and what was expected, of rewards and of ones
    y_a, y_b = tl.where(filled_a, y_a, 0.0), tl.where(filled_b, y_b, 0.0)
    one_a, one_b = filled_a.to(tl.float64), filled_b.to(tl.float64)
    out = scalars_ptr + (b * E + e) * 8
    lost = tl.sum(c_a * y_a, 0) + tl.sum(c_b * y_b, 0)
    lost_one = tl.sum(c_a * one_a, 0) + tl.sum(c_b * one_b, 0)
    u_a, u_b = tl.where(i == s, 0.0, u_a), tl.where(o == s, 0.0, u_b)
    others = tl.sum(u_a * y_a, 0) + tl.sum(u_b * y_b, 0)
    others_one = tl.sum(u_a * one_a, 0) + tl.sum(u_b * one_b, 0)
    tl.store(out, lost)
    tl.store(out + 1, lost_one)
    tl.store(out + 2, others + y * scale)
    tl.store(out + 3, others_one + scale)
    tl.store(out + 4, along_all * lost - others * root)
    tl.store(out + 5, along_all * lost_one - others_one * root)
    tl.store(out + 6, known + along_all * along_all)
    tl.store(out + 7, held.to(tl.float64))
