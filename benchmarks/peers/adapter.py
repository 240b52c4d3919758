"""What makes a peer look like a policy.

A peer is an object that changes: it is asked, told, asked again. A policy is a fold over the log. So the state is the
log itself, and the choice is what a fresh peer answers after it has lived through that log, every question and every
reward in turn. The peer that did so last is kept, so that the next step costs one question and not the whole life.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief
from driftwise.records import Array, Ask, Observation
from driftwise.rng import generator
from driftwise.spaces import Box, Space, as_space

Log = tuple[Observation, ...]


class Peer(Protocol):
    """An optimiser of somebody else on [0, 1]^d, made for a dimension and a seed; it maximises."""

    def ask(self, number: int, at: float) -> Array:
        """The next point, (d,)."""
        ...

    def tell(self, seen: Observation) -> None:
        """The reward at a point, asked for or not."""
        ...


@dataclass
class Life:
    """A peer, and all that happened to it."""

    peer: Peer
    seed: int
    log: Log = ()
    asked: tuple[Ask, Array] | None = None  # the question after the log, and its answer

    def ask(self, ask: Ask) -> Array:
        answer = np.clip(np.asarray(self.peer.ask(ask.number, ask.at), dtype=float), 0.0, 1.0)
        self.asked = ask, answer
        return answer

    def tell(self, seen: Observation) -> None:
        self.peer.tell(seen)
        self.log, self.asked = (*self.log, seen), None


@dataclass(frozen=True)
class Adapted:
    """A policy that asks a peer. `make(dim, seed)` gives a fresh one."""

    name: ClassVar[str] = "peer"

    space: Space
    make: Callable[[int, int], Peer]
    _last: list[Life] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        space = as_space(self.space)
        if not isinstance(space, Box) or not space.continuous.all():
            raise InvalidInput(f"peers are compared on boxes of Float parameters, got {space!r:.80}")
        object.__setattr__(self, "space", space)

    @property
    def memory(self) -> None:
        return None

    def start(self) -> Log:
        return ()

    def choose(self, state: Log, ask: Ask) -> Array:
        if ask.pending:
            raise InvalidInput(f"peers are asked one at a time here, got {len(ask.pending)} pending points")
        life = self._lived(state, ask)
        return (life.asked[1] if life.asked else life.ask(ask)).copy()

    def update(self, state: Log, seen: Observation) -> Log:
        return (*state, seen)

    def belief(self, state: Log, ask: Ask) -> Belief:
        raise InvalidInput("a peer keeps what it believes to itself; only its choices are compared")

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return True

    def _lived(self, log: Log, ask: Ask) -> Life:
        """A peer that has lived through `log` and was asked nothing since, or just this."""
        life = self._last[0] if self._last and follows(self._last[0], log, ask) else Life(self._fresh(ask), ask.seed)
        for seen in log[len(life.log) :]:
            if life.asked is None:  # it is told nothing that it was not asked before: some peers remember the asking
                life.ask(Ask(number=seen.number, at=seen.at, seed=ask.seed))
            life.tell(seen)
        self._last[:] = [life]
        return life

    def _fresh(self, ask: Ask) -> Peer:
        return self.make(self.space.dim, ask.seed)


def follows(life: Life, log: Log, ask: Ask) -> bool:
    """Whether a life may go on to `log` and `ask`, as if it had never been interrupted."""
    if life.seed != ask.seed or life.log != log[: len(life.log)]:
        return False
    if life.asked is None:
        return True
    put = life.asked[0]
    if len(log) == len(life.log):
        return put == ask
    seen = log[len(life.log)]
    return (put.number, put.at) == (seen.number, seen.at)


def seed_of(seed: int, number: int) -> int:
    """A seed for libraries that draw from generators of their own, different at every step: below 2³²."""
    return int(generator(seed, number).integers(2**32))
