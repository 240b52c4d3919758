"""Bandit policies for River: `DriftBandit`, and `ContextualDriftBandit`, whose context is given with every pull.

docs/integrations/river.md says what they do and what they cannot do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.concurrency.threads import one_thread
from driftwise.errors import InvalidInput, missing_extra
from driftwise.policies import AnyPolicy, check_restrictable, decision, replay
from driftwise.records import Array, Ask, Observation, Params, Point
from driftwise.spaces import Box, Candidates, in_context, joint
from driftwise.study.given import policy_of
from driftwise.study.inputs import reward as a_reward

try:
    from river.bandit import base as river
except ImportError:
    raise missing_extra("river", "river") from None

Features = Mapping[Any, Sequence[float]]


class Pulled(NamedTuple):
    """A pull that was rewarded."""

    number: int
    arm: Hashable
    reward: float
    context: Params | None


@dataclass(frozen=True)
class KnownArms:
    """The arms known so far, as candidates: by their features, or each as far from each other."""

    names: tuple[Any, ...]
    features: Features | None
    context: Box | None

    @cached_property
    def candidates(self) -> Candidates:
        if self.features is None:
            return Candidates(labels=[str(place) for place in range(len(self.names))])
        missing = [name for name in self.names if name not in self.features]
        if missing:
            raise InvalidInput(f"features must have every arm, got none for {checks.shown(missing[0])}")
        return Candidates([self.features[name] for name in self.names])

    @cached_property
    def space(self) -> Any:
        return self.candidates if self.context is None else joint(self.candidates, self.context)

    @cached_property
    def points(self) -> dict[Any, Point]:
        return dict(zip(self.names, map(tuple, self.candidates.points.tolist()), strict=True))

    def fixed(self, context: Params | None) -> tuple[tuple[int, float], ...]:
        return () if self.context is None else in_context(self.context, self.space, context)

    def observation(self, pulled: Pulled) -> Observation:
        x = self.points[pulled.arm] + tuple(value for _, value in self.fixed(pulled.context))
        return Observation(pulled.number, float(pulled.number), x, pulled.reward)

    def named(self, x: Array) -> Any:
        """The arm at a point; of several with the same features the first."""
        point = tuple(x[: self.candidates.dim].tolist())
        return next(name for name, known in self.points.items() if known == point)

    def only(self, names: Sequence[Any]) -> Any:
        """The rule that one of these arms is chosen; None if they are all."""
        if set(names) == set(self.names):
            return None
        known = {self.points[name] for name in names}
        d = self.candidates.dim

        def allowed(X: Array) -> NDArray[np.bool_]:
            return np.array([tuple(row) in known for row in X[:, :d].tolist()], dtype=bool)

        return allowed


class Learner:
    """A policy of driftwise over arms that become known as they are pulled: the state after all rewards so far."""

    def __init__(self, policy: Any, features: Features | None, context: Box | None, seed: int) -> None:
        self.made, self.seed = policy, checks.seed("seed", seed)
        self.arms = KnownArms((), features, context)
        self.policy: AnyPolicy | None = None
        self.state: Any = None
        self.log: deque[Pulled] = deque()
        self.count = 0

    def _know(self, names: Sequence[Any]) -> AnyPolicy:
        """The policy over all arms so far. If there are new ones, what it remembers of the log is folded again."""
        new = [name for name in dict.fromkeys(names) if name not in self.arms.points] if self.arms.names else [*names]
        if new or self.policy is None:
            self.arms = KnownArms((*self.arms.names, *dict.fromkeys(new)), self.arms.features, self.arms.context)
            self.policy = policy_of(self.made, self.arms.space, {})
            self.log = deque(self.log, maxlen=self.policy.memory)
            self.state = replay(self.policy, [self.arms.observation(pulled) for pulled in self.log])
        return self.policy

    @one_thread
    def pull(self, names: Sequence[Any], context: Params | None = None) -> Any:
        """The arm to pull, of those that are named."""
        policy = self._know(names)
        allowed = self.arms.only(names)
        if allowed is not None:
            check_restrictable(policy, "a choice of some of the arms")
        number = self.count + 1
        ask = Ask(number, float(number), seed=self.seed, fixed=self.arms.fixed(context), allowed=allowed)
        return self.arms.named(decision(policy, self.state, ask).x)

    @one_thread
    def update(self, arm: Any, reward: Any, context: Params | None = None) -> None:
        """Take in a reward."""
        policy = self._know([arm])
        pulled = Pulled(self.count + 1, arm, a_reward(float(reward)), context)
        self.state = policy.update(self.state, self.arms.observation(pulled))
        self.count += 1
        self.log.append(pulled)


class DriftBandit(river.Policy):
    """A bandit whose arms change over time: a policy of driftwise, by its name and its `options`.

    With `features`, the coordinates of every arm, arms that are near each other are expected to earn alike.

    >>> bandit = DriftBandit(seed=1)
    >>> for step in range(40):
    ...     arm = bandit.pull(["red", "green", "blue"])
    ...     bandit.update(arm, {"red": 0.0, "green": 1.0, "blue": 0.2}[arm])
    >>> bandit.pull(["red", "green", "blue"]), bandit.pull(["red", "blue"])
    ('green', 'blue')
    """

    def __init__(
        self,
        policy: str = "auto",
        features: Features | None = None,
        options: dict[str, Any] | None = None,
        reward_obj: Any = None,
        burn_in: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj, burn_in=burn_in)
        self.policy, self.features, self.options, self.seed = policy, features, options, seed
        self._learner = Learner((policy, options or {}), features, None, seed)

    def _pull(self, arm_ids: Sequence[Any]) -> Any:
        return self._learner.pull(list(arm_ids))

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Take in the reward of an arm."""
        self._learner.update(arm_id, *reward_args)  # what it refuses is not counted
        super().update(arm_id, *reward_args, **reward_kwargs)


class ContextualDriftBandit(river.ContextualPolicy):
    """The same with a context: `context` are its parameters by name, each with its range, as a study has them.

    >>> from driftwise import Float
    >>> bandit = ContextualDriftBandit({"hour": Float(0, 24)})
    >>> bandit.pull(["red", "green"], {"hour": 12.0}) in {"red", "green"}
    True
    """

    def __init__(
        self,
        context: Mapping[str, Any],
        policy: str = "auto",
        features: Features | None = None,
        options: dict[str, Any] | None = None,
        reward_obj: Any = None,
        burn_in: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj, burn_in=burn_in)
        self.context, self.policy, self.features, self.options, self.seed = context, policy, features, options, seed
        self._learner = Learner((policy, options or {}), features, Box.of(context), seed)

    def _pull(self, arm_ids: Sequence[Any], context: Params) -> Any:
        return self._learner.pull(list(arm_ids), context)

    def update(self, arm_id: Any, context: Params, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Take in the reward of an arm in a context."""
        self._learner.update(arm_id, reward_args[0], context)
        super().update(arm_id, context, *reward_args, **reward_kwargs)
