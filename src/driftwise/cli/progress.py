"""The bar that shows how far a long command is."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class Rate(ProgressColumn):
    """Tasks a second, so far."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f} {self.unit}/s" if speed else "", style="dim")


def bar(console: Console, unit: str) -> Progress:
    """With counts, rate and time left; it goes away when it is done, and says nothing into a pipe."""
    console.quiet = not console.is_terminal  # before Rich 14.3 a bar that is disabled still ends in an empty line
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        Rate(unit),
        TimeRemainingColumn(compact=True),
        TextColumn("left", style="dim"),
        console=console,
        transient=True,
        disable=console.quiet,
    )
