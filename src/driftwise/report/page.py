"""The pieces of a page. Text is escaped here and nowhere else; what these functions return is safe to nest."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any
from urllib.parse import quote

from driftwise.plots.style import DARK, LIGHT, variables
from driftwise.text import as_json, visible


class Html(str):
    """Markup that is already safe."""


def text(plain: str) -> Html:
    """Plain text as markup; `code` and **bold** are the only signs it knows.

    >>> text("w < **5** and `γ`")
    'w &lt; <strong>5</strong> and <code>γ</code>'
    """
    if isinstance(plain, Html):
        return plain
    safe = html.escape("\n".join(map(visible, plain.split("\n"))))
    safe = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", safe)
    return Html(re.sub(r"`(.+?)`", r"<code>\1</code>", safe))


def address(path: str) -> str:
    """The address of a file beside the page, in which no sign means anything.

    >>> address('a b/"><script>.png')
    'a%20b/%22%3E%3Cscript%3E.png'
    """
    return quote(os.fsencode(path))


def link(path: str, label: str) -> Html:
    return Html(f'<a href="{address(path)}">{text(label)}</a>')


def data(id: str, value: Any) -> Html:
    """A value for the page's script. No sign of it can end the element: all that mean something to HTML are escaped.

    >>> print(data("x", "</script><!--"))
    <script type="application/json" id="x">"\\u003c/script\\u003e\\u003c!--"</script>
    """
    written = as_json(value, indent=None)
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{html.escape(id)}">{written}</script>')


def prose(*paragraphs: str) -> Html:
    return Html("\n".join(f"<p>{text(paragraph)}</p>" for paragraph in paragraphs))


def bullets(*items: str) -> Html:
    return Html("<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>")


def section(title: str, *parts: Html) -> Html:
    """A heading with what belongs to it; a link can point at it."""
    anchor = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return Html(f'<section id="{anchor}"><h2>{text(title)}</h2>\n' + "\n".join(parts) + "</section>")


def figure(picture: str, caption: str, *, after: str = "") -> Html:
    """A picture made by `plots.svg`, with what there is to see in it, and perhaps links to its files."""
    words = f"{text(caption)} {after}".rstrip()
    return Html(f'<figure><div class="picture">{picture}</div><figcaption>{words}</figcaption></figure>')


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, best: Iterable[int] = (), caption: str = "") -> Html:
    """A table: the first column is text, the others are figures; the rows in `best` stand out."""
    chosen = set(best)
    head = "".join(f'<th scope="col">{text(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr{" class=best" if i in chosen else ""}><th scope="row">{text(row[0])}</th>'
        + "".join(f"<td>{text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for i, row in enumerate(rows)
    )
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return Html(f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')


def page(title: str, lead: str, *parts: Html, footer: str = "", css: str = "", script: str = "") -> str:
    """The whole file; `css` and `script` are what this page has besides."""
    style = resources.files("driftwise.report").joinpath("page.css").read_text(encoding="utf-8")
    style = style.replace("/*light*/", variables(LIGHT)).replace("/*dark*/", variables(DARK))
    body = "\n".join(parts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(visible(title))}</title>
<style>{style}{css}</style>
</head>
<body>
<main>
<header><h1>{text(title)}</h1><p class="lead">{text(lead)}</p></header>
{body}
<footer>{text(footer)}</footer>
</main>
{f"<script>{script}</script>" if script else ""}
</body>
</html>
"""
