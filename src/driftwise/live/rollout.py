"""The rollout of a candidate as a fold over a study's log: what was asked, what was told, and what somebody decided.

proposed → (approved) → on trial, in steps → accepted, rolled back, or undecided. Everything follows from the log alone,
so that whoever replays it decides the same. Rewards are to be maximised here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from driftwise.live.alarm import Alarm
from driftwise.live.betting import Bets, Capital, breach
from driftwise.live.effect import Comparison
from driftwise.live.plan import Live
from driftwise.records import Point, Serving
from driftwise.rng import Stream, generator

CONTROL, EXPLORE, CANDIDATE = "control", "explore", "candidate"  # roles of an ask
PROPOSED, ON_TRIAL, ACCEPTED = "proposed", "on trial", "accepted"  # states of a rollout
ROLLED_BACK, UNDECIDED, REJECTED = "rolled back", "undecided", "rejected"
FINAL = (ACCEPTED, ROLLED_BACK, UNDECIDED, REJECTED)
HOLD = 10  # blocks of the candidate that count before its share grows, or before it is accepted
WAITING = 256  # asks of a trial without an answer that are waited for
BY_ITSELF = "driftwise"  # who decides, if it is nobody


class Served(NamedTuple):
    """An ask, as the log has it."""

    number: int
    serving: Serving
    setting: Point


class Answered(NamedTuple):
    """What came of it: `reward` is None if the setting failed."""

    number: int
    reward: float | None
    measures: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """A decision about a rollout: `what` it was from then on, who decided, when and why, after which number."""

    what: str
    number: int
    who: str = BY_ITSELF
    when: str = ""  # by the wall clock, UTC; of what follows from a reading it is empty until it is written down
    why: str = ""


class Proposal(NamedTuple):
    """A candidate, the incumbent, and what is known of the incumbent's readings: their level and their noise."""

    candidate: Point
    incumbent: Point
    level: float
    scale: float


class Gathered(NamedTuple):
    """Asks in a row that get the same setting: how they were drawn and forecast, and what was told of them so far."""

    role: float  # A
    share: float  # p
    forecast: float
    told: int = 0
    rewards: tuple[float, ...] = ()
    measures: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Progress:
    """A rollout so far."""

    proposal: Proposal
    state: str
    acts: tuple[Act, ...]
    effect: Comparison
    bets: Bets | None  # None: rewards have no declared bounds
    failures: Bets
    failed: tuple[float, float] = (0.05, 1.0)  # of so many blocks so many failed, and a guess before there are any
    rails: Mapping[str, Capital] = field(default_factory=dict)
    alarm: Alarm = field(default_factory=Alarm)
    step: int = 0
    held: int = 0  # blocks of the candidate in this step
    readings: int = 0
    open: Mapping[int, Gathered] = field(default_factory=dict)  # by block
    waiting: Mapping[int, int] = field(default_factory=dict)  # number of an ask, and its block

    @property
    def on_trial(self) -> bool:
        return self.state == ON_TRIAL

    @property
    def over(self) -> bool:
        return self.state in FINAL

    @property
    def undated(self) -> bool:
        """Whether it is over since a reading, and that is not written down yet."""
        return self.over and not self.acts[-1].when

    def turned(self, state: str, act: Act) -> Progress:
        """In another state, by a decision."""
        return replace(self, state=state, acts=(*self.acts, act), open={}, waiting={})


@dataclass(frozen=True)
class Course:
    """Where live operation stands."""

    in_force: Point
    rollout: Progress | None = None  # the last one
    last: Served | None = None


@dataclass(frozen=True)
class Guide:
    """The rules of a plan. `sign` is −1 if rewards are minimised."""

    plan: Live
    sign: float = 1.0

    # --- who gets what ------------------------------------------------------------------------------------------

    def serve(self, course: Course, seed: int, turn: int) -> Serving:
        """The role of ask number `turn`, from 0: drawn by chance, since alternation would follow any period."""
        known = self._same_block(course, turn)
        if known is not None:
            return known._replace(turn=turn)
        candidate, explore = self.shares(course)
        drawn = float(generator(seed, turn // self.plan.length, Stream.ROLE).random())
        role = CANDIDATE if drawn < candidate else EXPLORE if drawn >= 1 - explore else CONTROL
        return Serving(role, candidate / (1 - explore) if candidate else 0.0, turn)

    def shares(self, course: Course) -> tuple[float, float]:
        """Of all asks, the share of the candidate, and the share of the policy's own choices."""
        rollout = course.rollout
        candidate = self.plan.steps[rollout.step] if rollout is not None and rollout.on_trial else 0.0
        return candidate, min(self.plan.explore, 1 - self.plan.control - candidate)

    def _same_block(self, course: Course, turn: int) -> Serving | None:
        """The role of the ask before, if it is in the same block; not that of a candidate who is on trial no more."""
        last, rollout = course.last, course.rollout
        if last is None or last.serving.turn // self.plan.length != turn // self.plan.length:
            return None
        if last.serving.role == CANDIDATE and (
            rollout is None or not rollout.on_trial or last.setting != rollout.proposal.candidate
        ):
            return Serving(CONTROL, 0.0, turn)
        return last.serving

    def setting(self, course: Course, serving: Serving) -> Point | None:
        """The setting of an ask with this role; None: the policy chooses."""
        if serving.role == CANDIDATE:
            assert course.rollout is not None
            return course.rollout.proposal.candidate
        if serving.role == CONTROL:
            return course.in_force
        last = course.last
        same = last is not None and self._same_block(course, serving.turn) is not None
        return last.setting if same and last is not None else None

    # --- the fold -----------------------------------------------------------------------------------------------

    def proposed(self, proposal: Proposal, act: Act) -> Course:
        """A rollout begins."""
        effect = Comparison.of(proposal.level, proposal.scale)
        bets = None if self.plan.bounds is None else Bets()
        rails = {name: Capital() for name, _ in self.plan.rails}
        begun = Progress(proposal, PROPOSED, (act,), effect, bets, Bets(), rails=rails)
        if not self.plan.approve:
            begun = begun.turned(ON_TRIAL, Act(ON_TRIAL, act.number, why="no approval is needed"))
        return Course(proposal.incumbent, begun)

    def decided(self, course: Course, act: Act) -> Course:
        """After a decision that is written down: somebody's, or one that followed from a reading and is dated here."""
        rollout = course.rollout
        assert rollout is not None
        if rollout.over and act.who == BY_ITSELF:
            dated = replace(rollout.acts[-1], when=act.when)
            return replace(course, rollout=replace(rollout, acts=(*rollout.acts[:-1], dated)))
        in_force = course.in_force if act.what == ON_TRIAL else rollout.proposal.incumbent
        if act.what == ACCEPTED:
            in_force = rollout.proposal.candidate
        return replace(course, in_force=in_force, rollout=rollout.turned(act.what, act))

    def served(self, course: Course, served: Served) -> Course:
        course, rollout, serving = replace(course, last=served), course.rollout, served.serving
        if rollout is None or not rollout.on_trial or not serving.share or serving.role == EXPLORE:
            return course
        block, place = divmod(serving.turn, self.plan.length)
        made, waiting = dict(rollout.open), dict(rollout.waiting)
        if block not in made:
            if place:  # it began before the trial
                return course
            role = 1.0 if serving.role == CANDIDATE else 0.0
            made[block] = Gathered(role, serving.share, float(rollout.effect.forecast(serving.share)))
        if place >= self.plan.settle:
            waiting[served.number] = block
        while len(waiting) > WAITING:
            made.pop(waiting.pop(next(iter(waiting))), None)
        return replace(course, rollout=replace(rollout, open=made, waiting=waiting))

    def answered(self, course: Course, told: Answered) -> Course:
        rollout = course.rollout
        if rollout is None or told.number not in rollout.waiting:
            return course
        waiting, made = dict(rollout.waiting), dict(rollout.open)
        block = waiting.pop(told.number)
        if block not in made:  # one of its asks was not waited for any longer
            return replace(course, rollout=replace(rollout, waiting=waiting))
        turns = made.pop(block)
        rewards = turns.rewards if told.reward is None else (*turns.rewards, self.sign * told.reward)
        turns = turns._replace(told=turns.told + 1, rewards=rewards, measures=(*turns.measures, *told.measures))
        if turns.told < self.plan.length - self.plan.settle:
            made[block] = turns
            return replace(course, rollout=replace(rollout, open=made, waiting=waiting))
        return self._counted(course, replace(rollout, open=made, waiting=waiting), turns, told.number)

    def _counted(self, course: Course, rollout: Progress, turns: Gathered, number: int) -> Course:
        """After a block all of whose readings are there."""
        rollout = self._weighed(rollout, turns)
        state, why = self._verdict(rollout)
        if state == ON_TRIAL:
            if why:
                act = Act(ON_TRIAL, number, why=why)
                rollout = replace(rollout, step=rollout.step + 1, held=0, acts=(*rollout.acts, act))
            return replace(course, rollout=rollout)
        in_force = rollout.proposal.candidate if state == ACCEPTED else course.in_force
        return replace(course, in_force=in_force, rollout=rollout.turned(state, Act(state, number, why=why)))

    def _weighed(self, rollout: Progress, turns: Gathered) -> Progress:
        plan, (role, share, forecast, told, rewards, measures) = self.plan, turns
        some, all_ = rollout.failed
        failed = float(len(rewards) < told)
        rollout = replace(
            rollout,
            failures=rollout.failures.after(role, share, failed, some / all_, bounds=(0.0, 1.0)),
            failed=(some + failed, all_ + 1),
            rails=self._railed(rollout.rails, measures) if role else rollout.rails,
            readings=rollout.readings + told,
            held=rollout.held + int(role),
        )
        if not rewards:
            return rollout
        y, effect, bets = math.fsum(rewards) / len(rewards), rollout.effect, rollout.bets
        if bets is not None and plan.bounds is not None:
            low, high = sorted(self.sign * end for end in plan.bounds)
            bets = bets.after(role, share, y, forecast, bounds=(low, high), above=self.needed, below=-plan.margin)
        scale = math.sqrt(float(effect.level.variance))
        alarm = rollout.alarm.after(role, share, y - forecast, scale=scale, margin=plan.margin)
        return replace(rollout, effect=effect.after(role, share, y, forecast), bets=bets, alarm=alarm)

    def _railed(self, rails: Mapping[str, Capital], measures: tuple[tuple[str, float], ...]) -> dict[str, Capital]:
        limits, found = dict(self.plan.rails), dict(rails)
        for name, value in measures:
            if name in found:
                found[name] = found[name].after(breach(value, limits[name]))
        return found

    # --- the verdict --------------------------------------------------------------------------------------------

    @property
    def needed(self) -> float:
        """The effect that a candidate must be shown to exceed."""
        return 0.0 if self.plan.better else -self.plan.margin

    def _verdict(self, rollout: Progress) -> tuple[str, str]:
        """The state of a rollout after a reading, and why, if it is another one or if the share grows."""
        if why := self._harm(rollout):
            return ROLLED_BACK, why
        last, held = rollout.step == len(self.plan.steps) - 1, rollout.held >= HOLD
        if last and held and self._evidence(rollout, above=True) >= math.log(1 / self.plan.alpha):
            return ACCEPTED, "it is better" if self.needed == 0 else f"it is not worse by {self.plan.margin:g} or more"
        if rollout.readings >= self.plan.patience:
            return UNDECIDED, f"{rollout.readings} readings did not decide"
        if held and not last:
            return ON_TRIAL, f"{self.plan.steps[rollout.step + 1]:.0%} of the asks"
        return ON_TRIAL, ""

    def _harm(self, rollout: Progress) -> str:
        """What speaks against a candidate; an empty string if nothing does."""
        against = math.log(1 / self.plan.each)
        for name, limit in self.plan.rails:
            if rollout.rails[name].evidence >= against:
                return f"{name} is not {limit} on average"
        if rollout.failures.above.evidence >= against:
            return "it fails more often than the incumbent"
        if self._evidence(rollout, above=False) >= against:
            return "it is worse" if self.plan.margin == 0 else f"it is worse by more than {self.plan.margin:g}"
        return "it turned bad" if rollout.alarm.rings else ""

    def interval(self, rollout: Progress) -> tuple[float, float]:
        """The effects that are not refuted, each end with probability 1 − alpha at all times.

        An effect that is far away is refuted late. That it is on the wrong side of the margin is refuted alone.
        """
        low, high = rollout.effect.interval(self.plan.alpha)
        against, margin = math.log(1 / self.plan.alpha), self.plan.margin
        if rollout.effect.evidence(self.needed, side=1.0) >= against:
            low = max(low, self.needed)
        if rollout.effect.evidence(-margin, side=-1.0) >= against:
            high = min(high, -margin)
        return low, high

    def _evidence(self, rollout: Progress, *, above: bool) -> float:
        """log of the evidence that the effect is above what is needed, or that it is below −margin."""
        if rollout.bets is not None:
            return float((rollout.bets.above if above else rollout.bets.below).evidence)
        if above:
            return float(rollout.effect.evidence(self.needed, side=1.0))
        return float(rollout.effect.evidence(-self.plan.margin, side=-1.0))


# --- flags ------------------------------------------------------------------------------------------------------------


def drawn_for(seed: int, unit: str) -> float:
    """The number in [0, 1) of a unit, for example of a user: always the same, so that what it is served is sticky.

    It gets the candidate if the number is below the candidate's share: as the share grows, no unit goes back.

    >>> drawn_for(0, "user-17") == drawn_for(0, "user-17") != drawn_for(1, "user-17")
    True
    """
    digest = hashlib.blake2b(f"{seed}:{unit}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
