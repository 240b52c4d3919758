"""The command line: every command, and every way to get it wrong."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from driftwise import Study, environment, run
from driftwise.cli import failure
from driftwise.cli.app import app
from driftwise.lab.tasks import Contender
from driftwise.plots.style import CSS
from pages import balanced, loads

RESULT_KEYS = {
    "policy",
    "environment",
    "seed",
    "horizon",
    "cumulative_regret",
    "mean_regret",
    "seconds_per_step",
}


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs `driftwise …` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("DRIFTWISE_PATH", raising=False)
    monkeypatch.delenv(failure.DEBUG, raising=False)

    def invoke(line: str):
        return CliRunner().invoke(app, line, prog_name="driftwise")

    return invoke


@pytest.fixture
def good(call):
    """A call that must succeed, and says nothing on stderr."""

    def invoke(line: str) -> str:
        result = call(line)
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
        return result.stdout

    return invoke


@pytest.fixture
def refused(call):
    """A call that must fail in one or two lines on stderr."""

    def invoke(line: str, code: int = 2) -> str:
        result = call(line)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        lines = result.stderr.splitlines()
        assert 1 <= len(lines) <= 2
        assert lines[0].startswith("driftwise: ")
        return result.stderr

    return invoke


# --- what there is --------------------------------------------------------------------------------------------------


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
    "command",
    ["demo", "compare", "theory", "policies", "environments"]
    + [f"study {c}" for c in ("create", "ask", "tell", "observe", "abandon", "recommend", "show", "list", "export")],
)
def test_every_command_has_help(good, command):
    text = good(f"{command} --help")
    assert f"driftwise {command}" in text


# --- compare --------------------------------------------------------------------------------------------------------


def test_compare_writes_exactly_the_promised_json(good):
    text = good(
        "compare --policy sw-gp-ucb:window=20 --policy r-gp-ucb:interval=20,width=1.5 --env deng-abrupt "
        "--horizon 30 --seeds 2 --json out.json"
    )
    data = json.loads(Path("out.json").read_text())
    assert set(data) == {"results"}
    assert all(set(row) == RESULT_KEYS for row in data["results"])
    found = [(row["policy"], row["seed"]) for row in data["results"]]
    assert found == [(p, s) for p in ("sw-gp-ucb:window=20", "r-gp-ucb:interval=20,width=1.5") for s in (0, 1)]
    assert all(row["environment"] == "deng-abrupt" and row["horizon"] == 30 for row in data["results"])
    assert all(row["mean_regret"] == pytest.approx(row["cumulative_regret"] / 30) for row in data["results"])
    assert "sw-gp-ucb:window=20" in text
    assert "95% interval" in text


def test_compare_gives_the_figures_of_run(good):
    good("compare --policy sw-gp-ucb:window=20 --env deng-slow --horizon 25 --seeds 2 --json out.json")
    rows = json.loads(Path("out.json").read_text())["results"]
    for row in rows:
        world = environment("deng-slow", seed=row["seed"])
        policy = Contender("", "sw-gp-ucb", (("window", 20),)).on(world)
        assert policy.model.kernel == world.kernel
        assert policy.model.noise == pytest.approx(0.01)
        steps = list(run(policy, world, 25))
        assert row["cumulative_regret"] == pytest.approx(sum(step.regret for step in steps), abs=1e-12)


def test_compare_is_the_same_on_two_processes(good):
    line = "compare --policy gp-ucb --policy random --env still --horizon 15 --seeds 2 --json {}.json --jobs {}"
    good(line.format("one", 1))
    good(line.format("two", 2))
    one, two = (json.loads(Path(f"{name}.json").read_text())["results"] for name in ("one", "two"))
    for row in one + two:
        del row["seconds_per_step"]
    assert one == two


def test_compare_on_a_recording(good):
    rewards = np.random.default_rng(0).normal(size=(12, 4))
    np.savetxt("r.csv", rewards, delimiter=",")
    np.savetxt("p.csv", np.arange(8.0).reshape(4, 2), delimiter=",")
    good("compare --policy gp-ucb:noise=0.1 --policy random --rewards r.csv --points p.csv --seeds 1 --json out.json")
    rows = json.loads(Path("out.json").read_text())["results"]
    assert [row["environment"] for row in rows] == ["r", "r"]
    assert all(row["horizon"] == 12 for row in rows)
    worst = (rewards.max(axis=1) - rewards.min(axis=1)).sum()
    assert all(0 <= row["cumulative_regret"] <= worst for row in rows)


def test_compare_on_a_recording_without_points_plays_the_second_half(good):
    np.savetxt("r.csv", np.random.default_rng(0).normal(size=(12, 4)), delimiter=",")
    good("compare --policy sw-gp-ucb:window=3 --rewards r.csv --seeds 1 --json out.json")
    assert json.loads(Path("out.json").read_text())["results"][0]["horizon"] == 6


def test_compare_options_reach_the_environment(good):
    good("compare --policy random --env bogunovic:epsilon=0.03,side=5 --horizon 3 --seeds 1 --json out.json")
    assert json.loads(Path("out.json").read_text())["results"][0]["horizon"] == 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "Missing option '--policy'"),
        ("--policy nope", "no policy is called 'nope'"),
        ("--policy gp-ucb:window=3", "gp-ucb has no option 'window'"),
        ("--policy sw-gp-ucb:window=0", "window must be ≥ 1, got 0; use gp-ucb"),
        ("--policy sw-gp-ucb:window=2.5", "window must be a whole number, got 2.5"),
        ("--policy sw-gp-ucb:window", "NAME:KEY=VALUE"),
        ("--policy sw-gp-ucb:window=3,window=4", "given twice"),
        ("--policy gp-ucb:kernel=foo", "a kernel is written rbf:LENGTHSCALE"),
        ("--policy gp-ucb:kernel=rbf:x", "got 'rbf:x'"),
        ("--policy gp-ucb:kernel=rbf:-1", "lengthscale"),
        ("--policy gp-ucb:kernel=matern:3:0.2", "nu must be"),
        ("--policy gp-ucb:noise=0", "noise must be > 0"),
        ("--policy gp-ucb:noise=nan", "noise must be finite"),
        ("--policy gp-ucb --policy gp-ucb", "must be a different one"),
        ("--policy gp-ucb --env nope", "no environment is called 'nope'"),
        ("--policy gp-ucb --env still:size=3", "still has no option 'size'"),
        ("--policy gp-ucb --seeds 0", "got '0'"),
        ("--policy gp-ucb --horizon ten", "got 'ten'"),
        ("--policy gp-ucb --jobs 0", "--jobs"),
        ("--policy gp-ucb --points p.csv", "give the recording as --rewards"),
        ("--policy gp-ucb --rewards nope.csv", "nope.csv"),
        ("--policy gp-ucb --colour red", "No such option"),
    ],
)
def test_compare_refuses(refused, line, words):
    assert words in refused(f"compare {line}")


def test_a_recording_that_is_too_short_is_refused(refused):
    np.savetxt("r.csv", np.eye(4), delimiter=",")
    np.savetxt("p.csv", np.arange(4.0), delimiter=",")
    message = refused("compare --policy gp-ucb --rewards r.csv --points p.csv --horizon 9")
    assert "4 steps" in message


def test_a_file_that_cannot_be_written_is_told(refused):
    message = refused("compare --policy random --horizon 2 --seeds 1 --json no/such/folder/out.json", code=1)
    assert "no such file or directory: no/such/folder/out.json" in message


# --- theory ---------------------------------------------------------------------------------------------------------


def test_theory_says_where_it_is_vacuous(good):
    assert "are vacuous here" in good("theory --horizon 100")
    text = good("theory --noise 1 --budget 0.001 --horizon 2000 --B 50 --points 50")
    assert "promise less than 2BT" in text


def test_theory_json_adds_up(good):
    data = json.loads(good("theory --horizon 200 --budget 4 --B 2 --kernel matern:1.5:0.3 --dim 2 --json"))
    assert data["gain"]["upper"] == pytest.approx(data["gain"]["lower"] * np.e / (np.e - 1))
    assert [(p["policy"], p["budget_known"]) for p in data["promises"]] == [
        (policy, known) for policy in ("r-gp-ucb", "sw-gp-ucb") for known in (True, False)
    ]
    for promise in data["promises"]:
        bound = promise["bound"]
        assert bound["total"] == pytest.approx(bound["drift"] + bound["estimation"])
        assert bound["trivial"] == 2 * 2 * 200
        assert bound["vacuous"] == (bound["total"] >= bound["trivial"])
        assert promise["sharp_bound"]["total"] <= bound["total"]
    known = data["promises"][0]
    assert known["memory"] == round(data["gain"]["upper"] ** 0.25 * (200 / 4) ** 0.5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--delta 1", "delta must be strictly between 0 and 1, got 1.0"),
        ("--noise 0", "noise must be > 0"),
        ("--budget -1", "budget must be ≥ 0"),
        ("--B nan", "B must be finite"),
        ("--dim 0", "--dim"),
        ("--kernel cosine", "a kernel is written"),
    ],
)
def test_theory_refuses(refused, line, words):
    assert words in refused(f"theory --horizon 20 {line}")


# --- a live study ---------------------------------------------------------------------------------------------------

CREATE = "study create prices --float price=5:20 --int n=1:3 --choice mode=a,b --policy sw-gp-ucb:window=30"


def fill(good, n=4):
    good(CREATE)
    for i in range(n):
        asked = json.loads(good("study ask prices --json"))
        good(f"study tell prices {asked['id']} {i - 1.5}")


def test_a_study_from_the_shell(good):
    assert "study prices is in driftwise.db" in good(CREATE)
    asked = json.loads(good("study ask prices --key till-7 --json"))
    assert set(asked) == {"id", "number", "params", "at", "key"}
    assert asked["number"] == 1
    assert set(asked["params"]) == {"price", "n", "mode"}
    assert json.loads(good("study ask prices --key till-7 --json")) == asked
    assert json.loads(good(f"study tell prices {asked['id']} -3.5 --json")) == {
        "number": 1,
        "new": True,
        "in_window": True,
    }
    assert "told before" in good(f"study tell prices {asked['id']} -3.5")
    assert "number 2" in good("study observe prices price=12.5 n=2 mode=b --reward 4")
    best = json.loads(good("study recommend prices --json"))
    assert set(best) == {"params", "mean", "std"}
    assert best["params"]["mode"] == "b"
    assert "mode = b" in good("study recommend prices")


def test_the_shell_and_the_library_share_the_study(good):
    good(CREATE)
    asked = json.loads(good("study ask prices --json"))
    study = Study.open("prices", path="driftwise.db")
    study.tell(asked["id"], 2.0)
    assert study.space.names == ("price", "n", "mode")
    assert study.policy.window == 30
    assert "number 1 was told before" in good(f"study tell prices {asked['id']} 2.0")


def test_create_twice_is_the_same_study_and_otherwise_a_conflict(good, refused):
    good(CREATE)
    good(CREATE)
    assert "made otherwise" in refused("study create prices --float price=5:21", code=1)


def test_show_draws_each_parameter(good):
    fill(good)
    text = good("study show prices")
    assert "4 rewards" in text
    assert "price, best at" in text
    assert "▲" in text
    assert "░" in text
    assert "mode" in text


def test_show_one_parameter_and_a_picture(good, refused):
    fill(good)
    assert "mode" not in good("study show prices --parameter price").split("best now")[1].split("\n", 1)[1]
    good("study show prices --png belief.png")
    assert Path("belief.png").read_bytes()[:4] == b"\x89PNG"
    assert "has none" in refused("study show prices --parameter mode --png belief.png")
    assert "no parameter is called 'cost'" in refused("study show prices --parameter cost")


def test_show_without_rewards(good):
    good(CREATE)
    assert "no rewards yet" in good("study show prices")
    assert json.loads(good("study show prices --json"))["recommendation"] is None


def test_show_json_counts(good):
    fill(good)
    waiting = json.loads(good("study ask prices --json"))
    data = json.loads(good("study show prices --json"))
    assert (data["asked"], data["told"], data["awaited"]) == (5, 4, 1)
    assert data["pending"] == [{key: waiting[key] for key in ("id", "number", "params")}]


def test_list_and_another_file(good, monkeypatch):
    good(CREATE)
    good("study create costs --float x=0:1 --minimize")
    assert [s["name"] for s in json.loads(good("study list --json"))["studies"]] == ["costs", "prices"]
    assert "minimize" in good("study show costs --json")
    monkeypatch.setenv("DRIFTWISE_PATH", "other.db")
    good("study create else --float rate=1e-4:1:log")
    assert "else" in good("study list")
    assert Path("other.db").exists()


@pytest.mark.parametrize("way", ["study export prices --json", "study export prices -o log.json"])
def test_export_json(good, way):
    fill(good)
    text = good(way) or Path("log.json").read_text()
    data = json.loads(text)
    assert data["study"] == "prices"
    assert [o["reward"] for o in data["observations"]] == [-1.5, -0.5, 0.5, 1.5]


def test_export_csv(good):
    fill(good)
    good("study export prices -o log.csv")
    rows = list(csv.DictReader(Path("log.csv").read_text().splitlines()))
    assert list(rows[0]) == ["number", "at", "price", "n", "mode", "reward"]
    assert [float(row["reward"]) for row in rows] == [-1.5, -0.5, 0.5, 1.5]
    assert good("study export prices") == Path("log.csv").read_text()


def test_abandon(good):
    good(CREATE)
    asked = json.loads(good("study ask prices --json"))
    good(f"study abandon prices {asked['id']}")
    assert json.loads(good("study show prices --json"))["awaited"] == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("create x", "at least one parameter"),
        ("create x --float price", "--float is written as price=5:20, got 'price'"),
        ("create x --float price=5", "LOW:HIGH"),
        ("create x --float price=20:5", "parameter 'price': low must be below high"),
        ("create x --float price=a:5", "two numbers"),
        ("create x --float price=0:5:log", "log scale needs low > 0"),
        ("create x --float price=0:inf", "finite"),
        ("create x --int n=1:2.5", "two whole numbers"),
        ("create x --choice mode=a,a", "must differ"),
        ("create x --choice mode=", "--choice is written as mode=a,b"),
        ("create x --float a=0:1 --int a=1:2", "given twice"),
        ("create x --float a=0:1 --policy nope", "no policy is called"),
        ("create x --float a=0:1 --policy r-gp-ucb:interval=0", "interval must be ≥ 1"),
        ("ask nope", "no study 'nope'"),
        ("tell prices nope 3", "no suggestion 'nope'"),
        ("tell prices nope abc", "got 'abc'"),
        ("tell prices nope nan", "reward must be finite"),
        ("tell prices nope 1e400", "reward must be finite"),
        ("observe prices price=1 n=1 mode=a --reward 1", "parameter 'price' must be a number from 5 to 20"),
        ("observe prices price=9 mode=a --reward 1", "parameter 'n' is missing"),
        ("observe prices price=9 n=1 mode=a cost=3 --reward 1", "unknown parameter 'cost'"),
        ("observe prices price=9 n=1 mode=c --reward 1", "must be one of ['a', 'b'], got 'c'"),
        ("observe prices price --reward 1", "NAME=VALUE, got 'price'"),
        ("observe prices price=9 price=10 --reward 1", "given twice"),
        ("recommend prices", "no rewards yet"),
        ("abandon prices nope", "no suggestion 'nope'"),
        ("export prices -o log.xls", "must end in .csv or .json"),
        ("dance prices", "No such command 'dance'"),
    ],
)
def test_study_refuses(good, refused, line, words):
    good(CREATE)
    assert words in refused(f"study {line}")


def test_a_second_reward_is_refused_and_nothing_changes(good, refused):
    good(CREATE)
    asked = json.loads(good("study ask prices --json"))
    good(f"study tell prices {asked['id']} 3")
    refused(f"study tell prices {asked['id']} 4", code=1)
    assert json.loads(good("study export prices --json"))["observations"][0]["reward"] == 3


def test_a_file_that_is_no_study_is_told_and_left_alone(refused):
    Path("notes.db").write_text("not a study")
    refused("study ask prices --path notes.db", code=1)
    assert Path("notes.db").read_text() == "not a study"


def test_a_file_that_is_not_there(refused):
    assert "driftwise.db" in refused("study ask prices")


# --- what goes wrong otherwise --------------------------------------------------------------------------------------


def test_what_is_unexpected_is_one_line_and_the_way_to_more(refused, monkeypatch):
    monkeypatch.setattr("driftwise.cli.show.as_json", lambda value: 1 / 0)
    message = refused("policies --json", code=1)
    assert "ZeroDivisionError" in message
    assert "DRIFTWISE_DEBUG=1" in message


def test_debug_shows_the_traceback(call, monkeypatch):
    monkeypatch.setattr("driftwise.cli.show.as_json", lambda value: 1 / 0)
    monkeypatch.setenv(failure.DEBUG, "1")
    assert isinstance(call("policies --json").exception, ZeroDivisionError)


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


def test_demo_writes_a_report_that_needs_nothing_else(good):
    text = good("demo --seeds 2 --horizon 60 --jobs 1 --out there")
    assert "A world that jumps" in text
    assert "GP-UCB" in text
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
