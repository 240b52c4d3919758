"""The same belief as a Kalman filter on finitely many candidates: exact, of all observations, at a constant cost.

The prior is GP(0, k_S · k_T). In state space (`time_kernels.py`) each candidate carries m numbers, and the covariance
of all of them is

    Σ = P ⊗ K − D

where P ⊗ K is the prior and D is what the data have explained. Time moves D alone, and an observation at candidate i
adds one vector to it:

    a gap Δ:    mean ← Φ mean,               D ← Φ D Φᵀ
    observe:    mean += c (y − mean_i)/s,    D += c cᵀ/s,    c = Σ e_i,  s = Σ_ii + λ

Φ acts on the m numbers, the same at each candidate, so it need not be applied to D before D is read: D is stored as the
matrix it was some time ago (`base`) and the c/√s of the observations since then, each with its time. A step reads one
column of D, O(m²n·BLOCK); every BLOCK observations the vectors are added to a new matrix by one BLAS-3 product. That
costs about as much as a rank-one update per step, and changes no old state. (For m = 1 this is Mandl & Kekkonen's
filter: ρ²Σ + (1−ρ²)K in place of Σ leaves K − Σ = D times ρ².)

Time is counted from one observation to the next, in the log's order. A gap backwards counts as 0, and a pause as at
most LONG units of the kernel. If the next time shows that the last one was wrong, the last observation is applied again
at a corrected time: the state before it is stored for that.

An observation of known standard deviation (`gp/noise.py`) has its own noise variance in place of λ. If rewards are
standardised it is divided by their variance up to this observation: what a filter has taken in cannot be scaled again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.gp.buffers import SharedRows
from driftwise.gp.clock import LONG, bound, middle
from driftwise.gp.grid import Grid
from driftwise.gp.noise import PLAIN, pair_of, variances
from driftwise.gp.time_kernels import StateSpace
from driftwise.records import Array, Observation, Point

BLOCK = 64  # observations after which the vectors in `recent` are added to `base`


@dataclass(frozen=True)
class Rewards:
    """Count, mean and sum of squared deviations of all rewards so far (Welford's recursion).

    A reward of known noise variance has the weight 1/(1 + noise/scale²)², with the scale before it, and others have 1.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    weight: float = 0.0  # Σ w

    def append(self, y: float, *, noise: float = 0.0) -> Rewards:
        w = (1 + noise / self.units[1] ** 2) ** -2 if noise else 1.0
        weight = self.weight + w
        mean = self.mean + w * (y - self.mean) / weight
        return Rewards(self.count + 1, mean, self.squares + w * (y - self.mean) * (y - mean), weight)

    @property
    def units(self) -> tuple[float, float]:
        """Location and scale, as `noise.location_scale` of them all."""
        scale = math.sqrt(max(self.squares, 0.0) / (self.weight or 1.0))  # rounding can leave −1e−17
        return self.mean, scale if scale > 1e-12 * max(1.0, abs(self.mean)) else 1.0


@dataclass(frozen=True, eq=False)
class GridFilter:
    """GP(0, k_S·k_T) given everything observed, at every candidate and at time `now`. A `Belief`.

    >>> from driftwise.gp.kernels import RBF
    >>> from driftwise.gp.time_kernels import Forgetting
    >>> belief = GridFilter.prior(Grid(np.array([[0.0], [1.0]]), RBF(0.1), noise=0.1), Forgetting(0.19))
    >>> belief = belief.observe(Observation(number=1, at=1.0, x=(0.0,), y=1.1)).at(2.0)
    >>> mean, std = belief.predict(belief.grid.points)
    >>> mean.round(4).tolist(), np.square(std).round(4).tolist()
    ([0.9, 0.0], [0.2636, 1.0])
    """

    grid: Grid
    time: StateSpace
    shown: float | None  # the time of the belief, as it was given; None before the first observation
    now: float  # the same as it is counted from the first observation
    mean: Array  # (q, m, n): the prediction from the rewards and, if these are standardised, that from ones
    spent: Array  # (m, m, n): the diagonals of D's blocks
    base: Array | None  # (m·n, m·n): D at `base_time` less what `recent` adds; None is 0
    base_time: float
    recent: SharedRows  # c/√s of the observations since then, (k, m, n), and their times, (k,)
    visits: Array  # (n,): how often each candidate was observed
    rewards: Rewards
    information_gain: float  # ½ ln det(I + K/λ) of all observations, K in space and time
    latest: Observation | None = None  # the last observation, with its own time
    before: GridFilter | None = None  # as it was before that, while its time may turn out wrong

    @classmethod
    def prior(cls, grid: Grid, time: StateSpace) -> GridFilter:
        """Nothing observed."""
        m, n = time.size, len(grid.points)
        return cls(
            grid=grid,
            time=time,
            shown=None,
            now=0.0,
            mean=np.zeros((2 if grid.standardise else 1, m, n)),
            spent=np.zeros((m, m, n)),
            base=None,
            base_time=0.0,
            recent=SharedRows.of(np.zeros((0, m, n)), np.zeros(0), room=BLOCK),
            visits=np.zeros(n),
            rewards=Rewards(),
            information_gain=0.0,
        )

    def __len__(self) -> int:
        return self.rewards.count

    # --- the fold -----------------------------------------------------------------------------------------------

    def at(self, time: float) -> GridFilter:
        """The belief about a later time; an earlier one counts as now."""
        time = bound(time)
        return self._mended(time)._moved(time)

    def observe(self, seen: Observation, *, keep: int | None = None) -> GridFilter:
        """The belief after `seen`, at its time."""
        assert keep is None, "a filter keeps everything"
        seen = replace(seen, at=bound(seen.at))
        settled = replace(self._mended(seen.at), before=None)
        return replace(settled._observed(seen, seen.at), latest=seen, before=settled)

    def imagine(self, points: Sequence[Point]) -> GridFilter:
        """As if the pending `points` had been answered at the mean: the mean stays, the variance shrinks."""
        imagined = self
        for x in points:
            imagined = imagined._explained(*imagined._column(self.grid.index(x), self.grid.noise))
        return imagined

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ and σ at rows of X, each of which must be a candidate."""
        location, scale = self.units
        mean = (self.mean[0, 0] - location * self.mean[1, 0]) / scale if self.grid.standardise else self.mean[0, 0]
        prior = self._prior[0, 0] * self.grid.prior
        std = np.sqrt(np.clip(prior - self.spent[0, 0], 0.0, prior))
        if self.grid.is_all(X):
            return mean, std
        where = [self.grid.index(x) for x in X.tolist()]
        return mean[where], std[where]

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        raise InvalidInput("a filter knows its candidates alone, and they have no gradient; use predict")

    @property
    def noise(self) -> float:
        return self.grid.noise

    @property
    def units(self) -> tuple[float, float]:
        """(location, scale) of the standardised rewards, of all there were: a reward is location + scale · target."""
        return self.rewards.units if self.grid.standardise else (0.0, 1.0)

    @property
    def observed(self) -> Array:
        """The candidates observed at least once, in their own order."""
        return self.grid.points[self.visits > 0]

    @property
    def jitter(self) -> float:
        return 0.0  # nothing is factorised

    # --- machinery ----------------------------------------------------------------------------------------------

    def _mended(self, time: float) -> GridFilter:
        """The last observation at a corrected time: the median of its own, the one before and `time`."""
        if self.before is None or self.latest is None:
            return self
        earlier = self.before.latest
        at = middle(earlier.at if earlier else None, self.latest.at, time)
        return self if at == self.latest.at else replace(self.before._observed(self.latest, at), latest=self.latest)

    def _moved(self, time: float) -> GridFilter:
        """The belief about `time`."""
        gap = 0.0 if self.shown is None else min(max(time - self.shown, 0.0), LONG * self.time.unit)
        if not gap:
            return self
        Phi = self.time.transition(np.array(gap))
        mean, spent = Phi @ self.mean, np.einsum("ab,bcn,dc->adn", Phi, self.spent, Phi)
        return replace(self, shown=time, now=self.now + gap, mean=mean, spent=spent)

    def _observed(self, seen: Observation, at: float) -> GridFilter:
        """After `seen`, at the time `at`."""
        i = self.grid.index(seen.x)
        before = replace(self._moved(at), shown=at)
        if len(before.recent) >= BLOCK:
            before = before._folded()
        rewards = before.rewards.append(seen.y, noise=pair_of(seen)[0])
        noise = before._noise(seen, rewards)
        c, s = before._column(i, noise)
        visits = before.visits.copy()
        visits[i] += 1
        return replace(
            before._explained(c, s),
            mean=before.mean + ((self.grid.target(seen.y) - before.mean[:, 0, i]) / s)[:, None, None] * c,
            visits=visits,
            rewards=rewards,
            information_gain=before.information_gain + 0.5 * math.log(s / noise),
        )

    def _noise(self, seen: Observation, rewards: Rewards) -> float:
        """The noise variance of `seen`, the last of these rewards."""
        if (own := pair_of(seen)) == PLAIN:
            return self.grid.noise
        scale = rewards.units[1] if self.grid.standardise else 1.0
        prior = float(self.grid.prior.max())
        return float(np.max(variances(np.array([own]), self.grid.noise, scale=scale, prior=prior)))

    @property
    def _prior(self) -> Array:
        """P, (m, m)."""
        return self.time.covariance(self.now)

    def _column(self, i: int, noise: float) -> tuple[Array, float]:
        """c = Σ e_i, (m, n), and s = Σ_ii + λ_i. Σ_ii ≥ 0, of which rounding can leave less."""
        c = self._prior[:, :1] * self.grid.row(i)
        if self.base is not None:
            c = c - self._base_column(self.base, i)
        if len(self.recent):
            c = c - self._recent_column(i)
        return c, max(float(c[0, i]), 0.0) + noise

    def _base_column(self, base: Array, i: int) -> Array:
        """(Φ D Φᵀ) e_i of the D in `base`, from `base_time` to now: (m, n)."""
        m, n = self.spent.shape[1:]
        Phi = self.time.transition(np.array(self.now - self.base_time))
        rows = base[i::n]  # the rows (a, i) of all m numbers at candidate i; D is symmetric
        return Phi @ (Phi[0] @ rows).reshape(m, n)

    def _recent_column(self, i: int) -> Array:
        """Σ_k (Φ_k v_k)(Φ_k v_k)ᵀ e_i of the vectors v = c/√s in `recent`, each from its own time to now: (m, n)."""
        m, n = self.spent.shape[1:]
        V, times = self.recent.views
        Phis = self.time.transition(self.now - times)  # (k, m, m)
        at_i = np.einsum("kb,kb->k", Phis[:, 0], V[:, :, i])  # what each of the Φ_k v_k is at candidate i
        mix = (at_i[:, None, None] * Phis).transpose(1, 0, 2).reshape(m, -1)  # (m, k·m)
        return mix @ V.reshape(-1, n)

    def _explained(self, c: Array, s: float) -> GridFilter:
        """D + c cᵀ/s."""
        root = c / math.sqrt(s)
        spent = self.spent + root[:, None] * root[None, :]
        return replace(self, spent=spent, recent=self.recent.append(root, self.now))

    def _folded(self) -> GridFilter:
        """The same D, all of it in `base`, as of now."""
        m, n = self.spent.shape[1:]
        V, times = self.recent.views
        Phis = self.time.transition(self.now - times)
        W = (Phis @ V).reshape(-1, m * n)
        base = W.T @ W  # NumPy gives this product to dsyrk: symmetric to the bit
        if self.base is not None:
            base += self._aged(self.base)
        empty = SharedRows.of(np.zeros((0, m, n)), np.zeros(0), room=BLOCK)
        return replace(self, base=base, base_time=self.now, recent=empty)

    def _aged(self, base: Array) -> Array:
        """Φ D Φᵀ from `base_time` to now: (m·n, m·n)."""
        m, n = self.spent.shape[1:]
        Phi = self.time.transition(np.array(self.now - self.base_time))
        if m == 1:
            return float(Phi[0, 0]) ** 2 * base
        moved = (Phi @ base.reshape(m, -1)).reshape(m * n, m, n)
        return (Phi @ moved).reshape(m * n, m * n)
