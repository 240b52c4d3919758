"""Checks on numbers that users give, and streams of random numbers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from driftwise import Float, checks, policy
from driftwise.errors import InvalidInput
from driftwise.rng import Stream, generator


@pytest.mark.parametrize("value", [1, 2.5, np.float32(0.5), np.int64(3), Fraction(1, 4), -1e300])
def test_real_accepts_numbers_and_gives_plain_floats(value):
    assert type(checks.real("y", value)) is float
    assert checks.real("y", value) == float(value)


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "1", None, [1.0], 1j, float("nan"), float("inf"), -np.inf, 10**400, 10**5000],
    ids=range(11),
)
def test_real_refuses_all_else_and_names_it(value):
    with pytest.raises(InvalidInput, match=r"^reward must be (a number|finite), got .{1,100}$"):
        checks.real("reward", value)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (checks.positive, [1e-300, 5, 1e100], [0, -1, 1e-301, 1e101]),
        (checks.nonnegative, [0, 5], [-1e-300, 1e101]),
        (checks.probability, [0.5], [0, 1, -1, 2]),
        (checks.count, [1, np.int64(7), 2**53], [0, 1.0, True, "3", None, 2**53 + 1, 10**30]),
    ],
)
def test_ranges(check, good, bad):
    for value in good:
        assert check("n", value) == value
    for value in bad:
        with pytest.raises(InvalidInput, match=r"^n must be .*got"):
            check("n", value)


def test_an_error_says_the_rule_the_value_and_the_fix():
    with pytest.raises(InvalidInput, match=r"^window must be ≥ 1, got 0; use gp-ucb to keep everything$"):
        checks.count("window", 0, fix="use gp-ucb to keep everything")
    with pytest.raises(InvalidInput, match=r"^noise must be > 0, got -1; it is a variance$"):
        checks.positive("noise", -1, fix="it is a variance")


@pytest.mark.parametrize("value", ["", "a" * 201, "a\nb", "a\0", 7, None])
def test_names_are_printable(value):
    with pytest.raises(InvalidInput, match=r"^a name must be 1 to 200 printable characters, got"):
        checks.name("a name", value)


def test_a_value_that_cannot_be_shown_is_still_an_error_of_ours():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert checks.shown(Broken()) == "a Broken"
    assert len(checks.shown("x" * 10**6)) == 80


def test_a_generator_is_a_function_of_seed_number_and_stream():
    keys = list(itertools.product((0, 1, 2**64 - 1), (0, 1, 2, 10**9), Stream))
    draws = {key: generator(*key).random(8).tobytes() for key in keys}
    assert len(set(draws.values())) == len(keys)
    assert draws == {key: generator(*key).random(8).tobytes() for key in keys}


def test_streams_do_not_overlap_or_correlate():
    """10⁵ draws of each of two streams share no value, and correlate as independent ones do (5 sd of 1/√n)."""
    n = 100_000
    streams = [generator(7, 3, stream).random(n) for stream in Stream]
    streams += [generator(7, 4).random(n), generator(8, 3).random(n)]
    for a, b in itertools.combinations(streams, 2):
        assert not np.intersect1d(a, b).size
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(n)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, True, "1", None])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InvalidInput, match="seed must be"):
        generator(seed)


@pytest.mark.parametrize("value", ["no", "true", 1, 0.0, None])
def test_what_only_counts_as_true_or_false_is_refused(value):
    with pytest.raises(InvalidInput, match="standardise must be true or false"):
        policy("gp-ucb", {"a": Float(0, 1)}, standardise=value)
    assert not policy("auto", {"a": Float(0, 1)}, cycles=np.False_).cycles


def test_an_error_inside_a_generator_is_not_taken_for_a_wrong_list():
    def broken():
        yield 1.0
        raise TypeError("of the user's own")

    with pytest.raises(TypeError, match="of the user's own"):
        checks.each("steps", broken(), checks.real, "[1.0]")
    with pytest.raises(InvalidInput, match="steps must be a list"):
        checks.each("steps", np.array(3.0), checks.real, "[1.0]")
