"""What a bank of experts believes together: a mixture of Gaussian processes.

With weights w_e, forgetting ρ_e = k_T(now, t_s) and k_e = ρ_e∘k(x):

    μ_e = k_eᵀA_e⁻¹y,   σ_e² = s_e² (k(x,x) − |W_e k_e|²),   μ = Σ w_e μ_e,   σ² = Σ w_e (σ_e² + μ_e²) − μ²

What is maximised is the weighted average of the experts' optimism, Σ w_e (μ_e + β b_e σ_e), b_e their boldness. Where
an expert has a tide, v k_h(now, t_s) is added to k_e and v to k(x,x) for the reward; optimism is about the rest, since
the tide is the same for all settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise.auto.data import Seen
from driftwise.auto.experts import Bank, Fit, fit
from driftwise.auto.stacked import Chorus, Voice
from driftwise.records import Array, Observation, Point

BLOCK = 200_000  # entries of all k_e(X) computed at a time
SCANNING = 0.5  # of the weight, at least, has a say in a scan of a box
CLIMBING = 0.95  # and so much where climbs go on from there


@dataclass(frozen=True, eq=False)
class Mixture:
    """The belief of `fits`, with the weights `shares`, about time `now`. A `Belief`."""

    bank: Bank
    seen: Seen
    fits: tuple[Fit, ...]
    shares: Array  # (E,)
    now: float
    pending: tuple[Point, ...] = ()

    def __len__(self) -> int:
        return len(self.seen)

    def observe(self, seen: Observation, *, keep: int | None = None) -> Mixture:
        """After `seen`, the weights as they were."""
        window = self.seen.observe(seen, keep=len(self) + 1 if keep is None else keep)
        fits = tuple(self.bank.fits([f.expert for f in self.fits], window))
        return replace(self, seen=window, fits=fits, now=seen.at)

    def imagine(self, points: Sequence[Point]) -> Mixture:
        """As if the pending `points` had been answered now, at each expert's mean: σ_e shrinks, μ_e stays."""
        return replace(self, pending=(*self.pending, *map(tuple, points)))

    def long_ago(self) -> Mixture:
        """What is believed now of the time when the oldest observation was made, by those who were there then.

        Where all are restarts, by the heaviest as it would have been before its restart.
        """
        if not len(self):
            return self
        then = float(self.seen.at[0])
        there = [i for i, f in enumerate(self.fits) if f.first == 0]
        if there:
            shares = self.shares[there] / self.shares[there].sum()
            return replace(self, fits=tuple(self.fits[i] for i in there), shares=shares, now=then)
        heaviest = self.fits[int(np.argmax(self.shares))]
        before = self.seen.only(np.arange(heaviest.first))
        A = self.bank.covariance(heaviest.expert, before.X, before.clock)
        noises = heaviest.expert.noises(before.numbers)
        old = fit(heaviest.expert, 0, A, self.seen.targets[: heaviest.first], noises, heaviest.sure)
        return replace(self, seen=before, fits=(old,), shares=np.ones(1), now=then)

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ and σ for the rows of X."""
        mean, square = np.empty(len(X)), np.empty(len(X))
        for rows, chorus, (m, s, _) in self._heard(X):
            mean[rows], square[rows] = chorus.weight @ m, chorus.weight @ (s * s + m * m)
        return mean, np.sqrt(np.maximum(square - mean * mean, 0.0))

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ and their gradients in x: (m,), (m,), (m, d), (m, d)."""
        mean, square = np.empty(len(X)), np.empty(len(X))
        dmean, dhalf = np.empty_like(X), np.empty_like(X)
        for rows, chorus, (m, s, v) in self._heard(X):
            mean[rows], square[rows] = chorus.weight @ m, chorus.weight @ (s * s + m * m)
            towards, spread = chorus.alpha[:, None, :], (chorus.scale**2)[:, None]
            half = m[:, :, None] * towards - spread[:, :, None] * chorus.times_factor(v, transposed=True)
            own = np.broadcast_to(spread, m.shape)
            # of μ, and of ½Σ w_e (σ_e² + μ_e²)
            dmean[rows], dhalf[rows] = self._slopes(X[rows], chorus, (towards, 0 * own), (half, own))
        std = np.sqrt(np.maximum(square - mean * mean, 0.0))
        return mean, std, dmean, (dhalf - mean[:, None] * dmean) / np.maximum(std, 1e-12)[:, None]

    def optimism(self, X: Array, beta: float, *, least: float = 1.0) -> Array:
        """Σ w_e (μ_e + β b_e σ_e), of the heaviest experts that have the share `least` of the weight: (m,)."""
        total = np.empty(len(X))
        for rows, chorus, (m, s, _) in self._heard(X, least=least, tide=False):
            total[rows] = chorus.weight @ m + (beta * chorus.weight * chorus.boldness) @ s
        return total

    def optimism_gradient(self, X: Array, beta: float, *, least: float = 1.0) -> tuple[Array, Array]:
        """The same and its gradient: (m,), (m, d)."""
        total, slopes = np.empty(len(X)), np.empty_like(X)
        for rows, chorus, (m, s, v) in self._heard(X, least=least, tide=False):
            bold = beta * chorus.boldness
            total[rows] = chorus.weight @ m + (chorus.weight * bold) @ s
            steep = (bold * chorus.scale**2)[:, None] / np.maximum(s, 1e-12)
            C = chorus.alpha[:, None, :] - steep[:, :, None] * chorus.times_factor(v, transposed=True)
            [slopes[rows]] = self._slopes(X[rows], chorus, (C, steep))
        return total, slopes

    def weights(self, X: Array) -> Array:
        """α(x) with μ(x) = α(x)ᵀy: (m, n)."""
        total = np.empty((len(X), len(self)))
        for rows, chorus, (_, _, v) in replace(self, pending=())._heard(X):
            total[rows] = np.tensordot(chorus.weight, chorus.times_factor(v, transposed=True), 1)
        return total

    @property
    def observed(self) -> Array:
        return self.seen.X

    @property
    def information_gain(self) -> float:
        """½ ln det(I + K/λ), of the experts by their weights."""
        gains = [np.log(f.pivots).sum() - 0.5 * np.log(f.noises).sum() for f in self.fits]
        return max(float(self.shares @ gains), 0.0)

    @property
    def noise(self) -> float:
        return float(self.shares @ [f.scale**2 * f.expert.noise for f in self.fits])

    @property
    def units(self) -> tuple[float, float]:
        return self.seen.units

    @property
    def jitter(self) -> float:
        return max(f.jitter for f in self.fits)

    # --- machinery ----------------------------------------------------------------------------------------------

    @cached_property
    def _imagined(self) -> Seen:
        """What was seen, and the pending points as if they had been answered now."""
        if not self.pending:
            return self.seen
        p, (location, _) = len(self.pending), self.seen.units
        numbers = np.arange(1, p + 1) + (self.seen.numbers[-1] if len(self) else 0)
        X, at, y = np.array(self.pending), np.full(p, self.now), np.full(p, location)
        return self.seen.followed_by(Seen(numbers, at, X, y, self.seen.frame))

    @property
    def _X(self) -> Array:
        """The points observed, and those imagined: (n + p, d)."""
        return self._imagined.X

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(-self.shares, kind="stable")

    @cached_property
    def voices(self) -> tuple[Voice, ...]:
        """Heaviest first."""
        seen, fits, made = self._imagined, [self.fits[i] for i in self._order], []
        imagined = self.bank.more(fits, seen, known=len(self)) if self.pending else fits
        now = np.array([self.seen.read(self.now)])
        for f, share, told in zip(fits, self.shares[self._order], imagined, strict=True):
            e, clock = f.expert, seen.clock[f.first :]
            fade = e.time(now, clock)[0]
            lift = e.tide.variance * e.tide.time(now, clock)[0] if e.tide else 0 * fade
            stood = int(self.seen.numbers[-1] - self.seen.numbers[f.first]) if len(f.targets) else 0
            made.append(Voice(f, float(share), fade, lift, stood, told))
        return tuple(made)

    @cached_property
    def _choruses(self) -> dict[int, Chorus]:
        """Those that were asked for, by how many voices they have: a climb asks for one again and again."""
        return {}

    def heaviest(self, least: float) -> Chorus:
        """As few as have the share `least` of the weight."""
        enough = 1 + int(np.searchsorted(np.cumsum(self.shares[self._order]), least - 1e-9))
        return self._choruses.setdefault(enough, Chorus(self.voices[:enough], len(self._X)))

    def _heard(
        self, X: Array, *, least: float = 1.0, tide: bool = True
    ) -> Iterator[tuple[slice, Chorus, tuple[Array, Array, Array]]]:
        """Some rows of X after others, and what the heaviest experts say there."""
        chorus = self.heaviest(least)
        kernels = [self.bank.kernel(shape) for shape in chorus.shapes]
        size = max(BLOCK // (len(chorus.voices) * max(len(self._X), 1)), 1)
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            k = np.array([kernel(X[rows], self._X) for kernel in kernels])
            prior = np.array([kernel.diagonal(X[rows]) for kernel in kernels])
            yield rows, chorus, chorus.moments(k, prior, tide=tide)

    def _slopes(self, X: Array, chorus: Chorus, *terms: tuple[Array, Array]) -> list[Array]:
        """Σ w_e (c_e(x)ᵀ∂k_e(x)/∂x + ½o_e(x) ∂k(x, x)/∂x) for terms c, (E, m, n), and o, (E, m): (m, d) each."""
        n, rows, slopes = len(self._X), np.arange(len(X)), [np.zeros_like(X) for _ in terms]
        for s, shape in enumerate(chorus.shapes):
            G = self.bank.kernel(shape).gradient(X, np.vstack([self._X, X]))  # (m, n + m, d)
            its = chorus.which == s
            weight = chorus.weight[its]
            for slope, (c, own) in zip(slopes, terms, strict=True):
                C = np.zeros((len(X), n + len(X)))
                C[:, :n] = np.einsum("e,emn,en->mn", weight, c[its], chorus.fade[its])
                C[rows, n + rows] = weight @ own[its]
                slope += (C[:, None, :] @ G)[:, 0]
        return slopes


@dataclass(frozen=True, eq=False)
class Optimism:
    """Σ w_e (μ_e + β b_e σ_e), to be maximised; in a hurry the lightest experts are not asked."""

    belief: Mixture
    beta: float
    hurry: bool = False

    def __call__(self, X: Array) -> Array:
        return self.belief.optimism(X, self.beta, least=SCANNING if self.hurry else 1.0)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        return self.belief.optimism_gradient(X, self.beta, least=CLIMBING if self.hurry else 1.0)

    def anchors(self) -> Array:
        return self.belief.observed
