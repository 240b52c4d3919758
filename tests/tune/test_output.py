"""The reward in what a command printed."""

import pytest

from driftwise.errors import InvalidInput
from driftwise.tune.output import BadOutput, Reader


@pytest.mark.parametrize(
    ("printed", "reward"), [("1.5\n", 1.5), ("a\n\n -2e3 \n\n", -2000.0), ("1\r\n2\r\n", 2.0), ("√ 3\n7", 7.0)]
)
def test_the_last_line_is_the_reward(printed, reward):
    assert Reader().read(printed, seconds=0.0) == (reward, {})


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        ("", "the last line must be a number, got ''"),
        ("12.5 ms\n", "the last line must be a number, got '12.5 ms'"),
        ('{"score": 1}', "must be a number, got .* name the field of the reward with --reward-field"),
        ("nan\n", "must be finite"),
        ("-inf\n", "must be finite"),
        ("1e200\n", "at most 1e"),
    ],
)
def test_what_is_no_reward_is_refused(printed, problem):
    with pytest.raises(BadOutput, match=problem):
        Reader().read(printed, seconds=0.0)


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        ("7", "must be a JSON object, got '7'"),
        ("{", "must be a JSON object"),
        ("[" * 100_000, "must be a JSON object"),
        ('{"score": 1}', "no field 'ms.p99'"),
        ('{"ms": 3}', "no field 'ms.p99'"),
        ('{"ms": {"p99": true}}', "the field 'ms.p99' must be a number, got True"),
        ('{"ms": {"p99": "3"}}', "the field 'ms.p99' must be a number, got '3'"),
        ('{"ms": {"p99": NaN}}', "must be finite"),
        ('{"ms": {"p99": ' + "9" * 400 + "}}", "."),
    ],
)
def test_a_field_that_is_not_there_is_refused(printed, problem):
    with pytest.raises(BadOutput, match=problem):
        Reader(field="ms.p99").read(printed, seconds=0.0)


def test_fields_by_name_or_inside_of_others():
    line = '{"a.b": 1, "a": {"b": 2, "c": {"d": 3}}}'
    assert Reader(field="a.b", measures={"d": "a.c.d"}).read(line, seconds=0.0) == (1.0, {"d": 3.0})


def test_the_run_time_with_measures():
    assert Reader(time=True, measures={"m": "m"}).read('x\n{"m": 4}\n', seconds=2.5) == (2.5, {"m": 4.0})
    with pytest.raises(InvalidInput, match="not both"):
        Reader(time=True, field="m")
