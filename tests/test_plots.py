"""The pictures show what they are given."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

from driftwise import plots
from driftwise.errors import InvalidInput
from driftwise.lab.statistics import thin
from driftwise.plots.beliefs import Panel
from driftwise.plots.regret import spread
from driftwise.plots.style import CSS, DARK, LIGHT, Theme


def curve(slope, T=300):
    line = slope * np.arange(1.0, T + 1)
    return line, 0.9 * line, 1.1 * line


def strips(theme=LIGHT):
    x = np.linspace(0, 1, 5)
    best = x[[0, 0, 0, 4, 4, 4]]
    truth = np.arange(30.0).reshape(6, 5)
    panels = [
        Panel("truth", truth),
        Panel("all", truth, asked=best),
        Panel("restart", truth, asked=best, restarts=(3, 5)),
        Panel("window", truth, asked=best, window=2),
    ]
    return plots.belief_over_time(panels, candidates=x, best=best, theme=theme)


def test_regret_curves_draw_a_line_a_band_and_a_label_for_each_policy():
    curves = {"a": curve(1.0), "b": curve(2.0), "c": curve(3.0)}
    (axes,) = plots.regret_curves(curves, changes=[100, 200]).axes
    lines = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert set(lines) == {"a", "b", "c"}
    assert len(axes.collections) == 3
    assert [text.get_text() for text in axes.texts] == ["a", "b", "c", "change"]
    for name, (mean, _, _) in curves.items():
        t = lines[name].get_xdata()
        assert t[0] == 1
        assert t[-1] == 300
        np.testing.assert_array_equal(lines[name].get_ydata(), mean[t - 1])


def test_regret_curves_of_nothing_are_refused():
    with pytest.raises(InvalidInput, match="at least one curve"):
        plots.regret_curves({})


def test_regret_that_is_zero_can_be_drawn():
    zero = np.zeros(3)
    assert plots.png(plots.regret_curves({"oracle": (zero, zero, zero)}))[:4] == b"\x89PNG"


@pytest.mark.parametrize("n", [1, 2, 250, 251, 10_000])
def test_thin_keeps_the_ends(n):
    t = thin(n, 250)
    assert t[0] == 0
    assert t[-1] == n - 1
    assert len(t) <= 250
    assert (np.diff(t) > 0).all()


def test_spread_keeps_labels_apart_in_their_order():
    heights = [5.0, 1.0, 1.0, 1.2]
    moved = spread(heights, least=0.5)
    assert np.diff(np.sort(moved)).min() >= 0.5 - 1e-6
    assert list(np.argsort(moved)) == list(np.argsort(heights, kind="stable"))


def test_belief_over_time_has_one_scale_and_says_what_is_remembered():
    axes = strips().axes
    assert [a.get_title(loc="left") for a in axes] == ["truth", "all", "restart", "window"]
    assert len({a.images[0].get_clim() for a in axes}) == 1
    notes = [a.texts[0].get_text() for a in axes]
    assert "optimum" in notes[0]
    assert "asked" in notes[1]
    assert "forgets" in notes[2]
    assert "the last 2" in notes[3]


def test_restarts_stand_before_their_step_and_the_window_covers_the_last_steps():
    _, _, restart, window = strips().axes
    marks = [line.get_xdata()[0] for line in restart.lines if line.get_linestyle() == "--"]
    assert marks == [2.5, 4.5]
    bars = [list(line.get_xdata()) for line in window.lines if len(line.get_xdata()) == 2]
    assert bars == [[4.5, 6.5]]


def test_the_optimum_is_no_line_across_a_jump():
    y = strips().axes[0].lines[0].get_ydata()
    assert np.isnan(y[3])
    assert len(y) == 7


def test_the_colours_are_the_values():
    axes = strips().axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), np.arange(30.0).reshape(6, 5).T)


def test_belief_now_has_band_mean_truth_points_and_recommendation():
    x = np.linspace(1, 10, 20)
    figure = plots.belief_now(
        x, np.sin(x), 0 * x + 0.2, observed=(x[:4], x[:4]), truth=np.cos(x), recommended=2.5, log=True, label="price"
    )
    (axes,) = figure.axes
    band = axes.collections[0].get_datalim(axes.transData)
    assert band.y1 == pytest.approx(np.max(np.sin(x)) + 0.4)
    assert axes.collections[1].get_offsets().shape == (4, 2)
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "price"
    assert 2.5 in [line.get_xdata()[0] for line in axes.lines]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_themes_colour_paper_and_lines(theme: Theme):
    figure = plots.regret_curves({"a": curve(1.0)}, theme=theme)
    assert to_hex(figure.get_facecolor()) == theme.paper
    assert figure.axes[0].lines[0].get_color() == theme.series[0]


def test_svg_follows_the_page_and_loads_nothing():
    drawn = plots.svg(strips(CSS), label='a "label"')
    assert drawn.startswith("<svg")
    assert "http" not in drawn
    assert "var(--ink)" in drawn
    assert not re.search(r"#0101\d\d", drawn)
    assert 'aria-label="a &quot;label&quot;"' in drawn
    assert " width=" not in drawn[: drawn.index(">")]


def test_svg_is_the_same_every_time():
    assert plots.svg(strips(CSS), label="x") == plots.svg(strips(CSS), label="x")
