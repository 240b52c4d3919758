"""The weights of experts, and what they say at all candidates, after the slide of `auto-lean` on a GPU.

`weigh` is `lean/weigh.py`. `move` brings the posteriors at candidates up to date, and chooses. An expert that has seen
nothing is read as zeros, whatever is in its memory.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _rate(Q_ptr, location, scale, strength, mask):
    """b of the gamma of each expert's signal: STRENGTH + ½ yᵀA⁻¹y for rewards in these units."""
    q00 = tl.load(Q_ptr, mask=mask, other=0.0)
    q01 = tl.load(Q_ptr + 1, mask=mask, other=0.0)
    q11 = tl.load(Q_ptr + 2, mask=mask, other=0.0)
    squares = (q00 - 2.0 * location * q01 + location * location * q11) / (scale * scale)
    return strength + 0.5 * tl.maximum(squares, 0.0)


@triton.jit
def weigh(
    slots_ptr, entering_ptr, number_ptr,  # (r,)
    ints_ptr, reals_ptr,  # of `seat`
    scalars_ptr,  # (r, E, 8): of `exchange`; the last four become: whether it had seen anything, whether it goes on
    seen_ptr, weights_ptr, spread_ptr, Q_ptr,  # (C, E), (C, E), (C, E), (C, E, 3): updated; spread is √(b/a)
    units_ptr,  # (C, 4)
    variance_ptr, level_ptr, noise_ptr, shares_ptr, gammas_ptr,  # (S, n), (2, D), (S,), (E,), (w + 1,)
    constants_ptr,  # (4,): STRENGTH, SHARE, RARE and the numbers between two beginnings
    surprise_ptr,  # (r,): out
    n,
    S: tl.constexpr, D: tl.constexpr, EP: tl.constexpr, FIRST: tl.constexpr, STEADY: tl.constexpr,
):  # fmt: skip
    """Fixed share by the densities of the reward; drifts FIRST to STEADY begin again in turn."""
    b = tl.program_id(0).to(tl.int64)
    r = tl.load(slots_ptr + b)
    j = tl.load(entering_ptr + b)
    e = tl.arange(0, EP)
    mine = e < S * D
    shape, drift = e // D, e % D
    at = r * S * D + e
    strength, share, rare = tl.load(constants_ptr), tl.load(constants_ptr + 1), tl.load(constants_ptr + 2)
    scalars_ptr += (b * S * D + e) * 8
    mean = tl.load(scalars_ptr + 4, mask=mine, other=0.0)
    mean_one = tl.load(scalars_ptr + 5, mask=mine, other=0.0)
    V = tl.load(scalars_ptr + 6, mask=mine, other=0.0)
    seen = tl.load(seen_ptr + at, mask=mine, other=0)
    weights = tl.load(weights_ptr + at, mask=mine, other=0.0)
    prior = tl.load(variance_ptr + shape * n + j, mask=mine, other=1.0)
    prior += tl.load(level_ptr + drift, mask=mine, other=0.0)  # a reward has the level, too
    noise = tl.load(noise_ptr + shape, mask=mine, other=1.0)
    a = strength + 0.5 * seen

    # how far the reward is from what the mixture expected before
    location, scale = tl.load(reals_ptr + 6 * b + 3), tl.load(reals_ptr + 6 * b + 4)
    raw = tl.load(reals_ptr + 6 * b + 1)
    signal = _rate(Q_ptr + 3 * at, location, scale, strength, mine) / a
    miss = (raw - location - mean + location * mean_one) / scale
    variance = tl.minimum(tl.maximum(prior - V, 0.0), prior) * signal
    centre = tl.sum(weights * miss, 0)
    around = tl.sum(weights * (variance + miss * miss), 0) - centre * centre
    around = tl.maximum(around, 0.0) + tl.sum(weights * signal * noise, 0)
    any_seen = tl.load(reals_ptr + 6 * b + 5) > 0.0
    tl.store(surprise_ptr + b, tl.where(any_seen, centre / tl.sqrt(around), 0.0))

    # densities: Student's t
    location, scale = tl.load(units_ptr + 4 * r), tl.load(units_ptr + 4 * r + 1)
    y = tl.load(reals_ptr + 6 * b)
    rate = _rate(Q_ptr + 3 * at, location, scale, strength, mine)
    miss = (y - location - mean + location * mean_one) / scale
    spread = rate * tl.maximum(prior + noise - tl.maximum(V, 0.0), noise)
    density = tl.load(gammas_ptr + seen, mask=mine, other=0.0) - 0.5 * tl.log(spread * 6.283185307179586)
    density -= (a + 0.5) * tl.log(1.0 + miss * miss / (2.0 * spread))
    density = tl.where(mine, density, float("-inf"))
    v = weights * tl.exp(density - tl.max(density, 0))
    v /= tl.sum(v, 0)
    shares = tl.load(shares_ptr + e, mask=mine, other=0.0)
    family = tl.zeros((EP,), tl.float64)
    for s in tl.static_range(S):
        own = (shape == s) & mine
        part = tl.sum(tl.where(own, v, 0.0), 0) / tl.sum(tl.where(own, shares, 0.0), 0)
        family = tl.where(own, part * shares, family)
    weights = (1.0 - share - rare) * v + share * family + rare * shares
    tl.store(weights_ptr + at, weights, mask=mine)

    # what begins again: of each shape the one with the least weight
    every = tl.load(constants_ptr + 3).to(tl.int32)
    number = tl.load(number_ptr + b)
    turn = number // every != (number - tl.load(ints_ptr + 4 * b + 3)) // every
    again = e < 0
    if FIRST < STEADY:
        for s in tl.static_range(S):
            own = (shape == s) & (drift >= FIRST) & (drift < STEADY) & mine
            lightest = tl.argmin(tl.where(own, weights, float("inf")), 0, tie_break_left=True)
            again = again | ((e == lightest) & turn)
    held = tl.load(scalars_ptr + 7, mask=mine, other=0.0) > 0.0
    now = tl.where(again, 0, seen + tl.where(held, 0, 1))
    tl.store(seen_ptr + at, now, mask=mine)
    drop, drop_one = tl.load(scalars_ptr, mask=mine, other=0.0), tl.load(scalars_ptr + 1, mask=mine, other=0.0)
    gain, gain_one = tl.load(scalars_ptr + 2, mask=mine, other=0.0), tl.load(scalars_ptr + 3, mask=mine, other=0.0)
    q00 = tl.load(Q_ptr + 3 * at, mask=mine, other=0.0) - drop * drop + gain * gain
    q01 = tl.load(Q_ptr + 3 * at + 1, mask=mine, other=0.0) - drop * drop_one + gain * gain_one
    q11 = tl.load(Q_ptr + 3 * at + 2, mask=mine, other=0.0) - drop_one * drop_one + gain_one * gain_one
    q00, q01, q11 = tl.where(again, 0.0, q00), tl.where(again, 0.0, q01), tl.where(again, 0.0, q11)
    tl.store(Q_ptr + 3 * at, q00, mask=mine)
    tl.store(Q_ptr + 3 * at + 1, q01, mask=mine)
    tl.store(Q_ptr + 3 * at + 2, q11, mask=mine)
    squares = (q00 - 2.0 * location * q01 + location * location * q11) / (scale * scale)
    rate = strength + 0.5 * tl.maximum(squares, 0.0)
    tl.store(spread_ptr + at, tl.sqrt(rate / (strength + 0.5 * now)), mask=mine)
    tl.store(scalars_ptr + 4, tl.where(seen > 0, 1.0, 0.0), mask=mine)
    tl.store(scalars_ptr + 5, tl.where(again, 0.0, 1.0), mask=mine)


@triton.jit
def _value(m, one, V, slope, slope_one, C, W, x, SLOPED: tl.constexpr):
    """Mean of rewards and of ones, and V, when time has passed: x is the rate times the steps."""
    e = tl.exp(-x)
    if SLOPED:
        value, other = e * (1.0 + x), e * x
        V = value * value * V + 2.0 * value * other * C + other * other * W
        return value * m + other * slope, value * one + other * slope_one, V
    else:
        return e * m, e * one, e * e * V


@triton.jit
def _slope(m, one, V, slope, slope_one, C, W, x):
    """The same of the slope: its mean of rewards and of ones, its covariance with the value, and its variance."""
    e = tl.exp(-x)
    value, other, own = e * (1.0 + x), e * x, e * (1.0 - x)
    both = (value * own - other * other) * C + other * (own * W - value * V)
    of_slope = own * own * W - 2.0 * own * other * C + other * other * V
    return own * slope - other * m, own * slope_one - other * one, both, of_slope


@triton.jit
def _bound(m, one, V, prior, expected, location, scale, bonus):
    """μ + b σ of an expert, as targets; b has the spread of its signal."""
    return (m - location * one + expected) / scale + bonus * tl.sqrt(tl.minimum(tl.maximum(prior - V, 0.0), prior))


@triton.jit
def move(
    slots_ptr, ints_ptr,  # (r,), (r, 4)
    scalars_ptr,  # (r, E, 8): of `weigh`
    swept_ptr,  # (S, r, R, n): products with the kernel matrices
    mean_ptr, V_ptr, slope_ptr, V_slope_ptr,  # (C, E, 2, n), (C, E, n), (C, S, T, 2, n) twice: updated
    seen_ptr, weights_ptr, spread_ptr, units_ptr,  # (C, E) three times, (C, 4)
    variance_ptr, expected_ptr, rates_ptr, bonus_ptr,  # (S, n), (n,), (D,), (D,)
    steps_ptr, best_ptr,  # (r,): how far ahead of the newest observation to choose; (C,): out
    n, keys,
    SLIDE: tl.constexpr,  # without it, choose alone
    S: tl.constexpr, D: tl.constexpr, STEADY: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    r = tl.load(slots_ptr + b)
    i = tl.arange(0, N)
    inside = i < n
    location, scale = tl.load(units_ptr + 4 * r), tl.load(units_ptr + 4 * r + 1)
    expected = tl.load(expected_ptr + i, mask=inside, other=0.0)
    ahead = tl.load(steps_ptr + b).to(tl.float64)
    T: tl.constexpr = D - STEADY
    score = tl.zeros((N,), tl.float64)
    none = tl.zeros((N,), tl.float64)
    for e in range(S * D):
        shape, drift = e // D, e % D
        prior = tl.load(variance_ptr + shape * n + i, mask=inside, other=0.0)
        rate = tl.load(rates_ptr + drift)
        at = r * S * D + e
        mean = mean_ptr + at * 2 * n + i
        out = scalars_ptr + (b * S * D + e) * 8
        if SLIDE:
            x = rate * tl.load(ints_ptr + 4 * b + 3).to(tl.float64)
            live = tl.load(out + 4).to(tl.int32) > 0
            rows = swept_ptr + ((shape * keys + b) * (2 * D + 2 * T) + drift) * n + i
            g = tl.load(rows, mask=inside, other=0.0)
            h = tl.load(rows + D * n, mask=inside, other=0.0)
            drop, drop_one = tl.load(out), tl.load(out + 1)
            gain, gain_one = tl.load(out + 2), tl.load(out + 3)
            keep = tl.load(out + 5)
        else:
            live = tl.load(seen_ptr + at) > 0
        known = i < tl.where(live, n, 0)
        m = tl.load(mean, mask=known, other=0.0)
        one = tl.load(mean + n, mask=known, other=0.0)
        V = tl.load(V_ptr + at * n + i, mask=known, other=0.0)
        if drift >= STEADY:
            first = (r * S + shape) * T + drift - STEADY
            slopes = slope_ptr + first * 2 * n + i
            others = V_slope_ptr + first * 2 * n + i
            p = tl.load(slopes, mask=known, other=0.0)
            p_one = tl.load(slopes + n, mask=known, other=0.0)
            C = tl.load(others, mask=known, other=0.0)
            W = tl.load(others + n, mask=known, other=0.0)
            if SLIDE:
                q, q_one, C1, W1 = _slope(m, one, V, p, p_one, C, W, x)
                m, one, V = _value(m, one, V, p, p_one, C, W, x, True)
                g_slope = tl.load(rows + (2 * D - STEADY) * n, mask=inside, other=0.0)
                h_slope = tl.load(rows + (2 * D - STEADY + T) * n, mask=inside, other=0.0)
                p = q - g_slope * drop + h_slope * gain
                p_one = q_one - g_slope * drop_one + h_slope * gain_one
                C = C1 + h_slope * h - g_slope * g
                W = W1 + h_slope * h_slope - g_slope * g_slope
                tl.store(slopes, p, mask=inside)
                tl.store(slopes + n, p_one, mask=inside)
                tl.store(others, C, mask=inside)
                tl.store(others + n, W, mask=inside)
                m += h * gain - g * drop
                one += h * gain_one - g * drop_one
                V += h * h - g * g
                tl.store(mean, m, mask=inside)
                tl.store(mean + n, one, mask=inside)
                tl.store(V_ptr + at * n + i, V, mask=inside)
            m, one, V = _value(m, one, V, p, p_one, C, W, rate * ahead, True)
        else:
            if SLIDE:
                m, one, V = _value(m, one, V, none, none, none, none, x, False)
                m = keep * (m + h * gain - g * drop)
                one = keep * (one + h * gain_one - g * drop_one)
                V = keep * (V + h * h - g * g)
                tl.store(mean, m, mask=inside)
                tl.store(mean + n, one, mask=inside)
                tl.store(V_ptr + at * n + i, V, mask=inside)
            m, one, V = _value(m, one, V, none, none, none, none, rate * ahead, False)
        bonus = tl.load(bonus_ptr + drift) * tl.load(spread_ptr + at)
        score += tl.load(weights_ptr + at) * _bound(m, one, V, prior, expected, location, scale, bonus)
    score = tl.where(inside, score, float("-inf"))
    tl.store(best_ptr + r, tl.argmax(score, 0, tie_break_left=True).to(tl.int32))


@triton.jit
def superseded(where_ptr, near_ptr, newer_ptr, n, span: tl.constexpr, SPAN: tl.constexpr):
    """How many newer ones are near each of the last observations, oldest first: (r, span)."""
    b = tl.program_id(0).to(tl.int64) * span
    i = tl.arange(0, SPAN)
    inside = i < span
    where = tl.load(where_ptr + b + i, mask=inside, other=0)
    newer = tl.zeros((SPAN,), tl.int32)
    for j in range(span):
        row = near_ptr + tl.load(where_ptr + b + j).to(tl.int64) * n
        newer += tl.load(row + where, mask=inside & (i < j), other=0).to(tl.int32)
    tl.store(newer_ptr + b + i, newer, mask=inside)
