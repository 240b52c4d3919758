"""Imports point one way: the order of the layers is the one written in docs/design.md, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "driftwise"


def layers() -> list[str]:
    """The modules and packages of driftwise, in the order of the block in docs/design.md."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    block = re.search(r"^Layers: (?:.+\n)+\n((?:    .*\n)+)", text, re.MULTILINE)
    assert block, "docs/design.md has a paragraph that begins with 'Layers:' and the block of layers below it"
    return re.split(r"[\s·→]+", block[1].strip())


def imported(source: str) -> Iterator[str]:
    """What `source` imports of driftwise, anywhere in it: "kernels", "policies.base"; "" for the package itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "driftwise":
                yield from (alias.name if is_module(alias.name) else "" for alias in node.names)
            elif (node.module or "").startswith("driftwise."):
                yield node.module.removeprefix("driftwise.")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "driftwise":
                    yield alias.name.partition(".")[2]


def is_module(name: str) -> bool:
    return (SOURCE / f"{name}.py").exists() or (SOURCE / name / "__init__.py").exists()


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(path for path in SOURCE.rglob("*.py") if room(path) != "__init__")


def test_every_module_has_its_layer():
    order = layers()
    assert len(set(order)) == len(order)
    missing, gone = {room(path) for path in FILES} - set(order), set(order) - {room(path) for path in FILES}
    assert not missing, f"write {sorted(missing)} into the layers of docs/design.md"
    assert not gone, f"the layers of docs/design.md speak of {sorted(gone)}, which are not there"


def test_imports_point_left_only():
    order = {name: place for place, name in enumerate(layers())}  # of a name that is missing the test above speaks
    wrong = [
        f"{path.relative_to(SOURCE)} imports {target or 'driftwise itself'}"
        for path in FILES
        for target in imported(path.read_text(encoding="utf-8"))
        if not target or order.get(target.split(".")[0], 0) > order.get(room(path), len(order))
    ]
    assert wrong == [], "docs/design.md has another order; of driftwise itself, import the module that makes the name"


def test_scipy_linalg_has_one_door():
    users = [path for path in FILES if re.search(r"scipy\.linalg|from scipy import .*linalg", path.read_text("utf-8"))]
    assert [str(path.relative_to(SOURCE)) for path in users] == ["gp/linalg.py"]


def test_wrong_imports_would_be_seen():
    assert list(imported("from driftwise import checks, RBF\nimport driftwise.policies.base\n")) == [
        "checks",
        "",
        "policies.base",
    ]
    assert list(imported("def f():\n    from driftwise.study import Study\n")) == ["study"]


def test_no_class_name_stands_twice():
    named = [
        node.name
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert sorted({name for name in named if named.count(name) > 1}) == []


def test_no_file_has_more_than_four_hundred_lines():
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: n for name, n in lengths.items() if n > 400} == {}
