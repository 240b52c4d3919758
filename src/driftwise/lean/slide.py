"""The posteriors of all experts while the windows of their keys slide: one pass for an observation.

An expert on the slots of a window has A = K∘K_T + λI over the slots that it holds. With now the time of the newest
observation, τ_i = k_T(now, t_i) and K_w the kernel rows of the slots, at all candidates

    mean = K_wᵀ(τ ∘ A⁻¹Y),    variance = k − V,    V = the diagonal of K_wᵀ(τ ∘ A⁻¹ ∘ τᵀ)K_w

Columns of Y are the rewards and ones, so that rewards can be centred and scaled afterwards. When time passes, A⁻¹ stays
and mean and V are multiplied by ρ and ρ². A drift with a slope has both for the value and the slope (in units in which
either has variance 1), which a 2 × 2 matrix moves.

A moving level is the same for all candidates. It adds v k_L(t, t′) to A, and to the
covariances of an observation, but nothing to those of the function, which alone matters for the choice: the formulas
above stay. So k_L need not be a Markov chain. A level that moves from one step to the next is but more noise.

A slide drops the observation of slot s and puts a new one, of candidate j, there. With c = A⁻¹[:, s], p = c_s and
k = τ ∘ K_wj + v k_L the covariances of the new observation with the others,

    u = (A⁻¹ − c cᵀ/p) k, u_s := 0        δ = k(j, j) + v + λ − kᵀu
    g = K_wᵀ(τ ∘ c)/√p                    h = (K_j − K_wᵀ(τ ∘ u))/√δ
    V ← V − g² + h²                       mean ← mean − g (cᵀY)/√p + h r,   r = (Y_new − Yᵀu)/√δ
    A⁻¹ ← A⁻¹ − c cᵀ/p + ũ ũᵀ/δ           ũ = u with −1 in slot s
    YᵀA⁻¹Y ← YᵀA⁻¹Y − (Yᵀc)(cᵀY)/p + r rᵀ

An expert that does not hold slot s has c = 0 there: nothing is dropped, and the same step fills a window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.lean.bank import Flags, LeanBank
from driftwise.records import Array

Places = NDArray[np.intp]  # (k,): the candidate of each key


class Beliefs(NamedTuple):
    """Of each of S·D experts of k keys, at the time of the key's newest observation."""

    inverse: Array  # (k, S, D, w, w): A⁻¹, 0 in the rows and columns of slots that an expert does not hold
    mean: Array  # (k, S, D, 2, n): what rewards and ones predict
    explained: Array  # (k, S, D, n): V
    slope: Array  # (k, S, D₂, 2, n): the same mean of the slope, of the D₂ drifts that have one
    explained_slope: Array  # (k, S, D₂, 2, n): of the covariance of value and slope, and of the slope's variance
    squares: Array  # (k, S, D, 2, 2): YᵀA⁻¹Y
    seen: NDArray[np.intp]  # (k, S, D): how many observations an expert holds

    @classmethod
    def prior(cls, bank: LeanBank, keys: int) -> Beliefs:
        (S, D), n, w, trends = bank.shares.shape, len(bank.points), bank.window, len(bank.trends)
        return cls(
            np.zeros((keys, S, D, w, w)),
            np.zeros((keys, S, D, 2, n)),
            np.zeros((keys, S, D, n)),
            np.zeros((keys, S, trends, 2, n)),
            np.zeros((keys, S, trends, 2, n)),
            np.zeros((keys, S, D, 2, 2)),
            np.zeros((keys, S, D), dtype=np.intp),
        )


def after(bank: LeanBank, b: Beliefs, steps: Array) -> Beliefs:
    """The beliefs when so many steps, (k,), have passed for each key."""
    r = steps[:, None] * bank.rates  # (k, D)
    e = np.exp(-r)
    value = (e * (1 + bank.sloped * r))[:, None, :, None]
    mean, explained = value[..., None] * b.mean, value**2 * b.explained
    if not bank.trends:
        return b._replace(mean=mean, explained=explained)
    to_slope, to_value = (e * r)[:, None, bank.steady :, None], (e * (1 - r))[:, None, bank.steady :, None]
    value, old = value[:, :, bank.steady :], b.mean[:, :, bank.steady :]
    V, (C, W) = b.explained[:, :, bank.steady :], np.moveaxis(b.explained_slope, 3, 0)
    mean[:, :, bank.steady :] += to_slope[..., None] * b.slope
    explained[:, :, bank.steady :] += 2 * value * to_slope * C + to_slope**2 * W
    slope = to_value[..., None] * b.slope - to_slope[..., None] * old
    both = (value * to_value - to_slope**2) * C + to_slope * (to_value * W - value * V)
    of_slope = to_value**2 * W - 2 * to_value * to_slope * C + to_slope**2 * V
    return b._replace(mean=mean, explained=explained, slope=slope, explained_slope=np.stack([both, of_slope], axis=3))


def decays(bank: LeanBank, ages: Array) -> tuple[Array, Array]:
    """Of the ages of slots, (k, w): k_T of each drift, (k, 1, D, w), and of the slope with the value, (k, 1, D₂, w)."""
    r = ages[:, None, None, :] * bank.rates[:, None]
    e = np.exp(-r)
    return e * (1 + bank.sloped[:, None] * r), -(r * e)[:, :, bank.steady :]


def moving_level(bank: LeanBank, ages: Array) -> Array:
    """v k_L of the ages of slots, (k, w): (k, 1, D, w)."""
    variance, rates = bank.level
    r = ages[:, None, None, :] * rates[:, None]
    return np.asarray(variance[:, None] * (1 + r) * np.exp(-r))


class Foreseen(NamedTuple):
    """An observation at one candidate of each key, before it is made."""

    covariance: Array  # (k, S, D, w): k, with those in the slots
    solved: Array  # (k, S, D, w): A⁻¹k
    mean: Array  # (k, S, D, 2): YᵀA⁻¹k, what rewards and ones predict
    variance: Array  # (k, S, D): with the noise


def foreseen(bank: LeanBank, b: Beliefs, where: NDArray[np.intp], Y: Array, ages: Array, j: Places) -> Foreseen:
    """What experts expect of an observation at candidate `j`, (k,), now, with its level and noise."""
    rows = np.moveaxis(bank.kernel[:, where, j[:, None]], 0, 1)[:, :, None, :]
    k = decays(bank, ages)[0] * rows + moving_level(bank, ages)
    solved = (b.inverse @ k[..., None])[..., 0]
    prior = bank.variance[:, j].T[:, :, None] + bank.level[0] + bank.noise
    return Foreseen(k, solved, solved @ Y[:, None], prior - np.einsum("ksdw,ksdw->ksd", k, solved))


def slide(
    bank: LeanBank,
    b: Beliefs,
    where: NDArray[np.intp],
    Y: Array,
    ages: Array,
    slot: Places,
    j: Places,
    y: Array,
    of: Foreseen,
) -> Beliefs:
    """The beliefs after reward `y` at candidate `j`, which takes the place of what is in `slot`: (k,) each.

    The slots hold the candidates `where`, (k, w), and Y, (k, w, 2), before it; `ages` of the slots and `b` are at its
    time, and `of` is what was foreseen.
    """
    keys, (S, D) = np.arange(len(j)), bank.shares.shape
    tau, tau_slope = decays(bank, ages)
    rows = bank.kernel[np.arange(S)[:, None], where[:, None, :]]  # (k, S, w, n)
    c = b.inverse[keys, :, :, :, slot]  # (k, S, D, w)
    p = c[keys, :, :, slot]
    held = p > 0
    c = c / np.sqrt(np.where(held, p, 1.0))[..., None]  # 0 where it is not held
    lost = np.einsum("ksdw,ksdw->ksd", c, of.covariance)[..., None]
    root = np.sqrt(np.maximum(of.variance, bank.noise)[..., None] + lost**2)  # √δ; rounding can leave a little less
    u = (of.solved - c * lost) / root
    u[keys, :, :, slot] = 0.0

    first = bank.steady
    slopes = tau_slope * c[:, :, first:], tau_slope * u[:, :, first:]
    products = np.concatenate([tau * c, tau * u, *slopes], axis=2) @ rows
    g, h, g_slope, h_slope = np.split(products, [D, 2 * D, 3 * D - first], axis=2)
    h = bank.kernel[:, j].transpose(1, 0, 2)[:, :, None, :] / root - h
    dropped = c @ Y[:, None]  # (k, S, D, 2)
    mean = b.mean - g[..., None, :] * dropped[..., None]
    new = np.stack([y, np.ones(len(y))], axis=1)[:, None, None, :]
    r = new / root - u @ Y[:, None]
    mean += h[..., None, :] * r[..., None]
    slope = b.slope - g_slope[..., None, :] * dropped[:, :, first:, :, None]
    slope -= h_slope[..., None, :] * r[:, :, first:, :, None]
    both = np.stack([-h_slope * h[:, :, first:] - g_slope * g[:, :, first:], h_slope**2 - g_slope**2], axis=3)
    u[keys, :, :, slot] = -1 / root[..., 0]
    return Beliefs(
        inverse=b.inverse + np.stack([-c, u], axis=-1) @ np.stack([c, u], axis=-2),
        mean=mean,
        explained=b.explained - g**2 + h**2,
        slope=slope,
        explained_slope=b.explained_slope + both,
        squares=b.squares - dropped[..., :, None] * dropped[..., None, :] + r[..., :, None] * r[..., None, :],
        seen=b.seen + ~held,
    )


def begun_again(b: Beliefs, which: Flags) -> Beliefs:
    """The beliefs in which some of the experts, (k, S, D), that have no slope have seen nothing."""
    keep = ~which[..., None]
    return b._replace(
        inverse=b.inverse * keep[..., None],
        mean=b.mean * keep[..., None],
        explained=b.explained * keep,
        squares=b.squares * keep[..., None],
        seen=b.seen * keep[..., 0],
    )


def imagined(
    bank: LeanBank, b: Beliefs, where: NDArray[np.intp], ages: Array, pending: NDArray[np.intp], *, level: bool = False
) -> Array:
    """What is added to V if the `pending` candidates, (k, q), are answered now, at the mean, which stays: (k, S, D, n).

    V is that of the function, or of it and the `level`.
    """
    keys, S = np.arange(len(where)), len(bank.kernels)
    tau, _ = decays(bank, ages)
    rows = bank.kernel[np.arange(S)[:, None], where[:, None, :]]
    V, known, moving = np.zeros(b.explained.shape), list[tuple[Array, Array]](), moving_level(bank, ages)
    for j in pending.T:
        solved = (b.inverse @ (tau * rows[keys, :, :, j][:, :, None, :] + moving)[..., None])[..., 0]
        h = bank.kernel[:, j].transpose(1, 0, 2)[:, :, None, :] - (tau * solved) @ rows  # of the function
        of_level = bank.level[0] - np.einsum("kodw,ksdw->ksd", moving, solved)
        for other, its_level in known:
            both = other[keys, :, :, j] + its_level
            h, of_level = h - both[..., None] * other, of_level - both * its_level
        root = np.sqrt(np.maximum(h[keys, :, :, j] + of_level, 0.0) + bank.noise)
        known.append((h / root[..., None], of_level / root))
        V = V + (known[-1][0] + level * known[-1][1][..., None]) ** 2
    return V


def of_level(bank: LeanBank, b: Beliefs, where: NDArray[np.intp], Y: Array, ages: Array) -> tuple[Array, Array]:
    """What the level adds to what is expected now: to the means, (k, S, D, 2), and to V, (k, S, D, n)."""
    level, tau = moving_level(bank, ages), decays(bank, ages)[0]
    solved = (b.inverse @ np.broadcast_to(level, b.inverse.shape[:-1])[..., None])[..., 0]
    rows = bank.kernel[np.arange(len(bank.kernels))[:, None], where[:, None, :]]
    own = np.einsum("kodw,ksdw->ksd", level, solved)
    return solved @ Y[:, None], 2 * (tau * solved) @ rows + own[..., None]
