"""How results look in a terminal. Results go to stdout, what is said along the way to stderr.

Nothing is parsed: no markup, no emoji codes, and no control character reaches the terminal but our own styles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from driftwise.text import as_json as json_text
from driftwise.text import visible

NARROWEST, WIDEST = 40, 200  # columns


class Plain(Console):
    """A console to which text is text, whoever wrote it; styles are given beside it."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As any console, with what is not printable made visible: all that is printed comes through here."""
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else segment._replace(text="\n".join(map(visible, segment.text.split("\n"))))
            )


def out() -> Console:
    """Where results go."""
    return Plain()


def aside() -> Console:
    """Where everything else goes."""
    return Plain(stderr=True)


def width() -> int:
    """The columns that charts and tables may use: those of the terminal, from 40 to 200."""
    return min(max(out().width, NARROWEST), WIDEST)


def wrapped(text: str, columns: int, indent: int = 0) -> str:
    """The text in lines of at most `columns`, all of them indented.

    >>> wrapped("one two three", 10, 2)
    '  one two\\n  three\\n'
    """
    lines = Text(text).wrap(out(), columns - indent)
    return "".join(f"{' ' * indent}{line.plain.rstrip()}\n" for line in lines)


def paragraph(*parts: str | tuple[str, str]) -> None:
    """Text that is broken between words where the terminal ends: `say` is for commands and paths to be copied."""
    out().print(Text.assemble(*parts))


def say(*parts: str | tuple[str, str]) -> None:
    """One line, however long: texts, and pairs of a text and its style."""
    out().print(Text.assemble(*parts), soft_wrap=True)


def table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    best: Iterable[int] = (),
    words: Collection[int] = (0,),
) -> Table:
    """A table: the columns in `words` are text, the others are figures; the rows in `best` stand out.

    If it is wider than the terminal, the widest cells go over several lines. Nothing is cut off or left out.
    """
    heading = Text(visible(title)) if title else None
    made = Table(
        title=heading,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 0 if width() < 60 else 1),
    )
    chosen = set(best)
    for i, name in enumerate(header):
        least = 9 if i == 0 else None
        made.add_column(name, justify="left" if i in words else "right", overflow="fold", min_width=least)
    for i, row in enumerate(rows):
        made.add_row(*(Text(visible(cell)) for cell in row), style="bold green" if i in chosen else "")
    return made


def as_json(value: Any) -> None:
    """One JSON document on stdout, for scripts."""
    print(json_text(value))


class Rate(ProgressColumn):
    """Tasks a second, so far."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f} runs/s" if speed else "", style="dim")


def progress() -> Progress:
    """A bar with counts, rate and time left; it goes away when it is done, and says nothing into a pipe."""
    console = aside()
    console.quiet = not console.is_terminal  # before Rich 14.3 a bar that is disabled still ends in an empty line
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(compact=True),
        TextColumn("left", style="dim"),
        console=console,
        transient=True,
        disable=console.quiet,
    )
