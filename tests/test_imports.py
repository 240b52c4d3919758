"""What an import loads: names come when they are used, and slow packages where they are needed."""

import json
import subprocess
import sys

import pytest

import driftwise


def loaded(code: str) -> set[str]:
    """The modules that a fresh Python has after `code`."""
    told = "import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_driftwise_itself_loads_nothing_slow():
    assert not loaded("import driftwise") & {"numpy", "scipy", "sqlalchemy", "typer", "rich"}


def test_a_study_that_asks_and_learns_loads_no_more_than_it_needs():
    steps = "s = dw.Study('a', space={'x': dw.Float(0, 1)}); s.tell(s.ask(), 1.0); s.ask()"
    assert not loaded(f"import driftwise as dw; {steps}") & {"scipy.stats", "scipy.optimize", "typer", "rich"}


def test_a_kernel_needs_no_store():
    assert "sqlalchemy" not in loaded("import driftwise as dw; dw.Posterior(dw.RBF(0.2), 0.01)")


def test_every_name_is_there_and_listed():
    assert set(driftwise.__all__) <= set(dir(driftwise))
    assert all(getattr(driftwise, name).__name__ == name for name in driftwise.__all__)
    names: dict[str, object] = {}
    exec("from driftwise import *", names)
    assert set(driftwise.__all__) <= set(names)


def test_modules_are_attributes_and_what_is_not_there_is_not():
    assert "driftwise.environments" in loaded("import driftwise; driftwise.environments.Gaussian(0.1)")
    with pytest.raises(AttributeError, match="module 'driftwise' has no attribute 'Stduy'"):
        driftwise.Stduy  # noqa: B018
