"""driftwise study show, over time."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from driftwise import Study, plots
from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import Moment
from driftwise.cli import over_time as module
from driftwise.cli.over_time import LINES, MARGIN
from driftwise.plots.style import CSS

CREATE = "study create s --float x=0:1 --policy auto"
WIDE = 60 + MARGIN + 2  # so that the drawings have 60 columns
QUIET = Diagnosis(0.0, 1.0, 0.1, 100, 50.0, None, False, None, 0.0, {}, {})


def over_time(moments, width=WIDE, changes=()):
    return module.over_time(moments, changes, width)


def fill(good, n):
    good(CREATE)
    study = Study.open("s", path="driftwise.db")
    for t in range(1, n + 1):
        x = t * 0.618 % 1
        study.observe({"x": x}, np.sin(6 * x) * (-1 if t > 30 else 1))
    return study


def moments(rates, *, step=10):
    """A moment every `step` numbers."""
    return [Moment(step * i, step * i + 1.0, replace(QUIET, rate=rate)) for i, rate in enumerate(rates, 1)]


def drawings(text):
    """Where the lines are, from the top: those of the rate and those of the memory in use, by column."""
    lines = [line.split("┤")[1] for line in text.splitlines() if "┤" in line]
    assert len(lines) == 2 * LINES
    return [
        [{i for i in range(LINES) if part[i][c] != " "} for c in range(60)] for part in (lines[:LINES], lines[LINES:])
    ]


def test_the_lines_are_where_the_figures_say():
    text = over_time(moments([0.1, 0.1, 1e-4, 0.0])).plain
    rate, in_use = drawings(text)
    assert rate[0] == rate[19] == {0}  # 10% is the top
    assert rate[41] == rate[59] == {LINES - 1}  # 0.01% and less the bottom
    assert rate[30] == {LINES // 2}  # half-way in logarithms
    assert all(column == {LINES // 2} for column in in_use)  # 50 of 100
    labels = [line.split("┤")[0].strip() for line in text.splitlines() if "┤" in line]
    assert labels == ["10%", "", "1%", "", "0.1%", "", "still", "100", "", "", "", "", "", "0"]
    assert "abrupt change" not in text


def test_a_faster_world_has_a_higher_scale():
    text = over_time(moments([0.5, 0.5])).plain
    assert " 100% ┤" in text
    assert drawings(text)[0][30] == {0}


def test_a_change_has_its_mark():
    changes = [NoticedChange(25, 25.0, 0.75, 30, 30.0), NoticedChange(70, 70.0, 0.1, 75, 75.0, taken_back=80)]
    text = over_time(moments([0.0] * 11), changes=changes).plain
    axis = next(line for line in text.splitlines() if "└" in line).split("└")[1]
    assert axis.index("▲") == 60 * (25 - 10) // (110 - 10)
    assert axis.count("▲") == 1  # what was taken back has none
    assert " ".join(text.splitlines()[-1].split()) == "10 number of the observation, ▲ abrupt change 110"


@pytest.mark.slow
def test_the_words_the_mark_and_the_json_have_one_date(good):
    study = fill(good, 60)
    (change,) = study.changes()
    shown = good("study show s")
    assert " ".join(shown.split()).count(str(change)) == 1
    assert "▲ abrupt change" in shown
    assert json.loads(good("study show s --json"))["changes"] == [asdict(change)]
    assert str(change) in " ".join(good("study show s --over-time").split())


@pytest.mark.slow
def test_show_draws_it_below_the_rest(good):
    study = fill(good, 45)
    shown = good("study show s")
    drawn = over_time(study.drift_history(), 120, study.changes()).plain.rstrip()
    assert [line.rstrip() for line in shown.rstrip().splitlines()][-len(drawn.splitlines()) :] == [
        line.rstrip() for line in drawn.splitlines()
    ]
    assert "x, best at" in shown.split("How the world moved")[0]
    assert "x, best at" not in good("study show s --over-time")
    told = json.loads(good("study show s --json"))["drift_history"]
    history = [{"number": m.number, "at": m.at} | asdict(m.drift) for m in study.drift_history()]
    assert told == json.loads(json.dumps(history))  # tuples are lists there


def test_a_picture_of_it(good):
    fill(good, 5)
    good("study show s --over-time --png moved.png")
    assert Path("moved.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("n", [0, 1])
def test_of_one_moment_nothing_is_drawn(good, refused, n):
    fill(good, n)
    assert "How the world moved" not in good("study show s")
    assert f"has {n} reward{'' if n == 1 else 's'}; tell more" in refused("study show s --over-time")
    good("study observe s x=0.5 --reward 1")
    good("study observe s x=0.6 --reward 1")
    assert "How the world moved" in good("study show s --over-time")


def test_other_policies_have_none(good, refused):
    good("study create s --float x=0:1 --policy sw-gp-ucb")
    good("study observe s x=0.5 --reward 1")
    assert "How the world moved" not in good("study show s")
    assert "drift_history" not in json.loads(good("study show s --json"))
    assert "use the policy auto" in refused("study show s --over-time")


def test_the_picture_shows_what_it_is_given():
    given = {"rate": [0.01, 0.0, 0.02], "in_use": [1.0, 2.0, 3.0], "kept": [2, 3, 4]}
    figure = plots.drift_over_time([5, 6, 7], **given, changes=[6], title="moved", theme=CSS)
    above, below = figure.axes
    assert above.lines[0].get_ydata().tolist() == [0.01, 1e-4, 0.02]  # what stands still is on the floor
    assert below.lines[0].get_ydata().tolist() == [1.0, 2.0, 3.0]
    assert [axes.lines[1].get_xdata() for axes in (above, below)] == [[6, 6], [6, 6]]
    assert above.get_ylim() == (1e-4, 0.1)
    drawn = plots.svg(figure, label="drift")
    assert "var(--series-1)" in drawn
    assert "var(--series-0)" in drawn
    assert "#0101" not in drawn  # light and dark are the page's
