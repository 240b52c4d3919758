"""TGP-UCB (Chowdhury & Gopalan 2019) around any policy: rewards too large to trust count as nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief
from driftwise.policies.base import AnyPolicy, Around, a_policy, an_instance
from driftwise.policies.inner import inner_policy
from driftwise.policies.setup import PROVED
from driftwise.records import Observation


@dataclass(frozen=True)
class Truncation:
    """b_t = v^{1/(1+α)} t^{1/(2(1+α))}, for E|y|^{1+α} ≤ v, α in (0, 1] the `order`.

    >>> truncation = Truncation(moment=4.0)
    >>> truncation.level(16), truncation(16, -4.0), truncation(16, 5.0)
    (4.0, -4.0, 0.0)
    """

    moment: float
    order: float = 1.0

    def __post_init__(self) -> None:
        fix = "1 is a bound on the second moment"
        checks.settle(self, moment=checks.positive, order=partial(checks.share, fix=fix))

    def level(self, number: int) -> float:
        """b_t."""
        return float((self.moment * math.sqrt(number)) ** (1 / (1 + self.order)))

    def __call__(self, number: int, y: float) -> float:
        """y, or 0 where |y| > b_t: not ±b_t, and never looked at again."""
        return y if abs(y) <= self.level(number) else 0.0


@dataclass(frozen=True)
class TruncatedWidth:
    """β_{t+1} = B + (3 b_t/√λ) √(ln det(I + K_t/λ) + 2 ln(m/δ)), and β_1 = B; m = `unions` (docs/theory.md)."""

    truncation: Truncation
    B: float = 1.0
    delta: float = 0.1
    unions: int = 1

    name: ClassVar[str] = "truncated"
    assumes_bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.settle(self, B=checks.nonnegative, delta=_small_enough, unions=checks.count)

    def over(self, unions: int) -> TruncatedWidth:
        return replace(self, unions=unions)

    @classmethod
    def of(cls, truncation: Truncation, options: dict[str, Any]) -> TruncatedWidth:
        """With what the options of a policy say of it."""
        return cls(truncation, **{key: options[key] for key in ("B", "delta") if key in options})

    def __call__(self, belief: Belief, number: int) -> float:
        if number <= 1:
            return self.B
        spread = math.sqrt(2 * belief.information_gain + 2 * math.log(self.unions / self.delta))
        return self.B + 3 * self.truncation.level(number - 1) / math.sqrt(belief.noise) * spread


def _small_enough(name: str, given: Any) -> float:
    """δ ≤ 1/e, with which 3√… covers the noise, 2√…, and the bias of truncation, √2 (docs/theory.md)."""
    delta = checks.probability(name, given)
    if delta > 1 / math.e:
        raise InvalidInput(f"{name} must be at most 1/e = 0.368 for width='truncated', got {checks.shown(given)}")
    return delta


def refuse_proved(options: dict[str, Any], reason: str, own: str) -> None:
    """The names of widths that are proved for sub-Gaussian noise, where there is none."""
    width = options.get("width")
    if isinstance(width, str) and width in (*PROVED, "algorithm", "srinivas"):
        raise InvalidInput(f"width={width!r} has no theorem here: {reason}; give width={own!r}, or a number")


@dataclass(frozen=True)
class TgpUcb(Around):
    """The inner policy, told `centre` in place of every reward further from it than b_t = v^{1/(1+α)} t^{1/(2(1+α))}.

    Must be known: `moment` v with E|y − centre|^{1+α} ≤ v, in the rewards' own units and f included (Student's t of
    three degrees around |f| ≤ B: B² + 3). Set it, and `centre`: rewards far from `centre` are lost. `inner` is a
    policy's name, and options that are not here are its own; width="truncated" is the width that the paper proves for a
    world that stands still; of a policy that forgets it needs the horizon, for the union bound. Costs what the inner
    policy costs.

    >>> from driftwise import Candidates
    >>> policy = TgpUcb.of(Candidates([[0.0], [1.0]]), inner="sw-gp-ucb", window=30)
    >>> policy.inner.window
    30
    """

    name: ClassVar[str] = "tgp-ucb"

    inner: AnyPolicy
    truncation: Truncation
    centre: float = 0.0

    def __post_init__(self) -> None:
        a_truncation = an_instance(Truncation, "a Truncation(moment)")
        self.settle(inner=a_policy, truncation=a_truncation, centre=checks.size)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        inner: Annotated[str | AnyPolicy, "the policy inside, by name; its options are taken, too"] = "sw-gp-ucb",
        moment: Annotated[float, "bound v on the moment E|y − centre|^(1+order) of the rewards"] = 4.0,
        order: Annotated[float, "α in (0, 1]; 1 is a bound on the second moment"] = 1.0,
        centre: Annotated[float, "value around which rewards are truncated"] = 0.0,
        **options: Any,
    ) -> TgpUcb:
        truncation = Truncation(moment, order)
        if isinstance(width := options.get("width"), str) and width == "truncated":
            options["width"] = TruncatedWidth.of(truncation, options)
        elif isinstance(inner, str):
            refuse_proved(options, "rewards that are cut off have neither mean f nor sub-Gaussian noise", "truncated")
        return cls(inner_policy("tgp-ucb", inner, space, options), truncation, centre)

    def update(self, state: Any, seen: Observation) -> Any:
        y = self.centre + self.truncation(seen.number, seen.y - self.centre)
        return self.inner.update(state, seen if y == seen.y else replace(seen, y=y))

    def within(self) -> AnyPolicy:
        return self.inner
