"""The pages that a reader meets: links lead to a file and a heading, files that are named exist, lines are short."""

import re
from pathlib import Path

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


def found(pattern: str | re.Pattern[str]) -> list[tuple[Path, str]]:
    """All that matches in all pages, with its page."""
    return [(ROOT / name, match) for name in PAGES for match in re.findall(pattern, (ROOT / name).read_text("utf-8"))]


def leads_somewhere(page: Path, link: str) -> bool:
    file, _, heading = link.partition("#")
    target = page.parent / file if file else page
    return link.startswith("https://") or (target.exists() and (not heading or heading in anchors(target)))


def test_every_link_leads_somewhere():
    assert [(page.name, link) for page, link in found(LINK) if not leads_somewhere(page, link)] == []


def test_every_file_of_ours_that_is_named_exists():
    named = found(r"`([\w./-]+\.(?:py|toml))`")
    assert [(page.name, path) for page, path in named if not any((ROOT / home / path).exists() for home in HOMES)] == []


def test_lines_have_at_most_a_hundred_characters():
    """A line of code may be as long as in the sources, and a row of a table as long as it must."""
    long = []
    for name in PAGES:
        fenced = False
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), start=1):
            fenced ^= line.startswith("```")
            most = 120 if fenced or line.startswith("    ") else 100
            if len(line) > most and not line.startswith(("|", "![")):
                long.append(f"{name}:{number}: {line[:60]} … {len(line)}")
    assert long == []
