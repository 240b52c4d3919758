"""A document as parts, which become HTML, Markdown or lines in a terminal; and the files beside it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from driftwise.plots.files import saved
from driftwise.plots.style import CSS, Theme, papers, svg
from driftwise.report.page import Html, address, bullets, figure, link, prose, section, table, text
from driftwise.text import csv_line, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG = 16  # rows: a longer table is folded
WRAP = 100  # characters in a line of a Markdown file


@dataclass(frozen=True)
class Table:
    """Cells as they are read. The first column is text."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: Sequence[int] = ()


@dataclass(frozen=True)
class Data:
    """The figures behind a picture or a table, unrounded: a CSV."""

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, name: str, records: Sequence[Any]) -> Data:
        """Of dataclasses, a column for each field."""
        header = [field.name for field in fields(records[0])] if records else []
        return cls(name, header, [[getattr(record, column) for column in header] for record in records])

    def csv(self) -> str:
        """With NaN and ∞ as empty cells."""
        return "".join(csv_line(map(_cell, row)) for row in (self.header, *self.rows))


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if abs(value) < float("inf") else ""
    return value


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when a theme is known, and the data behind it."""

    name: str
    draw: Callable[[Theme], Figure]
    caption: str
    data: Data


@dataclass(frozen=True)
class Part:
    """A section."""

    title: str
    words: Sequence[str] = ()
    points: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    data: Sequence[Data] = ()


def files(parts: Sequence[Part], *, dark: bool = False) -> dict[str, bytes]:
    """The CSVs and pictures of a document, by name."""
    made: dict[str, bytes] = {}
    for part in parts:
        for data in part.data:
            made[f"{data.name}.csv"] = data.csv().encode()
        for picture in part.pictures:
            made[f"{picture.data.name}.csv"] = picture.data.csv().encode()
            made |= picture_files(picture, dark=dark)
    return made


def picture_files(picture: Picture, *, dark: bool) -> dict[str, bytes]:
    """As PNG and SVG on white paper and, if asked for, on dark."""
    drawn = {f"{picture.name}{ending}": picture.draw(theme) for ending, theme in papers(dark).items()}
    return {f"{name}.{kind}": saved(figure, kind) for name, figure in drawn.items() for kind in ("png", "svg")}


def links(folder: str, names: Sequence[str]) -> Html:
    """Where the files of a figure are, beside the page; nothing if there is no folder."""
    if not folder:
        return Html("")
    made = " · ".join(link(f"{folder}/{name}", name.rpartition(".")[2].upper()) for name in names)
    return Html(f'<span class="files">{made}</span>')


def as_html(part: Part, *, folder: str) -> Html:
    """A section of a page whose files are in `folder`."""
    made: list[Html] = [prose(*part.words)] if part.words else []
    if part.points:
        made.append(bullets(*part.points))
    made += [as_figure(picture, folder=folder) for picture in part.pictures]
    made += [folded(t) for t in part.tables]
    made += [Html(f"<p>{links(folder, [f'{data.name}.csv'])}</p>") for data in part.data]
    return section(part.title, *made)


def as_figure(picture: Picture, *, folder: str) -> Html:
    """A picture on a page, with links to its files if there are any."""
    names = [f"{picture.data.name}.csv", f"{picture.name}.png", f"{picture.name}.svg"]
    return figure(svg(picture.draw(CSS), label=picture.name), picture.caption, after=links(folder, names))


def folded(made: Table) -> Html:
    """A table; a long one opens when it is asked for."""
    if len(made.rows) <= LONG:
        return table(made.header, made.rows, best=made.best, caption=made.caption)
    title = text(made.caption or "The figures")
    drawn = table(made.header, made.rows, best=made.best)
    return Html(f"<details><summary>{title} ({len(made.rows)} rows)</summary>{drawn}</details>")


def as_markdown(parts: Sequence[Part], *, title: str, lead: Sequence[str], images: str | None) -> str:
    """A Markdown file; pictures are linked to as PNG in `images`, or left out; long tables are left out."""
    lines = [f"# {title}", "", *(line for words in lead for line in (_wrapped(words), ""))]
    for part in parts:
        lines += [f"## {part.title}", ""]
        lines += [line for words in part.words for line in (_wrapped(words), "")]
        lines += [*(_wrapped(point, "- ") for point in part.points), ""] if part.points else []
        if images is not None:
            for picture in part.pictures:
                lines += [f"![{picture.caption}]({address(f'{images}/{picture.name}.png')})", ""]
        for made in part.tables:
            if len(made.rows) <= LONG:
                lines += [f"{made.caption}", ""] if made.caption else []
                lines += _markdown_table(made)
    return "\n".join(lines).rstrip() + "\n"


def _wrapped(words: str, bullet: str = "") -> str:
    """Lines of at most WRAP characters. A sign stays with its number: at the start of a line it would be a bullet.

    >>> print(_wrapped("word " * 19 + "a + b", "- "))
    - word word word word word word word word word word word word word word word word word word word
      a + b
    """
    joined = re.sub(r" ([-+*=>#]) ", "\0\\1 ", words)
    wrapper = textwrap.TextWrapper(WRAP, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent, wrapper.subsequent_indent = bullet, " " * len(bullet)
    return wrapper.fill(joined).replace("\0", " ")


def code(written: str) -> str:
    """Code in Markdown, fenced by one more ` than it has in a row, so that none of it means anything.

    >>> code("a"), code("a`<b>")
    ('`a`', '`` a`<b> ``')
    """
    longest = max(map(len, re.findall("`+", written)), default=0)
    fence, room = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{room}{visible(written)}{room}{fence}"


def _markdown_table(made: Table) -> list[str]:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [row(made.header), "|" + "---|" * len(made.header), *(row(cells) for cells in made.rows), ""]
