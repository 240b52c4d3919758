"""The pages that a reader meets: links lead to a file and a heading, files that are named exist, lines are short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
EXAMPLES = ("examples/fleet/README.md", "examples/live/README.md", "examples/tune_real_program/README.md")
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *EXAMPLES, *DOCS]
OURS = ("", "docs", "src", "src/driftwise", "src/driftwise/report", "tests")
EXTRAS = "examples/own-package/src/drift_extras"
HOMES = (*OURS, EXTRAS, *(str(Path(name).parent) for name in EXAMPLES))  # where a path may begin
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchor(heading: str) -> str:
    """As GitHub makes it from a heading.

    >>> anchor("On boxes, beside the `peers`")
    'on-boxes-beside-the-peers'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name):
    page = ROOT / name
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        file, _, heading = link.partition("#")
        target = page.parent / file if file else page
        assert link.startswith("https://") or target.exists(), link
        assert not heading or heading in anchors(target), link


@pytest.mark.parametrize("name", PAGES)
def test_every_file_of_ours_that_is_named_exists(name):
    for path in re.findall(r"`([\w./-]+\.(?:py|toml))`", (ROOT / name).read_text(encoding="utf-8")):
        assert any((ROOT / home / path).exists() for home in HOMES), path


@pytest.mark.parametrize("name", PAGES)
def test_lines_have_at_most_a_hundred_characters(name):
    """A line of code may be as long as in the sources, and a row of a table as long as it must."""
    fenced = False
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), start=1):
        fenced ^= line.startswith("```")
        most = 120 if fenced or line.startswith("    ") else 100
        assert len(line) <= most or line.startswith(("|", "![")), f"{name}:{number}: {line[:60]} … {len(line)}"
