"""Asking and telling: the part of a study that docs/contract.md makes promises about."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, overload

from driftwise import checks
from driftwise.concurrency.threads import one_thread
from driftwise.errors import InvalidInput
from driftwise.feasible import FeasibleState, Limit
from driftwise.policies import AnyPolicy, decision
from driftwise.records import Ask, Observation, Params, Receipt, Suggestion, time_of_next
from driftwise.replay import Fold, Missing
from driftwise.spaces import Space
from driftwise.store import (
    Asked,
    Choice,
    Chosen,
    Correction,
    Counts,
    Log,
    Store,
    Told,
    View,
    open_store,
    without_password,
)
from driftwise.study import inputs, readings, remote
from driftwise.study.description import Description, Fixed, agreed_with, described, description_of
from driftwise.study.readings import Reading
from driftwise.study.watching import Watching

MOST = 1000  # suggestions of one ask

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Summary:
    """The definition of a study, and how many suggestions and rewards it has."""

    name: str
    path: str | None
    description: Description
    counts: Counts


class AskTell:
    """A study as far as asking, telling and correcting go. `Study` adds what it says."""

    def __new__(cls, *_: Any, path: Any = None, **__: Any) -> Self:
        """A study behind a service, if the path is an address."""
        return object.__new__(cls._at(path))

    @classmethod
    def _at(cls, path: Any) -> type[Self]:
        """The class of a study at this path."""
        return remote.study_class(cls) if remote.is_address(path) else cls

    def __init__(
        self,
        name: str,
        space: Any = None,
        policy: str | tuple[str, dict[str, Any]] | AnyPolicy | None = None,
        *,
        path: Path | None = None,
        seed: int | None = None,
        direction: str | None = None,
        patience: int | None = None,
        where: str | Sequence[str] | None = None,
        limits: Mapping[str, Limit] | None = None,
        safe: bool | None = None,
        start: Params | None = None,
        delta: float | None = None,
        context: Any = None,
        token: str | None = None,
        **options: Any,
    ) -> None:
        """Create a study, or open it if it already exists with the same settings. `Study` explains the arguments."""
        checks.name("a study's name", name)
        settings: dict[str, Any] = {
            "seed": seed,
            "direction": direction,
            "patience": patience,
            "where": where,
            "limits": limits,
        }
        settings |= {"safe": safe, "start": start, "delta": delta, "context": context}
        given = described(
            space, policy, options, {name: value for name, value in settings.items() if value is not None}
        )
        self._make(name, given, path, token)

    @classmethod
    def of(cls, name: str, description: Description, *, path: Path | None = None, token: str | None = None) -> Self:
        """Create a study with this description, or open it if it exists with the same."""
        study = cls.__new__(cls, path=path)
        study._make(checks.name("a study's name", name), description, path, token)
        return study

    def _make(self, name: str, given: Description, path: Path | None, token: str | None) -> None:
        remote.no_token(token)
        text = given.to_json()  # refused before a file is made
        store = open_store(path)
        log = store.create(name, text)
        agreed = given if log.description == text else agreed_with(given, description_of(log, path), name)
        self._set_up(store, log, agreed, path)

    @classmethod
    def open(cls, name: str, *, path: Path, token: str | None = None) -> Self:
        """Open a study that already exists."""
        if cls._at(path) is not cls:
            return cls._at(path).open(name, path=path, token=token)
        remote.no_token(token)
        checks.name("a study's name", name)
        if path is None:
            raise InvalidInput("path must be a study's file, got None; a study in memory cannot be opened again")
        store = open_store(path, create=False)
        log = store.open(name)
        study = cls.__new__(cls)
        study._set_up(store, log, description_of(log, path), path)
        return study

    @classmethod
    def names(cls, path: Path, token: str | None = None) -> list[str]:
        """The names of the studies in a file."""
        if cls._at(path) is not cls:
            return cls._at(path).names(path, token=token)
        remote.no_token(token)
        return open_store(path, create=False).names()

    def _set_up(self, store: Store, log: Log, description: Description, path: Path | None) -> None:
        self.name = log.name
        self.path = None if path is None else os.fspath(path)
        self.description = description
        self._store = store
        self._log = log
        self._fold = Fold(description.feasible, description.sign)
        self._watching = Watching(description.policy, description.sign)

    # --- ask ----------------------------------------------------------------------------------------------------

    @overload
    def ask(
        self,
        key: str | None = None,
        at: float | None = None,
        *,
        n: None = None,
        context: Params | None = None,
        fixed: Params | None = None,
    ) -> Suggestion: ...

    @overload
    def ask(
        self,
        key: str | None = None,
        at: float | None = None,
        *,
        n: int,
        context: Params | None = None,
        fixed: Params | None = None,
    ) -> list[Suggestion]: ...

    def ask(
        self,
        key: str | None = None,
        at: float | None = None,
        *,
        n: int | None = None,
        context: Params | None = None,
        fixed: Params | None = None,
    ) -> Suggestion | list[Suggestion]:
        """The next setting to try. A second call with the same `key` returns the same suggestion, in any process.

        `at` is your own time. By default it is the suggestion's number, or the time of the newest observation if that
        has a time of your own. `n` suggestions come as a list; they spread out, and all or none are stored. `context`
        is the present value of every parameter of the context, and `fixed` pins parameters that are otherwise chosen.
        """
        key, time = inputs.key(key), inputs.time(at)
        pinned = self.description.pins(context, fixed)
        prepare, patience = partial(self._prepare, time, pinned), self.description.patience
        if n is None:
            return self._suggestion(self._log.ask(key, lambda view: prepare(1, view), patience))
        count = checks.count("n", n, most=MOST)
        return [self._suggestion(each) for each in self._log.ask_many(key, partial(prepare, count), patience, count)]

    def _prepare(self, at: float | None, pinned: Fixed, n: int, view: View) -> Choice:
        """Read what the next choices depend on. The choices are made after the transaction."""
        ask, missing = self._next(view, at, pinned), self._fold.missing(view)
        times = [ask.at if at is not None else time_of_next(ask.number + i, view.newest()) for i in range(n)]
        return lambda: self._choose(missing, ask, times)

    @one_thread
    def _choose(self, missing: Missing, ask: Ask, times: list[float]) -> tuple[Chosen, ...]:
        """One choice for each time; those made before are pending for the next."""
        state, made = self._fold.state(missing), []
        for at in times:
            found = decision(self._fold.policy, state, replace(ask, at=at))
            x = tuple(float(v) for v in found.x)
            made.append(Chosen(x, at, float(found.jitter)))
            ask = replace(ask, number=ask.number + 1, pending=(*ask.pending, x))
        return tuple(made)

    def _next(self, view: View, at: float | None, pinned: Fixed = ()) -> Ask:
        number = view.counts.last + 1
        if at is None:
            at = time_of_next(number, view.newest())
        pending = tuple(asked.x for asked in view.pending(self.description.patience))
        return Ask(number, at, pending, seed=self.description.seed, fixed=pinned)

    def _state(self, at: float | None, pinned: Fixed = ()) -> tuple[FeasibleState, Ask]:
        """The state after all rewards so far, and the next ask."""

        def read(view: View) -> tuple[Missing, Ask]:
            if not view.counts.rewards:
                raise InvalidInput(f"study {self.name!r} has no rewards yet; ask, and tell at least one")
            return self._fold.missing(view), self._next(view, at, pinned)

        missing, ask = self._log.read(read)
        return self._fold.state(missing), ask

    # --- tell ---------------------------------------------------------------------------------------------------

    def tell(
        self,
        suggestion: Suggestion | str,
        reward: float | None = None,
        at: float | None = None,
        *,
        failed: bool = False,
        std: float | None = None,
        repeats: int = 1,
        measures: Mapping[str, float] | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Store the reward of a suggestion, given as such or by its id; with `failed=True`, that the setting failed.

        The same reward again changes nothing. A different one raises a `ConflictError`. `std` is the standard deviation
        of the noise, if you know it, and `repeats` says that the reward is the mean of so many readings. `measures` are
        what else was measured, by name. With a `key` a repeated call is recognised even after a correction.
        """
        id = inputs.suggestion_id(suggestion)
        outcome = inputs.outcome(reward, failed=failed, std=std, repeats=repeats, measures=measures)
        self._can_weigh(std, repeats)
        told = self._log.tell(id, outcome, inputs.time(at), key=inputs.key(key), limit=self.policy.memory)
        return self._receipt(told)

    def observe(
        self,
        params: Params,
        reward: float | None = None,
        at: float | None = None,
        key: str | None = None,
        *,
        context: Params | None = None,
        failed: bool = False,
        std: float | None = None,
        repeats: int = 1,
        measures: Mapping[str, float] | None = None,
    ) -> Receipt:
        """Store a reward at a setting that was not suggested; with a `key` once, however often it is sent."""
        x = self.description.point(params, context)
        outcome = inputs.outcome(reward, failed=failed, std=std, repeats=repeats, measures=measures)
        self._can_weigh(std, repeats)
        return self._receipt(
            self._log.observe(x, outcome, inputs.time(at), key=inputs.key(key), limit=self.policy.memory)
        )

    def abandon(self, suggestion: Suggestion | str) -> None:
        """Declare that a suggestion will not be tried. If its reward arrives after all, it still counts."""
        self._log.abandon(inputs.suggestion_id(suggestion))

    def _can_weigh(self, std: Any, repeats: Any) -> None:
        if (std is not None or repeats != 1) and not getattr(self.policy, "weighs_noise", False):
            raise InvalidInput(f"{self.policy.name} treats all rewards alike; leave out std and repeats, or use auto")

    def _receipt(self, told: Told) -> Receipt:
        in_window = self.policy.remembers(told.number, newest=told.last, newer=told.newer)
        return Receipt(told.number, told.new, in_window)

    # --- corrections --------------------------------------------------------------------------------------------

    def correct(
        self,
        which: int | Suggestion | str,
        reward: float | None = None,
        *,
        failed: bool = False,
        std: float | None = None,
        repeats: int = 1,
        measures: Mapping[str, float] | None = None,
        who: str = "",
        why: str = "",
    ) -> Receipt:
        """Replace the outcome of an observation, given by its number or its suggestion.

        What was told stays in the log, and the correction is a further entry with `who`, `why` and the time. The belief
        is as if the outcome had always been the corrected one. Measures that you do not give stay as they are.
        """
        outcome = inputs.outcome(reward, failed=failed, std=std, repeats=repeats, measures=measures)
        self._can_weigh(std, repeats)
        number = self._number(which)
        if measures is None and (held := self._log.outcome(number)) is not None:
            outcome = replace(outcome, measures=held.measures)
        return self._receipt(self._log.correct(number, outcome, *inputs.reason(who, why), limit=self.policy.memory))

    def retract(self, which: int | Suggestion | str, *, who: str = "", why: str = "") -> Receipt:
        """Declare that an observation should not count. It stays in the log, and `correct` brings it back."""
        return self._receipt(
            self._log.correct(self._number(which), None, *inputs.reason(who, why), limit=self.policy.memory)
        )

    def _number(self, which: int | Suggestion | str) -> int:
        """The number of an observation, which may be given by its suggestion or the suggestion's id."""
        if isinstance(which, str) and which.isascii() and which.isdecimal() and len(which) < 19:  # no id is so
            return checks.count("number", int(which))
        if isinstance(which, Suggestion | str):
            return self._log.number_of(inputs.suggestion_id(which))
        return checks.count("number", which)

    def corrections(self) -> list[Correction]:
        """All corrections and retractions, oldest first: what held before and after, who, when and why."""
        return self._log.corrections()

    def pending(self) -> list[Suggestion]:
        """The suggestions that the next ask treats as pending: without a reward, and among the last `patience` ones."""
        pending = self._log.read(lambda view: view.pending(self.description.patience))
        return [self._suggestion(asked) for asked in pending]

    def describe(self) -> Summary:
        """The definition of the study, and its counts."""
        counts = self._log.read(lambda view: view.counts)
        return Summary(self.name, self._shown, self.description, counts)

    # --- the study itself ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file. It is never necessary: everything is on the disk, and the next call opens it again."""
        self._store.close()

    @property
    def policy(self) -> AnyPolicy:
        return self.description.policy

    @property
    def space(self) -> Space:
        """The parameters that are chosen."""
        return self.description.space

    def __reduce__(self) -> Any:
        """A study in a file is opened again where it is copied or sent to. A study in memory cannot be copied."""
        if self.path is None:
            raise InvalidInput("a study in memory cannot be copied or pickled; give it a file with path=...")
        return _opened, (type(self), self.name, self.path)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, policy={self.policy.name!r}, path={self._shown!r})"

    @property
    def _shown(self) -> str | None:
        """The path as it may be printed."""
        return None if self.path is None else without_password(self.path)

    def _suggestion(self, asked: Asked) -> Suggestion:
        params, context = self.description.split(asked.x)
        return Suggestion(asked.id, asked.number, params, asked.at, asked.key, asked.x, context)

    def _reading(self, seen: Observation) -> Reading:
        return readings.reading(seen, *self.description.split(seen.x))


def _opened(cls: type[AskTell], name: str, path: str) -> AskTell:
    return cls.open(name, path=path)
