"""How far f_t(x) can be from μ_{t−1}(x) if the world moved inside the window: each function is a band's half-width."""

from __future__ import annotations

import math

import numpy as np

from driftwise import checks
from driftwise.gp.belief import Belief, Conditioned
from driftwise.records import Array


def paper_band(belief: Belief, X: Array, *, beta: float, drift: float, xi: float) -> Array:
    """Lemmas 1 and 2:  β σ(x) + ξ Σ_s ‖f_{s+1} − f_s‖_H, `drift` being that sum over the window: (m,)."""
    _, std = _asked(belief, X)
    return _size("beta", beta) * std + _size("xi", xi) * _size("drift", drift)


def drift_bias(belief: Conditioned, X: Array, *, drift: float) -> Array:
    """V ‖α(x)‖₁: what the mean may be off for the drift alone, V = max_s sup_x |f_s(x) − f_t(x)| over the window: (m,).

    >>> from driftwise import RBF, Posterior
    >>> belief = Posterior(RBF(0.2), noise=1.0).append([0.5], 1.0)
    >>> drift_bias(belief, np.array([[0.5]]), drift=0.2).round(9).tolist()
    [0.1]
    """
    _asked(belief, X)
    return _size("drift", drift) * np.abs(belief.weights(X)).sum(axis=1)


def drift_aware_band(belief: Conditioned, X: Array, *, beta: float, drift: float) -> Array:
    """β σ(x) + V ‖α(x)‖₁: (m,). The proof is in docs/theory.md."""
    _, std = _asked(belief, X)
    return _size("beta", beta) * std + drift_bias(belief, X, drift=drift)


def relaxed_drift_aware_band(belief: Belief, X: Array, *, beta: float, drift: float) -> Array:
    """(β + V √(n/λ)) σ(x), from ‖α‖₁ ≤ √n ‖α‖₂ ≤ √(n/λ) σ: wider, but a multiple of σ: (m,)."""
    _, std = _asked(belief, X)
    return (_size("beta", beta) + _size("drift", drift) * math.sqrt(len(belief) / belief.noise)) * std


def _asked(belief: Belief, X: Array) -> tuple[Array, Array]:
    """μ and σ of what is a belief, at what are points."""
    parts, example = ("predict", "weights", "noise"), "a belief, as Posterior(RBF(0.2), 0.01)"
    asked: Belief = checks.like("belief", belief, parts, example)
    return asked.predict(checks.table("X", X))


_size = checks.nonnegative
