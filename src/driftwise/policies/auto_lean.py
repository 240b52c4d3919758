"""auto-lean: 16 experts on a short window, for a key among very many. It is told nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Kernel, Level, Matern, Sum, as_kernel
from driftwise.gp.time_kernels import Forgetting
from driftwise.gp.window.density import shape_and_rate
from driftwise.gp.window.slots import Index
from driftwise.lean.bank import LeanBank
from driftwise.lean.extent import stretched
from driftwise.lean.prior import Prior
from driftwise.lean.step import LeanState, Moments, mixed, moments, observe, optimism
from driftwise.policies.base import BasePolicy, Decision, an_instance, finite
from driftwise.records import Array, Ask, Observation, Point
from driftwise.spaces import Space, as_space

EPSILONS = (0.0, 0.01)  # drift per step
RESTARTS = 2  # one that goes on since the last change, and one that is ready for the next
LEAST = 1e-3  # noise, relative to the signal's variance, from which on an updated inverse is accurate
SCALES = (50.0,)  # of smooth drift, in steps
LEVELS = ((40.0, 2.0), (12.0, 0.5), (0.5, 0.3))  # that move: time scale, variance; the last one is noise
LEVEL = 0.3  # variance of the function's constant level, relative to the signal's
WIDTH = 0.8  # of the break-even width, if rewards are standardised: their scale is an upper bound already
BROAD = 1.0  # the bonus that just pays: fewer experts than `auto` has are sooner sure of a local maximum


@dataclass(frozen=True)
class AutoLean(BasePolicy[LeanState]):
    """x_t = argmax Σ w_e (μ_e + β b_e σ_e) over experts e: shapes × drifts, on `window` observations.

    It needs no settings, and finitely many candidates. Experts are those of `driftwise.lean`. Time is the number of the
    step. O(w² + w·n) per step and expert, and O(w³ + w²·n) more every `span` steps, however long it runs.

    >>> from driftwise import Candidates
    >>> policy = AutoLean.of(Candidates([[0.0], [1.0]]))
    >>> state = policy.update(policy.start(), Observation(1, 1.0, (0.0,), 1.0))
    >>> policy.choose(state, Ask(number=2, at=2.0)).tolist()
    [1.0]
    """

    name: ClassVar[str] = "auto-lean"

    space: Space
    kernels: tuple[Kernel, ...]
    noises: tuple[float, ...]
    forgetting: tuple[float, ...] = EPSILONS
    restarts: int = RESTARTS
    trends: tuple[float, ...] = SCALES
    window: int = 64
    span: int = 512
    width: float = WIDTH
    prior: Prior = field(default_factory=Prior)
    levels: tuple[tuple[float, float], ...] = LEVELS

    def __post_init__(self) -> None:
        self.settle(
            kernels=lambda name, given: checks.each(name, given, as_kernel, "(RBF(0.2),)"),
            noises=lambda name, given: checks.each(name, given, _noise, "(0.01,)"),
            forgetting=lambda name, given: checks.each(name, given, _epsilon, "(0.0, 0.01)"),
            restarts=partial(checks.count, least=0),
            trends=lambda name, given: checks.each(name, given, checks.positive, "(60.0,)"),
            window=partial(checks.count, least=8),
            span=checks.count,
            width=checks.nonnegative,
            prior=an_instance(Prior, "a Prior(weights, location, scale, strength)"),
            levels=lambda name, given: checks.each(name, given, _level, "((40.0, 1.0),)"),
        )
        n, S, D = finite(self.name, self.space), len(self.kernels), self.drifts
        if not S or len(self.noises) != S or not D:
            got = f"{S} kernels, {len(self.noises)} noises and {D} drifts"
            raise InvalidInput(f"auto-lean needs a noise for each kernel, and a drift at least, got {got}")
        w, span = self.window, self.span
        held = f"{S * D} of {w:,} × {w:,} and one of {span:,} × {span:,} observations"
        what = f"{S} matrices of {n:,} × {n:,} candidates, {held}"
        limits.check(self.name, S * n**2 + S * D * w**2 + span**2, what, "give fewer of these, or use sw-gp-ucb")
        self.prior.shares(S, D)
        self.prior.expected(n)

    @property
    def drifts(self) -> int:
        """How many kinds of drift there are."""
        return len(self.forgetting) + len(self.levels) + self.restarts + len(self.trends)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        window: Annotated[int, "number of observations that experts hold"] = 64,
        span: Annotated[int, "number of last observations that these are selected from"] = 512,
        width: Annotated[float, "exploration bonus, as a multiple of the one that just pays off"] = BROAD,
        prior: Annotated[Prior | None, "what other keys have learned; None: nothing"] = None,
    ) -> AutoLean:
        made = as_space(space)
        finite(cls.name, made)  # before anything is made of its points
        kernels, noises = default_shapes(made)
        known = prior or Prior()
        return cls(made, kernels, noises, window=window, span=span, width=width, prior=known)

    @cached_property
    def bank(self) -> LeanBank:
        """The experts, and the tables that all keys share."""
        return LeanBank(
            points=np.asarray(self.space.points),
            kernels=self.kernels,
            noises=self.noises,
            forgetting=self.forgetting,
            restarts=self.restarts,
            trends=self.trends,
            window=self.window,
            span=self.span,
            prior=self.prior,
            levels=self.levels,
        )

    @property
    def memory(self) -> int:
        return 2 * self.span

    def start(self) -> LeanState:
        return LeanState.start(self.bank)

    def update(self, state: LeanState, seen: Observation) -> LeanState:
        return observe(self.bank, state, self._indices([seen.x]), np.array([seen.y]), np.array([seen.number]))

    def decide(self, state: LeanState, ask: Ask) -> Decision:
        return Decision(self.space.argmax(LeanOptimism(self.belief(state, ask).imagine(ask.pending), self.width), ask))

    def belief(self, state: LeanState, ask: Ask) -> LeanBelief:
        return LeanBelief(self, state, ask.number)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.memory

    def _indices(self, points: Sequence[Sequence[float]]) -> Index:
        """Which candidates these are."""
        try:
            return np.array([self._places[tuple(x)] for x in points], dtype=np.intp)
        except KeyError as error:
            raise InvalidInput(f"{error.args[0]} is none of the {len(self._places)} candidates") from None

    @cached_property
    def _places(self) -> dict[Point, int]:
        return {tuple(x): i for i, x in reversed(list(enumerate(np.asarray(self.space.points).tolist())))}


@dataclass(frozen=True, eq=False)
class LeanBelief:
    """The mixture of the experts at step `number`. A `Belief`."""

    policy: AutoLean
    state: LeanState
    number: int
    pending: tuple[Point, ...] = ()

    def __len__(self) -> int:
        return int(self.state.held.filled.sum())

    def said(self, *, level: bool) -> Moments:
        pending = self.policy._indices(self.pending)[None] if self.pending else None
        return moments(self.policy.bank, self.state, np.array([self.number]), pending, level=level)

    def predict(self, X: Array) -> tuple[Array, Array]:
        mean, std = mixed(self.state, self.said(level=True))
        return self._at(X, mean[0]), self._at(X, std[0])

    def optimism(self, X: Array, width: float) -> Array:
        return self._at(X, optimism(self.policy.bank, self.state, self.said(level=False), width)[0])

    def _at(self, X: Array, values: Array) -> Array:
        """Of values at all candidates, those at the rows of X."""
        points = self.policy.space.points
        return values if X is points else values[self.policy._indices(X.tolist())]

    def imagine(self, points: Sequence[Point]) -> LeanBelief:
        return replace(self, pending=(*self.pending, *map(tuple, points))) if points else self

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        raise InvalidInput("auto-lean knows its candidates alone, so that nothing has a gradient")

    @property
    def information_gain(self) -> float:
        """½ ln det(I + K/λ), averaged over the experts by their weights."""
        b, noise = self.state.beliefs, self.policy.bank.experts.noise[:, :, None]
        missing = np.einsum("ksdii->ksdi", b.inverse) == 0
        whole = b.inverse * noise[..., None] + missing[..., None] * np.eye(missing.shape[-1])
        return max(float(-0.5 * (self.state.weights * np.linalg.slogdet(whole)[1]).sum()), 0.0)

    @property
    def noise(self) -> float:
        a, rate = shape_and_rate(self.state.beliefs, *self.state.units[:2])
        return float((self.state.weights * rate / a * self.policy.bank.experts.noise).sum())

    @property
    def units(self) -> tuple[float, float]:
        units = self.state.units
        return float(self.state.origin[0] + units.location[0]), float(units.scale[0])

    @property
    def observed(self) -> Array:
        held = self.state.held
        order = np.argsort(held.number[0], kind="stable")[-len(self) :] if len(self) else np.zeros(0, dtype=np.intp)
        return np.asarray(self.policy.space.points)[held.where[0][order]]

    @property
    def jitter(self) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class LeanOptimism:
    """Σ w_e (μ_e + β b_e σ_e), to be maximised over candidates."""

    belief: LeanBelief
    beta: float

    def __call__(self, X: Array) -> Array:
        return self.belief.optimism(X, self.beta)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        raise InvalidInput("auto-lean knows its candidates alone, so that nothing has a gradient")

    def anchors(self) -> Array:
        return self.belief.observed


def default_shapes(space: Space) -> tuple[tuple[Kernel, ...], tuple[float, ...]]:
    """A rough and a smooth kernel, each plus a constant level, and their noises."""
    sides = stretched(np.asarray(space.points))
    rough, smooth = Matern(2.5, tuple((0.25 * sides).tolist())), RBF(tuple((0.25 * sides).tolist()))
    return (Sum(rough, Level(LEVEL)), Sum(smooth, Level(LEVEL))), (0.03, 0.01)


def _noise(name: str, given: Any) -> float:
    noise = checks.positive(name, given)
    if noise < LEAST:
        raise InvalidInput(f"noises must be at least {LEAST} of the signal's variance, got {noise}; A⁻¹ is updated")
    return noise


def _epsilon(name: str, given: Any) -> float:
    return Forgetting(checks.real(name, given)).epsilon


def _level(name: str, given: Any) -> tuple[float, float]:
    pair = checks.each(name, given, checks.positive, "(40.0, 1.0)")
    if len(pair) != 2:
        raise InvalidInput(f"{name} must be pairs of a time scale and a variance, got {checks.shown(given)}")
    return pair[0], pair[1]
