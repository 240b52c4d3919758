"""Trials, the jobs of `demo`, `compare` and `lab run`: one policy on one case with one seed, and what came of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from driftwise.environments.playback import LONGEST
from driftwise.environments.world import SeededEnvironment
from driftwise.lab import statistics
from driftwise.lab.cases import Case
from driftwise.lab.run import run
from driftwise.lab.stamps import is_sent, stamp
from driftwise.policies import POLICIES, AnyPolicy, options_of, policy
from driftwise.records import Array, Ask, Observation, Step

CODE = " code="  # what follows the name of a trial in its key
POINTS = 200  # of a regret curve, at most
PERCENTS = (1, 5, 10)  # how near to the optimum is near


class Entrant(Protocol):
    """A policy to be compared, for example a `Contender`."""

    @property
    def label(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def options(self) -> tuple[tuple[str, Any], ...]: ...
    def on(self, world: SeededEnvironment) -> AnyPolicy: ...


@dataclass(frozen=True)
class Contender:
    """A policy of the registry: its name, the options it is given, and its label in tables."""

    label: str
    name: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def made_of(self) -> tuple[Any, ...]:
        """What its `stamp` counts: the class, the policy inside it, if any, and all options, given or by default."""
        cls, inner = POLICIES.find(self.name), dict(self.options).get("inner")
        inner = inner if isinstance(inner, str) else None
        return cls, POLICIES.find(inner) if inner else None, sorted(self.options), _defaults_of(cls, self.name, inner)

    def on(self, world: SeededEnvironment) -> AnyPolicy:
        """The policy on this world, given the world's kernel and noise variance unless its options say otherwise.

        On a world without noise it is given the kernel alone, as its own noise variance must be above 0.
        """
        known = {"kernel": world.kernel} | ({"noise": world.noise.variance} if world.noise.variance > 0 else {})
        taken = options_of(self.name, inner=dict(self.options).get("inner"))
        return policy(self.name, world.space, **{k: v for k, v in known.items() if k in taken} | dict(self.options))


@lru_cache(maxsize=1000)
def _defaults_of(cls: type, name: str, inner: str | None) -> str:
    """Of the options of a policy; the class is there so that another one under the same name has its own."""
    return str([(option, known.default) for option, known in options_of(name, inner=inner).items()])


@dataclass(frozen=True)
class Trial:
    """One run. `key` says all that its result depends on; results are stored and found again by it.

    Results of one `name` are of one trial, and a newer one takes the place of an older one whose code was another.
    """

    contender: Entrant
    suite: str
    case: Case
    horizon: int
    seed: int
    sent: str = field(default="", compare=False, repr=False)  # the key that it had where it was sent from

    @property
    def key(self) -> str:
        """Its name, and the stamp of its code and defaults: of where it was sent from, if its code was sent along."""
        made_of = self.contender, self.case.make
        return self.sent if self.sent and is_sent(*made_of) else f"{self.name}{CODE}{stamp(*made_of)}"

    @property
    def name(self) -> str:
        """As "deng/abrupt T=500 sw-gp-ucb:window=50 seed=3"; options in order, however they were written."""
        options = ",".join(f"{name}={value!r}" for name, value in sorted(self.contender.options))
        # a shorter run is not a run of a smaller case: a --quick case may have its changes elsewhere
        of = "" if self.horizon == self.case.horizon else f"/{self.case.horizon}"
        policy = f"{self.contender.name}:{options}" if options else self.contender.name
        return f"{self.suite}/{self.case.name} T={self.horizon}{of} {policy} seed={self.seed:04d}"

    @property
    def cell(self) -> tuple[str, str, str]:
        """What trials have in common that differ by seed alone."""
        return self.suite, self.case.name, self.contender.label

    def perform(self) -> TrialOutcome:
        began, cpu = time.perf_counter(), time.process_time()
        policy_clock, world_clock = Clock(), Clock()
        world = world_clock(self.case.environment, self.seed)
        policy = Watched(policy_clock(self.contender.on, world), policy_clock)
        timed = Timed(world, world_clock, f"{self.suite}/{self.case.name}")
        steps = list(run(cast(AnyPolicy, policy), timed, self.horizon, seed=self.seed))
        variation = world_clock(world.variation, self.horizon) if self.horizon <= LONGEST else math.inf
        result = summary(self, steps, world, variation=variation, restarts=getattr(policy.last, "restarts", None))
        seconds = [step.seconds for step in steps]
        wall = time.perf_counter() - began
        # CPU is shared out by the wall clock, which is read in 50 ns; the CPU's own clock takes 20 times as long
        share = (time.process_time() - cpu) / wall
        timing = Timing(
            key=self.key,
            mean=float(np.mean(seconds)),
            median=float(np.median(seconds)),
            wall=wall,
            policy=share * policy_clock.seconds,
            environment=share * world_clock.seconds,
            rest=share * (wall - policy_clock.seconds - world_clock.seconds),
        )
        return TrialOutcome(result, timing, np.array([step.regret for step in steps]))


@dataclass(frozen=True)
class Result:
    """What came of a trial, a function of the trial alone: no clock has a say in it."""

    key: str
    suite: str
    case: str
    policy: str
    seed: int
    horizon: int
    regret: float  # R(T)
    integrated: float  # ∫ r dt over `at`
    within: tuple[float, ...]  # shares of the steps within 1, 5 and 10% of the optimum
    variation: float | None  # P_T, where it is known and finite
    changes: tuple[int, ...]  # the last steps before abrupt changes
    recovery: tuple[int | None, ...]  # steps after each until regret was back; None: not before the next one
    restarts: int | None  # where the policy counts them
    curve: tuple[float, ...]  # R(t) at `checkpoints(horizon)`, to 7 digits


@dataclass(frozen=True)
class Timing:
    """What a trial cost, in seconds; CPU unless it says otherwise."""

    key: str
    mean: float  # wall clock, per step of the policy
    median: float
    wall: float  # all of the trial
    policy: float
    environment: float
    rest: float


class TrialOutcome(NamedTuple):
    """What a trial returns: what is stored of it, and the regret of every step for those who draw it."""

    result: Result
    timing: Timing
    regret: Array = np.empty(0)  # (T,): r_t


def name_of(key: str) -> str:
    """The name of the trial with this key.

    >>> name_of("deng/abrupt T=50 gp-ucb seed=0001 code=0123456789ab")
    'deng/abrupt T=50 gp-ucb seed=0001'
    """
    return key.rpartition(CODE)[0] or key


def kind_of(key: str) -> tuple[str, str]:
    """What trials have in common that differ by seed alone, and their code.

    >>> kind_of("deng/abrupt T=50 gp-ucb seed=0001 code=0123456789ab")
    ('deng/abrupt T=50 gp-ucb', '0123456789ab')
    """
    name = name_of(key)
    return name.rpartition(" seed=")[0], key[len(name) + len(CODE) :]


def checkpoints(horizon: int) -> list[int]:
    """The steps at which a curve is kept: all where they are few, else ⌈iT/200⌉, i = 1 … 200.

    >>> checkpoints(3), checkpoints(1000)[:2], checkpoints(1000)[-1]
    ([1, 2, 3], [5, 10], 1000)
    """
    points = min(POINTS, horizon)
    return [-(-i * horizon // points) for i in range(1, points + 1)]


def summary(
    trial: Trial, steps: list[Step], world: SeededEnvironment, *, variation: float, restarts: int | None
) -> Result:
    regret, best = np.array([step.regret for step in steps]), np.array([step.best for step in steps])
    at = np.array([step.seen.at for step in steps])
    total, changes = np.cumsum(regret), changes_of(world, trial.horizon)
    return Result(
        key=trial.key,
        suite=trial.suite,
        case=trial.case.name,
        policy=trial.contender.label,
        seed=trial.seed,
        horizon=trial.horizon,
        regret=float(total[-1]),
        integrated=statistics.integrated(regret, at),
        within=tuple(statistics.share_within(regret, best, percent) for percent in PERCENTS),
        variation=float(variation) if np.isfinite(variation) else None,
        changes=changes,
        recovery=statistics.recovery(regret, best, changes),
        restarts=None if restarts is None else int(restarts),
        curve=tuple(float(f"{total[t - 1]:.6e}") for t in checkpoints(trial.horizon)),
    )


def changes_of(world: Any, horizon: int) -> tuple[int, ...]:
    """The last steps before the abrupt changes that a world knows of itself: its `changes`, or its drift's `times`."""
    times: Iterable[int] = getattr(world, "changes", getattr(getattr(world, "drift", None), "times", ()))
    return tuple(int(t) for t in times if 1 <= t < horizon)


class Clock:
    """Adds up the seconds of what is called through it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        answer = function(*arguments)
        self.seconds += time.perf_counter() - began
        return answer


class Watched:
    """A policy whose time is taken, and whose last state can be looked at."""

    def __init__(self, policy: AnyPolicy, clock: Clock) -> None:
        self.policy, self.clock, self.last = policy, clock, None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)

    def start(self) -> Any:
        return self.clock(self.policy.start)

    def choose(self, state: Any, ask: Ask) -> Array:
        chosen: Array = self.clock(self.policy.choose, state, ask)
        return chosen

    def update(self, state: Any, seen: Observation) -> Any:
        self.last = self.clock(self.policy.update, state, seen)
        return self.last


class Timed:
    """An environment whose time is taken; it has its seed already, and is called by the name of its case."""

    def __init__(self, world: SeededEnvironment, clock: Clock, name: str) -> None:
        self.world, self.clock, self.name, self.space = world, clock, name, world.space
        if hasattr(world, "at"):
            self.at = world.at

    def value(self, t: int, X: Array) -> Array:
        values: Array = self.clock(self.world.value, t, X)
        return values

    def observe(self, t: int, x: Array) -> float:
        return self.clock(self.world.observe, t, x)

    def best(self, t: int) -> float:
        return self.clock(self.world.best, t)
