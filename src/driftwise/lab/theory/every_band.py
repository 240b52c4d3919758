"""Whether the named width of every policy covers: noise alone, and a world that moves, its drift taken out exactly.

A run fails if |f_t(x) − μ(x) + b(x)| > β_t σ(x) at any x and any t ≤ T, where b is what drift did to the mean, Σ_s
a_s(x) (f_s − f_t)(x_s), with the weights a(x) of the observations in use. What is left is noise and regularisation,
which the width is about. With f = 0 and B = 0 it is noise alone. The width "dual" has the drift in its band, and is
tested as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftwise.gp.belief import Indexed
from driftwise.gp.kernels import RBF
from driftwise.lab.theory.settings import Turning
from driftwise.policies import policy
from driftwise.policies.base import AnyPolicy, UcbPolicy
from driftwise.policies.beliefs.ridge import Ridge
from driftwise.records import Array, Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.spaces import Candidates

DELTA, R, NOISE = 0.1, 0.1, 1.0  # with a small λ the bands are wider, and harder to leave
CANDIDATES, DIMS = 30, 2
BUDGET = 4.0  # of the world that moves


@dataclass(frozen=True)
class BandCase:
    """A policy with a width by name, on a line or in a ball."""

    label: str
    policy: str
    options: dict[str, Any]
    linear: bool = False

    @property
    def points(self) -> Array:
        if not self.linear:
            return np.linspace(0, 1, CANDIDATES)[:, None]
        X = generator(0, DIMS, Stream.WORLD).standard_normal((CANDIDATES, DIMS))
        return X / np.linalg.norm(X, axis=1, keepdims=True) * np.linspace(0.9, 1.0, CANDIDATES)[:, None]

    def made(self, horizon: int, norm: float) -> AnyPolicy:
        """The policy, told that ‖f_t‖ ≤ `norm`."""
        told: dict[str, Any] = {"noise": NOISE, "R": R, "delta": DELTA, "horizon": horizon} | self.options
        told |= {"S": norm, "width": "ellipsoid"} if self.linear else {"B": norm, "kernel": RBF(0.2)}
        if "budget" in told and norm == 0:
            told["budget"] = 0.0  # what does not move is not to be covered
        if self.policy == "gp-ucb":
            del told["horizon"]
        return policy(self.policy, Candidates(self.points), **told)


def _case(name: str, *, width: str = "lemma", **options: Any) -> BandCase:
    told = " ".join(f"{key}={value}" for key, value in options.items() if isinstance(value, str))
    return BandCase(f"{name} {told} {width}".replace("  ", " "), name, {"width": width} | options)


CASES = (
    _case("r-gp-ucb", interval=10),
    _case("r-gp-ucb", interval=10, width="mixture"),
    _case("sw-gp-ucb", window=10),
    _case("sw-gp-ucb", window=10, width="mixture"),
    _case("drift-aware", length=10, drift=0.01, forget="restart"),
    _case("drift-aware", length=10, drift=0.01, forget="window"),
    _case("wgp-ucb", eta=0.8, norm="single"),
    _case("wgp-ucb", eta=0.8, norm="double"),
    _case("wgp-ucb", eta=0.8, norm="single", width="realised"),
    _case("wgp-ucb", eta=0.8, norm="double", width="realised"),
    _case("tv-r-gp-ucb", epsilon=0.9),
    _case("et-gp-ucb"),
    _case("bob-gp-ucb", block=20, lengths=(2, 5, 20)),
    BandCase("sw-linucb ellipsoid", "sw-linucb", {"window": 10}, linear=True),
    BandCase("restart-linucb ellipsoid", "restart-linucb", {"interval": 10}, linear=True),
    BandCase("d-linucb ellipsoid", "d-linucb", {"discount": 0.8}, linear=True),
    _case("gp-ucb"),
    _case("gp-ucb", width="mixture"),
    _case("gp-ucb", width="dual"),
    _case("drift-aware", length=10, budget=BUDGET, forget="restart", width="dual"),
    _case("drift-aware", length=10, budget=BUDGET, forget="window", width="dual"),
)


def failures(case: BandCase, *, runs: int, horizon: int, moving: bool, unions: int | None = None) -> int:
    """How many of `runs` leave the band; `unions` puts another number of events in the width."""
    return sum(fails(case, seed, horizon=horizon, moving=moving, unions=unions) for seed in range(runs))


def fails(case: BandCase, seed: int, *, horizon: int, moving: bool, unions: int | None = None) -> bool:
    """Whether one run leaves its band anywhere."""
    made: Any = case.made(horizon, 1.0 if moving else 0.0)
    if unions is not None:
        made = with_unions(made, unions)
    rng, X = generator(seed, 0, Stream.WORLD), case.points
    F = _moving(case, rng, horizon) if moving else np.zeros((horizon, len(X)))
    where = {tuple(x): i for i, x in enumerate(X.tolist())}
    plain, own = chooses_plainly(made), isinstance(made.width, Indexed)
    state, chosen = made.start(), np.zeros(horizon, dtype=int)
    for t in range(1, horizon + 1):
        ask = Ask(number=t, at=float(t), seed=seed)
        belief = made.belief(state, ask)
        mean, std = belief.predict(X)
        error = F[t - 1] - mean
        if moving and t > 1:
            a = _weights(made, belief, X, X[chosen[: t - 1]])
            used = np.arange(t - 1 - a.shape[1], t - 1)
            error = error + a @ (F[used, chosen[used]] - F[t - 1, chosen[used]])
        beta = made.width(belief, t)
        if _outside(made, state, ask, F[t - 1], X) if own else (np.abs(error) > beta * std + 1e-9).any():
            return True
        i = int(np.argmax(mean + beta * std)) if plain else where[tuple(made.choose(state, ask).tolist())]
        chosen[t - 1] = i
        y = float(F[t - 1, i] + R * rng.standard_normal())
        state = made.update(state, Observation(t, float(t), tuple(X[i].tolist()), y))
    return False


def _outside(made: Any, state: Any, ask: Ask, f: Array, X: Array) -> bool:
    """Whether f leaves a band that is no multiple of σ, in which the drift is that the policy knows."""
    band = made.band(state, ask) if hasattr(made, "band") else made.width.index(made.belief(state, ask), ())
    return bool(((f > band(X) + 1e-9) | (f < band.lower(X) - 1e-9)).any())


def chooses_plainly(made: Any) -> bool:
    """Whether a policy maximises μ + βσ of its own belief and nothing else, which then need not be computed twice."""
    return type(made).decide is UcbPolicy.decide and not isinstance(made.width, Indexed)


def with_unions(made: Any, unions: int) -> Any:
    """The same policy with another number of events in its width."""
    return replace(made, width=replace(made.width, unions=unions))


def _moving(case: BandCase, rng: np.random.Generator, horizon: int) -> Array:
    """f_t of norm 1 that turns by `BUDGET` in all: (T, n)."""
    X = case.points
    features = X if case.linear else np.linalg.cholesky(RBF(0.2)(X, X) + 1e-10 * np.eye(len(X)))
    z = rng.standard_normal((2, features.shape[1]))
    turning = Turning.of(0.0 if case.policy == "gp-ucb" else BUDGET, horizon)  # which is for a world that stands still
    return np.array([features @ turning.at(t, lambda i: z[i], None) for t in range(1, horizon + 1)])


def _weights(made: Any, belief: Any, X: Array, seen: Array) -> Array:
    """a(x) of the observations in use, oldest first: (n, m)."""
    if not isinstance(belief, Ridge):
        return np.asarray(belief.weights(X))
    if made.name == "d-linucb":
        u = made.discount ** np.arange(len(seen) - 1, -1, -1)
    else:
        seen = seen[len(seen) - len(belief) :]
        u = np.ones(len(seen))
    return np.asarray(X @ belief.inverse @ (u[:, None] * seen).T)
