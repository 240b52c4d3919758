"""driftwise suites: what it prints is what the suites say."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from driftwise.cli.app import app
from driftwise.lab.suites import SUITES

PAGE = (Path(__file__).parents[1] / "docs" / "suites.md").read_text(encoding="utf-8")


def suites(*arguments):
    return CliRunner().invoke(app, ["suites", *arguments], prog_name="driftwise", env={"COLUMNS": "400"})


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_printed_whole(name):
    result = suites(name)
    assert result.exit_code == 0
    printed = " ".join(result.stdout.split())
    for said in (SUITES[name].citation, SUITES[name].definition, SUITES[name].choices):
        assert " ".join(said.split()) in printed
    for case in SUITES[name].cases:
        assert f"{case.name} {case.horizon} {case.seeds} {case.definition}" in printed


def test_all_of_them_are_listed_and_long_ones_are_cut_with_the_command_that_shows_more():
    printed = suites().stdout
    for s in SUITES.values():
        assert s.citation.split(",")[0] in printed
    assert "… and 96 more: driftwise suites drift-zoo" in printed


def test_json_has_everything_and_quick_its_sizes():
    full, quick = (json.loads(suites("--json", *more).stdout)["suites"] for more in ((), ("--quick",)))
    assert [s["name"] for s in full] == list(SUITES)
    assert full[1]["cases"][0] == {
        "name": "abrupt",
        "horizon": 500,
        "seeds": 100,
        "definition": SUITES["deng"].cases[0].definition,
        "tags": ["abrupt", "candidates"],
    }
    assert (quick[1]["cases"][0]["horizon"], quick[1]["cases"][0]["seeds"]) == (50, 10)


def test_an_unknown_suite_is_named_in_one_line():
    result = suites("dengue")
    assert result.exit_code != 0
    assert "no suite is called 'dengue'; did you mean 'deng'? there are bogunovic" in " ".join(result.stderr.split())


def test_every_suite_and_every_kind_of_change_is_on_the_page():
    for name in SUITES:
        assert f"`{name}`" in PAGE, f"give {name} a place in docs/suites.md"
    for case in (*SUITES["real"].cases, *SUITES["ops"].cases):
        assert f"`{case.name}`" in PAGE
    for case in SUITES["drift-zoo"].cases:
        assert f"`{case.name.partition('/')[2]}`" in PAGE
