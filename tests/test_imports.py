"""What an import loads: names come when they are used, and slow packages where they are needed."""

import json
import subprocess
import sys
from pathlib import Path

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


def asking(folder: Path) -> str:
    """`driftwise study ask` of a new study, as code."""
    driftwise.Study("a", space={"x": driftwise.Float(0, 1)}, path=folder / "a.db").close()
    words = ["driftwise", "study", "ask", "a", "--path", str(folder / "a.db")]
    ask = "from driftwise.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    return f"import sys\nsys.argv = {words!r}\n{ask}"


def test_the_command_that_asks_loads_neither_the_lab_nor_scipy_stats(tmp_path):
    found = loaded(asking(tmp_path))
    assert "driftwise.log.sqlite" in found
    assert not found & {"driftwise.lab", "driftwise.environments", "scipy.stats", "scipy.optimize"}


def test_the_command_that_asks_loads_its_own_policy_and_no_other(tmp_path):
    found = loaded(asking(tmp_path))
    assert {"driftwise.auto.policy", "driftwise.policies.base"} <= found
    assert not found & {"driftwise.policies.ada_opkb", "driftwise.policies.w_dbo", "driftwise.policies.ldp"}
    assert not found & {"rich.progress", "driftwise.log.verify"}


def test_a_kernel_needs_no_store():
    assert "sqlalchemy" not in loaded("import driftwise as dw; dw.Posterior(dw.RBF(0.2), 0.01)")


def test_every_name_is_there_and_listed():
    assert set(driftwise.__all__) <= set(dir(driftwise))
    aliases = {"Array", "Space"}  # types, which have no name of their own
    assert all(getattr(driftwise, name).__name__ == name for name in driftwise.__all__ if name not in aliases)
    assert driftwise.Space == driftwise.spaces.Space
    assert driftwise.Array == driftwise.records.Array
    names: dict[str, object] = {}
    exec("from driftwise import *", names)
    assert set(driftwise.__all__) <= set(names)


def test_modules_are_attributes_and_what_is_not_there_is_not():
    assert "driftwise.environments" in loaded("import driftwise; driftwise.environments.Gaussian(0.1)")
    with pytest.raises(AttributeError, match="module 'driftwise' has no attribute 'Stduy'"):
        driftwise.Stduy  # noqa: B018
