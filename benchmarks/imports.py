"""What it costs to begin: `import driftwise`, a study, and `driftwise study ask`, beside importing what they stand on.

Each is a fresh process, one after the other in turns, and is counted in seconds of the processor, its own and the
system's. Every ratio is of two processes of the same turn. Sources are compiled in a first turn, which is not counted.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import driftwise as dw
from benchmarks.measure import Result, duration

ROUNDS = 11
BASE = ("-c", "import numpy, scipy.linalg")
ASK = ("-c", "from driftwise.cli import main; main()", "study", "ask", "prices", "--path", "study.db")
COMMAND = """
import numpy, scipy.linalg, sqlalchemy, typer
from pathlib import Path
app = typer.Typer()

@app.command()
def ask(name: str, path: Path = Path("study.db"), as_json: bool = False) -> None:
    print(name, path)

app(["prices"])
"""
CASES: tuple[tuple[str, tuple[str, ...], float | None], ...] = (
    ("import driftwise", ("-c", "import driftwise"), 1.3),
    ("import driftwise; driftwise.Posterior", ("-c", "import driftwise; driftwise.Posterior"), None),
    ("import driftwise; driftwise.Study", ("-c", "import driftwise; driftwise.Study"), None),
    ("driftwise study ask", ASK, 2.0),
    ("numpy, scipy.linalg, sqlalchemy, typer alone", ("-c", "import numpy, scipy.linalg, sqlalchemy, typer"), None),
    ("these and a Typer command that does nothing", ("-c", COMMAND), None),
)


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        dw.Study("prices", {"price": dw.Float(5, 20)}, path=Path(folder) / "study.db").close()
        contestants = [BASE, *(arguments for _, arguments, _ in CASES)]
        turns = [[seconds(arguments, folder) for arguments in contestants] for _ in range(1 + ROUNDS)][1:]
    for i, (what, _, most) in enumerate(CASES, start=1):
        ratio = statistics.median(turn[i] / turn[0] for turn in turns)
        ours, base = (statistics.median(turn[j] for turn in turns) for j in (i, 0))
        target, met = ("", None) if most is None else (f"≤ {most:g}×", ratio <= most)
        yield Result(what, duration(ours), f"{duration(base)} (import numpy, scipy.linalg)", ratio, target, met)


def seconds(arguments: tuple[str, ...], folder: str) -> float:
    """Of the processor, that a fresh Python takes for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(Path(dw.__path__[0]).parent), "PYTHONPYCACHEPREFIX": folder}
    command = [sys.executable, *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
