"""What a user decides about live operation: `Live`, a part of a study's description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.feasible import Limit, as_limits
from driftwise.records import Params

STEPS = (0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Live:
    """How a study serves a live system: most of it by the incumbent, a part by a candidate that may replace it.

    Args:
        incumbent: the setting that is in force now.
        control: share of the asks that get the incumbent, at least.
        explore: share of the asks that get what the policy wants to know, while no candidate needs it.
        margin: how much worse than the incumbent a candidate may be, in units of the reward.
        alpha: probability with which a rollout may be decided wrongly, in either direction.
        better: whether a candidate must be better than the incumbent; else it must not be worse by the margin.
        guardrails: limits on measures that a candidate must keep on average, for example {"errors": at_most(0.01)}.
        bounds: the smallest and the largest reward there can be, if you know them: decisions are then by bets, which
            hold at any number of readings.
        steps: shares of the asks that a candidate gets, one after the other.
        patience: readings after which a rollout that is not decided ends, and the incumbent stays.
        approve: whether somebody must approve a candidate before it is tried.
        switching_cost: what a change of the setting costs, in units of the reward.
        settle: readings after a change of the setting that do not count.
        block: asks in a row that get the same setting; by default 1, and four times `settle`.

    >>> Live(incumbent={"workers": 8}, settle=1).length
    4
    """

    incumbent: Params
    control: float = 0.2
    explore: float = 0.1
    margin: float = 0.0
    alpha: float = 0.05
    better: bool = False
    guardrails: Mapping[str, Limit] | tuple[tuple[str, Limit], ...] = ()  # kept as pairs
    bounds: tuple[float, float] | None = None
    steps: tuple[float, ...] = field(default=STEPS)
    patience: int = 2000
    approve: bool = False
    switching_cost: float = 0.0
    settle: int = 0
    block: int | None = None

    def __post_init__(self) -> None:
        checks.settle(
            self,
            incumbent=_setting,
            control=partial(checks.share, fix="without a control nobody can tell a candidate from the hour"),
            explore=checks.nonnegative,
            margin=checks.nonnegative,
            alpha=checks.probability,
            better=checks.flag,
            guardrails=as_limits,
            bounds=checks.optional(lambda name, given: checks.point(name, given, 2)),
            steps=partial(checks.each, rule=checks.share, fix="(0.1, 0.25, 0.5)"),
            patience=partial(checks.count, least=10),
            approve=checks.flag,
            switching_cost=checks.nonnegative,
            settle=partial(checks.count, least=0),
            block=checks.optional(checks.count),
        )
        self._check_shares()
        self._check_guardrails()
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise InvalidInput(f"bounds must be the smallest and the largest reward, got {self.bounds}; as (0, 1)")
        if self.length <= self.settle:
            raise InvalidInput(
                f"block must be above settle, got block={self.block} and settle={self.settle}: no reading would count"
            )

    def _check_shares(self) -> None:
        if self.control + self.explore > 1:
            raise InvalidInput(
                f"control and explore must add up to 1 at most, got control={self.control:g} and "
                f"explore={self.explore:g}; give explore={max(1 - self.control, 0):g}"
            )
        if not self.steps or any(a >= b for a, b in zip(self.steps, self.steps[1:], strict=False)):
            raise InvalidInput(f"steps must be shares that grow, got {self.steps}; for example (0.1, 0.25, 0.5)")
        if self.control + self.steps[-1] > 1:
            raise InvalidInput(
                f"control and the last of steps must add up to 1 at most, got control={self.control:g} and "
                f"{self.steps[-1]:g}; give control={max(1 - self.steps[-1], 0):g}"
            )

    def _check_guardrails(self) -> None:
        for name, limit in self.rails:
            if limit.low is not None and limit.high is not None:
                raise InvalidInput(f"guardrail {name!r} must have one end, got {limit}; give the more important one")
            at = limit.low if limit.high is None else limit.high
            if at is None or at <= 0:
                raise InvalidInput(f"guardrail {name!r} must have a limit > 0, got {limit}; take another zero")

    @property
    def rails(self) -> tuple[tuple[str, Limit], ...]:
        """The guardrails, by the name of their measure."""
        assert isinstance(self.guardrails, tuple)
        return self.guardrails

    @property
    def length(self) -> int:
        """Asks in a row that get the same setting."""
        return self.block if self.block is not None else max(4 * self.settle, 1)

    @property
    def each(self) -> float:
        """The probability with which each test may roll a candidate back wrongly: they share `alpha`."""
        return self.alpha / (2 + len(self.guardrails))  # the reward, failures, and the guardrails


def _setting(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be a dict of parameters and their values, got {checks.shown(given)}")
    return dict(given)
