"""What the site does to the pages beyond Sphinx: links that leave docs/, pictures in light and dark, docstrings."""

from __future__ import annotations

import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# What a page links to outside of docs/, and where the site has it. The same links work on a code host.
ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "README.md": "index.md",
    "examples/tune_real_program/README.md": "examples/tune-real-program.md",
    "examples/live/README.md": "examples/live.md",
    "examples/fleet/README.md": "examples/fleet.md",
    "examples/own-package": "gallery.md#a-package-of-your-own",
    "examples": "gallery.md",
}
# Pages whose text on the site is that of another file.
STAND_INS = {place.removesuffix(".md"): file for file, place in ELSEWHERE.items() if file.endswith(".md")}
del STAND_INS["index"]
LINK = re.compile(r"\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def redirected(text: str, file: str, page: str) -> str:
    """The text of a file for a page of the site, with its links as they are seen from there.

    >>> redirected("[how](../CONTRIBUTING.md#style)", "docs/design.md", "design")
    '[how](contributing.md#style)'
    >>> redirected("[one](../../examples/own-package)", "docs/tutorials/price.md", "tutorials/price")
    '[one](../gallery.md#a-package-of-your-own)'
    >>> redirected("[other](docs/tune.md)", "CHANGELOG.md", "changes")
    '[other](tune.md)'
    """

    def lead(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), link["path"]))
        place = ELSEWHERE.get(target, target.removeprefix("docs/") if target.startswith("docs/") else None)
        if place is None:
            return link[0]
        return f"]({posixpath.relpath(place, posixpath.dirname(page) or '.')}{link['anchor'] or ''})"

    return LINK.sub(lead, text)


def read(app: Any, page: str, source: list[str]) -> None:
    file = STAND_INS.get(page, f"docs/{page}.md")
    if page in STAND_INS:
        app.env.note_dependency(str(ROOT / file))
        source[0] = (ROOT / file).read_text(encoding="utf-8")
    source[0] = redirected(source[0], file, page)


def twins(app: Any, tree: Any, page: str) -> None:
    """A picture `name.png` with a `name-dark.png` beside it is shown in the reader's own mode; others stay on white."""
    from docutils import nodes

    for image in list(tree.findall(nodes.image)):
        light = Path(app.srcdir, image["uri"])
        dark = light.with_name(f"{light.stem}-dark{light.suffix}")
        if light.stem.endswith("-dark"):
            continue
        if dark.exists():
            twin = image.deepcopy()
            twin["uri"] = str(dark.relative_to(app.srcdir))
            twin["candidates"] = {"*": twin["uri"]}
            app.env.images.add_file(page, twin["uri"])
            image["classes"] += ["only-light"]
            twin["classes"] += ["only-dark"]
            image.parent.insert(image.parent.index(image) + 1, twin)
        else:
            image["classes"] += ["on-white"]


def trimmed(tree: Any) -> None:
    """A page ends an example by an empty line, for doctest; a reader need not see it."""
    from docutils import nodes

    for block in tree.findall(nodes.literal_block):
        if block.children:
            text = block.astext().rstrip()
            block.rawsource = text
            block[:] = [nodes.Text(text)]


def signed(_: Any, what: str, name: str, made: Any, *rest: Any) -> tuple[str, str] | None:
    """The signature of a class is that of its `__init__`, also where `__new__` is ours."""
    from sphinx.util.inspect import signature, stringify_signature

    if what != "class" or made.__new__ is object.__new__ or not inspect.isfunction(made.__new__):
        return None
    return stringify_signature(signature(made.__init__, bound_method=True), show_annotation=False), ""


def finish(app: Any, tree: Any) -> None:
    twins(app, tree, app.env.current_document.docname)
    trimmed(tree)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", read)
    app.connect("doctree-read", finish)
    app.connect("autodoc-process-signature", signed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
