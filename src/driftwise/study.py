"""Live studies: ask, tell, recommend. This is the main entry point; docs/contract.md states what it promises."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from driftwise import checks
from driftwise.auto import drift_history as history
from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import Explain, Moment
from driftwise.concurrency.threads import one_thread
from driftwise.errors import ConflictError, InvalidInput, StoreError
from driftwise.gp.belief import Belief, Ucb
from driftwise.gp.past import negated
from driftwise.policies import REGISTRY, AnyPolicy, decision, options_of
from driftwise.policies import policy as policy_by_name
from driftwise.records import Ask, Observation, Params, Receipt, Recommendation, Suggestion, time_of_next
from driftwise.replay import Fold, Missing
from driftwise.spaces import Space, as_space
from driftwise.store import Asked, Choice, Chosen, Counts, Log, Store, Told, View, codec, open_store
from driftwise.store.config_diff import difference

LARGEST = 1e100  # beyond this the square of a reward nears the end of float64
SIGNS = {"maximize": 1.0, "minimize": -1.0}
PATIENCE = 32

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Description:
    """What defines a study. It never changes after the study was created."""

    policy: AnyPolicy
    direction: str = "maximize"
    seed: int = 0
    patience: int = PATIENCE

    def __post_init__(self) -> None:
        if not isinstance(self.direction, str) or self.direction not in SIGNS:
            raise InvalidInput(f"direction must be 'maximize' or 'minimize', got {checks.shown(self.direction)}")
        object.__setattr__(self, "seed", checks.seed("seed", self.seed))
        object.__setattr__(self, "patience", checks.count("patience", self.patience, least=0))

    @property
    def sign(self) -> float:
        return SIGNS[self.direction]

    def to_json(self) -> str:
        data = {"policy": codec.encode(self.policy), "direction": self.direction, "seed": self.seed}
        return json.dumps(
            data | {"patience": self.patience}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, text: str) -> Description:
        data = json.loads(text)
        return cls(codec.decode(data.pop("policy")), **data)


@dataclass(frozen=True)
class Summary:
    """The definition of a study, and how many suggestions and rewards it has."""

    name: str
    path: str | None
    description: Description
    counts: Counts


class Study:
    """A system that is tuned while it changes, in memory or in a file that several processes may share.

    >>> from driftwise import Candidates
    >>> study = Study("doors", space=Candidates([[0.0], [1.0]], names=["door"]), policy="sw-gp-ucb", window=10)
    >>> s = study.ask()
    >>> s.number, s.params
    (1, {'door': 0.0})
    >>> study.tell(s, 3.5)
    Receipt(number=1, new=True, in_window=True)
    >>> study.tell(s, 3.5)
    Receipt(number=1, new=False, in_window=True)
    """

    def __init__(
        self,
        name: str,
        space: Any = None,
        policy: str | tuple[str, dict[str, Any]] | AnyPolicy = "auto",
        *,
        path: Path | None = None,
        seed: int = 0,
        direction: str = "maximize",
        patience: int = PATIENCE,
        **options: Any,
    ) -> None:
        """Create a study, or open it if it already exists with the same settings.

        `policy` is a name (with `options`), a pair of a name and its options, or a policy object. If it is a name,
        rewards are standardised unless `standardise=False`. A suggestion without a reward counts as pending while the
        next `patience` suggestions are made.
        """
        checks.name("a study's name", name)
        given = Description(_policy(policy, space, options, direction), direction, seed, patience)
        text = given.to_json()  # refused before a file is made
        store = open_store(path)
        log = store.create(name, text)
        if log.description != text:
            told_apart = difference(json.loads(log.description), json.loads(text))
            if told_apart:
                raise ConflictError(
                    f"study {name!r} already exists with different settings: {told_apart}; "
                    "use Study.open, or another name"
                )
        self._set_up(store, log, given, path)

    @classmethod
    def open(cls, name: str, *, path: Path) -> Self:
        """Open a study that already exists."""
        checks.name("a study's name", name)
        if path is None:
            raise InvalidInput("path must be a study's file, got None; a study in memory cannot be opened again")
        store = open_store(path, create=False)
        log = store.open(name)
        try:
            description = Description.from_json(log.description)
        except (InvalidInput, TypeError, ValueError, KeyError, AttributeError) as error:
            raise StoreError(f"{path}: study {name!r} has a description this driftwise cannot read: {error}") from error
        study = cls.__new__(cls)
        study._set_up(store, log, description, path)
        return study

    @staticmethod
    def names(path: Path) -> list[str]:
        """The names of the studies in a file."""
        return open_store(path, create=False).names()

    def _set_up(self, store: Store, log: Log, description: Description, path: Path | None) -> None:
        self.name = log.name
        self.path = None if path is None else os.fspath(path)
        self.description = description
        self._store = store
        self._log = log
        self._fold = Fold(description.policy, description.sign)

    # --- ask ----------------------------------------------------------------------------------------------------

    def ask(self, key: str | None = None, at: float | None = None) -> Suggestion:
        """The next setting to try. A second call with the same `key` returns the same suggestion, in any process.

        `at` is your own time. By default it is the suggestion's number, or the time of the newest observation if that
        has a time of your own.
        """
        if key is not None:
            checks.name("a key", key)
        time = None if at is None else _finite("at", at)
        asked = self._log.ask(key, lambda view: self._prepare(view, time), self.description.patience)
        return self._suggestion(asked)

    def _prepare(self, view: View, at: float | None) -> Choice:
        """Read what the next choice depends on. The choice itself is made after the transaction."""
        ask, missing = self._next(view, at), self._fold.missing(view)
        return lambda: self._choose(missing, ask)

    @one_thread
    def _choose(self, missing: Missing, ask: Ask) -> Chosen:
        state = self._fold.state(missing)
        made = decision(self.policy, state, ask)
        return Chosen(tuple(float(v) for v in made.x), ask.at, float(made.jitter))

    def _next(self, view: View, at: float | None) -> Ask:
        number = view.counts.last + 1
        if at is None:
            at = time_of_next(number, view.newest())
        pending = tuple(asked.x for asked in view.pending(self.description.patience))
        return Ask(number, at, pending, seed=self.description.seed)

    # --- tell ---------------------------------------------------------------------------------------------------

    def tell(self, suggestion: Suggestion | str, reward: float, at: float | None = None) -> Receipt:
        """Store the reward of a suggestion, given as such or by its id.

        The same reward again changes nothing. A different one raises a `ConflictError`.
        """
        id = _id(suggestion)
        time = None if at is None else _finite("at", at)
        return self._receipt(self._log.tell(id, _reward(reward), time, self.policy.memory))

    def observe(self, params: Params, reward: float, at: float | None = None, key: str | None = None) -> Receipt:
        """Store a reward at a setting that was not suggested; with a `key` once, however often it is sent."""
        if key is not None:
            checks.name("a key", key)
        x = self.space.to_unit(params)
        time = None if at is None else _finite("at", at)
        return self._receipt(self._log.observe(x, _reward(reward), time, key, self.policy.memory))

    def abandon(self, suggestion: Suggestion | str) -> None:
        """Declare that a suggestion will not be tried. If its reward arrives after all, it still counts."""
        self._log.abandon(_id(suggestion))

    def _receipt(self, told: Told) -> Receipt:
        in_window = self.policy.remembers(told.number, newest=told.last, newer=told.newer)
        return Receipt(told.number, told.new, in_window)

    # --- what it knows ------------------------------------------------------------------------------------------

    @one_thread
    def recommend(self, at: float | None = None) -> Recommendation:
        """The best setting now: where the posterior mean is largest, in your own units."""
        belief, ask = self._belief(None if at is None else _finite("at", at))
        x = self.space.argmax(Ucb(belief, 0.0), replace(ask, pending=()))
        mean, std = belief.predict(x[None, :])
        location, scale = belief.units
        params = self.space.from_unit(tuple(float(v) for v in x))
        return Recommendation(
            params, self.description.sign * (location + scale * float(mean[0])), scale * float(std[0])
        )

    def belief(self, at: float | None = None) -> Belief:
        """The posterior of the policy now, of rewards to be maximised; `belief.units` are their location and scale."""
        return self._belief(None if at is None else _finite("at", at))[0]

    @one_thread
    def drift(self, at: float | None = None) -> Diagnosis:
        """The rate of drift, the last change point, and which parameters matter. Needs the policy `auto`."""
        explain = self._explainer()
        state, ask = self._state(None if at is None else _finite("at", at))
        return explain(state, ask)

    @one_thread
    def drift_history(self, points: int = 40) -> list[Moment]:
        """What `drift` would have reported at moments of the past, oldest first; the last is the newest observation.

        The moments are spread evenly over the log, or over its end. They are at most 12 observations apart, so that no
        alarm is missed. Each equals `drift(at=moment.at)` of a study that has only the observations up to that moment.
        """
        explain = self._explainer()
        needed = history.needed(self.policy, points)
        log = self._log.read(lambda view: view.tail(needed))
        return history.history(self.policy, log, explain, points=points, sign=self.description.sign)

    def _explainer(self) -> Explain:
        explain: Explain | None = getattr(self.policy, "diagnose", None)
        if explain is None:
            raise InvalidInput(f"{self.policy.name} does not say how the world moves; use the policy auto")
        return explain

    @property
    def alarm(self) -> bool:
        """Whether a change point just occurred, with a probability of more than one half."""
        return self.drift().alarm

    @one_thread
    def _belief(self, at: float | None) -> tuple[Belief, Ask]:
        state, ask = self._state(at)
        return self.policy.belief(state, ask), ask

    def _state(self, at: float | None) -> tuple[Any, Ask]:
        """The state after all rewards so far, and the next ask."""

        def read(view: View) -> tuple[Missing, Ask]:
            if not view.counts.told:
                raise InvalidInput(f"study {self.name!r} has no rewards yet; ask, and tell at least one")
            return self._fold.missing(view), self._next(view, at)

        missing, ask = self._log.read(read)
        return self._fold.state(missing), ask

    def observations(self) -> Iterator[Observation]:
        """The log in the order of its numbers, with rewards as you gave them; `space.from_unit` gives the params."""
        return self._log.observations()

    def latest(self, count: int) -> list[Observation]:
        """The last `count` observations in the order of their numbers. Earlier ones are not read."""
        checks.count("count", count)
        return self._log.read(lambda view: view.tail(count))

    def pending(self) -> list[Suggestion]:
        """The suggestions that the next ask treats as pending: without a reward, and among the last `patience` ones."""
        pending = self._log.read(lambda view: view.pending(self.description.patience))
        return [self._suggestion(asked) for asked in pending]

    def describe(self) -> Summary:
        """The definition of the study, and its counts."""
        counts = self._log.read(lambda view: view.counts)
        return Summary(self.name, self.path, self.description, counts)

    def close(self) -> None:
        """Close the file. It is never necessary: everything is on the disk, and the next call opens it again."""
        self._store.close()

    @property
    def policy(self) -> AnyPolicy:
        return self.description.policy

    @property
    def space(self) -> Space:
        return self.description.policy.space

    def __reduce__(self) -> Any:
        """A study in a file is opened again where it is copied or sent to. A study in memory cannot be copied."""
        if self.path is None:
            raise InvalidInput("a study in memory cannot be copied or pickled; give it a file with path=...")
        return _opened, (type(self), self.name, self.path)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, policy={self.policy.name!r}, path={self.path!r})"

    def _suggestion(self, asked: Asked) -> Suggestion:
        return Suggestion(asked.id, asked.number, self.space.from_unit(asked.x), asked.at, asked.key, asked.x)


def _opened(cls: type[Study], name: str, path: str) -> Study:
    return cls.open(name, path=path)


def _policy(policy: Any, space: Any, options: dict[str, Any], direction: str) -> AnyPolicy:
    """A policy from what the user gave: a name, a pair or a policy object."""
    if isinstance(policy, tuple) and len(policy) == 2 and isinstance(policy[1], dict):
        policy, options = policy[0], policy[1] | options
    if direction == "minimize" and options.get("history") is not None:  # a policy maximises
        options = options | {"history": negated(options["history"])}
    if not isinstance(policy, str):
        return _policy_as_given(policy, space, options)
    if space is None:
        raise InvalidInput('a study needs a space, for example space={"price": Float(5, 20)}')
    if policy in REGISTRY and "standardise" in options_of(policy, inner=options.get("inner")):
        options = {"standardise": True} | options
    return policy_by_name(policy, space, **options)


def _policy_as_given(policy: Any, space: Any, options: dict[str, Any]) -> AnyPolicy:
    if not all(hasattr(policy, name) for name in ("name", "space", "memory", "start", "choose", "update")):
        raise InvalidInput(
            f"policy must be a name, a pair of name and options, or a policy, got {checks.shown(policy)}"
        )
    if options:
        raise InvalidInput(f"options go with a policy's name; this policy has its own, got {', '.join(options)}")
    if space is not None and as_space(space) != policy.space:
        raise InvalidInput("space and the policy's own space differ; leave space out")
    made: AnyPolicy = policy
    return made


def _id(suggestion: Suggestion | str) -> str:
    id = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
    if not isinstance(id, str):
        raise InvalidInput(f"give a suggestion or its id, got {checks.shown(suggestion)}")
    return id


def _reward(value: Any) -> float:
    reward = _finite("reward", value)
    if abs(reward) > LARGEST:
        raise InvalidInput(f"reward must be at most {LARGEST:g} in size, got {reward!r}; scale your rewards")
    return reward


def _finite(name: str, value: Any) -> float:
    """A finite float. −0 becomes 0, because that is what a file returns."""
    return checks.real(name, value) + 0.0
