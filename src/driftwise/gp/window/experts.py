"""The posteriors of all experts of many keys while their windows slide, in NumPy: arrays (keys, experts, slots).

An expert is a Gaussian process with covariance k_s(x, x′)·k_T(t, t′) and noise λ_s: a shape s (kernel and noise) and a
kind of drift. The drifts are Markov chains, of one number or of a value and a slope (Matérn-3/2 in time), so that the
posterior at all candidates moves with time by a factor, or by a 2 × 2 matrix. On the slots of a window an expert has
A = K∘K_T + λI over the slots that it holds. With now the time of the newest observation, τ_i = k_T(now, t_i) and K_w
the kernel rows of the slots, at all candidates

    mean = K_wᵀ(τ ∘ A⁻¹Y),    variance = k − V,    V = the diagonal of K_wᵀ(τ ∘ A⁻¹ ∘ τᵀ)K_w

Columns of Y are the rewards and ones, so that rewards can be centred and scaled afterwards. When time passes, A⁻¹ stays
and mean and V are multiplied by ρ and ρ². A drift with a slope has both for the value and the slope (in units in which
either has variance 1), which a 2 × 2 matrix moves.

A moving level is the same for all candidates. It adds v k_L(t, t′) to A, and to the covariances of an observation, but
nothing to those of the function, which alone matters for the choice: the formulas above stay. So k_L need not be a
Markov chain. A level that moves from one step to the next is but more noise.

A slide is that of `gp/window`, with k = τ ∘ K_wj + v k_L, g = K_wᵀ(τ ∘ c), h = K_wᵀ(τ ∘ u), and

    YᵀA⁻¹Y ← YᵀA⁻¹Y − (Yᵀc)(cᵀY) + (Yᵀu)(uᵀY)

An expert that does not hold the slot that is taken has c = 0: nothing leaves, and the same step fills a window.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.gp.window.slots import Index
from driftwise.records import Array

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Experts:
    """S shapes × D drifts on n candidates, with windows of w slots: what all keys share."""

    kernel: Array  # (S, n, n): k_s(x, x′) of all pairs of candidates
    noise: Array  # (S, 1): λ_s
    rates: Array  # (D,): k_T(τ) = e^{−rτ}, and with a slope (1 + rτ)e^{−rτ}
    steady: int  # how many drifts have a value and no slope; the others come after them
    level: Array  # (2, D): v and r of v k_L(τ) = v(1 + rτ)e^{−rτ}; v = 0 without a level
    window: int

    @property
    def shape(self) -> tuple[int, int]:
        """(S, D)."""
        return len(self.kernel), len(self.rates)

    @cached_property
    def variance(self) -> Array:
        """k_s(x, x): (S, n)."""
        return np.einsum("snn->sn", self.kernel)

    @cached_property
    def sloped(self) -> Array:
        """1 for drifts with a slope, 0 for others: (D,)."""
        return (np.arange(len(self.rates)) >= self.steady).astype(float)

    def rows(self, where: Index) -> Array:
        """K_w of the slots' candidates, (k, w), by each shape: (k, S, w, n)."""
        return self.kernel[np.arange(len(self.kernel))[:, None], where[:, None, :]]

    def row(self, j: Index) -> Array:
        """K_j of a candidate of each key, (k,): (k, S, 1, n)."""
        return self.kernel[:, j].transpose(1, 0, 2)[:, :, None, :]


class Beliefs(NamedTuple):
    """Of each of S·D experts of k keys, at the time of the key's newest observation."""

    inverse: Array  # (k, S, D, w, w): A⁻¹, 0 in the rows and columns of slots that an expert does not hold
    mean: Array  # (k, S, D, 2, n): what rewards and ones predict
    explained: Array  # (k, S, D, n): V
    slope: Array  # (k, S, D₂, 2, n): the same mean of the slope, of the D₂ drifts that have one
    explained_slope: Array  # (k, S, D₂, 2, n): of the covariance of value and slope, and of the slope's variance
    squares: Array  # (k, S, D, 2, 2): YᵀA⁻¹Y
    seen: Index  # (k, S, D): how many observations an expert holds

    @classmethod
    def prior(cls, of: Experts, keys: int) -> Beliefs:
        (S, D), n, w = of.shape, of.kernel.shape[1], of.window
        trends = D - of.steady
        return cls(
            np.zeros((keys, S, D, w, w)),
            np.zeros((keys, S, D, 2, n)),
            np.zeros((keys, S, D, n)),
            np.zeros((keys, S, trends, 2, n)),
            np.zeros((keys, S, trends, 2, n)),
            np.zeros((keys, S, D, 2, 2)),
            np.zeros((keys, S, D), dtype=np.intp),
        )


def after(experts: Experts, b: Beliefs, steps: Array) -> Beliefs:
    """The beliefs when so many steps, (k,), have passed for each key."""
    r = steps[:, None] * experts.rates  # (k, D)
    e = np.exp(-r)
    value = (e * (1 + experts.sloped * r))[:, None, :, None]
    mean, explained = value[..., None] * b.mean, value**2 * b.explained
    if experts.steady == len(experts.rates):
        return b._replace(mean=mean, explained=explained)
    to_slope, to_value = (e * r)[:, None, experts.steady :, None], (e * (1 - r))[:, None, experts.steady :, None]
    value, old = value[:, :, experts.steady :], b.mean[:, :, experts.steady :]
    V, (C, W) = b.explained[:, :, experts.steady :], np.moveaxis(b.explained_slope, 3, 0)
    mean[:, :, experts.steady :] += to_slope[..., None] * b.slope
    explained[:, :, experts.steady :] += 2 * value * to_slope * C + to_slope**2 * W
    slope = to_value[..., None] * b.slope - to_slope[..., None] * old
    both = (value * to_value - to_slope**2) * C + to_slope * (to_value * W - value * V)
    of_slope = to_value**2 * W - 2 * to_value * to_slope * C + to_slope**2 * V
    return b._replace(mean=mean, explained=explained, slope=slope, explained_slope=np.stack([both, of_slope], axis=3))


def decays(experts: Experts, ages: Array) -> tuple[Array, Array]:
    """Of the ages of slots, (k, w): k_T of each drift, (k, 1, D, w), and of the slope with the value, (k, 1, D₂, w)."""
    r = ages[:, None, None, :] * experts.rates[:, None]
    e = np.exp(-r)
    return e * (1 + experts.sloped[:, None] * r), -(r * e)[:, :, experts.steady :]


def moving_level(experts: Experts, ages: Array) -> Array:
    """v k_L of the ages of slots, (k, w): (k, 1, D, w)."""
    variance, rates = experts.level
    r = ages[:, None, None, :] * rates[:, None]
    return np.asarray(variance[:, None] * (1 + r) * np.exp(-r))


class HeldSlots(NamedTuple):
    """What is in the slots of k keys."""

    where: Index  # (k, w): candidates
    Y: Array  # (k, w, 2): rewards and ones, 0 in empty slots
    ages: Array  # (k, w): at the time of the beliefs


class Foreseen(NamedTuple):
    """An observation at one candidate of each key, before it is made."""

    covariance: Array  # (k, S, D, w): k, with those in the slots
    solved: Array  # (k, S, D, w): A⁻¹k
    mean: Array  # (k, S, D, 2): YᵀA⁻¹k, what rewards and ones predict
    variance: Array  # (k, S, D): with the noise


def foreseen(experts: Experts, b: Beliefs, held: HeldSlots, j: Index) -> Foreseen:
    """What experts expect of an observation at candidate `j`, (k,), now, with its level and noise."""
    rows = np.moveaxis(experts.kernel[:, held.where, j[:, None]], 0, 1)[:, :, None, :]
    k = decays(experts, held.ages)[0] * rows + moving_level(experts, held.ages)
    solved = (b.inverse @ k[..., None])[..., 0]
    prior = experts.variance[:, j].T[:, :, None] + experts.level[0] + experts.noise
    return Foreseen(k, solved, solved @ held.Y[:, None], prior - np.einsum("ksdw,ksdw->ksd", k, solved))


def slide(experts: Experts, b: Beliefs, held: HeldSlots, slot: Index, j: Index, y: Array, of: Foreseen) -> Beliefs:
    """The beliefs after reward `y` at candidate `j`, which takes the place of what is in `slot`: (k,) each.

    `held` and `b` are as before it, at its time, and `of` is what was foreseen.
    """
    keys, first = np.arange(len(j)), experts.steady
    c, u, root, there = _vectors(experts, b, slot, of)
    g, h, g_slope, h_slope = _products(experts, held, c, u)
    h = h + experts.row(j) / root[..., None]
    lost = c @ held.Y[:, None]  # (k, S, D, 2)
    gained = u @ held.Y[:, None] + np.stack([y, np.ones(len(y))], axis=1)[:, None, None, :] / root[..., None]
    mean = b.mean - g[..., None, :] * lost[..., None]
    mean += h[..., None, :] * gained[..., None]
    slope = b.slope - g_slope[..., None, :] * lost[:, :, first:, :, None]
    slope += h_slope[..., None, :] * gained[:, :, first:, :, None]
    both = np.stack([h_slope * h[:, :, first:] - g_slope * g[:, :, first:], h_slope**2 - g_slope**2], axis=3)
    u[keys, :, :, slot] = 1 / root
    inverse = np.stack([-c, u], axis=-1) @ np.stack([c, u], axis=-2)
    inverse += b.inverse  # in place, so that one array of this size is made and not two
    return Beliefs(
        inverse=inverse,
        mean=mean,
        explained=b.explained - g**2 + h**2,
        slope=slope,
        explained_slope=b.explained_slope + both,
        squares=b.squares - lost[..., :, None] * lost[..., None, :] + gained[..., :, None] * gained[..., None, :],
        seen=b.seen + ~there,
    )


def _vectors(experts: Experts, b: Beliefs, slot: Index, of: Foreseen) -> tuple[Array, Array, Array, Flags]:
    """c, and u with 0 in the slot, (k, S, D, w); √δ, and whether the slot was held, (k, S, D)."""
    keys = np.arange(len(slot))
    c = b.inverse[keys, :, :, :, slot]
    p = c[keys, :, :, slot]
    there = p > 0
    c = c / np.sqrt(np.where(there, p, 1.0))[..., None]  # 0 where it is not held
    along = np.einsum("ksdw,ksdw->ksd", c, of.covariance)
    root = np.sqrt(np.maximum(of.variance, experts.noise) + along**2)  # rounding can leave a little less than the noise
    u = (c * along[..., None] - of.solved) / root[..., None]
    u[keys, :, :, slot] = 0.0
    return c, u, root, there


def _products(experts: Experts, held: HeldSlots, c: Array, u: Array) -> list[Array]:
    """K_wᵀ(τ ∘ c) and K_wᵀ(τ ∘ u) of the value, (k, S, D, n), and of the slope, (k, S, D₂, n)."""
    tau, tau_slope = decays(experts, held.ages)
    D, first = tau.shape[2], experts.steady
    slopes = tau_slope * c[:, :, first:], tau_slope * u[:, :, first:]
    products = np.concatenate([tau * c, tau * u, *slopes], axis=2) @ experts.rows(held.where)
    return np.split(products, [D, 2 * D, 3 * D - first], axis=2)


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


def imagined(experts: Experts, b: Beliefs, held: HeldSlots, pending: Index, *, level: bool = False) -> Array:
    """What is added to V if the `pending` candidates, (k, q), are answered now, at the mean, which stays: (k, S, D, n).

    V is that of the function, or of it and the `level`.
    """
    keys, tau, rows = np.arange(len(pending)), decays(experts, held.ages)[0], experts.rows(held.where)
    V, known, moving = np.zeros(b.explained.shape), list[tuple[Array, Array]](), moving_level(experts, held.ages)
    for j in pending.T:
        solved = (b.inverse @ (tau * rows[keys, :, :, j][:, :, None, :] + moving)[..., None])[..., 0]
        h = experts.row(j) - (tau * solved) @ rows  # of the function
        of_level = experts.level[0] - np.einsum("kodw,ksdw->ksd", moving, solved)
        for other, its_level in known:
            both = other[keys, :, :, j] + its_level
            h, of_level = h - both[..., None] * other, of_level - both * its_level
        root = np.sqrt(np.maximum(h[keys, :, :, j] + of_level, 0.0) + experts.noise)
        known.append((h / root[..., None], of_level / root))
        V = V + (known[-1][0] + level * known[-1][1][..., None]) ** 2
    return V


def of_level(experts: Experts, b: Beliefs, held: HeldSlots) -> tuple[Array, Array]:
    """What the level adds to what is expected now: to the means, (k, S, D, 2), and to V, (k, S, D, n)."""
    level, tau = moving_level(experts, held.ages), decays(experts, held.ages)[0]
    solved = (b.inverse @ np.broadcast_to(level, b.inverse.shape[:-1])[..., None])[..., 0]
    own = np.einsum("kodw,ksdw->ksd", level, solved)
    return solved @ held.Y[:, None], 2 * (tau * solved) @ experts.rows(held.where) + own[..., None]
