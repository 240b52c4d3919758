"""The examples run, and say what they promise."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def said(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_every_example_is_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "compare_policies.py",
        "daily_cycle.py",
        "live_price.py",
        "theory_numbers.py",
        "your_recording.py",
    }


def test_live_price_ends_near_the_best_price(capsys):
    charged, best = (float(x) for x in re.findall(r"(?:charge|was) ([\d.]+)", said("live_price.py", capsys)))
    assert abs(charged - best) < 2


def test_daily_cycle_finds_the_period_and_forecasts_with_it(capsys):
    text = said("daily_cycle.py", capsys)
    assert "period: 24.0 hours" in text
    pairs = re.findall(r"choose ([\d.]+), the optimum is ([\d.]+)", text)
    assert len(pairs) == 2
    assert all(abs(float(chosen) - float(best)) < 0.05 for chosen, best in pairs)


def test_compare_policies_shows_that_forgetting_pays(capsys):
    lines = said("compare_policies.py", capsys).splitlines()
    assert [line.split()[0] for line in lines] == ["gp-ucb", "r-gp-ucb", "sw-gp-ucb"]
    assert all(re.search(r"95%: [\d.]+ to [\d.]+", line) for line in lines)
    plain, restart, window = (float(line.split()[1]) for line in lines)
    assert max(restart, window) < plain / 2


def test_your_recording_shows_that_learning_pays_and_a_window_more(capsys):
    lost = [float(x) for x in re.findall(r"lost +([\d.]+) of 240", said("your_recording.py", capsys))]
    assert len(lost) == 3
    random, plain, window = lost
    assert window < plain < random


def test_theory_numbers_prints_four_promises(capsys):
    text = said("theory_numbers.py", capsys)
    assert len(re.findall(r"remember +\d+", text)) == 4
    assert "P_T = 17.9" in text
