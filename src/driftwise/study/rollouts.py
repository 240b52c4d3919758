"""Live operation of a study: which setting is in force, which candidate is on trial, and who decides about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from driftwise.concurrency.threads import one_thread
from driftwise.errors import ConflictError, InvalidInput
from driftwise.live import Live, candidates
from driftwise.live.rollout import (
    ACCEPTED,
    BY_ITSELF,
    FINAL,
    ON_TRIAL,
    PROPOSED,
    REJECTED,
    ROLLED_BACK,
    Act,
    Answered,
    Course,
    Guide,
    Proposal,
    Served,
)
from driftwise.log import Asked, Decided, Mark, Outcome, View
from driftwise.log.decisions import decisions, last_asked, told_since
from driftwise.records import Ask, Observation, Params, Point, Serving
from driftwise.study import inputs, remote
from driftwise.study.description import Fixed
from driftwise.study.opening import Opened

EVERY = 16  # asks between two looks for a candidate
REST = 64  # numbers after a rollout before the next one


@dataclass(frozen=True, slots=True)
class Rollout:
    """A rollout as it stands now. The effect is that of the candidate on the reward, in your units."""

    candidate: Params
    incumbent: Params
    state: str  # "proposed", "on trial", "accepted", "rolled back", "undecided" or "rejected"
    share: float  # of the asks that get the candidate
    effect: float
    interval: tuple[float, float]  # holds at all times at once, each end with probability 1 − alpha
    readings: int
    since: int  # the last number before it
    why: str  # the last decision
    acts: tuple[Act, ...]  # all decisions


class Turn(NamedTuple):
    """How an ask is served; a setting of None is for the policy to choose."""

    serving: Serving
    setting: Point | None


@dataclass(frozen=True)
class Roles:
    """Where live operation stands, for the next asks."""

    guide: Guide
    course: Course
    seed: int
    asked: int  # suggestions so far
    dim: int  # coordinates of a setting, before those of a context

    def serve(self) -> Turn:
        serving = self.guide.serve(self.course, self.seed, self.asked)
        return Turn(serving, self.guide.setting(self.course, serving))

    def after(self, turn: Turn, number: int, x: Point) -> Roles:
        course = self.guide.served(self.course, Served(number, turn.serving, x[: self.dim]))
        return Roles(self.guide, course, self.seed, self.asked + 1, self.dim)


class Guarded(Opened):
    """A study as far as its live operation goes. `AskTell` asks and tells."""

    _followed: tuple[Mark, Course] | None = None

    # --- what holds ---------------------------------------------------------------------------------------------

    @property
    def in_force(self) -> Params:
        """The setting that the live system has now: the incumbent, or the candidate that was accepted last.

        >>> from driftwise import Float, Live
        >>> study = Study("shop", {"price": Float(5, 20)}, live=Live(incumbent={"price": 10}))
        >>> study.in_force
        {'price': 10.0}
        """
        return self._params(self._log_of_live().read(self._course).in_force)

    @property
    def rollout(self) -> Rollout | None:
        """The candidate that is proposed or on trial, or the last one that was; None if there was none.

        >>> from driftwise import Int, Live
        >>> study = Study("web", {"workers": Int(1, 9)}, live=Live(incumbent={"workers": 3}))
        >>> study.rollout is None
        True
        """
        course = self._log_of_live().read(self._course)
        return None if course.rollout is None else self._shown_rollout(course)

    def _shown_rollout(self, course: Course) -> Rollout:
        made, sign = course.rollout, self.description.sign
        assert made is not None
        ends = sorted(sign * end for end in self._guide.interval(made))
        about = made.proposal
        return Rollout(
            self._params(about.candidate),
            self._params(about.incumbent),
            made.state,
            self._guide.shares(course)[0],
            sign * float(made.effect.sums.effect) + 0.0,
            (ends[0], ends[1]),
            made.readings,
            made.acts[0].number,
            made.acts[-1].why,
            made.acts,
        )

    # --- who decides --------------------------------------------------------------------------------------------

    def propose(self, params: Params, why: str = "", *, who: str = "") -> None:
        """Propose a candidate yourself. It is tried, guarded and decided as one that the study found.

        Args:
            params: the setting.
            why: the reason, which is stored.
            who: your name, which is stored.

        >>> from driftwise import Int, Live
        >>> study = Study("web", {"workers": Int(1, 9)}, live=Live(incumbent={"workers": 3}, explore=0, approve=True))
        >>> told = [study.tell(study.ask(), 5 + n % 2) for n in range(8)]
        >>> study.propose({"workers": 8}, "as in staging", who="bob")
        >>> study.rollout.state
        'proposed'
        """
        candidate = self._point(params)

        def made(view: View) -> dict[str, Any]:
            course = self._course(view)
            if course.rollout is not None and not course.rollout.over:
                raise ConflictError(f"there is a candidate already, {self._params(course.rollout.proposal.candidate)}")
            if candidate == course.in_force:
                raise ConflictError(f"{params} is in force already; propose another setting")
            return self._said(PROPOSED, *inputs.reason(who, why), self._proposal(view, course, candidate))

        self._log_of_live().decide(made)

    def approve(self, candidate: Params | None = None, why: str = "", *, who: str = "") -> None:
        """Approve the candidate that is proposed: it goes on trial.

        Args:
            candidate: the setting that you approve; a `ConflictError` if it is the candidate no longer.
            why: the reason, which is stored.
            who: your name, which is stored.

        >>> from driftwise import Int, Live
        >>> study = Study("web", {"workers": Int(1, 9)}, live=Live(incumbent={"workers": 3}, explore=0, approve=True))
        >>> told = [study.tell(study.ask(), 5 + n % 2) for n in range(8)]
        >>> study.propose({"workers": 8}, "as in staging", who="bob")
        >>> study.approve({"workers": 8}, who="ada")
        >>> study.rollout.state, study.rollout.share
        ('on trial', 0.1)
        """
        self._decide(ON_TRIAL, (PROPOSED,), "approve", who, why, candidate)

    def reject(self, why: str = "", *, who: str = "", candidate: Params | None = None) -> None:
        """Reject the candidate that is proposed; `candidate` is the setting that you mean.

        >>> from driftwise import Int, Live
        >>> study = Study("web", {"workers": Int(1, 9)}, live=Live(incumbent={"workers": 3}, explore=0, approve=True))
        >>> told = [study.tell(study.ask(), 5 + n % 2) for n in range(8)]
        >>> study.propose({"workers": 8}, "as in staging", who="bob")
        >>> study.reject("black Friday")
        >>> study.rollout.state, study.rollout.why
        ('rejected', 'black Friday')
        """
        self._decide(REJECTED, (PROPOSED,), "reject", who, why, candidate)

    def roll_back(self, why: str = "", *, who: str = "", candidate: Params | None = None) -> None:
        """Return to the incumbent from a candidate that is on trial, or from the one that was accepted last.

        >>> from driftwise import Int, Live
        >>> study = Study("web", {"workers": Int(1, 9)}, live=Live(incumbent={"workers": 3}, explore=0, approve=True))
        >>> told = [study.tell(study.ask(), 5 + n % 2) for n in range(8)]
        >>> study.propose({"workers": 8}, "as in staging", who="bob")
        >>> study.approve()
        >>> study.roll_back("pager", who="ada")
        >>> study.rollout.state, study.in_force
        ('rolled back', {'workers': 3})
        """
        self._decide(ROLLED_BACK, (ON_TRIAL, ACCEPTED), "roll back", who, why, candidate)

    def _decide(
        self, what: str, states: Sequence[str], doing: str, who: str, why: str, candidate: Params | None
    ) -> None:
        wanted, reason = None if candidate is None else self._point(candidate), inputs.reason(who, why)

        def made(view: View) -> dict[str, Any]:
            rollout = self._course(view).rollout
            if rollout is None or rollout.state not in states:
                state = "no candidate" if rollout is None else f"one that is {rollout.state}"
                raise ConflictError(f"there must be a candidate {' or '.join(states)} to {doing}, there is {state}")
            if wanted is not None and wanted != rollout.proposal.candidate:
                now = self._params(rollout.proposal.candidate)
                raise ConflictError(f"{candidate} is the candidate no longer, it is {now}; nothing was changed")
            return self._said(what, *reason)

        self._log_of_live().decide(made)

    def _said(self, what: str, who: str, why: str, proposal: Proposal | None = None) -> dict[str, Any]:
        """A decision as JSON has it."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return {"what": what, "who": who, "when": when, "why": why} | (candidates.said(proposal) if proposal else {})

    # --- the fold -----------------------------------------------------------------------------------------------

    def _roles(self, view: View) -> Roles | None:
        """Where the next asks begin; None without live operation."""
        if self.description.live is None:
            return None
        return Roles(self._guide, self._course(view), self.description.seed, view.counts.asked, self.space.dim)

    def _course(self, view: View) -> Course:
        """Where live operation stands. It is followed from the last proposal, and from then on as the log grows."""
        mark, course = self._followed or self._begun(view)
        for each in told_since(view, mark):
            course = self._after(course, each)
        self._followed = view.mark, course
        return course

    def _begun(self, view: View) -> tuple[Mark, Course]:
        """Where to follow it from. What came after the last rollout was over is not read: it changes nothing."""
        known = decisions(view)
        first = max((i for i, (_, made) in enumerate(known) if made.said["what"] == PROPOSED), default=None)
        course, later = Course(self._point(self._live.incumbent)), list[Decided]()
        if first is not None:
            mark, begun = known[first]
            later = [made for _, made in known[first + 1 :]]
            over = next((i for i, made in enumerate(later) if made.said["what"] in FINAL), None)
            course = self._after(course, begun)
            if over is None:
                return mark, course
            for each in told_since(view, mark):
                course = self._after(course, each)
                if each == later[over]:
                    break
            later = later[over + 1 :]
        last = last_asked(view)
        for entry in (*later, *(() if last is None else (last,))):
            course = self._after(course, entry)
        return view.mark, course

    def _after(self, course: Course, each: Asked | Observation | Decided) -> Course:
        if isinstance(each, Asked):
            if each.serving is None:
                return course
            return self._guide.served(course, Served(each.number, each.serving, each.x[: self.space.dim]))
        if isinstance(each, Observation):
            reward = None if each.failed else each.y
            return self._guide.answered(course, Answered(each.number, reward, each.measures))
        said = each.said
        act = Act(said["what"], each.number, said["who"], said["when"], said["why"])
        if act.what == PROPOSED:
            return replace(self._guide.proposed(candidates.heard(said), act), last=course.last)
        return self._guide.decided(course, act)

    # --- candidates ---------------------------------------------------------------------------------------------

    def _look_after(self, asked: Sequence[Asked], pinned: Fixed) -> None:
        """After an ask: date a rollout that is over; now and then propose the setting that is better by the belief."""
        rollout = self._followed[1].rollout if self._followed is not None else None
        if rollout is not None and rollout.undated:
            self._log.decide(self._dated)
        turns = [each.serving.turn for each in asked if each.serving is not None]
        if any(turn % EVERY == EVERY - 1 for turn in turns):
            self._look(asked[-1], pinned)

    def _dated(self, view: View) -> dict[str, Any] | None:
        rollout = self._course(view).rollout
        if rollout is None or not rollout.undated:
            return None  # by another process
        return self._said(rollout.state, BY_ITSELF, rollout.acts[-1].why)

    @one_thread
    def _look(self, asked: Asked, pinned: Fixed) -> None:
        def read(view: View) -> tuple[Any, ...]:
            course, counts = self._course(view), view.counts
            begun = course.rollout
            resting = begun is not None and (not begun.over or counts.last - begun.acts[-1].number < REST)
            latest = last_asked(view)
            if resting or latest is None or latest.number != asked.number or not counts.rewards:
                return (None,) * 5
            known = self._incumbents(view, course)
            since = begun.acts[-1].number if begun is not None else 0
            missing = self._fold.missing(view) if len(known) >= candidates.FEWEST else None
            return course, missing, known, decisions(view), counts.last - since

        course, missing, known, before, lasted = self._log.read(read)
        if missing is None:
            return
        late = [each.said for _, each in before if each.number > asked.number - self._live.patience]
        tried = [candidates.heard(said).candidate for said in late if said["what"] == PROPOSED]
        ask = Ask(asked.number + 1, asked.at, seed=self.description.seed, fixed=pinned)
        found = self._promising(course, self._fold.state(missing), ask, lasted, tried)
        if found is not None:
            made = candidates.proposal(found, course.in_force, known)
            said = self._said(PROPOSED, BY_ITSELF, "it is better by what is known", made)
            self._log.decide(lambda view: said if len(decisions(view)) == len(before) else None)

    def _promising(self, course: Course, state: Any, ask: Ask, lasted: int, tried: Sequence[Point]) -> Point | None:
        feasible, dim = self.description.feasible, self.space.dim
        context = tuple(value for _, value in ask.fixed)
        here, *others = (np.array((*setting, *context)) for setting in (course.in_force, *tried))
        x = candidates.promising(
            self.policy.space,
            feasible.belief(state, ask),
            feasible.recommendable(state, ask).ask,
            here,
            margin=self._live.margin,
            cost=self._live.switching_cost,
            lasted=lasted,
            reach=getattr(self.policy, "max_step", None),
            tried=others,
        )
        return None if x is None else tuple(float(v) for v in x[:dim])

    def _proposal(self, view: View, course: Course, candidate: Point) -> Proposal:
        known = self._incumbents(view, course)
        if len(known) < candidates.FEWEST:
            raise InvalidInput(
                f"the incumbent must have {candidates.FEWEST} readings before a candidate is proposed, "
                f"got {len(known)}; ask and tell some more"
            )
        return candidates.proposal(candidate, course.in_force, known)

    def _incumbents(self, view: View, course: Course) -> list[float]:
        """The latest readings of the setting in force, to be maximised, oldest first."""
        rows = view.tail(candidates.LATEST)
        return [
            self.description.sign * seen.y
            for seen in rows
            if not seen.failed and seen.x[: self.space.dim] == course.in_force
        ]

    # --- what it is made of -------------------------------------------------------------------------------------

    @property
    def _live(self) -> Live:
        live = self.description.live
        if live is None:
            raise InvalidInput(f"study {self.name!r} has no live operation; make it with live=Live(incumbent={{...}})")
        return live

    def _log_of_live(self) -> Any:
        remote.no_address(self.path, "a rollout")
        return self._live and self._log

    @property
    def _guide(self) -> Guide:
        return Guide(self._live, self.description.sign)

    def _point(self, params: Params) -> Point:
        """A setting, without its context."""
        point = self.space.to_unit(params)
        if self.description.rules is not None and self.description.context is None:
            self.description.rules.check(params)
        return point

    def _params(self, setting: Point) -> dict[str, Any]:
        return self.space.from_unit(setting)

    def _check_guardrails(self, outcome: Outcome) -> None:
        """Refuse an outcome without a measure that guards."""
        if self.description.live is None or outcome.failed:
            return
        measured = {name for name, _ in outcome.measures}
        for name, _ in self._live.rails:
            if name not in measured:
                got = ", ".join(sorted(measured)) or "no measure"
                raise InvalidInput(
                    f"guardrail {name!r} must be measured with every reading, got {got}; "
                    f"tell it with measures={{{name!r}: ...}}"
                )
