"""Live studies: ask, tell, recommend. docs/contract.md states what they promise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, overload

import numpy as np

from driftwise import checks
from driftwise.auto import drift_history as history
from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import Explain, Moment
from driftwise.concurrency.threads import one_thread
from driftwise.errors import ConflictError, InvalidInput, NotFoundError, StoreError
from driftwise.feasible import FeasibleState, Limit
from driftwise.gp.belief import Belief
from driftwise.policies import AnyPolicy, decision
from driftwise.records import (
    Ask,
    Observation,
    Params,
    Prediction,
    Receipt,
    Recommendation,
    Suggestion,
    time_of_next,
)
from driftwise.replay import Fold, Missing
from driftwise.spaces import Space
from driftwise.store import (
    Asked,
    Choice,
    Chosen,
    Correction,
    Counts,
    Loaded,
    Log,
    NewObservation,
    Store,
    Told,
    View,
    open_store,
)
from driftwise.study import answers, inputs, notebook, readings
from driftwise.study.description import Description, Fixed, agreed_with, described
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
        **options: Any,
    ) -> None:
        """Create a study, or open it if it already exists with the same settings.

        `policy` is a name (with `options`), a pair of a name and its options, or a policy object; `auto` if it is not
        given. The name may be "module:Class". If it is a name, rewards are standardised unless `standardise=False`.
        Rewards are maximised unless `direction="minimize"`. A suggestion without a reward counts as pending while the
        next `patience` suggestions are made, 32 by default.

        `where` are constraints that are known, for example "workers * cache_mb <= 8192". `limits` are constraints that
        are measured, for example {"p99_ms": at_most(200)}; with `safe=True` the study asks only where every limit holds
        with probability 1 − `delta`, beginning at the setting `start`, which must be safe. `context` are parameters
        that are given with every ask and not chosen. docs/constraints.md explains all of them.
        """
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
        text = given.to_json()  # refused before a file is made
        store = open_store(path)
        log = store.create(name, text)
        agreed = given if log.description == text else agreed_with(given, _read(log, path), name)
        self._set_up(store, log, agreed, path)

    @classmethod
    def open(cls, name: str, *, path: Path) -> Self:
        """Open a study that already exists."""
        checks.name("a study's name", name)
        if path is None:
            raise InvalidInput("path must be a study's file, got None; a study in memory cannot be opened again")
        store = open_store(path, create=False)
        log = store.open(name)
        study = cls.__new__(cls)
        study._set_up(store, log, _read(log, path), path)
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

    # --- what it knows ------------------------------------------------------------------------------------------

    @one_thread
    def recommend(
        self, at: float | None = None, *, context: Params | None = None, fixed: Params | None = None
    ) -> Recommendation:
        """The best setting now that is known: where the posterior mean less its standard deviation is largest.

        `mean` and `std` are those of the function there, in your own units. `sure` is False while little is known
        there, and just after the world changed. The setting obeys `where`, and it probably works and keeps the limits.
        """
        state, ask = self._state(inputs.time(at), self.description.pins(context, fixed))
        belief = self._belief_of(state, ask)
        x = answers.cautious(self.policy.space, belief, self.description.feasible.recommendable(state, ask))
        mean, std = answers.in_users_units(belief, x[None, :], self.description.sign)
        params, given = self.description.split(tuple(float(v) for v in x))
        sure = answers.is_known(self.policy.space, belief, x) and not self._just_changed(state, ask)
        return Recommendation(params, float(mean[0]), float(std[0]), sure, given)

    @property
    def best_params(self) -> Params:
        """The parameters of `recommend()`."""
        return self.recommend().params

    @one_thread
    def predict(self, params: Params, at: float | None = None, *, context: Params | None = None) -> Prediction:
        """What is expected at a setting: the reward, the probability that it works, and the measures with limits."""
        X = np.array([self.description.point(params, context)])
        state, ask = self._state(inputs.time(at))
        mean, std = answers.in_users_units(self._belief_of(state, ask), X, self.description.sign)
        feasible = self.description.feasible
        works = float(feasible.works(state, X, ask)[0])
        beliefs = {name: feasible.measure(state, name, ask) for name, _ in feasible.limits}
        known = {name: answers.in_users_units(each, X, 1.0) for name, each in beliefs.items() if len(each)}
        measures = {name: (float(mean[0]), float(std[0])) for name, (mean, std) in known.items()}
        holds = {name: float(p[0]) for name, p in feasible.holds(state, X, ask).items() if name in known}
        return Prediction(float(mean[0]), float(std[0]), works, measures, holds)

    def belief(self, at: float | None = None) -> Belief:
        """The posterior of the policy now, of rewards to be maximised; `belief.units` are their location and scale."""
        state, ask = self._state(inputs.time(at))
        return self._belief_of(state, ask)

    @one_thread
    def drift(self, at: float | None = None) -> Diagnosis:
        """The rate of drift, the last change point, and which parameters matter. Needs the policy `auto`."""
        explain = self._explainer()
        state, ask = self._state(inputs.time(at))
        return explain(state.reward, ask)

    @one_thread
    def drift_history(self, points: int = 40) -> list[Moment]:
        """What `drift` would have reported at moments of the past, oldest first; the last is the newest observation.

        The moments are spread evenly over the log, or over its end. They are at most 12 observations apart, so that no
        alarm is missed. Each equals `drift(at=moment.at)` of a study that has only the observations up to that moment.
        """
        explain = self._explainer()
        needed = history.needed(self.policy, points)
        log = self._log.read(lambda view: view.tail(needed))
        rewards = [seen for seen in log if not seen.failed]
        return history.history(self.policy, rewards, explain, points=points, sign=self.description.sign)

    @one_thread
    def changes(self, since: int | None = None) -> list[NoticedChange]:
        """The abrupt changes of the world, each once, oldest first. Needs the policy `auto`.

        `since` is the number of an observation: only changes that were noticed after it are given. By default the last
        240 observations are looked at. A change that was noticed and later doubted has `taken_back`.
        """
        self._explainer()
        first = None if since is None else checks.count("since", since, least=0)
        known, new = self._log.read(lambda view: self._watching.read(view, first))
        return self._watching.changes(known, new, first)

    @property
    def alarm(self) -> bool:
        """Whether a change point just occurred, with a probability of more than one half."""
        return self.drift().alarm

    def _explainer(self) -> Explain:
        explain: Explain | None = getattr(self.policy, "diagnose", None)
        if explain is None:
            raise InvalidInput(f"{self.policy.name} does not say how the world moves; use the policy auto")
        return explain

    def _just_changed(self, state: FeasibleState, ask: Ask) -> bool:
        recent = getattr(self.policy, "just_changed", None)
        return False if recent is None else bool(recent(state.reward, ask))

    @one_thread
    def _belief_of(self, state: FeasibleState, ask: Ask) -> Belief:
        return self.policy.belief(state.reward, ask)

    def _state(self, at: float | None, pinned: Fixed = ()) -> tuple[FeasibleState, Ask]:
        """The state after all rewards so far, and the next ask."""

        def read(view: View) -> tuple[Missing, Ask]:
            if not view.counts.rewards:
                raise InvalidInput(f"study {self.name!r} has no rewards yet; ask, and tell at least one")
            return self._fold.missing(view), self._next(view, at, pinned)

        missing, ask = self._log.read(read)
        return self._fold.state(missing), ask

    # --- the log ------------------------------------------------------------------------------------------------

    def observations(self) -> Iterator[Reading]:
        """The log as it holds now, in the order of its numbers: settings and rewards as you gave them."""
        return (self._reading(seen) for seen in self._log.observations())

    def latest(self, count: int) -> list[Reading]:
        """The last observations back to the `count`-th reward, in order. Earlier ones are not read."""
        checks.count("count", count)
        return [self._reading(seen) for seen in self._log.read(lambda view: view.tail(count))]

    def to_frame(self) -> Any:
        """All observations as a pandas DataFrame, or as a dict of columns if pandas is not installed."""
        return readings.frame(self.observations())

    def load(self, rows: Iterable[Mapping[str, Any] | Reading]) -> Loaded:
        """Add many observations, several thousand a second. `Loaded` says how many were new and how many known.

        A row is a dict with `params` and `reward` (or `failed`), and as you like `at`, `key`, `context`, `std`,
        `repeats` and `measures`; or a `Reading` of another study. A row with a `key` is stored once, however often it
        is loaded. Rows are stored in batches of 5,000, each as a whole.
        """
        new = known = 0
        for first, batch in readings.batches(rows):
            entries = [self._entry(first + i, row) for i, row in enumerate(batch)]
            loaded = self._log.load(entries, first=first)
            new, known = new + loaded.new, known + loaded.known
        return Loaded(new, known)

    def _entry(self, number: int, row: Mapping[str, Any]) -> NewObservation:
        details = {name: row[name] for name in ("std", "measures", "failed") if row.get(name) is not None}
        try:
            self._can_weigh(row.get("std"), row.get("repeats", 1))
            outcome = inputs.outcome(row.get("reward"), repeats=row.get("repeats") or 1, **details)
            x = self.description.point(row["params"], row.get("context"))
            return NewObservation(x, outcome, inputs.time(row.get("at")), inputs.key(row.get("key")))
        except InvalidInput as error:
            raise InvalidInput(f"row {number}: {error}") from None

    def pending(self) -> list[Suggestion]:
        """The suggestions that the next ask treats as pending: without a reward, and among the last `patience` ones."""
        pending = self._log.read(lambda view: view.pending(self.description.patience))
        return [self._suggestion(asked) for asked in pending]

    def describe(self) -> Summary:
        """The definition of the study, and its counts."""
        counts = self._log.read(lambda view: view.counts)
        return Summary(self.name, self.path, self.description, counts)

    # --- a loop, and other studies ------------------------------------------------------------------------------

    def optimize(
        self, f: Callable[[Params], float], n: int, *, catch: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> Recommendation:
        """Ask, call `f` with the parameters and tell what it returns, `n` times; then recommend.

        An exception of the kinds in `catch` counts as a failure of the setting. Any other is raised, and the suggestion
        is abandoned.
        """
        for _ in range(checks.count("n", n)):
            suggestion = self.ask()
            try:
                reward = f(suggestion.params)
            except catch:
                self.tell(suggestion, failed=True)
            except BaseException:
                self.abandon(suggestion)
                raise
            else:
                self.tell(suggestion, reward)
        return self.recommend()

    def fork(
        self, name: str, space: Any = None, policy: Any = None, *, path: Path | None = None, **options: Any
    ) -> Study:
        """A new study with another space, policy or options, which begins with the observations of this one.

        What you do not give is taken from this study. Observations that lie outside of the new space are left out, and
        every other one counts as told, with its time. The new study is in the file `path`, or in memory.
        """
        if path is not None and os.path.exists(path) and name in self.names(path):
            raise ConflictError(f"{path} has a study {name!r} already; give the fork another name")
        made = type(self)(name, **self.description.forked(space, policy, options), path=path)
        made.load(row for seen in self.observations() if (row := made.description.adopted(seen)) is not None)
        return made

    def copy(self, name: str, *, path: Path | None = None) -> Study:
        """The whole study with its suggestions, keys and corrections under another name, or in another file."""
        target = self._store if path is None else open_store(path)
        self._store.copy(self.name, target, checks.name("a study's name", name))
        study = type(self).__new__(type(self))
        study._set_up(target, target.open(name), self.description, self.path if path is None else path)
        return study

    def rename(self, name: str) -> None:
        """Give the study another name."""
        self._store.rename(self.name, checks.name("a study's name", name))
        self._set_up(self._store, self._store.open(name), self.description, self.path)

    def delete(self) -> None:
        """Delete the study from its file. This cannot be undone."""
        self._store.delete(self.name)

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
        return f"Study({self.name!r}, policy={self.policy.name!r}, path={self.path!r})"

    def _repr_html_(self) -> str:
        return notebook.page(self)

    def _suggestion(self, asked: Asked) -> Suggestion:
        params, context = self.description.split(asked.x)
        return Suggestion(asked.id, asked.number, params, asked.at, asked.key, asked.x, context)

    def _reading(self, seen: Observation) -> Reading:
        return readings.reading(seen, *self.description.split(seen.x))


def _read(log: Log, path: Path | None) -> Description:
    try:
        return Description.from_json(log.description)
    except (InvalidInput, NotFoundError, TypeError, ValueError, KeyError, AttributeError) as error:
        where = f"{path}: study {log.name!r}"
        raise StoreError(f"{where} has a description this driftwise cannot read: {error}") from error


def _opened(cls: type[Study], name: str, path: str) -> Study:
    return cls.open(name, path=path)
