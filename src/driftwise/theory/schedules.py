"""How long to remember: H of R-GP-UCB and w of SW-GP-UCB, by the paper's Remarks (2) and (3), always in [1, T]."""

from __future__ import annotations

import math

from driftwise import checks


def known_budget(gain: float, horizon: int, budget: float) -> int:
    """Remark (2): γ_T^¼ (T/P_T)^½, for a regret of Õ(γ_T^{7/8} P_T^¼ T^¾); T where the world stands still.

    >>> known_budget(16.0, horizon=400, budget=4.0), known_budget(16.0, horizon=400, budget=0.0)
    (20, 400)
    """
    return _length(gain, horizon, budget, gain_power=1 / 4, power=1 / 2)


def unknown_budget(gain: float, horizon: int) -> int:
    """Remark (3): γ_T^¼ T^½, for a regret of Õ(γ_T^{7/8} (1 + P_T) T^¾).

    >>> unknown_budget(16.0, horizon=400)
    40
    """
    return known_budget(gain, horizon, 1.0)


def sharp_budget(gain: float, horizon: int, budget: float) -> int:
    """γ_T^½ (T/P)^½, for a regret of Õ(γ_T^¾ P^¼ T^¾) by the sharper drift term, P in sup-norm (docs/theory.md).

    >>> sharp_budget(16.0, horizon=400, budget=4.0)
    40
    """
    return _length(gain, horizon, budget, gain_power=1 / 2, power=1 / 2)


def drift_aware(gain: float, horizon: int, budget: float) -> int:
    """γ_T^⅓ (T/P)^⅔, for a regret of Õ(γ_T^{5/6} P^⅓ T^⅔) with `relaxed_drift_aware_band`.

    P is in sup-norm (docs/theory.md).

    >>> drift_aware(8.0, horizon=1000, budget=1.0)
    200
    """
    return _length(gain, horizon, budget, gain_power=1 / 3, power=2 / 3)


def _length(gain: float, horizon: int, budget: float, *, gain_power: float, power: float) -> int:
    """γ^a (T/P)^b, to the nearest whole number in [1, T]."""
    T = checks.count("horizon", horizon)
    P = checks.nonnegative("budget", budget, fix="it is P_T, the variation of the world over the horizon")
    gamma = checks.nonnegative("gain", gain)
    if P == 0:
        return T  # the world stands still, and all is worth remembering
    # in logarithms, as T/P overflows for tiny P
    exponent = gain_power * _log(gamma) + power * (math.log(T) - _log(P))
    return T if exponent >= math.log(T) else max(1, round(math.exp(exponent)))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
