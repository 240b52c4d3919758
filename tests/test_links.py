"""The pages that a reader meets: links lead to a file and a heading, files that are named exist, lines are short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
EXAMPLE = "examples/tune_real_program/README.md"
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", EXAMPLE, *DOCS]
HOMES = ("", "docs", "src", "src/driftwise", "src/driftwise/report", "tests", str(Path(EXAMPLE).parent))  # of paths
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
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), start=1):
        assert len(line) <= 100 or line.startswith(("|", "![")), f"{name}:{number}: {line[:60]} … {len(line)}"
