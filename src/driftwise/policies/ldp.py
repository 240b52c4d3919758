"""Local differential privacy (Zhou & Tan 2020) around any policy: each reward is blurred before the policy sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.policies.base import AnyPolicy, Around, a_policy, an_instance
from driftwise.policies.inner import inner_policy
from driftwise.policies.robust import FIXED
from driftwise.policies.tgp_ucb import TgpUcb, TruncatedWidth, Truncation, refuse_proved
from driftwise.records import Observation
from driftwise.rng import Stream, generator

TOLD = {"ata-gp-ucb": "moment", "moma-gp-ucb": "variance"}  # inner policies for heavy tails, and what bounds these


@dataclass(frozen=True)
class Mechanism:
    """ȳ = y + Laplace(h), h = 2c/ε, with y clipped to centre ± c first: ε-locally differentially private.

    Two rewards differ by 2c at most, so no ȳ is more than e^ε times as likely under one as under the other. (On a
    computer, up to what the last bits of a float64 give away.)

    >>> Mechanism(epsilon=0.5, bound=2.0).scale
    8.0
    """

    epsilon: float
    bound: float = 1.0
    centre: float = 0.0

    def __post_init__(self) -> None:
        checks.settle(
            self,
            epsilon=partial(checks.positive, fix="the smaller, the more private; 1.0 is usual"),
            bound=partial(checks.positive, fix="rewards are within it of centre"),
            centre=checks.size,
        )
        checks.positive("(bound/epsilon)²", self.moment, fix="scale the rewards, or take a larger epsilon")

    @property
    def scale(self) -> float:
        """h = 2c/ε; the noise it adds has variance 2h²."""
        return 2 * self.bound / self.epsilon

    @property
    def moment(self) -> float:
        """c²(1 + 8/ε²) ≥ E(ȳ − centre)²."""
        return self.bound**2 + 2 * self.scale**2

    def clipped(self, reward: float) -> float:
        return min(max(reward, self.centre - self.bound), self.centre + self.bound)

    def __call__(self, reward: float, rng: np.random.Generator) -> float:
        """ȳ."""
        return self.clipped(reward) + float(rng.laplace(scale=self.scale))


def privatise(reward: float, *, epsilon: float, bound: float = 1.0, centre: float = 0.0) -> float:
    """ȳ, for whoever holds the reward to report in its place: drawn afresh, and reproducible by nobody.

    >>> isinstance(privatise(0.3, epsilon=1.0), float)
    True
    """
    return Mechanism(epsilon, bound, centre)(checks.real("reward", reward), np.random.default_rng())


@dataclass(frozen=True)
class Ldp(Around):
    """The inner policy, told ȳ = y + Laplace(2c/ε) in place of each reward y, clipped to `centre` ± c, c = `bound`.

    The noise is a function of (seed, number), so that a replay is exact: private towards who sees what the policy does,
    and not towards who has its seed or the log, which holds the rewards as they were told. For that, rewards must be
    blurred before they are told, by `privatise`; then give reported=True, and they are not blurred again.

    The inner policy is told a noise variance larger by 2h², h = 2c/ε. width="private" is the width with a proof: ȳ has
    a second moment of v = c²(1 + 8/ε²) at most, so it is tgp-ucb's for that moment, which truncates ȳ too. The inner
    policies ata-gp-ucb and moma-gp-ucb are told v, and have their own width then; moma-gp-ucb truncates nothing. Must
    be known: a bound on the rewards. `inner` is a policy's name, and options that are not here are its own.

    >>> from driftwise import Candidates
    >>> policy = Ldp.of(Candidates([[0.0], [1.0]]), epsilon=2.0, window=30)
    >>> policy.inner.window, policy.inner.model.noise
    (30, 2.01)
    """

    name: ClassVar[str] = "ldp"

    inner: AnyPolicy
    mechanism: Mechanism
    seed: int = 0
    reported: bool = False

    def __post_init__(self) -> None:
        a_mechanism = an_instance(Mechanism, "a Mechanism(epsilon)")
        self.settle(inner=a_policy, mechanism=a_mechanism, reported=checks.flag)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        inner: Annotated[str | AnyPolicy, "the policy inside, by name; its options are taken, too"] = "sw-gp-ucb",
        epsilon: Annotated[float, "level of privacy; smaller is more private"] = 1.0,
        bound: Annotated[float, "how far rewards may be from the centre; beyond it they are clipped"] = 1.0,
        centre: Annotated[float, "middle of the range of the rewards"] = 0.0,
        seed: Annotated[int, "seed of the noise that is added to rewards"] = 0,
        reported: Annotated[bool, "whether rewards have noise already, by `privatise`"] = False,
        **options: Any,
    ) -> Ldp:
        mechanism = Mechanism(epsilon, bound, centre)
        if isinstance(inner, str):
            options = _with_its_noise(mechanism, inner, options)
        if isinstance(inner, str) and inner in TOLD:
            return cls(inner_policy("ldp", inner, space, _told(mechanism, inner, options)), mechanism, seed, reported)
        if not isinstance(width := options.get("width"), str) or width != "private":
            if isinstance(inner, str):
                refuse_proved(options, "Laplace noise is sub-Gaussian for no R", "private")
            return cls(inner_policy("ldp", inner, space, options), mechanism, seed, reported)
        truncation = Truncation(mechanism.moment)
        options = options | {"width": TruncatedWidth.of(truncation, options)}
        truncated = TgpUcb(inner_policy("ldp", inner, space, options), truncation, mechanism.centre)
        return cls(truncated, mechanism, seed, reported)

    @property
    def weighs_noise(self) -> bool:
        return False  # nearly all the noise is the mechanism's own, and what else is told of a reward is not private

    def update(self, state: Any, seen: Observation) -> Any:
        seen = replace(seen, std=None, repeats=1)
        if self.reported:
            return self.inner.update(state, seen)
        rng = generator(self.seed, seen.number, Stream.MECHANISM)
        return self.inner.update(state, replace(seen, y=self.mechanism(seen.y, rng)))

    def within(self) -> AnyPolicy:
        return self.inner


def _told(mechanism: Mechanism, inner: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of an inner policy for heavy tails, with the mechanism's moment and its own width for "private".

    The noise of a reward within c of the centre has a variance of c² at most, and c² + 2h² with the mechanism's.
    """
    width = given.get("width")
    named = {"width": FIXED} if isinstance(width, str) and width == "private" else {}
    return {TOLD[inner]: mechanism.moment, "centre": mechanism.centre} | given | named


def _with_its_noise(mechanism: Mechanism, inner: str, given: dict[str, Any]) -> dict[str, Any]:
    """The inner policy's options, with the mechanism's noise in its noise variance."""
    from driftwise.policies import options_of

    if "noise" not in (known := options_of(inner)):
        return given
    added = 2 * mechanism.scale**2
    if given.get("standardise"):
        added /= mechanism.moment  # rewards are divided by their own deviation, which is √v at most
    return given | {"noise": checks.positive("noise", given.get("noise", known["noise"].default)) + added}
