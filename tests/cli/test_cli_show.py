"""driftwise study show: one date for a change, charts as wide as the terminal, choices, costs and files of pictures."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from driftwise import Choice, Float, Int, Study
from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import Moment
from driftwise.cli.study_pictures import figure_of
from driftwise.study.slices import slices

QUIET = Diagnosis(0.0, 1.0, 0.1, 100, 50.0, None, False, None, 0.0, {"x": 1.0}, {"x": 1.0})
MODES = {"slow": 3.0, "fast": 1.0, "turbo": 2.0}
START = {b"\x89PNG": "out.png", b"<?xml": "out.svg", b"%PDF-": "out.pdf"}


def study_of(space, policy="sw-gp-ucb", *, n=20, direction="maximize", reward=None):
    """A study with a reward for each of n settings that are spread over the space."""
    study = Study("s", space, policy, path="driftwise.db", direction=direction)
    rng = np.random.default_rng(0)
    for u in rng.random((n, study.space.dim)):
        params = study.space.from_unit(study.space.snap(u[None])[0])
        value = next(iter(params.values()))
        study.observe(params, MODES[value] if reward is None else reward(value))
    return study


# --- one date -------------------------------------------------------------------------------------------------------


def dates(text):
    return set(re.findall(r"abrupt(?:ly| change)(?: at|:)(?: observation| number)? (\d+)", text))


def marks(text):
    """The observations below which the axis of the chart has a mark, to a column."""
    axis = [line.split("└")[1] for line in text.splitlines() if "└" in line][-1]
    return [i / len(axis) for i, character in enumerate(axis) if character == "▲"]


def test_a_change_has_one_date(good, monkeypatch):
    study_of({"x": Float(0, 1)}, "auto", n=10, reward=lambda x: x)
    moments = [Moment(10 * i, 10.0 * i + 1, QUIET) for i in range(1, 5)]
    found = [NoticedChange(20, 20.0, 0.95, 24, 24.0), NoticedChange(33, 33.0, 0.1, 35, 35.0, taken_back=38)]
    monkeypatch.setattr(Study, "drift_history", lambda self, points=40: moments)
    monkeypatch.setattr(Study, "changes", lambda self, since=None: found)
    text = good("study show s")
    assert dates(" ".join(text.split())) == {"20"}
    assert marks(text) == [pytest.approx((20 - 10) / 30, abs=0.02)]
    assert "A change at observation 33 was noticed at observation 35 and taken back at 38." in text


def test_many_changes_are_counted(good, monkeypatch):
    study_of({"x": Float(0, 1)}, "auto", n=10, reward=lambda x: x)
    found = [NoticedChange(30 * i, 30.0 * i, 0.9, 30 * i + 3, 30.0 * i + 3) for i in range(1, 9)]
    monkeypatch.setattr(Study, "changes", lambda self, since=None: found)
    text = " ".join(good("study show s").split())
    assert dates(text) == {"120", "150", "180", "210", "240"}
    assert "There were 3 abrupt changes before." in text


# --- the width of the terminal --------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [40, 50, 80, 140, 200])
@pytest.mark.parametrize("only", ["", "--over-time"])
def test_charts_are_as_wide_as_the_terminal(good, monkeypatch, columns, only):
    study_of(
        {
            "price": Float(0, 1),
            "a long name of a parameter": Int(1, 500, log=True),
            "mode": Choice([*MODES, "日本" * 30]),
        },
        "auto",
        n=12,
        reward=lambda x: 1e6 * np.sin(6 * x),
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = good(f"study show s {only}").splitlines()
    assert max(map(cell_len, lines)) <= columns
    axes = [line for line in lines if "└" in line]
    assert len(axes) == (1 if only else 3)
    assert all(len(line) >= 0.8 * columns for line in axes)
    if not only:
        assert any("●" in line and cell_len(line) >= 0.8 * columns for line in lines)


# --- choices, whole numbers, costs ----------------------------------------------------------------------------------


def rows(text):
    """The lines of a chart that has one for each value: the value, and whether it is marked."""
    return [(name, mark == "▶") for mark, name in re.findall(r"^([▶ ]) (\w+) .*●", text, re.MULTILINE)]


@pytest.mark.parametrize(
    ("direction", "order"), [("maximize", ["slow", "turbo", "fast"]), ("minimize", ["fast", "turbo", "slow"])]
)
def test_the_best_choice_is_the_first_and_marked(good, direction, order):
    study_of({"mode": Choice(list(MODES))}, direction=direction)
    text = good("study show s")
    assert rows(text) == [(order[0], True), (order[1], False), (order[2], False)]
    assert "─" in next(line for line in text.splitlines() if "●" in line)


def test_a_cost_is_called_a_cost(good):
    study_of({"mode": Choice(list(MODES)), "x": Float(0, 1)}, direction="minimize")
    charts = good("study show s").split("Best now")[1]
    assert charts.count("cost (lower is better)") == 2
    assert "reward" not in charts
    mode, x = (figure_of(each, "").axes[0] for each in slices(Study.open("s", path="driftwise.db"))[1])
    assert x.get_ylabel() == mode.get_xlabel() == "cost (lower is better)"
    assert [label.get_text() for label in mode.get_yticklabels()] == ["fast", "turbo", "slow"]
    assert mode.get_ylim()[0] > mode.get_ylim()[1]  # the first is on top


def test_a_whole_number_is_drawn_in_steps(good):
    study = study_of({"n": Int(1, 20)}, n=60, reward=lambda n: float(n == 7))
    (shown,) = slices(study)[1]
    (axes,) = figure_of(shown, "").axes
    line = next(each for each in axes.lines if each.get_label() == "belief")
    assert line.get_drawstyle() == "steps-post"
    assert all(tick == int(tick) for tick in axes.get_xticks())
    np.testing.assert_allclose(line.get_xdata(), np.arange(0.5, 21))
    np.testing.assert_allclose(line.get_ydata()[:-1], shown.mean)


# --- pictures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--picture", "--png", "--over-time --picture"])
@pytest.mark.parametrize(("start", "name"), START.items())
def test_the_suffix_of_a_picture_is_its_format(good, option, start, name):
    study_of({"x": Float(0, 1)}, "auto", n=3, reward=lambda x: x)
    good(f"study show s {option} {name}")
    assert Path(name).read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["out.jpg", "out", "out.svg.gz"])
def test_other_formats_are_refused(good, refused, name):
    study_of({"x": Float(0, 1)}, reward=lambda x: x)
    message = refused(f"study show s --picture {name}")
    assert f"must end in .png, .svg, .pdf, got '{name}'" in message
    assert not Path(name).exists()


def test_a_choice_has_a_picture(good):
    study_of({"mode": Choice([*MODES, "$\\foo$"]), "x": Float(0, 1)}, n=30, reward=len)
    good("study show s --parameter mode --picture out.png")
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_picture_of_many_choices_has_the_best(good):
    study = study_of({"n": Choice(list(range(300)))}, n=5, reward=float)
    (axes,) = figure_of(slices(study)[1][0], "").axes
    assert len(axes.get_yticklabels()) == 40
    good("study show s --picture out.png")


def test_what_is_awaited_is_listed_with_its_id(good):
    good("study create s --float x=0:1 --policy random")
    asked = [json.loads(good("study ask s --json")) for _ in range(7)]
    lines = [line for line in good("study show s").splitlines() if "awaited" in line.lower()]
    assert lines[1:-1] == [f"Awaited: {s['id']}, x = {s['params']['x']:.6g}" for s in asked[2:]]
    assert lines[-1] == "2 more are awaited."


def test_in_another_context_than_the_newest(good, refused):
    study = Study("s", {"x": Float(0, 1)}, "gp-ucb", context={"day": Choice(["week", "end"])}, path="driftwise.db")
    for i in range(8):
        study.observe({"x": i / 7}, i / 7 if i % 2 else -i / 7, context={"day": "week" if i % 2 else "end"})
    assert "In the newest context, day = week:" in good("study show s")
    assert "In the context, day = end:" in good("study show s --context day=end")
    best = json.loads(good("study show s --context day=end --json"))["recommendation"]
    assert best["context"] == {"day": "end"}
    assert best["params"] == study.recommend(context={"day": "end"}).params
    assert "context 'day'" in refused("study show s --context day=noon")
    good("study create t --float x=0:1")
    assert "has no context" in refused("study show t --context day=end")
