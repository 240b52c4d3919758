"""python -m benchmarks.peers: the peers beside ours, on the same worlds with the same noise, in one table."""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import sys  # noqa: E402
from collections.abc import Iterator, Sequence  # noqa: E402
from importlib.metadata import version  # noqa: E402
from pathlib import Path  # noqa: E402

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from benchmarks.peers import cases, table  # noqa: E402
from benchmarks.peers.contenders import OURS, PEERS, ours, peers  # noqa: E402
from benchmarks.peers.elsewhere import Elsewhere, PaidOnce  # noqa: E402
from benchmarks.peers.shelf import Shelf  # noqa: E402
from driftwise.errors import DriftwiseError  # noqa: E402
from driftwise.lab.digest import digest  # noqa: E402
from driftwise.lab.engine import Reply, Work, serial  # noqa: E402
from driftwise.lab.experiment import conduct  # noqa: E402
from driftwise.lab.results import Folder, failures, manifest, pairs, read  # noqa: E402
from driftwise.lab.trials import Entrant, Trial  # noqa: E402
from driftwise.report.results_page import lab_page  # noqa: E402

WIDTH = 160  # of a table that is not on a screen


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--suite", default="drift-zoo", help="a suite of the lab (drift-zoo)")
    parser.add_argument("--cases", nargs="+", default=["*"], help="cases like these, as 'box2d/*'; boxes count")
    parser.add_argument("--seeds", type=_count, default=5, help="worlds of each case (5)")
    parser.add_argument("--horizon", type=_count, help="steps of each run; the case's own if not given")
    parser.add_argument("--peers", type=_names, default=list(PEERS), help=f"some of {','.join(PEERS)}; '' for none")
    parser.add_argument("--ours", type=_names, default=list(OURS), help=f"policies of ours ({','.join(OURS)})")
    parser.add_argument("--kept", action="store_true", help="take of the peers only what is kept, and run none")
    parser.add_argument("--out", type=Path, default=Path("results/peers"), help="the results folder (results/peers)")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    return parser.parse_args(given)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def plan(asked: argparse.Namespace, contenders: Sequence[Entrant]) -> list[Trial]:
    """Seed by seed, so that what is done can be compared whenever it is stopped."""
    found = cases.boxes(asked.suite, asked.cases)
    return [
        Trial(contender, asked.suite, case, asked.horizon or case.horizon, seed)
        for seed in range(asked.seeds)
        for case in found
        for contender in contenders
    ]


def said(asked: argparse.Namespace) -> dict[str, object]:
    """What was asked for, but for where it goes."""
    return {name: value for name, value in vars(asked).items() if name not in ("out", "markdown")}


def nobody(work: Work) -> Iterator[Reply]:
    """An engine that performs nothing."""
    yield from ()


def run(asked: argparse.Namespace, console: Console) -> int:
    """Runs what is missing, prints the table; how many runs failed."""
    theirs, own = plan(asked, peers(asked.peers)), plan(asked, ours(asked.ours))
    with Folder(asked.out) as folder:
        folder.describe(said(asked))
        elsewhere = nobody if asked.kept else Elsewhere()
        for trials, engine in ((own, serial), (theirs, PaidOnce(Shelf(), elsewhere))):
            conduct(trials, folder, engine, tell=lambda key: console.print(key, highlight=False))
    wanted = {trial.key for trial in (*own, *theirs)}
    made = table.rows(pair for pair in pairs(asked.out) if pair[0].key in wanted)
    show(made, console)
    if asked.markdown:
        asked.markdown.write_text(table.markdown(made), encoding="utf-8")
    console.print(f"the report is {page(asked.out)}", highlight=False)
    failed = {key: problem for key, problem in failures(asked.out).items() if key in wanted}
    for key, problem in failed.items():
        console.print(f"failed: {key}: {problem}", highlight=False, style="red")
    return len(failed)


def page(out: Path) -> Path:
    """Writes the lab's report of a results folder into it."""
    found = digest(read(out), manifest=manifest(out), failed=len(failures(out)))
    path = out / "report.html"
    title = "The peers beside ours"
    text = lab_page(found, title=title, version=version("driftwise"), folder="", inside=[], files=False)
    path.write_text(text, encoding="utf-8")
    return path


def show(made: Sequence[table.Row], console: Console) -> None:
    """Regret as a share of random's."""
    head, *body = table.cells(made)
    view = Table(*head, title="R(T) as a share of random's; lower is better")
    for row in body:
        view.add_row(*row)
    console.print(view)


def main() -> None:
    try:
        failed = run(arguments(), Console(width=None if sys.stdout.isatty() else WIDTH))
    except DriftwiseError as error:
        sys.exit(f"error: {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
