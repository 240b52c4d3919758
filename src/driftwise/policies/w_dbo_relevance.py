"""How much an observation matters for future predictions: the relevance of W-DBO (Bardou, Thiran & Ranieri 2024).

    R_i = W̄(D, D∖i) / W̄(D, ∅),   W̄²(D, D') = ∫_{x ∈ R^d} ∫_{t ≥ now} (μ − μ')² + |σ² − σ'²|

The integrals are of products of kernels, C_ij = A_ij·B_ij with A over space and B over the time to come, both in closed
form. The difference that leaving i out makes is known without leaving it out: with P = (K + σ²I)⁻¹ and m = Py,

    μ − μ' = (m_i/P_ii)(Pk)_i,   σ'² − σ² = (Pk)_i²/P_ii,

so all n relevances take O(n³) together, where deleting row after row takes O(n⁴).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Kernel, Matern
from driftwise.gp.linalg import cholesky, invert_lower
from driftwise.gp.time_kernels import UNDERFLOW, Forgetting, MaternInTime, TimeKernel
from driftwise.records import Array


def relevance(K: Array, noise: float | Array, y: Array, C: Array, variance: float = 1.0) -> Array:
    """R_i for every observation: (n,). K = variance · (the kernel of unit variance that C integrates)."""
    W = invert_lower(cholesky(K + noise * np.eye(len(K)))[0])  # of noises that differ, each is in its own column
    P = W.T @ W
    m = P @ y
    own = np.diagonal(P)
    kept = np.einsum("ij,jk,ki->i", P, C, P, optimize=True)  # (PCP)_ii
    change = variance**2 * (np.square(m / own) + 1 / own) * kept
    whole = variance**2 * (m @ C @ m + np.sum(P * C))
    # rounding can leave −1e−17 where an observation says nothing
    return np.sqrt(np.maximum(change, 0.0) / max(float(whole), 1e-300))


def overlaps(space: Kernel, time: TimeKernel, X: Array, at: Array, now: float) -> Array:
    """C_ij = ∫∫ k(x, x_i; t, t_i) k(x, x_j; t, t_j) over all x and all t ≥ now: (n, n)."""
    return over_space(space, X) * over_time(time, now - at)


def over_space(kernel: Kernel, X: Array) -> Array:
    """A_ij = ∫ k(x, x_i) k(x, x_j) dx over R^d: (n, n).

    SE: (√π)^d ∏ℓ · e^{−r²/4}.  Matérn, with a = √(2ν) and q = 2ν + d/2:
    2^{d+1−q} π^{d/2} Γ(ν + d/2)² (ar)^q K_q(ar) ∏ℓ / [Γ(ν)² Γ(2ν + d) a^d];  r = ‖(x_i − x_j)/ℓ‖.
    """
    if not isinstance(kernel, RBF | Matern):
        got = checks.shown(kernel)
        raise InvalidInput(f"w-dbo needs a kernel it can integrate over space, RBF or Matern; got {got}")
    d = X.shape[1]
    scale = np.broadcast_to(np.asarray(kernel.lengthscale, dtype=float), (d,))
    S = X / scale
    r = np.sqrt(np.square(S[:, None, :] - S[None, :, :]).sum(axis=2))
    volume = float(np.prod(scale))
    if isinstance(kernel, RBF):
        return math.pi ** (d / 2) * volume * np.exp(-0.25 * r * r)
    nu = kernel.nu
    a, q = math.sqrt(2 * nu), 2 * nu + d / 2
    log_factor = (
        (d + 1 - q) * math.log(2)
        + 0.5 * d * math.log(math.pi)
        + 2 * math.lgamma(nu + d / 2)
        - 2 * math.lgamma(nu)
        - math.lgamma(2 * nu + d)
        - d * math.log(a)
    )
    return volume * math.exp(log_factor) * _bessel(a * r, q)


def over_time(kernel: TimeKernel, ages: Array) -> Array:
    """B_ij = ∫_0^∞ k(u_i + s) k(u_j + s) ds for the ages u = now − t ≥ 0: (n, n).

    With k(r) = Q(r)e^{−ar}: e^{−a(u+v)}/(2a) · Σ_g w_g Q(u + z_g/2a) Q(v + z_g/2a), which Gauss–Laguerre makes exact.
    """
    if isinstance(kernel, Forgetting) and kernel.epsilon > 0:
        nu, a = 0.5, -0.5 * math.log1p(-kernel.epsilon)
    elif isinstance(kernel, MaternInTime):
        nu, a = kernel.nu, math.sqrt(2 * kernel.nu) / kernel.scale
    else:
        raise InvalidInput(f"w-dbo needs a kernel it can integrate over time, MaternInTime; got {checks.shown(kernel)}")
    nodes, weights = special.roots_laguerre(round(nu + 0.5))
    u = np.minimum(a * ages, UNDERFLOW)
    b = u[:, None] + nodes[None, :] / 2  # (n, g)
    Q = {0.5: np.ones_like(b), 1.5: 1 + b, 2.5: 1 + b + b * b / 3}[nu]
    decay = Q * np.exp(-u)[:, None]
    return (decay * weights) @ decay.T / (2 * a)


def _bessel(z: Array, q: float) -> Array:
    """z^q K_q(z), which tends to 2^{q−1} Γ(q) as z → 0: before either factor is beyond what a float can be."""
    small = max(1e-6, 10 ** (-200 / q))
    safe = np.maximum(z, small)
    return np.where(z > small, safe**q * special.kv(q, safe), 2 ** (q - 1) * math.gamma(q))
