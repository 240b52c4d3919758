"""The table of hypotheses: what rows cost, and which are proposed beside one."""

from dataclasses import fields, replace

import numpy as np
import pytest

from driftwise.auto.rows import BEND, CYCLE, LEVEL, LEVELS, MOST_BENT, PERIODS, STILL, VARIANCES, MovingLevel, Row
from driftwise.gp.kernels import RBF
from driftwise.gp.time_kernels import Cyclic
from worlds import KERNELS, TABLE, TIMES, row

LEVELLED = MovingLevel(VARIANCES[1], LEVELS[0])


def parts(one, other):
    return {f.name for f in fields(Row) if getattr(one, f.name) != getattr(other, f.name)}


@pytest.mark.parametrize("head", [row(), row(1, STILL, 0.1, level=LEVELLED), row(bends=(-1, 2), since=7)])
def test_edits_differ_in_one_part_or_move_the_motion_to_the_level(head):
    edits = TABLE.edits(head)
    assert head not in edits
    for each in edits:
        changed = parts(head, each)
        assert len(changed) == 1 or (changed == {"level", "time"} and each.time == STILL)
        assert changed <= {"kernel", "time", "noise", "bends", "level"}
    assert {each.kernel for each in edits} == set(range(len(KERNELS)))
    assert {each.time for each in edits} == set(TIMES) | {head.time}
    for step in (-1, 1):
        now = head.bends or (0, 0)
        for i in range(2):
            bent = tuple(b + step * (j == i) for j, b in enumerate(now))
            allowed = min(bent) <= 0
            assert any(each.bends == (bent if any(bent) else ()) != head.bends for each in edits) == allowed


def test_noises_and_variances_go_up_and_down_by_one():
    assert {e.noise for e in TABLE.edits(row(noise=0.03))} == {0.01, 0.03, 0.1}
    assert {e.noise for e in TABLE.edits(row(noise=0.1))} == {0.03, 0.1}
    levels = {e.level for e in TABLE.edits(row(level=LEVELLED))}
    assert levels == {
        None,
        *(MovingLevel(v, LEVELS[0]) for v in VARIANCES),
        *(replace(LEVELLED, time=time) for time in LEVELS),
    }


def test_bends_have_an_end():
    for bends in ((-MOST_BENT, 0), (0, MOST_BENT)):
        assert all(max(map(abs, each.bends), default=0) <= MOST_BENT for each in TABLE.edits(row(bends=bends)))


def test_prices_are_sums():
    assert row().nats == 0.0
    assert row(bends=(-1, 2)).nats == pytest.approx(3 * BEND)
    assert row(level=LEVELLED).nats == LEVEL
    assert row(time=Cyclic(24.0, 1.0, 0.001), level=LEVELLED, bends=(0, -1)).nats == pytest.approx(CYCLE + LEVEL + BEND)
    assert row(level=MovingLevel(1.0, Cyclic(24.0, 1.0, 0.001))).nats == CYCLE + LEVEL


def test_a_bend_stretches_one_parameter():
    bent = TABLE.kernel(row(1, bends=(-1, 2)))
    X, Z = np.random.default_rng(0).random((2, 5, 2))
    np.testing.assert_allclose(bent(X, Z), RBF((0.2, 1.6))(X, Z) + 0.3, atol=1e-12)
    assert TABLE.kernel(row(1)) is KERNELS[1]


def test_something_happens_once():
    dated = TABLE.dated(row(), 9)
    assert {each.date for each in dated} == {9}
    assert [parts(row(), each) <= {"since", "time", "noise"} for each in dated[:-1]] == [True] * (len(dated) - 1)
    assert parts(row(), dated[-1]) == {"shift"}
    assert not [again for each in dated for again in TABLE.dated(each, 12)]
    assert replace(TABLE, changes=False).dated(row(), 9) == []
    assert not [each for each in replace(TABLE, levels=False).dated(row(), 9) if each.shift]


def test_periods_are_proposed_if_the_readings_span_them_twice():
    periods = [each.time.period for each in TABLE.cyclic(row(), 30.0)]
    assert periods == [p for p in PERIODS if p <= 15]
    assert not list(replace(TABLE, cycles=False).cyclic(row(), 30.0))


def test_what_is_switched_off_is_not_proposed():
    plain = replace(TABLE, levels=False, parts=())
    assert all(parts(row(), each) <= {"kernel", "time", "noise"} for each in plain.edits(row()))


def test_the_first_rows_are_every_kernel_still_drifting_and_with_a_trend():
    assert {each.kernel for each in TABLE.first} == {0, 1}
    assert {each.time for each in TABLE.first} == set(TIMES)
    assert {each.noise for each in TABLE.first} == {0.03}
    assert {(each.family[0], each.date) for each in TABLE.first} == {(0, 0), (1, 0)}
