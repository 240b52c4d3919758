"""What a user writes passes `mypy --strict`, and what is wrong does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

GOOD = """
import numpy as np

import driftwise as dw

modes = ["slow", "fast"]
space = {
    "mode": dw.Choice(modes),
    "size": dw.Choice(range(3)),
    "level": dw.Choice((1, 2.5, True, None, "max")),
    "rate": dw.Float(1e-4, 1, log=True),
    "count": dw.Int(1, 10),
}
study = dw.Study("mine", space=space, seed=np.random.default_rng(0).integers(9).item())
suggestion = study.ask()
receipt = study.tell(suggestion, 1.0)
number: int = receipt.number

kernel = 2.0 * dw.RBF(0.2) + dw.Matern(1.5, 0.3) * dw.Linear() * 0.5
posterior = dw.Posterior(kernel, noise=0.01)
world = dw.environment("still", noise_std=0.1)
policy = dw.policy("sw-gp-ucb", world.space, window=50, kernel=kernel)
total: float = sum(step.regret for step in dw.run(policy, world, horizon=10))
"""
BAD = {
    "dw.Choice([b'a'])": "list-item",
    "dw.Choice(3)": "arg-type",
    "dw.RBF(0.2) + 1.0": "operator",
    "'2' * dw.RBF(0.2)": "operator",
    "dw.Stduy": "attr-defined",
}


def errors(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    said, _, _ = api.run(["--strict", "--no-error-summary", "--cache-dir", str(path.parent / "cache"), str(path)])
    return said.splitlines()


@pytest.mark.slow
def test_what_users_write_is_well_typed_and_mistakes_are_found(tmp_path):
    assert errors(tmp_path / "good.py", GOOD) == []
    found = errors(tmp_path / "bad.py", "import driftwise as dw\n\n" + "\n".join(BAD) + "\n")
    codes = {int(line.split(":")[1]) - 2: re.findall(r"\[([a-z-]+)\]$", line) for line in found if ": error:" in line}
    assert codes == {i + 1: [code] for i, code in enumerate(BAD.values())}
