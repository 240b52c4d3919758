"""Rules on settings: what they mean, against Python's own arithmetic; what they refuse; and what they prove."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise import Candidates, Choice, Float, Int
from driftwise.errors import InvalidInput, NothingAllowed
from driftwise.gp.belief import Ucb
from driftwise.gp.kernels import RBF
from driftwise.gp.posterior import Posterior
from driftwise.log import codec
from driftwise.records import Ask
from driftwise.spaces import Box, Where
from driftwise.spaces.rule_parser import DEEPEST, LONGEST, parse
from driftwise.spaces.rules import Bounds
from driftwise.spaces.where import decoded, parameters_of

SPACE = Box.of(
    {
        "workers": Int(1, 64),
        "cache_mb": Int(64, 65536, log=True),
        "compression": Choice(["none", "zstd", "lz4"]),
        "rate": Float(-1, 1),
        "time limit": Float(1e-3, 10, log=True),
        "on": Choice([True, False]),
        "batch": Choice([16, 32, 64]),
        "mode": Choice(["auto", 1, 2, None]),
    }
)


def meaning(text: str) -> Any:
    """The rule as Python has it: only the tests evaluate text."""
    text = text.replace("`time limit`", "time_limit").replace("true", "True").replace("false", "False")
    code = compile(text.replace("none)", "None)"), "rule", "eval")

    def holds(params: dict[str, Any]) -> bool:
        known = {name.replace(" ", "_"): value for name, value in params.items()}
        try:
            return bool(eval(code, {"min": min, "max": max, "abs": abs}, known))
        except ZeroDivisionError:
            return False

    return holds


RULES = [
    "workers * cache_mb <= 8192",
    "compression != 'none' or workers < 16",
    "compression in ['zstd', \"lz4\"] and not rate > 0.5",
    "compression not in ['zstd']",
    "-1 <= rate < 0.25",
    "abs(rate) ** 2 + `time limit` / 10 <= 0.5",
    "min(rate, workers - 10) >= max(-0.5, -rate)",
    "not (on and batch > 16) and not (batch == 64 or rate == 0)",
    "on == false or batch in [16, 32]",
    "batch * workers < 500 and 32 >= batch",
    "mode == 'auto' or mode in [1, 2]",
    "mode != 2 and mode != (none)",
    "1 / (workers - 3) > 0.05",
    "workers - -3 * 2 ** 2 > 2 ** -1 * 30 - 1e1",
    "(rate + 1) ** 0.5 < 1 and -rate ** 2 <= 0.04",
    "rate != 0.5",
]


@pytest.mark.parametrize("text", RULES)
def test_a_rule_means_what_python_says(text: str) -> None:
    where, holds = Where.of([text], SPACE), meaning(text)
    X = SPACE.sample(np.random.default_rng(0), 1500)
    params = [SPACE.from_unit(tuple(x)) for x in X.tolist()]
    expected = [holds(each) for each in params]
    assert where.allowed(X).tolist() == expected
    assert sum(expected) > 0
    for each, fits in list(zip(params, expected, strict=True))[:60]:
        if fits:
            where.check(each)
        else:
            with pytest.raises(InvalidInput, match=r"a setting must satisfy .* change one of them"):
                where.check(each)


def test_text_is_what_is_kept() -> None:
    where = Where.of(["workers < 9", "rate>0"], SPACE)
    assert where.texts == ("workers < 9", "rate>0")
    assert codec.loads(codec.dumps(where)) == where
    assert Where.of(where.texts, SPACE) == where
    assert Where.of("rate > 0", SPACE).texts == ("rate > 0",)
    assert Where.of([], SPACE).allowed(SPACE.sample(np.random.default_rng(0), 5)).all()


@pytest.mark.parametrize("text", ["rate <= 0.1", "rate >= 0.3", "rate * 3 <= 0.7", "`time limit` <= 0.7"])
def test_at_the_border_it_is_as_the_user_gets_it(text: str) -> None:
    """The last digits of a number are decided as `from_unit` writes them, not as a vector of them is computed."""
    where, holds = Where.of([text], SPACE), meaning(text)
    [name] = [name for name in SPACE.names if name in text]
    edges = {"rate <= 0.1": 0.1, "rate >= 0.3": 0.3, "rate * 3 <= 0.7": 0.7 / 3, "`time limit` <= 0.7": 0.7}
    value = edges[text]
    near = [value] + [math.nextafter(value, end) for end in (-math.inf, math.inf)]
    base = SPACE.from_unit(tuple(SPACE.sample(np.random.default_rng(0), 1)[0].tolist()))
    X = np.array([SPACE.to_unit(base | {name: each}) for each in near])
    assert where.allowed(X).tolist() == [holds(SPACE.from_unit(tuple(x))) for x in X.tolist()]
    where.check(base | {name: value} if holds({name: value}) else base | {name: near[1]})


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("workers <", 10, "expected a parameter, a number or 'text', got the end of the rule"),
        ("wokers < 3", 1, "there is no parameter 'wokers'; .*; did you mean 'workers'"),
        ("compression == 'zst'", 16, "'zst' is no value of 'compression', which is one of .*; did you mean 'zstd'"),
        ("compression < 3", 1, "expected a number, but 'compression' is one of .*; compare it by ==, != or in"),
        ("mode > 1", 1, "expected a number, but 'mode' is one of"),
        ("rate == 'a'", 9, "'a' is no number, and 'rate' is a number from -1 to 1; compare it with a number"),
        ("workers = 3", 9, "'=' has no meaning here; write '=='"),
        ("on && rate < 1", 4, "'&&' has no meaning here; write 'and'"),
        ("(rate < 1", 10, r"expected '\)', got the end of the rule"),
        ("rate", 1, "expected a comparison"),
        ("rate and on", 1, "expected a comparison"),
        ("rate < 1 2", 10, "expected and, or, or the end of the rule, got '2'"),
        ("rate ** rate < 2", 9, "an exponent must be a number"),
        ("rate < 1e400", 8, r"a number must be at most 1e\+100"),
        ("batch in [16, 17]", 15, "17 is no value of 'batch'"),
        ("rate in [0.5, on]", 15, "a list has values only"),
        ("rate not 3", 10, "expected 'in' after 'not', got '3'"),
        ("max(rate) < 1", 5, "max takes two arguments or more, got 1"),
        ("rate < 'abc", 8, "close the quotation mark"),
        ("rate $ 3", 6, "'\\$' has no meaning here"),
        ("time limit < 1", 1, "there is no parameter 'time'"),
        ("-" * 50 + "rate < 1", DEEPEST + 2, f"nested more than {DEEPEST} deep"),
        ("(" * 50 + "rate < 1", DEEPEST + 2, f"nested more than {DEEPEST} deep"),
    ],
)
def test_an_error_says_where_what_and_the_fix(text: str, column: int, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as error:
        Where.of([text], SPACE)
    first, line, caret = str(error.value).split("\n")
    assert f"at column {column}:" in first
    assert line[len(caret) - 1 :].startswith(text[column - 1 : column])


@pytest.mark.parametrize(
    "given", [None, 3, [3], [""], ["  "], ["rate < 1" + " " * LONGEST], ["rate < 1"] * 101, ["\ud800"]]
)
def test_what_is_no_rule_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput):
        Where.of(given, SPACE)


PIECES = [
    *(
        "workers",
        "rate",
        "`time limit`",
        "compression",
        "on",
        "batch",
        "mode",
        "nobody",
        "'zstd'",
        '"',
        "`",
        "1",
        "2.5",
    ),
    *("1e9", "0", "+", "-", "*", "/", "**", "<", "<=", "==", "!=", ">", "(", ")", "[", "]", ",", "and", "or", "not"),
    *("in", "min", "max", "abs", "true", "none", "=", "&&", " ", "\n", "é", "\x00", "__class__", "lambda", "."),
]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)))
@settings(max_examples=600, deadline=None)
def test_no_text_does_harm(text: str) -> None:
    try:
        rule = parse(text, parameters_of(SPACE))
    except InvalidInput:
        return
    X = SPACE.sample(np.random.default_rng(0), 20)
    with np.errstate(all="ignore"):
        truth = rule.truth(decoded(SPACE, X, frozenset(SPACE.names)))
    assert truth.sure.shape == truth.may.shape == (20,)


def test_a_long_rule_is_no_deep_one() -> None:
    text = " + ".join(["rate"] * 280) + " < 9"
    assert len(text) <= LONGEST
    X = SPACE.sample(np.random.default_rng(0), 50)
    expected = [280 * SPACE.from_unit(tuple(x))["rate"] < 9 for x in X.tolist()]
    assert Where.of([text], SPACE).allowed(X).tolist() == expected


# --- what is proved -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["workers > 64"], ["workers > 64"]),
        (["rate > 0.6", "workers < 10", "rate * 2 < 1"], ["rate > 0.6", "rate * 2 < 1"]),
        (["compression == 'zstd'", "compression == 'lz4'"], ["compression == 'zstd'", "compression == 'lz4'"]),
        (["workers * 2 == 9"], ["workers * 2 == 9"]),
        (["rate ** 2 + 1 < `time limit` / 10"], ["rate ** 2 + 1 < `time limit` / 10"]),
        (["on and not on"], ["on and not on"]),
        (["workers * cache_mb == 65537"], ["workers * cache_mb == 65537"]),  # a prime beyond both
    ],
)
def test_a_contradiction_is_proved(texts: list[str], named: list[str]) -> None:
    with pytest.raises(NothingAllowed, match="no setting satisfies") as error:
        Where.of(texts, SPACE)
    assert [text for text in texts if repr(text) in str(error.value)] == named


@pytest.mark.parametrize(
    ("texts", "share"),
    [
        (["abs(rate - `time limit` / 10) <= 0.0005"], None),
        (["workers == 7 and cache_mb == 1000 and compression == 'zstd'"], None),
        (["workers * cache_mb == 8191"], None),
        (["0.2 <= rate < 0.21", "on", "batch == 16", "compression == 'lz4'"], 0.005 / 18),
        (["rate < 0"], 0.5),
        (["workers * cache_mb <= 8192", "compression != 'none' or workers < 16"], 0.1920),
    ],
)
def test_what_is_rare_is_found_and_chosen(texts: list[str], share: float | None) -> None:
    where = Where.of(texts, SPACE)
    assert where.allowed(where.examples).all()
    if share is not None:
        assert where.share == pytest.approx(share, rel=0.03)
    rng = np.random.default_rng(0)
    X, kernel = SPACE.sample(rng, 20), RBF(1.0)
    score = Ucb(Posterior(kernel, 0.01, X=X, y=rng.standard_normal(20), K=kernel(X, X)), 1.0)
    for number in range(1, 4):
        x = SPACE.argmax(score, Ask(number, 1.0, allowed=where))
        where.check(SPACE.from_unit(tuple(x.tolist())))
        assert score(x[None])[0] >= score(where.examples).max()


def test_equalities_that_leave_next_to_nothing_are_explained() -> None:
    with pytest.raises(NothingAllowed, match=r"no proof that there is none; .* an equality of Floats .* abs\("):
        Where.of(["rate * `time limit` == 0.512345", "rate - 0.123 == `time limit` / 7"], SPACE)


def test_in_a_space_that_is_listed_it_is_exact() -> None:
    few = Box.of({"n": Int(1, 6), "c": Choice(["x", "y"])})
    where = Where.of("n ** 2 == 9 or c == 'y'", few)
    assert len(where.examples) == 7
    assert where.share == pytest.approx(7 / 12)
    with pytest.raises(NothingAllowed, match=r"no setting satisfies 'n . 2 == 7'"):
        Where.of("n * 2 == 7", few)


def test_on_candidates_names_are_those_of_columns() -> None:
    points = Candidates([[1.0, 5.0], [2.0, 3.0], [4.0, 0.0]], ["cpu", "ram gb"])
    where = Where.of("cpu / `ram gb` < 0.5", points)
    assert where.allowed(points.points).tolist() == [True, False, False]
    with pytest.raises(InvalidInput, match=r"must satisfy 'cpu / `ram gb` < 0.5', got cpu=4.0, ram gb=0.0"):
        where.check({"cpu": 4.0, "ram gb": 0.0})


NUMBERS = [
    "a * b - c",
    "a / (b + 3)",
    "a / b",
    "abs(a) - b ** 2",
    "min(a, b, c) * max(a, -b)",
    "a ** 3 + (c + 2) ** -2",
    "(a + 3) ** 0.5 * c",
    "a - b - c * -a",
]


@pytest.mark.parametrize(("number", "operation"), list(itertools.product(NUMBERS, ("<=", ">", "==", "!="))))
def test_a_part_says_what_holds_in_all_or_in_none_of_it(number: str, operation: str) -> None:
    """Intervals, against settings drawn from them: what is sure holds at all of them, what cannot be at none."""
    box = Box.of({"a": Float(-2, 2), "b": Float(-2, 2), "c": Int(-2, 2)})
    rule = parse(f"{number} {operation} 0.5", parameters_of(box))
    rng = np.random.default_rng(0)
    ends = np.sort(rng.uniform(-2, 2, (200, 3, 2)), axis=2)
    ends[:100] = ends[:100].mean(axis=2, keepdims=True) + 0.05 * (ends[:100] - ends[:100].mean(axis=2, keepdims=True))
    never = np.zeros(200, dtype=bool)
    truth = _truth(rule, {n: Bounds(ends[:, j, 0], ends[:, j, 1], never) for j, n in enumerate("abc")})
    for _ in range(30):
        inside = ends[:, :, 0] + rng.random((200, 3)) * (ends[:, :, 1] - ends[:, :, 0])
        at = _truth(rule, {n: Bounds(inside[:, j], inside[:, j], never) for j, n in enumerate("abc")})
        assert not (truth.sure & ~at.sure).any()
        assert not (~truth.may & at.may).any()


def _truth(rule: Any, columns: Any) -> Any:
    with np.errstate(all="ignore"):
        return rule.truth(columns)
