"""Spaces: there and back, inside and outside, and what a user gets is plain Python."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

from driftwise.errors import InvalidInput
from driftwise.rng import generator
from driftwise.spaces import Box, Candidates, Choice, Float, Int, as_space

reals = st.floats(-1e100, 1e100)
positives = st.floats(1e-100, 1e100)


@st.composite
def floats(draw):
    log = draw(st.booleans())
    low, high = sorted((draw(positives if log else reals), draw(positives if log else reals)))
    assume(low < high)
    assume(not log or math.log(low) < math.log(high))
    return Float(low, high, log=log)


@st.composite
def ints(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(2**40), 2**40 - 1))
    high = draw(st.integers(low + 1, 2**40))
    assume(not log or math.log(low) < math.log(high))
    return Int(low, high, log=log)


choices = st.lists(
    st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.floats(-9, 9)),
    min_size=1,
    max_size=6,
    unique_by=lambda v: (isinstance(v, bool), v),
).map(Choice)
parameters = st.one_of(floats(), ints(), choices)
boxes = st.lists(parameters, min_size=1, max_size=4).map(lambda ps: Box.of({f"p{j}": p for j, p in enumerate(ps)}))


@given(floats(), st.floats(0, 1))
def test_a_float_comes_back(parameter, u):
    value = parameter.decode((u,))
    assert type(value) is float
    assert parameter.low <= value <= parameter.high
    (unit,) = parameter.encode(value)
    assert 0 <= unit <= 1
    again = parameter.decode((unit,))
    if parameter.log:
        assert again == pytest.approx(value, rel=1e-12)
    else:
        assert again == pytest.approx(value, abs=1e-15 * max(abs(parameter.low), abs(parameter.high)))


@given(floats())
def test_the_ends_of_a_float_are_exact(parameter):
    assert parameter.encode(parameter.low) == (0.0,)
    assert parameter.encode(parameter.high) == (1.0,)
    assert parameter.decode((0.0,)) == parameter.low
    assert parameter.decode((1.0,)) == parameter.high


short = st.integers(-(10**6), 10**6).map(lambda n: n / 10**3)


@given(st.lists(short, min_size=3, max_size=3, unique=True).map(sorted), st.booleans())
def test_a_float_that_a_user_wrote_comes_back_as_written(written, log):
    low, _, high = written
    assume(not log or low > 0)
    parameter = Float(low, high, log=log)
    for value in written:
        assert repr(parameter.decode(parameter.encode(value))) == repr(value)


def test_a_timeout_of_one_second_comes_back_as_one():
    for low, high in ((0.1, 30.0), (0.05, 10.0), (0.3, 1.7), (0.2, 120.0), (1e-3, 3600.0), (-0.1, 3.3)):
        for value in (1.0, 1.5, 1.25, 0.7):
            parameter = Float(low, high)
            assert parameter.decode(parameter.encode(value)) == value
    assert Float(-0.1, 0.3).decode(Float(-0.1, 0.3).encode(0)) == 0


@given(ints(), st.data())
def test_an_int_comes_back_exactly(parameter, data):
    value = data.draw(st.integers(parameter.low, parameter.high))
    unit = parameter.encode(value)
    assert parameter.decode(unit) == value
    assert type(parameter.decode(unit)) is int
    assert parameter.encode(float(value)) == unit
    assert parameter.snap(np.array([unit])).tolist() == [list(unit)]  # the same bits, whichever way


@given(choices, st.data())
def test_a_choice_comes_back_exactly(parameter, data):
    value = data.draw(st.sampled_from(parameter.values))
    unit = parameter.encode(value)
    assert sum(unit) == 1
    again = parameter.decode(unit)
    assert again == value
    assert type(again) is type(value)


@given(boxes, st.integers(0, 1000))
def test_samples_are_settings_and_snapping_leaves_them(box, seed):
    X = box.sample(generator(seed), 7)
    assert X.shape == (7, box.dim)
    assert ((X >= 0) & (X <= 1)).all()
    assert box.snap(X).tobytes() == X.tobytes()
    for x in X:
        params = box.from_unit(x)
        np.testing.assert_allclose(box.to_unit(params), x, atol=1e-6)
        for value in params.values():
            assert type(value) in (float, int, str, bool, type(None))


@given(boxes, st.integers(0, 1000))
def test_snapping_gives_a_setting_and_is_idempotent(box, seed):
    snapped = box.snap(np.random.default_rng(seed).uniform(-0.5, 1.5, (5, box.dim)))
    assert box.snap(snapped).tobytes() == snapped.tobytes()
    discrete = ~box.continuous
    for x in snapped:
        again = np.array(box.to_unit(box.from_unit(x)))
        assert again[discrete].tolist() == x[discrete].tolist()


@given(boxes, st.integers(0, 1000))
def test_neighbours_differ_in_one_discrete_parameter(box, seed):
    x = box.sample(generator(seed), 1)[0]
    here = box.from_unit(x)
    around = [box.from_unit(z) for z in box.neighbours(x)]
    for params in around:
        moved = [name for name in box.names if params[name] != here[name] or type(params[name]) is not type(here[name])]
        assert len(moved) == 1
        parameter = dict(box.parameters)[moved[0]]
        assert not isinstance(parameter, Float)
        if isinstance(parameter, Int):
            assert abs(params[moved[0]] - here[moved[0]]) == 1
    expected = 0
    for name, p in box.parameters:
        if isinstance(p, Choice):
            expected += p.size - 1
        elif isinstance(p, Int):
            expected += (here[name] > p.low) + (here[name] < p.high)
    assert len(around) == expected


def test_a_sample_has_every_whole_number_as_often():
    """χ² of 30,000 draws over 5 values and 3 choices, against its 1 − 10⁻⁶ quantile."""
    box = Box.of({"n": Int(1, 5), "c": Choice(["a", "b", "c"])})
    settings = [tuple(box.from_unit(x).values()) for x in box.sample(generator(0), 30_000)]
    counts = np.array([settings.count((n, c)) for n in range(1, 6) for c in "abc"])
    assert ((counts - 2000) ** 2 / 2000).sum() < 55.1  # chi2.ppf(1 − 1e-6, 14)


def test_a_small_space_is_enumerated_and_a_large_one_is_not():
    box = Box.of({"n": Int(1, 5), "c": Choice(["a", "b"])})
    assert len(box.points) == 10
    assert len({tuple(x) for x in box.points}) == 10
    assert {tuple(box.from_unit(x).values()) for x in box.points} == {(n, c) for n in range(1, 6) for c in "ab"}
    assert box.points is box.points
    assert Box.of({"n": Int(1, 3000)}).points is None
    assert Box.of({"x": Float(0, 1), "n": Int(1, 2)}).points is None
    assert Box.of({f"n{j}": Int(1, 2**40) for j in range(100)}).points is None
    with pytest.raises(ValueError, match="read-only"):
        box.points[0] = 1.0


def test_params_need_not_come_in_order():
    box = Box.of({"a": Float(0, 1), "b": Int(0, 4)})
    assert box.to_unit({"b": np.int64(2), "a": np.float32(0.5)}) == (0.5, 0.5)
    assert all(type(v) is float for v in box.to_unit({"b": 2, "a": 1}))


BAD_PARAMETERS = [
    (lambda: Float(2, 1), "low must be below high, got low=2.0 and high=1.0"),
    (lambda: Float(1, 1), "low must be below high"),
    (lambda: Float(float("nan"), 1), "low must be finite, got nan"),
    (lambda: Float(0, float("inf")), "high must be finite, got inf"),
    (lambda: Float("0", 1), "low must be a number, got '0'"),
    (lambda: Float(True, 2), "low must be a number, got True"),
    (lambda: Float(-1.7e308, 1.7e308), "the range must be finite"),
    (lambda: Float(0, 1, log=True), "a log scale needs low > 0, got 0.0"),
    (lambda: Float(-1, 1, log=True), "a log scale needs low > 0"),
    (lambda: Float(1e15, 1e15 + 0.125, log=True), "too close for a log scale"),
    (lambda: Float(1, 2, log="yes"), "log must be true or false, got 'yes'"),
    (lambda: Int(3, 2), "low must be below high"),
    (lambda: Int(3, 3), "low must be below high"),
    (lambda: Int(1.5, 3), "low must be a whole number, got 1.5"),
    (lambda: Int(0, 2**53), "high must be at most 1,099,511,627,776, got 9007199254740992; use Float beyond ±2⁴⁰"),
    (lambda: Int(0, 3, log=True), "a log scale needs low > 0"),
    (lambda: Choice([]), "a Choice needs at least one value"),
    (lambda: Choice("abc"), "a Choice takes a list of values, got 'abc'"),
    (lambda: Choice({"a", "b"}), "a Choice takes a list of values"),
    (lambda: Choice(3), "a Choice takes a list of values, got 3"),
    (lambda: Choice(["a", "a"]), "a Choice's values must differ"),
    (lambda: Choice([1, 1.0]), "a Choice's values must differ"),
    (lambda: Choice([[1], [2]]), r"a Choice takes text, numbers, booleans or None, got \[1\]"),
    (lambda: Choice([float("nan")]), "a Choice's value must be finite, got nan"),
    (lambda: Box.of({}), "a space needs at least one parameter"),
    (lambda: Box.of({"a": 3}), "parameter 'a' must be a Float, Int or Choice, got 3"),
    (lambda: Box.of({"": Float(0, 1)}), "a parameter's name must be 1 to 200 printable characters, got ''"),
    (lambda: Box.of({"a\n": Float(0, 1)}), "a parameter's name"),
    (lambda: Box.of({"a" * 201: Float(0, 1)}), "a parameter's name"),
    (lambda: Box.of({7: Float(0, 1)}), "a parameter's name .* got 7"),
    (lambda: Box((("a", Float(0, 1)), ("a", Float(0, 1)))), "different names"),
    (lambda: as_space([1, 2]), "a space is a dict"),
    (lambda: Candidates([]), "n ≥ 1 rows"),
    (lambda: Candidates([[]]), "n ≥ 1 rows"),
    (lambda: Candidates([[1.0], [1.0, 2.0]]), "all of one length"),
    (lambda: Candidates([[float("nan")]]), r"candidates must be finite, got \[nan\] in row 0"),
    (lambda: Candidates([["1"]]), "rows of numbers"),
    (lambda: Candidates([[10**400]]), "rows of numbers"),
    (lambda: Candidates(None), "rows of numbers"),
    (lambda: Candidates([[True]]), "rows of numbers"),
    (lambda: Candidates(np.zeros((2, 2, 2))), "n ≥ 1 rows"),
    (lambda: Candidates([[1.0, 2.0]], names=["a"]), "names must be 2 different ones"),
    (lambda: Candidates([[1.0, 2.0]], names=["a", "a"]), "names must be 2 different ones"),
    (lambda: Candidates([[1.0, 2.0]], names=["a", "\n"]), "a coordinate's name"),
]


@pytest.mark.parametrize(("make", "message"), BAD_PARAMETERS, ids=range(len(BAD_PARAMETERS)))
def test_a_bad_space_is_refused_when_it_is_made(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


BOX = Box.of({"price": Float(5, 20), "size": Int(1, 3), "tone": Choice(["a", 1, True, None])})
GOOD = {"price": 10.0, "size": 2, "tone": "a"}
BAD_PARAMS = [
    ({**GOOD, "price": 4.9}, r"parameter 'price' must be a number from 5 to 20, got 4.9"),
    ({**GOOD, "price": "10"}, "parameter 'price' must be a number from 5 to 20, got '10'"),
    ({**GOOD, "price": float("nan")}, "parameter 'price' must be a number from 5 to 20, got nan"),
    ({**GOOD, "price": True}, "parameter 'price' must be a number from 5 to 20, got True"),
    ({**GOOD, "size": 4}, "parameter 'size' must be a whole number from 1 to 3, got 4"),
    ({**GOOD, "size": 2.5}, "parameter 'size' must be a whole number from 1 to 3, got 2.5"),
    ({**GOOD, "size": -(10**400)}, "parameter 'size' must be a whole number from 1 to 3"),
    ({**GOOD, "tone": "b"}, "parameter 'tone' must be one of .*, got 'b'"),
    ({**GOOD, "tone": False}, "parameter 'tone' must be one of"),
    ({**GOOD, "tone": ["a"]}, "parameter 'tone' must be one of"),
    ({**GOOD, "tone": np.array(["a", "b"])}, "parameter 'tone' must be one of"),
    ({"price": 10.0, "size": 2}, "parameter 'tone' is missing; it is one of"),
    ({**GOOD, "colour": 1}, "unknown parameter 'colour'; the space has price, size, tone"),
    ([10.0, 2, "a"], "params must be a dict of price, size, tone"),
]


@pytest.mark.parametrize(("params", "message"), BAD_PARAMS, ids=range(len(BAD_PARAMS)))
def test_params_outside_the_space_are_refused_by_name(params, message):
    with pytest.raises(InvalidInput, match=message):
        BOX.to_unit(params)


def test_true_and_one_are_different_choices():
    assert BOX.from_unit(BOX.to_unit({**GOOD, "tone": True}))["tone"] is True
    assert BOX.from_unit(BOX.to_unit({**GOOD, "tone": 1}))["tone"] == 1
    assert BOX.from_unit(BOX.to_unit({**GOOD, "tone": np.int64(1)}))["tone"] is not True


def test_candidates_are_used_as_given():
    points = np.array([[3.0, -100.0], [4.0, 0.1], [4.0, 0.1]])
    space = Candidates(points, names=["a", "b"])
    assert space.points.tolist() == points.tolist()
    assert space.to_unit({"b": 0.1, "a": 4}) == (4.0, 0.1)
    assert space.from_unit(np.array([4.0, 0.1])) == {"a": 4.0, "b": 0.1}
    assert all(type(v) is float for v in space.from_unit(space.points[1]).values())
    assert space == Candidates(points.tolist(), ["a", "b"])
    assert hash(space) == hash(Candidates(coordinates=space.coordinates, names=space.names))
    points[0] = 9.0
    assert space.points[0].tolist() == [3.0, -100.0]
    assert Candidates([1, 2, 3]).points.tolist() == [[1.0], [2.0], [3.0]]
    with pytest.raises(InvalidInput, match="is none of the 3 candidates"):
        space.to_unit({"a": 4.0, "b": 0.2})
    with pytest.raises(InvalidInput, match="params must be a dict of a, b"):
        space.to_unit({"a": 4.0})
    with pytest.raises(InvalidInput, match="parameter 'a' must be a number, got '4'"):
        space.to_unit({"a": "4", "b": 0.1})


def test_samples_of_candidates_are_candidates():
    space = Candidates(np.random.default_rng(0).random((20, 2)))
    assert {tuple(x) for x in space.sample(generator(0), 500).tolist()} == set(space.coordinates)
