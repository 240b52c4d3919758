"""python -m benchmarks [name ...] [--against SRC] [--json FILE] [--markdown FILE]"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import importlib  # noqa: E402
from pathlib import Path  # noqa: E402

from rich.console import Console  # noqa: E402

from benchmarks import report  # noqa: E402
from benchmarks.measure import Result  # noqa: E402

BENCHMARKS = (
    "candidates",
    "policies",
    "box",
    "forever",
    "slide",
    "gain",
    "lab",
    "auto",
    "imports",
    "lean",
    "fleet-journal",
)
LONG = (
    "feasible",
    "context",
    "serve",
    "mixed-load",
    "optuna",
    "fleet-restart",
    "fleet-boxes",
)  # long, or needing an extra
CALLS = "calls"  # compares source trees; not one of all, for by itself it has nothing to say


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed and memory, as ratios in one run.")
    which = f"which: {', '.join(BENCHMARKS)} (all of these by default), {', '.join(LONG)} or {CALLS}"
    parser.add_argument("names", nargs="*", metavar="name", help=which)
    parser.add_argument("--against", type=Path, action="append", default=[], help=f"another tree's src, for {CALLS}")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    given = parser.parse_args()
    for name in given.names:
        if name not in (*BENCHMARKS, *LONG, CALLS):
            parser.error(f"no benchmark is called {name!r}; there are {', '.join((*BENCHMARKS, *LONG, CALLS))}")
    if given.against and given.names != [CALLS]:
        parser.error(f"--against is for {CALLS}; write: python -m benchmarks {CALLS} --against SRC")
    console, results = Console(), list[Result]()
    for name in given.names or BENCHMARKS:
        with console.status(name):
            benchmark = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
            for result in benchmark.run(given.against) if name == CALLS else benchmark.run():
                results.append(result)
                console.print("  ".join(filter(None, report.row(result))), highlight=False)
    console.print(report.table(results))
    if given.json:
        given.json.write_text(report.to_json(results) + "\n")
    if given.markdown:
        given.markdown.write_text(report.markdown(results))


if __name__ == "__main__":
    main()
