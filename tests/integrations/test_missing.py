"""Without the framework the module says what to install, and the core is imported as ever."""

from __future__ import annotations

import importlib
import sys

import pytest

from driftwise.errors import MissingExtra

NEEDED = {"optuna": "optuna", "river": "river", "gest": "gest_api", "ax": "ax"}


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_framework_is_said_with_the_fix(name, monkeypatch):
    for module in [each for each in sys.modules if each.startswith(("driftwise.integrations.", NEEDED[name] + "."))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, NEEDED[name], None)  # as if it were not installed
    with pytest.raises(MissingExtra, match=r"pip install 'driftwise\[(optuna|river|xopt|ax)\]'"):
        importlib.import_module(f"driftwise.integrations.{name}")
