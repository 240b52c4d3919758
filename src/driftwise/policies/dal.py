"""DAL (Gerogiannis et al. 2025) around any policy: a few points are probed, and a change at one begins all anew."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief
from driftwise.gp.kernels import Kernel, Linear, Matern
from driftwise.policies.base import AnyPolicy, Around, BasePolicy, Decision, a_policy, decision, weighs_noise
from driftwise.policies.beliefs.landmarks import landmarks
from driftwise.policies.glr import Samples, alarm_level
from driftwise.policies.inner import inner_policy
from driftwise.policies.linear import LinearPolicy
from driftwise.policies.ranges import Range
from driftwise.policies.setup import PROVED, representatives
from driftwise.records import Ask, Observation, Point
from driftwise.spaces import Space

MOST, TOLERANCE = 20, 0.5  # probes by default: until a function can hide half of its norm between them
OFTEN = 0.5  # the largest share of steps that are probes
PUBLISHED = "published"


@dataclass(frozen=True, eq=False)
class DalEra:
    """An era that began with step `begun`: the inner policy's state, and what every probe gave since."""

    begun: int
    inner: Any
    samples: tuple[Samples, ...]
    restarts: int = 0


@dataclass(frozen=True)
class Dal(BasePolicy[DalEra]):
    """The inner policy, begun anew when one of m probed points shows a change; m of every ⌈m/α⌉ steps are probes.

    A change at a probe is what the generalised likelihood ratio finds, max over s of ½(ȳ_{1:s} − ȳ_{s+1:n})²·s(n − s)/n
    divided by R², where it exceeds ln(2n(n − 1)²m/δ): in a world that stands still an era ends with probability δ at
    most (docs/theory.md). The share α of probes is `explore`; "published" is √(k m ln T/T) in era k, here ½ at most.
    Probes are points of largest remaining variance under the inner policy's kernel. All observations of a probe count,
    and the inner policy sees them, too. Must be known: R, which is √noise by default, and with standardise=True that
    many deviations of the rewards so far. Not the drift; slow drift is found late. A width by name needs the horizon:
    the inner policy has δ/T, as an era may begin at any step. It costs what the inner policy costs, and O(n) for n
    observations of a probe.

    >>> from driftwise import Candidates
    >>> policy = Dal.of(Candidates([[0.0], [1.0]]), probes=1, noise=0.01)
    >>> state = policy.start()
    >>> for t, y in enumerate([0.5, 0.5, 0.5, -0.9], start=1):
    ...     state = policy.update(state, Observation(t, float(t), (0.0,), y))
    >>> state.restarts, state.begun
    (1, 5)
    """

    name: ClassVar[str] = "dal"
    restrictable: ClassVar[bool] = False  # what is probed does not depend on the ask

    inner: AnyPolicy
    probes: tuple[Point, ...]
    R: float
    delta: float = 0.1
    horizon: int | None = None
    explore: float | str = 0.1
    relative: bool = False

    def __post_init__(self) -> None:
        self.settle(
            inner=a_policy,
            probes=self._points,
            R=checks.positive,
            horizon=checks.optional(partial(checks.count, least=2)),
            explore=self._share,
            relative=checks.flag,
        )

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        inner: Annotated[str | AnyPolicy, "the policy inside, by name; its options are taken, too"] = "gp-ucb",
        probes: Annotated[int | None, "number of points that are probed; None: as many as the kernel needs"] = None,
        explore: Annotated[float | str, "share of steps that are probes; published: √(km ln T/T) in era k"] = 0.1,
        R: Annotated[float | None, "sub-Gaussian constant of the noise; None: √noise"] = None,
        delta: Annotated[float, "probability of an alarm in a world that stands still, and of other tests"] = 0.1,
        horizon: Annotated[int | None, "number of steps T that are planned"] = None,
        **options: Any,
    ) -> Dal:
        if isinstance(inner, str):
            own = _own_delta(options.get("width"), delta, horizon)
            options = _also_told(inner, options, R=R, delta=own, horizon=horizon)
        made = inner_policy("dal", inner, space, options)
        scale, relative = _deviation(made) if R is None else (R, False)
        return cls(made, probed(made, probes), scale, delta, horizon, explore, relative)

    @property
    def space(self) -> Space:
        return self.inner.space

    @property
    def weighs_noise(self) -> bool:
        return weighs_noise(self.inner)

    def start(self) -> DalEra:
        return self._era(1, 0)

    def decide(self, state: DalEra, ask: Ask) -> Decision:
        i = (ask.number - state.begun) % self.period(state)
        if i < len(self.probes):
            return Decision(np.array(self.probes[i]))
        return decision(self.inner, state.inner, replace(ask, number=ask.number - state.begun + 1))

    def update(self, state: DalEra, seen: Observation) -> DalEra:
        samples = list(state.samples)
        if (i := self._index.get(seen.x)) is not None:
            samples[i] = samples[i].plus(seen)
            if samples[i].statistic(self._variance(state, seen)) > self.level(len(samples[i])):
                return self._era(seen.number + 1, state.restarts + 1)
        own = replace(seen, number=seen.number - state.begun + 1)  # an era has its own time
        return replace(state, inner=self.inner.update(state.inner, own), samples=tuple(samples))

    def belief(self, state: DalEra, ask: Ask) -> Belief:
        return self.inner.belief(state.inner, replace(ask, number=ask.number - state.begun + 1))

    # --- its parts ----------------------------------------------------------------------------------------------

    def period(self, state: DalEra) -> int:
        """⌈m/α_k⌉ steps, of which the first m are probes."""
        m, share = len(self.probes), self.explore
        if isinstance(share, str):
            assert self.horizon is not None
            share = min(math.sqrt((state.restarts + 1) * m * math.log(self.horizon) / self.horizon), OFTEN)
        return min(math.ceil(m / share), checks.MOST)

    def level(self, n: int) -> float:
        """What the statistic of n observations of one probe has to exceed: δ is shared among all probes."""
        return alarm_level(n, self.delta / len(self.probes))

    def _variance(self, state: DalEra, seen: Observation) -> float:
        """R², in the rewards' own units."""
        units = self.belief(state, Ask(seen.number, seen.at)).units if self.relative else (0.0, 1.0)
        return (self.R * units[1]) ** 2

    def _share(self, name: str, given: Any) -> float | str:
        if not isinstance(given, str):
            return checks.share(name, given, fix="the share of steps that are probes, as 0.1")
        if checks.one_of(name, given, (PUBLISHED,)) and self.horizon is None:
            raise InvalidInput("explore='published' follows from the horizon, and none is given; give horizon=…")
        return given

    def _points(self, name: str, given: Any) -> tuple[Point, ...]:
        points = checks.each(name, given, partial(checks.point, dim=self.inner.space.dim), "[(0.5,)]")
        if not points:
            raise InvalidInput("probes must be one or more points, got none")
        return points

    @cached_property
    def _index(self) -> dict[Point, int]:
        return {point: i for i, point in enumerate(self.probes)}

    def _era(self, begun: int, restarts: int) -> DalEra:
        return DalEra(begun, self.inner.start(), tuple(Samples() for _ in self.probes), restarts)


def probed(inner: AnyPolicy, given: int | None) -> tuple[Point, ...]:
    """The points to probe: so many, or until the inner policy's kernel leaves half of the deviation at most."""
    X = representatives(inner.space)
    if given is None:
        taken = landmarks(_kernel(inner), X, most=MOST, tolerance=TOLERANCE)
    else:
        taken = landmarks(_kernel(inner), X, most=checks.count("probes", given, most=len(X)))
    return tuple(map(tuple, X[taken].tolist()))


def _innermost(inner: AnyPolicy) -> AnyPolicy:
    return _innermost(inner.within()) if isinstance(inner, Around) else inner


def _kernel(inner: AnyPolicy) -> Kernel:
    """The inner policy's own; for one that has none, a linear policy's, or that of most policies by default."""
    inner = _innermost(inner)
    model = getattr(inner, "model", None)
    if model is not None:
        kernel: Kernel = model.kernel
        return kernel
    return Linear() if isinstance(inner, LinearPolicy) else Matern()


def _deviation(inner: AnyPolicy) -> tuple[float, bool]:
    """√noise of the inner policy, and whether that is in units that follow the rewards."""
    inner = _innermost(inner)
    model = getattr(inner, "model", inner)
    noise, standardise = getattr(model, "noise", None), bool(getattr(model, "standardise", False))
    if noise is None:
        raise InvalidInput(f"R of dal is √noise by default, and the inner {inner.name} has no noise; give R=…")
    return math.sqrt(noise) * float(getattr(inner, "rewards", Range()).units[1]), standardise


def _own_delta(width: Any, delta: float, horizon: int | None) -> float:
    """δ, or δ/T for a width that holds in one era: which of T steps an era begins with is known only afterwards."""
    if not (isinstance(width, str) and width in PROVED):
        return delta
    if horizon is None:
        raise InvalidInput(f"width={width!r} holds over a horizon, and none is given; give horizon=…, or width=2.0")
    return checks.probability("delta", delta) / checks.count("horizon", horizon)


def _also_told(inner: str, options: dict[str, Any], **shared: Any) -> dict[str, Any]:
    """The inner policy's options, with what `dal` was given that the inner policy takes, too."""
    from driftwise.policies import options_of

    known = options_of(inner)
    return {name: given for name, given in shared.items() if name in known and given is not None} | options
