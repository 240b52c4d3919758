"""What a bank of experts believes together: a mixture of Gaussian processes.

With weights w_e, forgetting ρ_e = k_T(now, t_s) and k_e = ρ_e∘k(x):

    μ_e = k_eᵀA_e⁻¹y,   σ_e² = s_e² (k(x,x) − |W_e k_e|²),   μ = Σ w_e μ_e,   σ² = Σ w_e (σ_e² + μ_e²) − μ²

What is maximised is the weighted average of the experts' optimism, Σ w_e (μ_e + β b_e σ_e), b_e their boldness. Where
an expert has a tide, v k_h(now, t_s) is added to k_e and v to k(x,x) for the reward; optimism is about the rest, since
the tide is the same for all settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr

from driftwise.bank import Bank, Fit, Shape, fit
from driftwise.linalg import times_lower
from driftwise.records import Array, Observation, Point
from driftwise.seen import Seen
from driftwise.time_kernels import TimeKernel

BLOCK = 60_000  # entries of k(X) computed at a time
STANDS = 400  # steps for which a world that never changed abruptly is expected not to
SHORTEST = 100  # steps for which anything that is found is good
SCANNING = 0.5  # of the weight, at least, has a say in a scan of a box
CLIMBING = 0.95  # and so much where climbs go on from there


_Z = np.linspace(0.0, 5.0, 1001)
_STEPS = _Z / (np.exp(-0.5 * _Z**2) / math.sqrt(2 * math.pi) - _Z * ndtr(-_Z))


def worth_a_look(steps: float) -> float:
    """z with H E[(f − z)⁺] = z, f standard normal, H the `steps` for which what is found is good.

    Where z is known to be had, a look elsewhere costs z on average and brings (f − z)⁺ in each step from then on.

    >>> [round(worth_a_look(H), 2) for H in (20.0, 200.0, 2000.0)]
    [1.18, 1.95, 2.63]
    """
    return float(np.interp(steps, _STEPS, _Z))


@lru_cache(maxsize=512)
def _lasting(time: TimeKernel, steps: int) -> float:
    """Σρ(τ) over so many steps."""
    return float(time(np.zeros(1), np.arange(1.0, steps + 1)).sum())


@dataclass(frozen=True, eq=False)
class Voice:
    """One expert about one time: what μ_e and σ_e are made of."""

    fit: Fit
    weight: float
    fade: Array  # ρ_e: (n − first,), and as many ones as there are pending points
    lift: Array  # v k_h(now, t_s): the same
    stood: int  # how many numbers ago its memory begins
    imagined: Fit  # with the pending points among its observations

    @property
    def shape(self) -> Shape:
        return self.fit.expert.shape

    @property
    def first(self) -> int:
        return self.fit.first

    @property
    def scale(self) -> float:
        """s_e."""
        return self.fit.scale

    @cached_property
    def alpha(self) -> Array:
        """A⁻¹y, nothing for pending points."""
        return np.concatenate([self.fit.alpha, np.zeros(len(self.fade) - len(self.fit.alpha))])

    @cached_property
    def boldness(self) -> float:
        """The width at which looking where nothing is known just pays.

        What is found there is good for Σρ(τ) steps: over STANDS of them, or as many as the world stood so far; where it
        changed abruptly it will change again, so that only the latter count.
        """
        ahead = max(self.stood, 0 if self.fit.expert.since else STANDS)
        return worth_a_look(max(_lasting(self.fit.expert.time, ahead), SHORTEST))

    def moments(self, k: Array, prior: Array, *, tide: bool) -> tuple[Array, Array, Array]:
        """μ, σ and v = k_eᵀWᵀ from k(x), (m, n), and k(x, x), (m,); of the reward with the `tide`, else of the rest."""
        ke = k[:, self.first :] * self.fade
        if tide and self.fit.expert.tide:
            ke, prior = ke + self.lift, prior + self.fit.expert.tide.variance
        v = times_lower(ke, self.imagined.W)
        variance = prior - np.einsum("mn,mn->m", v, v)
        # rounding can leave −1e−17
        return ke @ self.alpha, self.scale * np.sqrt(np.minimum(np.maximum(variance, 0.0), prior)), v

    def solved(self, v: Array) -> Array:
        """k_eᵀA⁻¹ = vᵀW: (m, n)."""
        return times_lower(v, self.imagined.W, transposed=True)


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
        mean, square = np.zeros(len(X)), np.zeros(len(X))
        for rows in self._blocks(X):
            for voice, (m, s, _) in self._heard(X[rows], self.voices):
                mean[rows] += voice.weight * m
                square[rows] += voice.weight * (s * s + m * m)
        return mean, np.sqrt(np.maximum(square - mean * mean, 0.0))

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ and their gradients in x: (m,), (m,), (m, d), (m, d)."""
        mean, std = self.predict(X)
        slopes = _Slopes(self, X, self.voices)
        for voice, (m, _, v) in self._heard(X, self.voices):
            slopes.add(voice, 0, voice.alpha)
            slopes.add(voice, 1, m[:, None] * voice.alpha - voice.scale**2 * voice.solved(v))  # ½∂(σ_e² + μ_e²)
            slopes.prior += voice.weight * voice.scale**2 * slopes.own(voice.shape)
        dmean, dhalf = slopes.total()
        return mean, std, dmean, (dhalf + slopes.prior - mean[:, None] * dmean) / np.maximum(std, 1e-12)[:, None]

    def optimism(self, X: Array, beta: float, *, least: float = 1.0) -> Array:
        """Σ w_e (μ_e + β b_e σ_e), of the heaviest experts that have the share `least` of the weight: (m,)."""
        total = np.zeros(len(X))
        for rows in self._blocks(X):
            for voice, (m, s, _) in self._heard(X[rows], self.heaviest(least), tide=False):
                total[rows] += voice.weight * (m + beta * voice.boldness * s)
        return total

    def optimism_gradient(self, X: Array, beta: float, *, least: float = 1.0) -> tuple[Array, Array]:
        """The same and its gradient: (m,), (m, d)."""
        voices = self.heaviest(least)
        total, slopes = np.zeros(len(X)), _Slopes(self, X, voices)
        for voice, (m, s, v) in self._heard(X, voices, tide=False):
            steep = beta * voice.boldness * voice.scale**2 / np.maximum(s, 1e-12)[:, None]
            total += voice.weight * (m + beta * voice.boldness * s)
            slopes.add(voice, 0, voice.alpha - steep * voice.solved(v))
            slopes.prior += voice.weight * steep * slopes.own(voice.shape)
        return total, slopes.total()[0] + slopes.prior

    def weights(self, X: Array) -> Array:
        """α(x) with μ(x) = α(x)ᵀy: (m, n)."""
        total = np.zeros((len(X), len(self)))
        for voice, (_, _, v) in self._heard(X, replace(self, pending=()).voices):
            total[:, voice.first :] += voice.weight * voice.solved(v)
        return total

    @property
    def observed(self) -> Array:
        return self.seen.X

    @property
    def information_gain(self) -> float:
        """½ ln det(I + K/λ), of the experts by their weights."""
        gains = [np.log(np.diagonal(f.L)).sum() - 0.5 * np.log(f.noises).sum() for f in self.fits]
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
    def _X(self) -> Array:
        """The points observed, and those imagined: (n + p, d)."""
        return np.vstack([self.seen.X, *(np.array(x)[None] for x in self.pending)])

    @cached_property
    def voices(self) -> tuple[Voice, ...]:
        """Heaviest first."""
        p, now = len(self.pending), self.seen.since_last(np.array([self.now]))
        made = []
        for i in np.argsort(-self.shares, kind="stable"):
            f = self.fits[i]
            e, clock = f.expert, self.seen.clock[f.first :]
            fade = np.concatenate([e.time(now, clock)[0], np.ones(p)])
            lift = e.tide.variance * np.concatenate([e.tide.time(now, clock)[0], np.ones(p)]) if e.tide else 0 * fade
            stood = int(self.seen.numbers[-1] - self.seen.numbers[f.first]) if len(f.targets) else 0
            made.append(Voice(f, float(self.shares[i]), fade, lift, stood, self._imagined(f, now[0]) if p else f))
        return tuple(made)

    def heaviest(self, least: float) -> tuple[Voice, ...]:
        """As few as have the share `least` of the weight."""
        enough = np.searchsorted(np.cumsum([v.weight for v in self.voices]), least - 1e-9)
        return self.voices[: int(enough) + 1]

    def _imagined(self, f: Fit, now: float) -> Fit:
        """The same with the pending points among the observations."""
        X = self._X[f.first :]
        clock = np.concatenate([self.seen.clock[f.first :], np.full(len(self.pending), now)])
        noises = np.concatenate([f.noises, np.full(len(self.pending), f.expert.noise)])
        return fit(f.expert, 0, self.bank.covariance(f.expert, X, clock), np.zeros(len(X)), noises, f.sure)

    def _heard(
        self, X: Array, voices: Sequence[Voice], *, tide: bool = True
    ) -> Iterator[tuple[Voice, tuple[Array, Array, Array]]]:
        """Every voice and what it says at the rows of X; the kernels of space are computed once."""
        known = self._X[: voices[0].first + len(voices[0].fade)]
        kernels = {shape: self.bank.kernel(shape) for shape in {v.shape for v in voices}}
        k = {shape: kernel(X, known) for shape, kernel in kernels.items()}
        prior = {shape: kernel.diagonal(X) for shape, kernel in kernels.items()}
        for voice in voices:
            yield voice, voice.moments(k[voice.shape], prior[voice.shape], tide=tide)

    def _blocks(self, X: Array) -> Iterator[slice]:
        rows = max(BLOCK // max(len(self._X), 1), 1)
        return (slice(i, i + rows) for i in range(0, len(X), rows))


class _Slopes:
    """Sums of c(x)ᵀ∂k(x)/∂x over experts, gathered so that each kernel's gradient is multiplied once."""

    def __init__(self, mixture: Mixture, X: Array, voices: Sequence[Voice]) -> None:
        n = len(mixture._X)
        self.G, self.coefficients, self.prior = {}, {}, np.zeros_like(X)
        rows = np.arange(len(X))
        for shape in {v.shape for v in voices}:
            G = mixture.bank.kernel(shape).gradient(X, np.vstack([mixture._X, X]))  # (m, n + m, d)
            self.G[shape] = (G[:, :n], G[rows, n + rows])
            self.coefficients[shape] = np.zeros((len(X), 2, n))

    def add(self, voice: Voice, which: int, c: Array) -> None:
        self.coefficients[voice.shape][:, which, voice.first :] += voice.weight * (c * voice.fade)

    def own(self, shape: Shape) -> Array:
        """½∂k(x, x)/∂x: (m, d)."""
        return self.G[shape][1]

    def total(self) -> tuple[Array, Array]:
        slopes = np.sum([self.coefficients[shape] @ G for shape, (G, _) in self.G.items()], axis=0)
        return slopes[:, 0], slopes[:, 1]


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
