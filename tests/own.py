"""The package of examples/own-package as if it were installed, and how a command is run that finds it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import driftwise

Ended = subprocess.CompletedProcess[str]

PACKAGE = Path(__file__).parents[1] / "examples" / "own-package"
SOURCE = PACKAGE / "src"
POLICY, WORLD, HILL = "drift_extras.greedy:EpsilonGreedy", "drift_extras.tide:tide", "drift_extras.tide:Hill"


def installed(folder: Path, points: dict[str, dict[str, str]] | None = None, name: str = "drift-extras") -> Path:
    """A folder for the path in which a package has these entry points, or those of the example."""
    if points is None:
        points = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["entry-points"]
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = ("\n".join([f"[{group}]", *(f"{k} = {v}" for k, v in found.items())]) for group, found in points.items())
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    return folder


def python(
    *arguments: str, path: tuple[Path, ...] = (SOURCE,), cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own that finds driftwise and these folders."""
    folders = [str(Path(driftwise.__file__).parents[1]), *map(str, path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *arguments], env=env, cwd=cwd, capture_output=True, text=True, timeout=300)


def command(
    *arguments: str, path: tuple[Path, ...] = (SOURCE,), cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command `driftwise` in a process of its own, as its script calls it."""
    script = "import sys; sys.path[0] = '/nowhere'; from driftwise.cli import main; main()"  # -c puts "" there
    return python("-c", script, *arguments, path=path, cwd=cwd)
