"""The examples with Optuna run, and say what they promise."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="needs the extra optuna")

EXAMPLES = Path(__file__).parents[2] / "examples" / "integrations"


@pytest.mark.slow
def test_the_sampler_follows_where_tpe_loses_the_optimum(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["optuna_drift.py"])
    runpy.run_path(str(EXAMPLES / "optuna_drift.py"), run_name="__main__")
    text = capsys.readouterr().out
    lost = {name: float(figure) for name, figure in re.findall(r"(\w+) +lost +([\d.]+) a day", text)}
    assert lost["DriftSampler"] < lost["TPESampler"] / 3
    now, best = (float(re.search(rf"{what} ([\d.]+)", text)[1]) for what in ("best_now says", "best price is"))
    assert abs(now - best) < 0.7
