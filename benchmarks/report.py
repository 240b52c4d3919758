"""Results as a table, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table

from benchmarks.measure import Result

COLUMNS = ("what", "ours", "theirs", "ratio", "target", "met")


def row(result: Result) -> tuple[str, ...]:
    ratio = "" if result.ratio is None else f"{result.ratio:.3g}×"
    met = {None: "", True: "yes", False: "no"}[result.met]
    return result.what, result.ours, result.theirs, ratio, result.target, met


def table(results: Sequence[Result]) -> Table:
    drawn = Table(*COLUMNS)
    for result in results:
        drawn.add_row(*row(result), style="red" if result.met is False else None)
    return drawn


def markdown(results: Sequence[Result]) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(row, results)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def to_json(results: Sequence[Result]) -> str:
    return json.dumps({"results": [asdict(result) for result in results]}, indent=1, ensure_ascii=False)
