"""The code on the pages of the frameworks runs."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "integrations"


@pytest.mark.parametrize(("page", "needed"), [("river", ["river"]), ("gest", ["gest_api", "xopt"]), ("ax", ["ax"])])
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_a_page_runs(page, needed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what they import
        for module in needed:
            pytest.importorskip(module, reason=f"needs {module}; make test-integrations has it")
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, f"{page}.md", "exec"), {})
