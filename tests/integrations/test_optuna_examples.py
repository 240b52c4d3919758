"""The examples with Optuna run, and say what they promise."""

from __future__ import annotations

import importlib.util
import re
import runpy
import subprocess
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "needed", "said"), [("mlflow", "mlflow", "26 runs are"), ("wandb", "wandb", "1 run is")]
)
def test_trackers_run_offline_by_optunas_callbacks(name, needed, said, tmp_path):
    """In a process of its own: both change what is global."""
    for module in ("optuna_integration", needed):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"needs {module}; make test-integrations has it")
    command = [sys.executable, str(EXAMPLES / f"{name}_callback.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"{said} in {tmp_path}" in done.stdout
