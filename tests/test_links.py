"""Links in the first pages that a reader meets lead to a file, and to a heading where they name one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("auto", "auto-measured", "choosing-a-policy", "peers", "policies-measured")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchor(heading: str) -> str:
    """As GitHub makes it from a heading.

    >>> anchor("On boxes, beside the `peers`")
    'on-boxes-beside-the-peers'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("name", ["README.md", *(f"docs/{page}.md" for page in PAGES)])
def test_every_link_leads_somewhere(name):
    page = ROOT / name
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        file, _, heading = link.partition("#")
        target = page.parent / file if file else page
        assert link.startswith("https://") or target.exists(), link
        assert not heading or heading in anchors(target), link
