"""What is published: one version everywhere, and a wheel that holds the package, its data and nothing else."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
wheel = runpy.run_path(str(ROOT / ".ci/wheel.py"))


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (.*)$"),
        ("docs/citing.md", r"version = {(.*)}"),
        ("CHANGELOG.md", r"^## (\S+?),? "),
    ],
)
def test_the_version_is_the_same_everywhere(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found[1] == PROJECT["version"]


def test_a_wheel_with_tests_or_without_the_dashboard_is_refused():
    names = [*wheel["NEEDED"], "driftwise/study/study.py", "driftwise-0.1.0.dist-info/RECORD"]
    assert wheel["faults"](names) == []
    assert wheel["faults"]([*names, "driftwise/tests/test_own.py"]) == [
        "driftwise/tests/test_own.py should not be there"
    ]
    assert wheel["faults"](names[1:]) == ["driftwise/py.typed is missing"]


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    pytest.importorskip("hatchling", reason="make dist builds the wheel by itself")
    for name in ("pyproject.toml", "README.md", "LICENSE", "src", "tests"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    names = ZipFile(next((tmp_path / "dist").glob("*.whl"))).namelist()
    assert wheel["faults"](names) == []
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {file for file in files if "__pycache__" not in file and ".egg-info" not in file} <= set(names)
