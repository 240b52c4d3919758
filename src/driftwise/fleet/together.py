"""Keys that learn from each other: what the first ones found is the prior of those that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.lean.across import pooled
from driftwise.lean.prior import Prior
from driftwise.lean.step import LeanState
from driftwise.policies import AnyPolicy
from driftwise.policies.auto_lean import AutoLean

BYTES = 1 << 30  # of the states that are held in memory
SEASONED = 24  # rewards after which a key has something to say
CLASSES = (8, 32, 128)  # of so many seasoned keys the prior is made


def check(policy: AnyPolicy) -> None:
    """Only a policy that has a prior of keys can have keys that learn from each other."""
    if not isinstance(policy, AutoLean):
        raise InvalidInput(
            f"together=True is for auto-lean, which learns kernel, noise and drift; {policy.name} is told"
        )


def states(policy: AnyPolicy, most: int) -> int:
    """How many states of a policy to hold in memory: those of auto-lean are large, and of a size that is known."""
    if not isinstance(policy, AutoLean):
        return most
    each = 8 * len(policy.noises) * policy.drifts * (policy.window**2 + 4 * len(policy.bank.points))
    return min(max(BYTES // each, 1), most)


def lesson(policy: AnyPolicy, states: Sequence[LeanState]) -> dict[str, Any]:
    """The prior that the states of keys give, as JSON has it."""
    assert isinstance(policy, AutoLean)
    return asdict(pooled(policy.bank, _joined(states)))


def taught(policy: AnyPolicy, said: dict[str, Any]) -> AnyPolicy:
    """The policy of a key that begins with this prior."""
    assert isinstance(policy, AutoLean)
    given: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in said.items()}
    return replace(policy, prior=Prior(**given))


def _joined(states: Sequence[Any]) -> Any:
    """The states of single keys as that of all."""
    parts = zip(*states, strict=True)
    return type(states[0])(*(_joined(each) if isinstance(each[0], tuple) else np.concatenate(each) for each in parts))
