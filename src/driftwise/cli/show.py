"""How results look in a terminal. Results go to stdout, what is said along the way to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text


def out() -> Console:
    """Where results go."""
    return Console(highlight=False)


def aside() -> Console:
    """Where everything else goes."""
    return Console(stderr=True, highlight=False)


def plain(text: str) -> str:
    """A user's text inside ours, with nothing in it taken for markup."""
    return escape(text)


def say(line: str) -> None:
    """One line, however long."""
    out().print(line, soft_wrap=True)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, best: Iterable[int] = ()) -> Table:
    """A table: the first column is text, the others are figures; the rows in `best` stand out."""
    made = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    chosen = set(best)
    for i, name in enumerate(header):
        made.add_column(name, justify="left" if i == 0 else "right", no_wrap=i > 0, min_width=9 if i == 0 else None)
    for i, row in enumerate(rows):
        made.add_row(*(Text(cell) for cell in row), style="bold green" if i in chosen else "")
    return made


def as_json(value: Any) -> None:
    """One JSON document on stdout, for scripts."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


class Rate(ProgressColumn):
    """Tasks a second, so far."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f} runs/s" if speed else "", style="dim")


def progress() -> Progress:
    """A bar with counts, rate and time left; it goes away when it is done, and says nothing into a pipe."""
    console = aside()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(compact=True),
        TextColumn("[dim]left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
