"""The folder for OptunaHub follows the rules of its registry: the header, the sections, the files."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")
yaml = pytest.importorskip("yaml", reason="needs PyYAML, which comes with optuna")

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "optunahub" / "package" / "samplers" / "drift"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def loaded() -> ModuleType:
    """The package as OptunaHub loads it: from its folder."""
    spec = importlib.util.spec_from_file_location("optunahub_drift", FOLDER / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_header_is_complete():
    header = yaml.safe_load(re.match(r"---\n(.*?)\n---\n", README, re.DOTALL)[1])
    assert header.keys() == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert all(isinstance(header[name], str) for name in ("author", "title", "description", "license"))
    assert all(isinstance(tag, str) for tag in header["tags"] + header["optuna_versions"])
    assert "sampler" in header["tags"]
    assert header["license"] == "MIT License"


def test_the_sections_are_those_of_the_template_and_nothing_is_left_to_fill_in():
    sections = re.findall(r"^##+ (.*)$", README, re.MULTILINE)
    wanted = ["Abstract", "APIs", "Class or Function Names", "Installation", "Example", "Others"]
    assert [name for name in sections if name in wanted] == wanted
    assert "Please fill in" not in README


def test_the_files_are_there():
    assert {path.name for path in FOLDER.iterdir()} - {"__pycache__"} == {
        "LICENSE",
        "README.md",
        "__init__.py",
        "example.py",
        "requirements.txt",
    }
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_offers_what_it_names():
    module = loaded()
    named = re.search(r"### Class or Function Names\n\n((?:- \w+\n)+)", README)[1]
    assert re.findall(r"- (\w+)", named) == module.__all__
    assert all(hasattr(module, name) for name in module.__all__)


def test_its_example_runs(monkeypatch, capsys):
    """With the folder here in the place of the registry, which is somewhere else."""
    hub = ModuleType("optunahub")
    hub.load_module = lambda package: {"samplers/drift": loaded()}[package]
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")
    assert abs(float(re.search(r"the best x now: ([\d.]+)", capsys.readouterr().out)[1]) - 8.0) < 1.0
