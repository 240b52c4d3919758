"""The benchmark that compares source trees: its figures, and that it measures the tree it says."""

import numpy as np
import pytest
from benchmarks.calls import HERE, interval, result, running


def test_a_line_is_the_median_of_the_turns_ratios():
    theirs = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])  # the machine slows down, and both with it
    line = result("ask", "../other", np.stack([1.1 * theirs, theirs], axis=-1))
    assert line.ratio == pytest.approx(1.1)
    assert line.met is False
    assert "1.100 – 1.100×" in line.theirs


def test_the_interval_is_as_wide_as_processes_differ():
    rng = np.random.default_rng(0)
    alike = rng.normal(1.0, 0.01, size=(6, 6))
    low, high = interval(alike)
    assert 0.98 < low < np.median(alike) < high < 1.02
    low, high = interval(alike + np.linspace(-0.1, 0.1, 6)[:, None])
    assert high - low > 0.05


@pytest.mark.slow
def test_a_tree_answers_for_itself_or_is_refused(tmp_path):
    with running(HERE, tmp_path) as tree:
        assert set(tree("sw-gp-ucb", "memory")) == {"ask", "tell", "ask, CPU", "tell, CPU"}
    with pytest.raises(RuntimeError, match="must be a source tree with driftwise in it"), running(tmp_path, tmp_path):
        pass
