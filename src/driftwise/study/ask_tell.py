"""Asking and telling: the part of a study that docs/contract.md makes promises about."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, overload

from driftwise import checks
from driftwise.concurrency.deadline import Steps
from driftwise.concurrency.threads import one_thread
from driftwise.errors import ConflictError, InvalidInput, StoreError
from driftwise.feasible import FeasibleState
from driftwise.log import Asked, Choice, Chosen, Correction, Log, NewEntry, Outcome, Told, View
from driftwise.log.telling import check_time
from driftwise.policies import decision
from driftwise.records import Ask, Observation, Params, Receipt, Suggestion, time_of_next
from driftwise.replay import Missing
from driftwise.study import inputs, readings
from driftwise.study.description import Fixed
from driftwise.study.readings import Reading
from driftwise.study.rollouts import Guarded, Roles

MOST = 1000  # suggestions of one ask
OUTCOME = {"reward": None, "failed": False, "std": None, "repeats": 1, "measures": None}

logger = logging.getLogger("driftwise")


class AskTell(Guarded):
    """A study as far as asking, telling and correcting go. `Study` adds what it says.

    `ask`, `tell`, `observe`, `abandon` and `correct` check what they are given. What they then do, `_asked`, `_told`,
    `_observed`, `_abandoned` and `_corrected`, is another for a study behind a service.
    """

    _current: Params | None = None

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
        fallback: Params | None = None,
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
        fallback: Params | None = None,
    ) -> list[Suggestion]: ...

    def ask(
        self,
        key: str | None = None,
        at: float | None = None,
        *,
        n: int | None = None,
        context: Params | None = None,
        fixed: Params | None = None,
        fallback: Params | None = None,
    ) -> Suggestion | list[Suggestion]:
        """The next setting to try. A second call with the same `key` returns the same suggestion, in any process.

        `at` is your own time. By default it is the suggestion's number, or the time of the newest observation if that
        has a time of your own. `n` suggestions come as a list; they spread out, and all or none are stored. `context`
        is the present value of every parameter of the context, and `fixed` pins parameters that are otherwise chosen.

        `fallback` is a setting to go on with when the service or the store cannot be reached, for example
        `study.current or {"price": 10}`. The suggestion then says `stored=False`, and a warning is logged.

        >>> first = study.ask(key="tuesday")
        >>> study.ask(key="tuesday") == first
        True
        >>> [suggestion.number for suggestion in study.ask(n=2)]
        [8, 9]
        """
        count, when = None if n is None else checks.count("n", n, most=MOST), inputs.time(at)
        spare = None if fallback is None else self._fallback(fallback, when, context, fixed)
        try:
            found = self._asked(inputs.key(key), when, context, fixed, count)
        except StoreError as error:
            if spare is None:
                raise
            logger.warning("study %r goes on with the fallback: %s", self.name, error)
            found = [replace(spare, id=f"fallback-{secrets.token_hex(12)}") for _ in range(count or 1)]
        self._current = found[-1].params
        return found[0] if n is None else found

    def _fallback(self, given: Params, at: float | None, context: Params | None, fixed: Params | None) -> Suggestion:
        """A suggestion without an id. Made with every ask that has a fallback, so that a wrong one is refused early."""
        if not isinstance(given, Mapping):
            raise InvalidInput(f"fallback must be a dict of parameters and their values, got {checks.shown(given)}")
        params = {**given, **(fixed or {})}
        x = self.description.point(params, context)
        return Suggestion("", 0, params, math.nan if at is None else at, "", x, context, stored=False)

    @property
    def current(self) -> Params | None:
        """The setting that this object was last given by `ask`; None if it has not asked yet.

        >>> suggestion = study.ask()
        >>> study.current == suggestion.params
        True
        """
        return self._current

    def _asked(
        self, key: str | None, at: float | None, context: Params | None, fixed: Params | None, n: int | None
    ) -> list[Suggestion]:
        if fixed is not None and self.description.live is not None:
            raise InvalidInput("fixed cannot be given where roles say which setting is served; leave it out, or live")
        pinned, patience = self.description.pins(context, fixed), self.description.patience
        prepare = partial(self._prepare, at, pinned)
        found = self._log.ask_many(key, partial(prepare, 1 if n is None else n), patience, 1 if n is None else n)
        if key is not None and not _is_of(found[0], at, pinned):
            raise ConflictError(
                f"key {key!r} was asked for with another time, context or fixed parameters; use another key"
            )
        self._look_after(found, pinned)
        return [self._suggestion(each) for each in found]

    def _prepare(self, at: float | None, pinned: Fixed, n: int, view: View) -> Choice:
        """Read what the next choices depend on. The choices are made after the transaction."""
        ask, missing = self._next(view, at, pinned), self._fold.missing(view)
        newest = view.newest() if n > 1 and at is None else None
        times = [ask.at] + [ask.at if at is not None else time_of_next(ask.number + i, newest) for i in range(1, n)]
        roles = self._roles(view)
        return lambda: self._choose(missing, ask, times, roles, own_times=at is not None)

    @one_thread
    def _choose(
        self, missing: Missing, ask: Ask, times: list[float], roles: Roles | None, *, own_times: bool
    ) -> tuple[Chosen, ...]:
        """One choice for each time; those made before are pending for the next."""
        state, made, steps = None, list[Chosen](), Steps("n", len(times))
        for at in times:
            steps.next()
            served = None if roles is None else roles.serve()
            if served is not None and served.setting is not None:
                x, jitter = (*served.setting, *(value for _, value in ask.fixed)), 0.0
            else:
                state = self._fold.state(missing) if state is None else state
                found = decision(self._fold.policy, state, replace(ask, at=at))
                x, jitter = tuple(float(v) for v in found.x), float(found.jitter)
            if roles is not None and served is not None:
                roles = roles.after(served, ask.number, x)
            made.append(Chosen(x, at, jitter, own_times, None if served is None else served.serving))
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

        A suggestion that is the fallback of an ask is stored as an observation, once however often it is told.

        >>> study.tell(study.ask(), 97.5)
        Receipt(number=7, new=True, in_window=True)
        >>> study.tell(study.ask(), failed=True)
        Receipt(number=8, new=True, in_window=True)
        """
        id = inputs.suggestion_id(suggestion)
        outcome, when, key = self._outcome(reward, failed, std, repeats, measures), inputs.time(at), inputs.key(key)
        self._check_guardrails(outcome)
        if isinstance(suggestion, Suggestion) and not suggestion.stored:
            when = suggestion.at if when is None and not math.isnan(suggestion.at) else when
            return self._observed(suggestion.params, suggestion.context, outcome, when, key or id)
        return self._told(id, outcome, when, key)

    def _told(self, id: str, outcome: Outcome, at: float | None, key: str | None) -> Receipt:
        return self.receipt(self._log.tell(id, outcome, at, key=key, limit=self.policy.memory))

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
        """Store a reward at a setting that was not suggested; with a `key` once, however often it is sent.

        >>> study.observe({"price": 10}, 98.0, key="tuesday")
        Receipt(number=7, new=True, in_window=True)
        >>> study.observe({"price": 10}, 98.0, key="tuesday")
        Receipt(number=7, new=False, in_window=True)
        """
        outcome = self._outcome(reward, failed, std, repeats, measures)
        return self._observed(params, context, outcome, inputs.time(at), inputs.key(key))

    def _observed(
        self, params: Params, context: Params | None, outcome: Outcome, at: float | None, key: str | None
    ) -> Receipt:
        x = self.description.point(params, context)
        return self.receipt(self._log.observe(x, outcome, at, key=key, limit=self.policy.memory))

    def abandon(self, suggestion: Suggestion | str) -> None:
        """Declare that a suggestion will not be tried. If its reward arrives after all, it still counts.

        >>> suggestion = study.ask()
        >>> study.abandon(suggestion)
        >>> study.pending()
        []
        """
        id = inputs.suggestion_id(suggestion)
        if not isinstance(suggestion, Suggestion) or suggestion.stored:  # of a fallback nothing is stored
            self._abandoned(id)

    def _abandoned(self, id: str) -> None:
        self._log.abandon(id)

    def _outcome(self, reward: Any, failed: Any, std: Any, repeats: Any, measures: Any) -> Outcome:
        outcome = inputs.outcome(reward, failed=failed, std=std, repeats=repeats, measures=measures)
        self._can_weigh(std, repeats)
        return outcome

    def _can_weigh(self, std: Any, repeats: Any) -> None:
        if (std is not None or repeats != 1) and not getattr(self.policy, "weighs_noise", False):
            raise InvalidInput(f"{self.policy.name} treats all rewards alike; leave out std and repeats, or use auto")

    def entry(self, of: str | Params, context: Params | None = None, **given: Any) -> tuple[Log, NewEntry]:
        """What `tell` of a suggestion's id, or `observe` of parameters, would store, and the log that it is for.

        With `receipt` it is for those who store what was told of several studies in one transaction, as a service does.

        >>> log, entry = study.entry({"price": 10}, reward=98.0)
        >>> entry.outcome.y
        98.0
        """
        at, key, far = inputs.time(given.pop("at", None)), inputs.key(given.pop("key", None)), given.pop("far", True)
        meant = inputs.suggestion_id(of) if isinstance(of, str) else self.description.point(of, context)
        outcome = self._outcome(**(OUTCOME | given))
        if isinstance(of, str):
            self._check_guardrails(outcome)
        return self._log, NewEntry(meant, outcome, at, key, self.policy.memory, far)

    def check_time(self, at: float) -> None:
        """Refuse a time that is far from all others of the study, as one in milliseconds is among seconds.

        A service does so with what it is sent, unless the time is confirmed.

        >>> study.check_time(8.0)
        """
        self._log.read(lambda view: check_time(view, at))

    def receipt(self, told: Told) -> Receipt:
        """What `tell` and `observe` return of an entry that was stored.

        >>> log, entry = study.entry({"price": 10}, reward=98.0)
        >>> study.receipt(log.observe(entry.of, entry.outcome))
        Receipt(number=7, new=True, in_window=True)
        """
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

        >>> study.correct(3, 95.0, who="ada", why="refunds came later")
        Receipt(number=3, new=True, in_window=True)
        >>> study.page(after=2, count=1)[0].reward
        95.0
        """
        outcome = self._outcome(reward, failed, std, repeats, measures)
        return self._corrected(which, outcome, *inputs.reason(who, why), keep=measures is None)

    def retract(self, which: int | Suggestion | str, *, who: str = "", why: str = "") -> Receipt:
        """Declare that an observation should not count. It stays in the log, and `correct` brings it back.

        >>> receipt = study.retract(3, why="the shop was closed")
        >>> [seen.number for seen in study.observations()]
        [1, 2, 4, 5, 6]
        """
        return self._corrected(which, None, *inputs.reason(who, why))

    def _corrected(
        self, which: int | Suggestion | str, outcome: Outcome | None, who: str, why: str, *, keep: bool = False
    ) -> Receipt:
        """`keep` says that the measures stay as they are."""
        number = self._number(which)
        if outcome is not None and keep and (held := self._log.outcome(number)) is not None:
            outcome = replace(outcome, measures=held.measures)
        return self.receipt(self._log.correct(number, outcome, who, why, limit=self.policy.memory))

    def _number(self, which: int | Suggestion | str) -> int:
        """The number of an observation, which may be given by its suggestion or the suggestion's id."""
        if isinstance(which, str) and which.isascii() and which.isdecimal() and len(which) < 19:  # no id is so
            return checks.count("number", int(which))
        if isinstance(which, Suggestion | str):
            return self._log.number_of(inputs.suggestion_id(which))
        return checks.count("number", which)

    def corrections(self) -> list[Correction]:
        """All corrections and retractions, oldest first: what held before and after, who, when and why.

        >>> receipt = study.retract(3, who="ada", why="the shop was closed")
        >>> [(made.number, made.who, made.why) for made in study.corrections()]
        [(3, 'ada', 'the shop was closed')]
        """
        return self._log.corrections()

    def pending(self) -> list[Suggestion]:
        """The suggestions that the next ask treats as pending: without a reward, and among the last `patience` ones.

        >>> suggestion = study.ask()
        >>> study.pending() == [suggestion]
        True
        """
        pending = self._log.read(lambda view: view.pending(self.description.patience))
        return [self._suggestion(asked) for asked in pending]

    def _suggestion(self, asked: Asked) -> Suggestion:
        params, context = self.description.split(asked.x)
        role = None if asked.serving is None else asked.serving.role
        return Suggestion(asked.id, asked.number, params, asked.at, asked.key, asked.x, context, role=role)

    def _reading(self, seen: Observation) -> Reading:
        return readings.reading(seen, *self.description.split(seen.x))


def _is_of(asked: Asked, at: float | None, pinned: Fixed) -> bool:
    """Whether a suggestion may be the answer to an ask for this time with these coordinates."""
    return at in (None, asked.at) and all(math.isclose(asked.x[i], value, abs_tol=1e-9) for i, value in pinned)
