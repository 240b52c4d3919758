"""The command line as a whole: what there is, the demo, and what is said when something goes wrong."""

import json
import sys
from pathlib import Path

import pytest

from driftwise.cli import failure
from driftwise.plots.style import CSS
from driftwise.policies import options_of
from pages import balanced, loads


def test_without_a_command_it_helps(good):
    assert "driftwise demo" in good("")
    assert "driftwise study ask prices" in good("study")


def test_version(good):
    assert good("--version").startswith("driftwise 0.")


def test_policies_lists_every_policy_with_its_options(good):
    listed = {p["name"]: p for p in json.loads(good("policies --json"))["policies"]}
    assert {"gp-ucb", "r-gp-ucb", "sw-gp-ucb", "random"} <= set(listed)
    assert "window" in listed["sw-gp-ucb"]["options"]
    assert all(p["summary"] for p in listed.values())
    assert "Algorithm 2" in good("policies")


def test_environments_lists_every_environment(good):
    listed = {e["name"] for e in json.loads(good("environments --json"))["environments"]}
    assert {"still", "deng-abrupt", "deng-slow", "bogunovic", "rotating"} <= listed
    assert "deng-slow" in good("environments")


@pytest.mark.parametrize(
    ("line", "option", "default"),
    [("policies sw-gp-ucb", "noise", 0.01), ("policies auto", "changes", True), ("environments bogunovic", "side", 50)],
)
def test_options_are_listed_with_their_defaults(good, refused, line, option, default):
    command, name = line.split()
    (listed,) = json.loads(good(f"{line} --json"))[command]
    assert listed["name"] == name
    assert listed["options"][option]["default"] == default
    assert any(row.split()[:2] == [option, str(default).lower()] for row in good(line).splitlines())
    assert "is called 'nope'" in refused(f"{command} nope")


def test_meanings_have_their_column(good):
    meaning = options_of("gp-ucb")["noise"].meaning
    (row,) = (line for line in good("policies gp-ucb").splitlines() if line.split()[:2] == ["noise", "0.01"])
    assert row.rstrip().endswith(meaning)
    assert json.loads(good("policies gp-ucb --json"))["policies"][0]["options"]["noise"]["meaning"] == meaning


def test_every_option_of_an_environment_has_a_meaning(good):
    for world in json.loads(good("environments --json"))["environments"]:
        assert all(option["meaning"] for option in world["options"].values()), world["name"]


@pytest.mark.parametrize(
    "command",
    ["demo", "compare", "theory", "policies", "environments"]
    + [f"study {c}" for c in ("create", "ask", "tell", "observe", "abandon", "recommend", "show", "list", "export")],
)
def test_every_command_has_help(good, command):
    text = good(f"{command} --help")
    assert f"driftwise {command}" in text


def test_help_flows_to_the_width_of_the_terminal(good, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = good("compare --help").splitlines()
    first = next(i for i, line in enumerate(lines) if "Policies meet" in line)
    assert all(len(line.rstrip()) > 60 for line in lines[first : first + 5])


# --- what goes wrong otherwise --------------------------------------------------------------------------------------


def test_what_is_unexpected_is_one_line_and_the_way_to_more(refused, monkeypatch):
    monkeypatch.setattr("driftwise.cli.show.as_json", lambda value: {}["none"])
    message = refused("policies --json", code=1)
    assert "KeyError" in message
    assert "DRIFTWISE_DEBUG=1" in message


def test_debug_shows_the_traceback(call, monkeypatch):
    monkeypatch.setattr("driftwise.cli.show.as_json", lambda value: {}["none"])
    monkeypatch.setenv(failure.DEBUG, "1")
    assert isinstance(call("policies --json").exception, KeyError)


def test_ctrl_c_is_a_word(call, monkeypatch):
    def interrupt(value):
        raise KeyboardInterrupt

    monkeypatch.setattr("driftwise.cli.show.as_json", interrupt)
    result = call("policies --json")
    assert result.exit_code == 130
    assert result.stderr.strip() == "driftwise: stopped"


def test_text_of_users_is_no_markup(good):
    good("study create '[red]x[/red]' --float a=0:1")
    assert "[red]x[/red]" in good("study show '[red]x[/red]'")


# --- the demo -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_demo_writes_a_report_that_needs_nothing_else(good):
    text = good("demo --seeds 2 --horizon 60 --jobs 1 --out there")
    assert "Abrupt changes" in text
    assert "GP-UCB" in text
    assert "auto" in text
    page = Path("there/demo.html").read_text(encoding="utf-8")
    assert balanced(page)
    assert loads(page) == []
    assert "http" not in page
    assert page.count("<svg") == 4
    assert page.count("<table>") == 2
    assert not any(colour in page for colour in (CSS.ink, CSS.paper, *CSS.series))
    assert sorted(p.name for p in Path("there").glob("*.png")) == [
        "deng-abrupt-belief.png",
        "deng-abrupt-regret.png",
        "deng-slow-belief.png",
        "deng-slow-regret.png",
    ]


@pytest.mark.slow
def test_demo_prints_its_tables_without_the_extras_and_says_what_to_install(call, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "joblib"):
        monkeypatch.setitem(sys.modules, name, None)
    result = call("demo --seeds 2 --horizon 30 --out there")
    assert result.exit_code == 0
    assert "Abrupt changes" in result.stdout
    assert "Slow drift" in result.stdout
    assert "pip install 'driftwise[plot]'" in result.stderr
    assert not Path("there").exists()
