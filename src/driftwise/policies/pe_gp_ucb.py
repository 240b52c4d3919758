"""PE-GP-UCB (Ziomek et al. 2025): optimistic over points and over priors, dropping those that data contradict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Ucb, Width
from driftwise.gp.noise import variance_of
from driftwise.gp.time_kernels import Forgetting
from driftwise.policies.base import Decision, UcbPolicy
from driftwise.policies.beliefs.space_time import WINDOW, Timed, TimedModel
from driftwise.policies.setup import MODEL, takes
from driftwise.records import Array, Ask, Observation
from driftwise.theory.widths import as_width

RATES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)


@dataclass(frozen=True)
class FiniteWidth:
    """β_t = √(2 ln(2|X|π²t²/δ)) for |X| points."""

    points: int
    delta: float

    def __call__(self, belief: Belief, number: int) -> float:
        # in logarithms, as 20^d is soon too large for a float
        return math.sqrt(2 * (math.log(2 * self.points) + math.log((math.pi * number) ** 2 / self.delta)))


@dataclass(frozen=True)
class PriorErrors:
    """Of one prior, over the steps that it led: their count n, the sum E of its errors and the sum V of its widths.

    A step whose noise variance is r times λ adds w times its error and its width, w = min(1, 1/√r), and w²r to n.

    >>> PriorErrors().add(error=-4.3, width=3.896).contradicted(xi=0.325**2)
    True
    """

    count: float = 0.0
    errors: float = 0.0
    widths: float = 0.0

    def add(self, *, error: float, width: float, noises: float = 1.0) -> PriorErrors:
        w = min(1.0, noises**-0.5)
        return PriorErrors(self.count + w * w * noises, self.errors + w * error, self.widths + w * width)

    def contradicted(self, xi: float) -> bool:
        """|E| > √(ξ_t n) + V."""
        return abs(self.errors) > math.sqrt(xi * self.count) + self.widths


@dataclass(frozen=True)
class Suspect:
    """A prior still believed possible."""

    epsilon: float
    belief: Timed
    evidence: PriorErrors = PriorErrors()


@dataclass(frozen=True)
class Suspects:
    """The priors not yet contradicted. `exhausted`: the last one has been too, and stays for want of another."""

    left: tuple[Suspect, ...]
    exhausted: bool = False


@dataclass(frozen=True, eq=False)
class Highest:
    """max_p μ_p(x) + β_p σ_p(x)."""

    scores: tuple[Ucb, ...]

    def __call__(self, X: Array) -> Array:
        return np.max([score(X) for score in self.scores], axis=0)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        values, gradients = map(np.array, zip(*(score.gradient(X) for score in self.scores), strict=True))
        best, row = values.argmax(axis=0), np.arange(len(X))
        return values[best, row], gradients[best, row]

    def anchors(self) -> Array:
        return self.scores[0].anchors()


@dataclass(frozen=True)
class PeGpUcb(UcbPolicy[Suspects]):
    """(x_t, p_t) = argmax over x and over priors p of μ_p + β_t s_p; p_t goes when |Σ(y − μ_p)| > √(ξ_t n) + Σβ s_p.

    The priors U are tv-gp-ucb's with ε from `epsilons`, a finite grid: they differ in ε alone, and share the kernel,
    its length scales and the noise, while the paper has any finite set of priors. ξ_t = 2R² ln(|U|π²t²/δ), R² =
    `noise`. Must be known: that one of them is right, and the noise. Costs |U| times tv-gp-ucb a step. With
    `width=None` it has the authors' β_t = √(2 ln(2|X|π²t²/δ)), and on candidates the true prior then survives with
    probability 1 − δ. A box counts as 20 points an axis, and has no such promise.

    A grid of drift rates alone suits it badly: a larger ε has the wider s wherever data are old, so it tends to lead,
    and wide bands are seldom contradicted. Seen in one run (256 candidates, 600 steps, one seed): the largest ε of the
    default grid led most steps and was not dropped, and the authors' β_t cost more regret than 2.0. How much, and
    whether always, is for the lab to say.

    >>> from driftwise import Candidates
    >>> policy = PeGpUcb.of(Candidates([[0.0], [1.0]]), epsilons=(0.01, 0.1))
    >>> state = policy.update(policy.start(), Observation(1, 1.0, (0.0,), 0.3))
    >>> [suspect.epsilon for suspect in state.left]
    [0.01, 0.1]
    """

    name: ClassVar[str] = "pe-gp-ucb"
    shared = takes(*MODEL, "delta")

    epsilons: tuple[float, ...]
    delta: float
    window: int

    def __post_init__(self) -> None:
        self.settle(epsilons=_rates, window=checks.count)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        epsilons: Annotated[tuple[float, ...], "the drift rates of which one is right, as tv-gp-ucb's epsilon"] = RATES,
        window: Annotated[int | None, "number of newest samples in use on a box"] = None,
        width: Annotated[float | Width | None, "exploration bonus β, a number or a width; None: the paper's"] = 2.0,
        **given: Any,
    ) -> PeGpUcb:
        setup = cls.setup(space, given)
        size = len(setup.space.points) if setup.space.points is not None else 20**setup.space.dim
        beta = FiniteWidth(size, setup.delta) if width is None else as_width(width)
        return cls(setup.model, beta, epsilons, setup.delta, WINDOW if window is None else window)

    def xi(self, number: int) -> float:
        """ξ_t = 2R² ln(|U|π²t²/δ)."""
        return 2 * self.model.noise * math.log(len(self.epsilons) * (math.pi * number) ** 2 / self.delta)

    @cached_property
    def timed(self) -> tuple[TimedModel, ...]:
        """The priors."""
        beliefs = len(self.epsilons)
        return tuple(TimedModel(self.model, Forgetting(epsilon), beliefs) for epsilon in self.epsilons)

    def start(self) -> Suspects:
        return Suspects(tuple(Suspect(e, timed.prior()) for e, timed in zip(self.epsilons, self.timed, strict=True)))

    def decide(self, state: Suspects, ask: Ask) -> Decision:
        beliefs = [suspect.belief.at(ask.at) for suspect in state.left]
        scores = tuple(Ucb(b.imagine(ask.pending), self.width(b, ask.number)) for b in beliefs)
        return Decision(self.space.argmax(Highest(scores), ask), max(b.jitter for b in beliefs))

    def update(self, state: Suspects, seen: Observation) -> Suspects:
        """The leader is read off x_t: of the priors, the most optimistic there. All learn; only it is judged."""
        x = np.array([seen.x])
        leader, mean, band = self._leader(state, x, seen.at, seen.number)
        location, scale = leader.belief.units
        noises = variance_of(seen, self.model.noise, scale=scale) / self.model.noise
        evidence = leader.evidence.add(error=(seen.y - location) / scale - mean, width=band, noises=noises)
        judged = replace(leader, evidence=evidence)
        gone = evidence.contradicted(self.xi(seen.number))
        exhausted = state.exhausted or (gone and len(state.left) == 1)
        left = tuple(
            judged if s is leader else s for s in state.left if not (gone and s is leader) or len(state.left) == 1
        )
        return Suspects(tuple(self._observed(suspect, seen) for suspect in left), exhausted)

    def belief(self, state: Suspects, ask: Ask) -> Belief:
        """That of the prior which leads at `ask`."""
        x = self.choose(state, ask)[None]
        return self._leader(state, x, ask.at, ask.number)[0].belief.at(ask.at)

    def _leader(self, state: Suspects, x: Array, at: float, number: int) -> tuple[Suspect, float, float]:
        """The prior with the highest μ + β s at x, the first of equals, with its μ and β s there."""
        looks = []
        for suspect in state.left:
            belief = suspect.belief.at(at)
            mean, std = belief.predict(x)
            looks.append((suspect, float(mean[0]), self.width(belief, number) * float(std[0])))
        return max(looks, key=lambda look: look[1] + look[2])

    def _observed(self, suspect: Suspect, seen: Observation) -> Suspect:
        timed = self.timed[self.epsilons.index(suspect.epsilon)]
        return replace(suspect, belief=timed.observe(suspect.belief, seen, window=self.window))


def _rates(name: str, given: Any) -> tuple[float, ...]:
    epsilons = checks.each(name, given, lambda _, epsilon: Forgetting(epsilon).epsilon, str(RATES))
    if not epsilons or len(set(epsilons)) < len(epsilons):
        got = checks.shown(given)
        raise InvalidInput(f"{name} must be one or more different rates, for example {RATES}, got {got}")
    return epsilons
