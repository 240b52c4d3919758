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
        "live_price.py",
        "theory_numbers.py",
        "your_recording.py",
    }


def test_live_price_ends_near_the_best_price(capsys):
    charged, best = (float(x) for x in re.findall(r"(?:charge|was) ([\d.]+)", said("live_price.py", capsys)))
    assert abs(charged - best) < 2


def test_compare_policies_prints_three_intervals(capsys):
    lines = said("compare_policies.py", capsys).splitlines()
    assert [line.split()[0] for line in lines] == ["gp-ucb", "r-gp-ucb", "sw-gp-ucb"]
    assert all(re.search(r"95%: [\d.]+ to [\d.]+", line) for line in lines)


def test_your_recording_loses_less_than_it_could(capsys):
    lost = [float(x) for x in re.findall(r"lost +([\d.]+) of 240", said("your_recording.py", capsys))]
    assert len(lost) == 3
    assert all(0 <= x <= 240 for x in lost)


def test_theory_numbers_prints_four_promises(capsys):
    text = said("theory_numbers.py", capsys)
    assert len(re.findall(r"remember +\d+", text)) == 4
    assert "P_T = 17.9" in text
