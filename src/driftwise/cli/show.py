"""How results look in a terminal. Results go to stdout, what is said along the way to stderr.

Nothing is parsed: no markup, no emoji codes, and no control character reaches the terminal but our own styles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from driftwise.text import as_json as json_text
from driftwise.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress

NARROWEST, WIDEST = 40, 200  # columns
FIRST = 9  # columns that the first cell of a row has at least, if it needs them


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


def line(said: Any) -> None:
    """A line of an answer: text, a list of what `say` takes, or anything that Rich can draw."""
    if isinstance(said, str | list):
        say(*([said] if isinstance(said, str) else said))
    else:
        out().print(said)


def table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    best: Iterable[int] = (),
    words: Collection[int] = (0,),
    columns: int | None = None,
) -> RenderableType:
    """A table: the columns in `words` are text, the others are figures; the rows in `best` stand out.

    If it is wider than `columns`, by default those of the terminal, cells go over several lines. If even single words
    are too wide, each row becomes a list with a line for each cell. Nothing is cut off or left out.
    """
    heading = Text(visible(title), style="bold") if title else None
    cells = [[visible(cell) for cell in row] for row in rows]
    styles = ["bold green" if i in set(best) else "" for i in range(len(cells))]
    columns = columns or width()
    padding = 0 if columns < 60 else 1
    least = [_longest_word(column) for column in zip(header, *cells, strict=True)]
    least[0] = min(least[0], FIRST)  # names may be broken anywhere
    spare = columns - (sum(least) + len(header) + 1 + 2 * padding * (len(header) - 1))
    if spare < 0:
        return _as_lists(heading, header, cells, styles)
    whole = [max(map(cell_len, column)) for column in zip(header, *cells, strict=True)]
    made = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, padding))
    for i, name in enumerate(header):
        more = min(whole[i] - least[i], spare)  # Rich would take from columns that have no more than they need
        made.add_column(name, justify="left" if i in words else "right", overflow="fold", width=least[i] + more)
        spare -= more
    for row, style in zip(cells, styles, strict=True):
        made.add_row(*map(Text, row), style=style)
    return made


def _longest_word(cells: Iterable[str]) -> int:
    return max((cell_len(word) for cell in cells for word in cell.split()), default=0)


def _as_lists(
    heading: Text | None, header: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]
) -> Group:
    """Each row by itself: its first cell, and below it the others, each beside the name of its column."""
    parts: list[RenderableType] = [heading, ""] if heading else []
    for row, style in zip(rows, styles, strict=True):
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, cell in zip(header[1:], row[1:], strict=True):
            grid.add_row(Text(f"  {name}", style="dim"), Text(cell))
        first = Text.assemble((f"{header[0]} ", "dim"), (row[0], style or "bold"))
        parts += [first, grid, ""]
    return Group(*parts)


def as_json(value: Any) -> None:
    """One JSON document on stdout, for scripts."""
    print(json_text(value))


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A bar while something is done of which nobody knows how long it takes."""
    with progress() as shown:
        shown.add_task(what, total=None)
        yield


def progress(unit: str = "runs") -> Progress:
    """A bar with counts, rate and time left; it goes away when it is done, and says nothing into a pipe."""
    from driftwise.cli.progress import bar  # few commands have one

    return bar(aside(), unit)
