"""The pieces of a page: escaped, self-contained, light and dark."""

import re

from driftwise import report
from driftwise.plots.style import DARK, LIGHT
from pages import balanced, loads


def sample() -> str:
    return report.page(
        "A <page>",
        "with `code` & **bold**",
        report.section(
            "First, things", report.prose("a < b"), report.table(["n", "v"], [["x", "1"], ["y", "2"]], best=[1])
        ),
        report.figure("<svg></svg>", "A caption"),
        report.bullets("one", "two"),
        footer="end",
    )


def test_text_is_escaped_once():
    page = sample()
    assert "A &lt;page&gt;" in page
    assert "a &lt; b" in page
    assert "&amp;lt;" not in page
    assert "<code>code</code> &amp; <strong>bold</strong>" in page


def test_page_nests_and_loads_nothing():
    page = sample()
    assert balanced(page)
    assert loads(page) == []
    assert "http" not in page
    assert "@import" not in page


def test_page_knows_light_dark_and_phones():
    page = sample()
    assert "prefers-color-scheme: dark" in page
    assert LIGHT.series[0] in page
    assert DARK.series[0] in page
    assert 'name="viewport"' in page


def test_best_rows_stand_out():
    table = report.table(["n", "v"], [["x", "1"], ["y", "2"]], best=[1], caption="c")
    assert re.findall(r"<tr class=best><th[^>]*>(\w)", table) == ["y"]


def test_sections_can_be_linked_to():
    assert 'id="first-things"' in sample()
