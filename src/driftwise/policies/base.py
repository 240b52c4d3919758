"""What a policy is: a frozen description, whose state is a fold over the log; and what most policies have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Generic, Protocol, TypeVar, final

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Model, Width, optimistic
from driftwise.gp.grid import GridPosterior
from driftwise.gp.posterior import Posterior
from driftwise.policies.ranges import Range
from driftwise.policies.setup import Options, Setup, check_options, options_in
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space, as_space
from driftwise.theory.widths import as_width

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
        """Folding the last `memory` rewards gives the state of folding all, bit for bit; None: it takes all."""
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
        """Whether observation `number` may count when `newer` observations have greater numbers, up to `newest`."""
        ...


AnyPolicy = Policy[Any]
MEMBERS = ("name", "space", "memory", "start", "choose", "update", "belief", "remembers")  # of the protocol


def a_policy(what: str, given: Any, example: str = "a policy's name or a policy") -> Any:
    """The rule that an object is a policy, one of these or a user's own: it has all the members of `Policy`."""
    missing = [member for member in MEMBERS if not hasattr(given, member)]
    if isinstance(given, type) or {"start", "choose", "update"} & set(missing):
        raise InvalidInput(f"{what} must be {example}, got {checks.shown(given)}")
    if missing:
        raise InvalidInput(
            f"{what} must have every member of driftwise.policies.Policy; {checks.shown(given)} has no "
            f"{' and no '.join(missing)}; docs/adding-a-policy.md says what each must do"
        )
    return given


@dataclass(frozen=True, eq=False)
class Decision:
    """The next point, and the jitter that the belief needed with which it was chosen.

    Args:
        x: the point, an array of shape (d,).
        jitter: what was added to the diagonal of a kernel matrix so that it could be factorised.

    >>> import numpy as np
    >>> Decision(np.array([0.5])).jitter
    0.0
    """

    x: Array  # (d,)
    jitter: float = 0.0


def decision(policy: AnyPolicy, state: Any, ask: Ask) -> Decision:
    """What a policy chooses. One that has no `decide` is asked for its belief, too, to know the jitter."""
    if isinstance(policy, BasePolicy):
        return policy.decide(state, ask)
    x = policy.choose(state, ask)
    try:
        return Decision(x, policy.belief(state, ask).jitter)
    except InvalidInput:  # a policy that has no belief needs no jitter
        return Decision(x)


def weighs_noise(policy: AnyPolicy) -> bool:
    """Whether a policy uses the `std` and the `repeats` of an observation; one that does not say so does not."""
    return bool(getattr(policy, "weighs_noise", False))


def replay(policy: Policy[S], log: Iterable[Observation]) -> S:
    """The state after `log`: an optimiser is a fold."""
    return reduce(policy.update, log, policy.start())


# --- what policies have in common ---------------------------------------------------------------------------------


def an_instance(cls: type, example: str) -> checks.Rule:
    """The rule that a field is of this class."""

    def rule(name: str, value: Any) -> Any:
        if not isinstance(value, cls):
            raise InvalidInput(f"{name} must be {example}, got {checks.shown(value)}")
        return value

    return rule


RULES: dict[str, checks.Rule] = {
    "model": an_instance(Model, "a Model(space, kernel, noise)"),
    "rewards": an_instance(Range, "a Range(low, high)"),
    "space": lambda _, given: as_space(given),
    "width": lambda _, given: as_width(given),
    "noise": checks.positive,
    "delta": checks.probability,
    "seed": checks.seed,
    "standardise": checks.flag,
}


class BasePolicy(ABC, Generic[S]):
    """A policy that takes all the data and forgets none of them, unless it says otherwise.

    Derive a frozen dataclass with a `name`, a `space` and the four members below; docs/adding-a-policy.md has one.

    >>> from driftwise import Candidates
    >>> @dataclass(frozen=True)
    ... class First(BasePolicy[None]):
    ...     name = "first"
    ...     space: Any
    ...     def start(self): return None
    ...     def decide(self, state, ask): return Decision(self.space.points[0])
    ...     def update(self, state, seen): return None
    ...     def belief(self, state, ask): raise NotImplementedError
    >>> First(Candidates([[0.0], [1.0]])).choose(None, Ask(1, 1.0)).tolist()
    [0.0]
    """

    name: ClassVar[str]
    shared: ClassVar[Options] = {}  # the options of `Setup` that it takes, beside the keywords of its own `of`
    restrictable: ClassVar[bool] = True  # whether it works where an ask fixes coordinates, or allows some settings only

    def __post_init__(self) -> None:
        self.settle()

    def settle(self, **rules: checks.Rule) -> None:
        """Check all fields: by the rules given, and those that many policies have by RULES."""
        known = {name: rule for name, rule in RULES.items() if name in self.__dataclass_fields__}  # type: ignore[attr-defined]
        checks.settle(self, **known | rules)

    @classmethod
    def setup(cls, space: Any, given: dict[str, Any], **own: Any) -> Setup:
        """The shared options as they were given, and as the policy itself has them."""
        check_options(cls.name, given, cls.shared | options_in(cls.of))  # type: ignore[attr-defined]
        return Setup(space, **{name: option.default for name, option in cls.shared.items()} | given | own)

    @property
    def memory(self) -> int | None:
        return None

    @property
    def weighs_noise(self) -> bool:
        """Whether it uses the `std` and the `repeats` of an observation; if not, `update` ignores both."""
        return False

    @final
    def choose(self, state: S, ask: Ask) -> Array:
        """The next point; a policy says it by `decide`."""
        return self.decide(state, ask).x

    @abstractmethod
    def start(self) -> S:
        """The state before anything is seen."""

    @abstractmethod
    def decide(self, state: S, ask: Ask) -> Decision:
        """The next point and the jitter it took: the same state and ask give the same answer."""

    @abstractmethod
    def update(self, state: S, seen: Observation) -> S:
        """The state after `seen`."""

    @abstractmethod
    def belief(self, state: S, ask: Ask) -> Belief:
        """What it thinks of the world at `ask`."""

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return True


@dataclass(frozen=True)
class ModelPolicy(BasePolicy[S]):
    """A policy with a model of the world."""

    model: Model

    @property
    def space(self) -> Space:
        return self.model.space


@dataclass(frozen=True)
class UcbPolicy(ModelPolicy[S]):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} by its belief: what is left to say is what that rests on."""

    width: Width

    @property
    def weighs_noise(self) -> bool:
        return True  # its belief does

    def decide(self, state: S, ask: Ask) -> Decision:
        belief = self.belief(state, ask)
        return Decision(optimistic(self.model, belief, self.width, ask), belief.jitter)


class Around(BasePolicy[Any]):
    """A policy that is another one but for what it says itself."""

    @abstractmethod
    def within(self) -> AnyPolicy:
        """The other one."""

    @property
    def space(self) -> Space:
        return self.within().space

    @property
    def memory(self) -> int | None:
        return self.within().memory

    @property
    def weighs_noise(self) -> bool:
        return weighs_noise(self.within())

    def start(self) -> Any:
        return self.within().start()

    def decide(self, state: Any, ask: Ask) -> Decision:
        return decision(self.within(), state, ask)

    def update(self, state: Any, seen: Observation) -> Any:
        return self.within().update(state, seen)

    def belief(self, state: Any, ask: Ask) -> Belief:
        return self.within().belief(state, ask)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.within().remembers(number, newest=newest, newer=newer)


def restrictable(policy: AnyPolicy) -> bool:
    """Whether it works where an ask fixes coordinates, or allows some settings only; a user's own must say so."""
    within = policy.within() if isinstance(policy, Around) else policy
    return restrictable(within) if within is not policy else bool(getattr(policy, "restrictable", False))


def check_restrictable(policy: AnyPolicy, what: str) -> None:
    """Refuse `what`, for example a context, for a policy that cannot have it."""
    if not restrictable(policy):
        raise InvalidInput(
            f"{what} cannot be used with {policy.name}, which is defined for a choice among all settings; use auto, or "
            "sw-gp-ucb; a policy of your own that chooses by space.argmax(score, ask) says so by restrictable = True"
        )


def in_units(belief: Belief, units: tuple[float, float]) -> Belief:
    """`belief`, whose rewards are meant in these units: for `recommend`, as what is chosen is the same in any."""
    if belief.units == units:
        return belief
    assert isinstance(belief, Posterior | GridPosterior)
    return replace(belief, fixed_units=units)


def in_last_units(now: Belief, last: Belief) -> Belief:
    """`now`; if it has seen nothing yet, in the units that rewards had last, as nobody's rewards are 0 ± 1."""
    return now if len(now) or not len(last) else in_units(now, last.units)


def finite(name: str, space: Space) -> int:
    """How many settings there are; a space that cannot be listed is refused."""
    if space.points is None:
        raise InvalidInput(
            f"{name} is defined on finitely many settings only, and this space cannot be listed; "
            "give candidates, or Int and Choice parameters with at most 2,500 settings in all, "
            "and at most 1,000 where they are those of a single Choice"
        )
    return len(space.points)


def discount(name: str, value: float) -> float:
    """A factor per step, in (0, 1]."""
    return checks.share(name, value, fix="a factor per step, for example 0.98; 1 forgets nothing")
