"""Live studies: ask, tell, recommend. docs/contract.md states what they promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.auto import drift_history as history
from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import Explain, Moment
from driftwise.concurrency.threads import one_thread
from driftwise.errors import ConflictError, InvalidInput
from driftwise.feasible import FeasibleState
from driftwise.gp.belief import Belief
from driftwise.log import Loaded, NewObservation, View, is_there, open_store, without_password
from driftwise.records import Array, Ask, Observation, Params, Prediction, Recommendation
from driftwise.study import answers, inputs, notebook, readings, remote
from driftwise.study.ask_tell import AskTell
from driftwise.study.opening import Path
from driftwise.study.readings import Reading


class Study(AskTell):
    """A system that is tuned while it changes, in memory or in a file that several processes may share.

    A study is created, or opened if it already exists with the same settings.

    Args:
        name: the name of the study.
        space: a dict of parameters by name, or `Candidates`.
        policy: a name (with `options`), a pair of a name and its options, or a policy; `auto` if it is not given. The
            name may be "module:Class". If it is a name, rewards are standardised unless `standardise=False`.
        path: a file, or the address of a service (docs/service.md); without it the study is in memory.
        seed: the seed of every random choice.
        direction: "maximize", which is the default, or "minimize".
        patience: a suggestion without a reward counts as pending while so many more are made, 32 by default.
        where: constraints that are known, for example "workers * cache_mb <= 8192".
        limits: constraints that are measured, for example {"p99_ms": at_most(200)}.
        safe: whether to ask only where every limit holds with probability 1 − `delta`.
        start: the setting to begin with if `safe`, which must be safe.
        delta: the probability with which a limit may be broken if `safe`.
        context: parameters that are given with every ask and not chosen. docs/constraints.md explains these.
        live: how a live system is served: an incumbent, and candidates on trial. docs/rollouts.md explains it.
        token: who you are, if `path` is an address.
        timeout: seconds that a call of the service may take in all, with what is tried again; 10 by default.
        **options: the options of the policy.

    The examples of the methods go on from this study, which knows six rewards.

    >>> import numpy as np
    >>> from driftwise import Float, Study
    >>> study = Study("prices", {"price": Float(5, 20)}, seed=0)
    >>> for price in (6, 9, 12, 15, 18):  # what is known from before
    ...     receipt = study.observe({"price": price}, 100 - (price - 11) ** 2)
    >>> suggestion = study.ask()
    >>> study.tell(suggestion, 100 - (suggestion.params["price"] - 11) ** 2)
    Receipt(number=6, new=True, in_window=True)
    """

    # --- what it knows ------------------------------------------------------------------------------------------

    @one_thread
    def recommend(
        self, at: float | None = None, *, context: Params | None = None, fixed: Params | None = None
    ) -> Recommendation:
        """The best setting now that is known: where the posterior mean less its standard deviation is largest.

        `mean` and `std` are those of the function there, in your own units. `sure` is False while little is known
        there, just after the world changed, and while a better setting that worked is in doubt since others failed. The
        setting obeys `where`, and it probably works and keeps the limits.

        >>> best = study.recommend()
        >>> 10 < best.params["price"] < 12, best.sure
        (True, True)
        """
        state, ask = self._state(inputs.time(at), self.description.pins(context, fixed))
        belief = self._belief_of(state, ask)
        may = self.description.feasible.recommendable(state, ask)
        x = answers.cautious(self.policy.space, belief, may.ask)
        mean, std = answers.in_users_units(belief, x[None, :], self.description.sign)
        params, given = self.description.split(tuple(float(v) for v in x))
        known = answers.is_known(self.policy.space, belief, x) and not answers.is_limited(belief, x, may.doubted)
        sure = known and not self._just_changed(state, ask)
        return Recommendation(params, float(mean[0]), float(std[0]), sure, given)

    @property
    def best_params(self) -> Params:
        """The parameters of `recommend()`.

        >>> 10 < study.best_params["price"] < 12
        True
        """
        return self.recommend().params

    @one_thread
    def predict(self, params: Params, at: float | None = None, *, context: Params | None = None) -> Prediction:
        """What is expected at a setting: the reward, the probability that it works, and the measures with limits.

        >>> study.predict({"price": 18}).mean < study.predict({"price": 11}).mean
        True
        """
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

    @one_thread
    def predict_many(
        self, settings: Sequence[Params], at: float | None = None, *, context: Params | None = None
    ) -> tuple[Array, Array]:
        """Mean and standard deviation of the function at many settings, in your own units: (m,), (m,).

        The settings may break the rules of `where`: a curve goes on where nobody asks.

        >>> mean, std = study.predict_many([{"price": 18}, {"price": 11}])
        >>> bool(mean[0] < mean[1])
        True
        """
        self.description.pins(context, None)  # refused if it is not one of the study's
        X = np.array([self.policy.space.to_unit({**params, **(context or {})}) for params in settings])
        return answers.in_users_units(self.belief(at), X, self.description.sign)

    def belief(self, at: float | None = None) -> Belief:
        """The posterior of the policy now, of rewards to be maximised; `belief.units` are their location and scale.

        >>> mean, std = study.belief().predict(np.array([[0.4], [1.0]]))  # coordinates in [0, 1]: 11 and 20
        >>> bool(mean[0] > mean[1])
        True
        """
        state, ask = self._state(inputs.time(at))
        return self._belief_of(state, ask)

    @one_thread
    def drift(self, at: float | None = None) -> Diagnosis:
        """The rate of drift, the last change point, and which parameters matter. Needs the policy `auto`.

        >>> study.drift().alarm
        False
        """
        explain = self._explainer()
        state, ask = self._state(inputs.time(at))
        return explain(state.reward, ask)

    @one_thread
    def drift_history(self, points: int = 40) -> list[Moment]:
        """What `drift` would have reported at moments of the past, oldest first; the last is the newest observation.

        The moments are spread evenly over the log, or over its end. They are at most 12 observations apart, so that no
        alarm is missed. Each equals `drift(at=moment.at)` of a study that has only the observations up to that moment.

        >>> [moment.number for moment in study.drift_history(points=3)]
        [1, 4, 6]
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

        >>> study.changes()
        []
        """
        self._explainer()
        first = None if since is None else checks.count("since", since, least=0)
        known, new = self._log.read(lambda view: self._watching.read(view, first))
        return self._watching.changes(known, new, first)

    @property
    def alarm(self) -> bool:
        """Whether a change point just occurred, with a probability of more than one half.

        >>> study.alarm
        False
        """
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

    # --- the log ------------------------------------------------------------------------------------------------

    def observations(self) -> Iterator[Reading]:
        """The log as it holds now, in the order of its numbers: settings and rewards as you gave them.

        >>> [seen.params["price"] for seen in study.observations() if seen.number <= 5]
        [6.0, 9.0, 12.0, 15.0, 18.0]
        """
        return (self._reading(seen) for seen in self._log.observations())

    def latest(self, count: int) -> list[Reading]:
        """The last observations back to the `count`-th reward, in order. Earlier ones are not read.

        >>> [seen.number for seen in study.latest(2)]
        [5, 6]
        """
        checks.count("count", count)
        return [self._reading(seen) for seen in self._log.read(lambda view: view.tail(count))]

    def page(self, after: int = 0, count: int = 1000) -> list[Reading]:
        """The first `count` observations with a number above `after`, without those that were retracted.

        >>> [seen.number for seen in study.page(after=2, count=3)]
        [3, 4, 5]
        """
        checks.count("after", after, least=0), checks.count("count", count)
        found, _ = self._log.read(lambda view: view.page(after, count))
        return [self._reading(seen) for seen in found]

    def sampled(self, most: int, *, first: int = 1, last: int | None = None) -> list[Reading]:
        """At most `most` observations, evenly spaced among the numbers `first` to `last`.

        What it costs depends on `most` alone, so that a study of any length can be drawn.

        >>> [seen.number for seen in study.sampled(3)]
        [1, 4, 6]
        """
        checks.count("most", most), checks.count("first", first)

        def read(view: View) -> list[Observation]:
            end = view.counts.last if last is None else min(checks.count("last", last, least=0), view.counts.last)
            if end - first < most:
                return [seen for seen in view.page(first - 1, most)[0] if seen.number <= end]
            places = np.unique(np.linspace(first, end, most).round().astype(int))
            found = {seen.number: seen for place in places for seen in view.page(int(place) - 1, 1)[0]}
            return [found[number] for number in sorted(found) if number <= end]

        return [self._reading(seen) for seen in self._log.read(read)]

    def to_frame(self) -> Any:
        """All observations as a pandas DataFrame, or as a dict of columns if pandas is not installed.

        >>> list(study.to_frame())
        ['number', 'at', 'price', 'reward']
        """
        return readings.frame(self.observations())

    def load(self, rows: Iterable[Mapping[str, Any] | Reading]) -> Loaded:
        """Add many observations, several thousand a second. `Loaded` says how many were new and how many known.

        A row is a dict with `params` and `reward` (or `failed`), and as you like `at`, `key`, `context`, `std`,
        `repeats` and `measures`; or a `Reading` of another study. A row with a `key` is stored once, however often it
        is loaded. Rows are stored in batches of 5,000, each as a whole.

        >>> study.load([{"params": {"price": 10}, "reward": 99.0, "key": "monday"}])
        Loaded(new=1, known=0)
        """
        new = known = 0
        for first, batch in readings.batches(rows):
            loaded = self.load_batch(batch, first=first)
            new, known = new + loaded.new, known + loaded.known
        return Loaded(new, known)

    def load_batch(self, batch: Sequence[Mapping[str, Any]], *, first: int = 1) -> Loaded:
        """Add observations, all or none. An error counts the rows from `first`.

        >>> study.load_batch([{"params": {"price": price}, "reward": 90.0} for price in (8, 14)])
        Loaded(new=2, known=0)
        """
        rows = [readings.checked(first + i, row) for i, row in enumerate(batch)]
        return self._log.load([self._entry(first + i, row) for i, row in enumerate(rows)], first=first)

    def _entry(self, number: int, row: Mapping[str, Any]) -> NewObservation:
        details = {name: row[name] for name in ("std", "measures", "failed") if row.get(name) is not None}
        try:
            self._can_weigh(row.get("std"), row.get("repeats", 1))
            outcome = inputs.outcome(row.get("reward"), repeats=row.get("repeats") or 1, **details)
            x = self.description.point(row["params"], row.get("context"))
            return NewObservation(x, outcome, inputs.time(row.get("at")), inputs.key(row.get("key")))
        except InvalidInput as error:
            raise InvalidInput(f"row {number}: {error}") from None

    # --- a loop, and other studies ------------------------------------------------------------------------------

    def optimize(
        self, f: Callable[[Params], float], n: int, *, catch: type[Exception] | tuple[type[Exception], ...] = ()
    ) -> Recommendation:
        """Ask, call `f` with the parameters and tell what it returns, `n` times; then recommend.

        An exception of the kinds in `catch` counts as a failure of the setting. Any other is raised, and the suggestion
        is abandoned.

        >>> best = study.optimize(lambda params: 100 - (params["price"] - 11) ** 2, n=3)
        >>> study.describe().counts.rewards
        9
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
        self,
        name: str,
        space: Any = None,
        policy: Any = None,
        *,
        path: Path | None = None,
        token: str | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> Study:
        """A new study with another space, policy or options, which begins with the observations of this one.

        What you do not give is taken from this study. Observations that lie outside of the new space are left out, and
        every other one counts as told, with its time. The new study is in the file `path`, behind the service at that
        address, or in memory.

        >>> wider = study.fork("wider", {"price": Float(5, 40)})
        >>> wider.describe().counts.rewards
        6
        """
        if (
            path is not None
            and (remote.is_address(path) or is_there(path))
            and name in Study.names(path, token, timeout)
        ):
            raise ConflictError(
                f"{without_password(str(path))} has a study {name!r} already; give the fork another name"
            )
        about = self.description.forked(space, policy, options)
        made = Study(name, **about, path=path, token=token, timeout=timeout)
        made.load(row for seen in self.observations() if (row := made.description.adopted(seen)) is not None)
        return made

    def copy(self, name: str, *, path: Path | None = None) -> Study:
        """The whole study with its suggestions, keys and corrections under another name, or in another file.

        >>> study.copy("prices-before")
        Study('prices-before', policy='auto', path=None)
        """
        if remote.is_address(path):
            raise InvalidInput(f"a copy must be in a file, got {path!r:.80}; fork the study there, or load its log")
        target = self._store if path is None else open_store(path)
        self._store.copy(self.name, target, checks.name("a study's name", name))
        study = type(self).__new__(type(self))
        study._set_up(target, target.open(name), self.description, self.path if path is None else path)
        return study

    def rename(self, name: str) -> None:
        """Give the study another name.

        >>> study.rename("profits")
        >>> study.name
        'profits'
        """
        self._store.rename(self.name, checks.name("a study's name", name))
        self._set_up(self._store, self._store.open(name), self.description, self.path)

    def delete(self) -> None:
        """Delete the study from its file. This cannot be undone.

        >>> made = Study("gone", {"price": Float(5, 20)}, path="prices.db")
        >>> made.delete()
        >>> Study.names("prices.db")
        []
        """
        self._store.delete(self.name)

    def _repr_html_(self) -> str:
        return notebook.page(self)
