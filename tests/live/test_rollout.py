"""The rollout as a fold: who is served what, and when it is decided. Worlds are told to it reading by reading."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from driftwise import InvalidInput, Limit, at_least, at_most
from driftwise.live.plan import Live
from driftwise.live.rollout import (
    ACCEPTED,
    CANDIDATE,
    CONTROL,
    EXPLORE,
    ON_TRIAL,
    REJECTED,
    ROLLED_BACK,
    UNDECIDED,
    WAITING,
    Act,
    Answered,
    Course,
    Guide,
    Proposal,
    Served,
    drawn_for,
)

NEW, OLD, OTHER = (0.9,), (0.1,), (0.5,)


def plan(**more):
    return Live(**{"incumbent": {"x": 0.1}, "margin": 0.1} | more)


def begun(guide, level=0.0, scale=1.0):
    return guide.proposed(Proposal(NEW, OLD, level, scale), Act("proposed", 0))


def drive(guide, reward, n=3000, *, seed=0, course=None, measures=lambda role, rng: (), first=0):
    """Ask and tell until the rollout is over; reward(role, n, rng) is None for a failure. Roles and course."""
    rng, roles = np.random.default_rng(seed), []
    course = begun(guide) if course is None else course
    for turn in range(first, first + n):
        serving = guide.serve(course, seed, turn)
        setting = guide.setting(course, serving) or OTHER
        course = guide.served(course, Served(turn + 1, serving, setting))
        course = guide.answered(
            course, Answered(turn + 1, reward(serving.role, turn, rng), measures(serving.role, rng))
        )
        roles.append(serving.role)
        if course.rollout is not None and course.rollout.over:
            break
    return roles, course


def better_by(effect, noise=1.0):
    return lambda role, turn, rng: (
        effect * (role == CANDIDATE) + 3 * math.sin(turn / 50) + noise * rng.standard_normal()
    )


# --- who gets what ----------------------------------------------------------------------------------------------------


def test_roles_have_their_shares():
    guide = Guide(plan(explore=0.1))
    drawn = Counter(guide.serve(begun(guide), seed=5, turn=turn).role for turn in range(8000))
    assert drawn[CANDIDATE] / 8000 == pytest.approx(0.1, abs=0.012)
    assert drawn[EXPLORE] / 8000 == pytest.approx(0.1, abs=0.012)
    assert guide.serve(begun(guide), 5, 0).share == pytest.approx(0.1 / 0.9)


def test_without_a_candidate_nobody_gets_one():
    guide = Guide(plan(explore=0.4))
    servings = [guide.serve(Course(OLD), 1, turn) for turn in range(2000)]
    assert {each.role for each in servings} == {CONTROL, EXPLORE}
    assert {each.share for each in servings} == {0.0}


def test_a_candidate_takes_its_share_from_exploration_and_never_from_the_control():
    guide = Guide(plan(explore=0.8, control=0.2, steps=(0.5,)))
    assert guide.shares(Course(OLD)) == (0.0, 0.8)
    assert guide.shares(begun(guide)) == (0.5, pytest.approx(0.3))


def test_the_same_seed_and_turn_give_the_same_role_and_another_seed_others():
    guide = Guide(plan())
    one, same, other = ([guide.serve(begun(guide), seed, t) for t in range(200)] for seed in (1, 1, 2))
    assert one == same != other


def test_what_a_unit_is_served_is_sticky():
    drawn = [drawn_for(3, f"user-{i}") for i in range(4000)]
    assert drawn == [drawn_for(3, f"user-{i}") for i in range(4000)]
    for share in (0.1, 0.25, 0.5):
        assert np.mean(np.array(drawn) < share) == pytest.approx(share, abs=0.03)


def test_a_block_has_one_role_and_one_setting():
    guide = Guide(plan(settle=1, explore=0.3))
    assert guide.plan.length == 4
    roles, _ = drive(guide, better_by(0.0), n=400)
    blocks = [set(roles[i : i + 4]) for i in range(0, len(roles) - 3, 4)]
    assert all(len(block) == 1 for block in blocks)
    assert len(set(map(frozenset, blocks))) == 3


def test_in_a_block_the_policy_chooses_once():
    guide = Guide(plan(settle=1, explore=0.8))
    course = Course(OLD)
    turn = next(turn for turn in range(0, 400, 4) if guide.serve(course, 0, turn).role == EXPLORE)
    serving = guide.serve(course, 0, turn)
    assert guide.setting(course, serving) is None
    course = guide.served(course, Served(1, serving, OTHER))
    assert guide.setting(course, guide.serve(course, 0, turn + 1)) == OTHER


# --- decisions --------------------------------------------------------------------------------------------------------


def test_a_worse_candidate_is_rolled_back_and_the_incumbent_stays():
    _, course = drive(Guide(plan()), better_by(-2.0))
    assert (course.rollout.state, course.in_force) == (ROLLED_BACK, OLD)
    assert course.rollout.acts[-1].why == "it is worse by more than 0.1"
    assert course.rollout.readings < 200


def test_a_better_candidate_is_accepted_after_every_step():
    _, course = drive(Guide(plan()), better_by(1.0))
    assert (course.rollout.state, course.in_force) == (ACCEPTED, NEW)
    assert [act.why for act in course.rollout.acts[2:]] == [
        "25% of the asks",
        "50% of the asks",
        "it is not worse by 0.1 or more",
    ]
    low, high = course.rollout.effect.interval(0.05)
    assert -0.1 < low < 1.0 < high


def test_a_candidate_that_is_the_same_is_left_undecided():
    _, course = drive(Guide(plan(margin=0.0, patience=400)), better_by(0.0))
    assert (course.rollout.state, course.in_force) == (UNDECIDED, OLD)
    assert course.rollout.readings == 400


def test_not_worse_is_enough_unless_it_must_be_better():
    same, must = (plan(margin=0.5, better=better, patience=1500) for better in (False, True))
    assert drive(Guide(same), better_by(0.0))[1].rollout.state == ACCEPTED
    assert drive(Guide(must), better_by(0.0))[1].rollout.state == UNDECIDED


def test_rewards_that_are_minimised_turn_it_around():
    _, course = drive(Guide(plan(), sign=-1.0), better_by(2.0))
    assert course.rollout.state == ROLLED_BACK


def test_with_bounds_it_is_decided_by_bets():
    guide = Guide(plan(bounds=(0, 1), margin=0.02))

    def coin(p):
        return lambda role, turn, rng: float(rng.random() < (p if role == CANDIDATE else 0.6))

    course = begun(guide, 0.6, 0.5)
    assert drive(guide, coin(0.2), course=course)[1].rollout.state == ROLLED_BACK
    assert drive(guide, coin(0.95), course=course)[1].rollout.state == ACCEPTED


@pytest.mark.parametrize(
    ("limit", "kept", "broken"), [(at_most(0.05), 0.02, 0.3), (at_least(0.8), 0.95, 0.4)], ids=["at most", "at least"]
)
def test_a_guardrail_rolls_back_a_candidate_that_earns_more(limit, kept, broken):
    guide = Guide(plan(guardrails={"rate": limit}))

    def measured(p):
        return lambda role, rng: (("rate", float(rng.random() < (p if role == CANDIDATE else kept))),)

    _, course = drive(guide, better_by(0.3), measures=measured(broken))
    assert course.rollout.state == ROLLED_BACK
    assert course.rollout.acts[-1].why == f"rate is not {limit} on average"
    assert drive(guide, better_by(1.0), measures=measured(kept))[1].rollout.state == ACCEPTED


def test_a_candidate_that_fails_more_often_is_rolled_back():
    def reward(role, turn, rng):
        return None if rng.random() < (0.6 if role == CANDIDATE else 0.01) else 1.0 + 0.1 * rng.standard_normal()

    _, course = drive(Guide(plan()), reward, seed=3)
    assert (course.rollout.state, course.rollout.acts[-1].why) == (
        ROLLED_BACK,
        "it fails more often than the incumbent",
    )


def test_a_candidate_that_turns_bad_is_rolled_back_before_its_mean_is_bad():
    def reward(role, turn, rng):
        return rng.standard_normal() + (role == CANDIDATE) * (0.2 if turn < 2500 else -1.5)

    _, course = drive(Guide(plan(margin=0.0, better=True, alpha=1e-12, patience=10_000, steps=(0.5,))), reward, 4000)
    assert (course.rollout.state, course.rollout.acts[-1].why) == (ROLLED_BACK, "it turned bad")
    assert float(course.rollout.effect.sums.effect) > 0.1


def test_readings_after_a_change_do_not_count():
    """The first reading of a block still has the effect of the setting before: 5 for the candidate's neighbours."""
    last = {}

    def reward(role, turn, rng):
        before, last[0] = last.get(0, CONTROL), role
        shown = before if turn % 4 == 0 else role
        return 1.0 * (shown == CANDIDATE) + 0.3 * rng.standard_normal()

    guide = Guide(plan(settle=1, margin=0.0, alpha=1e-9, patience=2000))
    _, course = drive(guide, reward, 2500)
    assert float(course.rollout.effect.sums.effect) == pytest.approx(1.0, abs=0.1)


# --- people -----------------------------------------------------------------------------------------------------------


def test_nobody_is_served_a_candidate_that_waits_for_approval():
    guide = Guide(plan(approve=True))
    course = begun(guide)
    assert course.rollout.state == "proposed"
    assert {guide.serve(course, 0, turn).role for turn in range(300)} == {CONTROL, EXPLORE}
    assert guide.shares(guide.decided(course, Act(ON_TRIAL, 1, "ada")))[0] == 0.1
    assert guide.decided(course, Act(REJECTED, 1, "ada")).rollout.over


def test_rolling_back_an_accepted_candidate_brings_the_incumbent_back():
    guide = Guide(plan())
    _, course = drive(guide, better_by(1.0))
    assert course.in_force == NEW
    assert guide.decided(course, Act(ROLLED_BACK, 9, "pager")).in_force == OLD


def test_a_block_of_a_candidate_that_was_rolled_back_goes_on_with_the_incumbent():
    guide = Guide(plan(settle=1))
    course = begun(guide)
    turn = next(turn for turn in range(0, 400, 4) if guide.serve(course, 0, turn).role == CANDIDATE)
    course = guide.served(course, Served(1, guide.serve(course, 0, turn), NEW))
    course = guide.decided(course, Act(ROLLED_BACK, 1, "pager"))
    assert guide.serve(course, 0, turn + 1)[:2] == (CONTROL, 0.0)


# --- readings that are late, lost or odd ------------------------------------------------------------------------------


def test_readings_may_come_in_any_order_and_some_never():
    guide, rng = Guide(plan(steps=(0.5,))), np.random.default_rng(0)
    course, waiting = begun(guide), []
    for turn in range(1500):
        serving = guide.serve(course, 0, turn)
        course = guide.served(course, Served(turn + 1, serving, guide.setting(course, serving) or OTHER))
        waiting.append((turn + 1, serving.role))
        if rng.random() < 0.8:  # one in five is lost
            number, role = waiting.pop(rng.integers(len(waiting)))
            course = guide.answered(course, Answered(number, 1.0 * (role == CANDIDATE) + rng.standard_normal()))
        assert len(course.rollout.waiting) <= WAITING
        assert len(course.rollout.open) <= WAITING
    assert course.rollout.state == ACCEPTED


def test_an_answer_that_nobody_waits_for_changes_nothing():
    guide = Guide(plan())
    course = begun(guide)
    assert guide.answered(course, Answered(77, 5.0)) is course
    assert guide.answered(Course(OLD), Answered(77, 5.0)) == Course(OLD)


@pytest.mark.parametrize("y", [0.0, 1e100, -1e-300])
def test_constant_rewards_of_any_size_decide_nothing(y):
    guide = Guide(plan(margin=0.0, patience=300))
    _, course = drive(guide, lambda role, turn, rng: y, course=begun(guide, y, max(1e-9, abs(y) * 1e-9)))
    assert course.rollout.state == UNDECIDED


def test_a_wild_reading_is_no_evidence():
    guide = Guide(plan(margin=0.0, patience=10_000))
    _, course = drive(guide, lambda role, turn, rng: -1e50 if turn == 40 else rng.standard_normal(), 400)
    assert course.rollout.state == ON_TRIAL


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"incumbent": 3}, "incumbent must be a dict"),
        ({"control": 0}, "control must be > 0, got 0; without a control"),
        ({"control": 0.7, "explore": 0.5}, "add up to 1 at most, got control=0.7 and explore=0.5; give explore=0.3"),
        ({"control": 0.6, "explore": 0.1}, "last of steps must add up to 1 at most, got control=0.6"),
        ({"explore": -0.1}, "explore must be ≥ 0"),
        ({"margin": -1}, "margin must be ≥ 0"),
        ({"margin": math.nan}, "margin must be finite"),
        ({"alpha": 1.0}, "alpha must be strictly between 0 and 1"),
        ({"steps": ()}, "steps must be shares that grow"),
        ({"steps": (0.5, 0.1)}, "steps must be shares that grow"),
        ({"steps": 0.5}, "steps must be a list"),
        ({"patience": 3}, "patience must be ≥ 10"),
        ({"settle": 2, "block": 2}, "block must be above settle, got block=2 and settle=2"),
        ({"bounds": (1, 0)}, "bounds must be the smallest and the largest"),
        ({"bounds": 1}, "bounds must be a list"),
        ({"guardrails": {"ms": 200}}, "guardrails must be limits by name"),
        ({"guardrails": {"ms": Limit(1, 2)}}, "guardrail 'ms' must have one end"),
        ({"guardrails": {"ms": at_most(0)}}, "guardrail 'ms' must have a limit > 0"),
        ({"approve": "yes"}, "approve must be true or false"),
        ({"switching_cost": -1}, "switching_cost must be ≥ 0"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(given, said):
    with pytest.raises(InvalidInput, match=said.replace("(", r"\(").replace("[", r"\[")):
        plan(**given)
