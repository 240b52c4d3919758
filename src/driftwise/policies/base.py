"""What a policy is: a frozen description, whose state is a fold over the log."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, ClassVar, Protocol, TypeVar

from driftwise.gp.belief import Belief
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space

S = TypeVar("S")


class Policy(Protocol[S]):
    """A description that never changes, and four pure functions of an explicit state."""

    name: ClassVar[str]

    @property
    def space(self) -> Space:
        """Where it chooses."""
        ...

    @property
    def memory(self) -> int | None:
        """Folding the last `memory` observations gives the state of folding all, bit for bit; None: it takes all."""
        ...

    def start(self) -> S:
        """The state before anything is seen."""
        ...

    def choose(self, state: S, ask: Ask) -> Array:
        """The next point, (d,): the same state and ask give the same answer."""
        ...

    def update(self, state: S, seen: Observation) -> S:
        """The state after `seen`. Observations come in the order of their numbers, of which some may be missing."""
        ...

    def belief(self, state: S, ask: Ask) -> Belief:
        """What it thinks of the world at `ask`."""
        ...

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        """Whether observation `number` counts when `newer` observations have greater numbers, up to `newest`."""
        ...


def replay(policy: Policy[S], log: Iterable[Observation]) -> S:
    """The state after `log`: an optimiser is a fold."""
    return reduce(policy.update, log, policy.start())


AnyPolicy = Policy[Any]
