"""The examples run, and say what they promise."""

import math
import re
import runpy
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from driftwise import environment

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


def test_live_price_ends_at_the_best_price(capsys):
    charged, best = (float(x) for x in re.findall(r"(?:charge|was) ([\d.]+)", said("live_price.py", capsys)))
    assert best == round(12 + 4 * math.sin(60 / 25), 2)
    assert math.exp(-(((charged - best) / 4) ** 2)) > 0.9  # of the most that could be sold


@pytest.mark.slow
def test_daily_cycle_finds_the_period_and_forecasts_with_it(capsys):
    text = said("daily_cycle.py", capsys)
    assert "period: 24.0 hours" in text
    pairs = re.findall(r"choose ([\d.]+), the optimum is ([\d.]+)", text)
    assert len(pairs) == 2
    assert all(abs(float(chosen) - float(best)) < 0.05 for chosen, best in pairs)


@pytest.mark.slow
def test_compare_policies_shows_that_gp_ucb_is_left_behind(capsys):
    text = said("compare_policies.py", capsys)
    found = re.findall(r"^(\S+) +([\d.]+) +\(95%: ([\d.]+) to ([\d.]+)\)$", text, re.MULTILINE)
    regret = {name: tuple(map(float, figures)) for name, *figures in found}
    assert list(regret) == ["gp-ucb", "r-gp-ucb", "sw-gp-ucb"]
    assert all(low < mean < high for mean, low, high in regret.values())
    _, lowest, _ = regret["gp-ucb"]
    assert all(regret[name][2] < lowest for name in ("r-gp-ucb", "sw-gp-ucb"))


def test_your_recording_says_what_forgetting_saves(capsys):
    found = re.findall(r"(\S+) +lost +([\d.]+) of 240", said("your_recording.py", capsys))
    lost = {name: float(figure) for name, figure in found}
    servers, fastest = np.linspace(0, 1, 12), 0.5 + 0.4 * np.sin(np.arange(240) / 30)
    rewards = np.exp(-(((servers - fastest[:, None]) / 0.2) ** 2))
    expected = (rewards.max(axis=1) - rewards.mean(axis=1)).sum()
    assert lost["random"] == pytest.approx(expected, abs=4 * math.sqrt(rewards.var(axis=1).sum()))
    assert lost["sw-gp-ucb"] < lost["gp-ucb"] < lost["random"]


def test_theory_numbers_are_those_of_the_remarks(capsys):
    text = said("theory_numbers.py", capsys)
    P, gamma = (float(x) for x in re.findall(r"(?:P_T =|from) ([\d.]+)", text.splitlines()[0]))
    known, unknown = (round(gamma**0.25 * math.sqrt(500 / budget)) for budget in (P, 1.0))
    assert re.findall(r"(\S+) +P_T (\w+) +remember +(\d+)", text) == [
        (policy, *told)
        for policy in ("r-gp-ucb", "sw-gp-ucb")
        for told in (("known", str(known)), ("unknown", str(unknown)))
    ]
    assert P == round(environment("deng-abrupt", seed=0).variation(500), 1) == 17.9


def test_a_fleet_of_prices_earns_more_than_the_first_day_s_best(capsys, monkeypatch, tmp_path):
    words = ["prices.py", "--products", "40", "--days", "90", "--picture", str(tmp_path / "prices.png")]
    monkeypatch.setattr(sys, "argv", words)
    text = said("fleet/prices.py", capsys)
    fleet, first = (float(x) for x in re.findall(r"([\d.]+)% of the best profit, .* ([\d.]+)%", text)[0])
    assert first < fleet < 100
    assert (tmp_path / "prices.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_machines_that_ask_a_service_earn_more_in_the_second_half(capsys, monkeypatch):
    pytest.importorskip("uvicorn", reason="driftwise[serve] is not installed")
    pytest.importorskip("httpx", reason="driftwise[serve] is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(sys, "argv", ["kiosks.py", "--machines", "20", "--days", "30", "--port", str(port)])
    first, second = (float(x) for x in re.findall(r"([\d.]+) in the", said("fleet/kiosks.py", capsys)))
    assert first < second
