"""`driftwise tune` with real programs: rewards, failures, time-outs, several at once, and what is refused."""

import json
import os
import shlex

import pytest
from tests.tune.scripts import alive, lines, script
from typer.testing import CliRunner

from driftwise import Float, Int, Study
from driftwise.cli.app import app

SMALL = "--float x=0:1 --policy sw-gp-ucb:window=10"
PARABOLA = "x = float(sys.argv[1])\nprint('measuring')\nprint(-(x - 0.3) ** 2)\n"


@pytest.fixture
def tune(call, tmp_path):
    """Runs `driftwise tune s …` on a program written in Python, and gives the JSON of each step and of the end."""

    def invoke(options: str, body: str, arguments: str = "{x}", code: int = 0):
        result = call(f"tune s {options} --json -- {script(tmp_path, body)} {arguments}")
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.stderr
        *steps, end = [json.loads(line) for line in result.stdout.splitlines()] or [None]
        return (steps, end) if code == 0 else (([*steps, end] if end else []), result.stderr)

    return invoke


def opened(name: str = "s") -> Study:
    return Study.open(name, path="driftwise.db")


def test_rewards_are_told(tune):
    steps, end = tune(f"{SMALL} --steps 8", PARABOLA)
    seen = list(opened().observations())
    assert [(s["number"], s["params"], s["reward"]) for s in steps] == [(o.number, o.params, o.reward) for o in seen]
    assert all(o.reward == -((o.params["x"] - 0.3) ** 2) for o in seen)
    assert end["done"] == {"steps": 8, "failures": 0, "stopped": False}
    best = opened().recommend()
    assert end["best"]["params"] == steps[-1]["best"]["params"] == best.params
    assert end["command"][-1] == repr(best.params["x"])


def test_it_goes_on_by_the_name_alone(tune):
    tune(f"{SMALL} --steps 3", PARABOLA)
    steps, _ = tune("--steps 2", PARABOLA)
    assert [s["number"] for s in steps] == [4, 5]


def test_it_asks_what_a_study_asks(tune):
    steps, _ = tune(f"{SMALL} --steps 6", PARABOLA)
    study = Study("same", {"x": Float(0, 1)}, ("sw-gp-ucb", {"window": 10}))
    for step in steps:
        s = study.ask()
        assert s.params == step["params"]
        study.tell(s, step["reward"])


def test_failures_of_every_kind(tune):
    body = (
        "n = int(sys.argv[1])\n"
        "if n == 1: sys.exit('no room')\n"
        "if n == 2: os.kill(os.getpid(), 9)\n"
        "print('fast' if n == 3 else n)\n"
    )
    steps, end = tune("--int n=1:5 --policy random --steps 25 --keep-going", body, "{n}")
    why = {s["params"]["n"]: s.get("why") for s in steps}
    assert why[1] == "exit code 1: no room"
    assert why[2] == "ended by signal 9"
    assert why[3] == "the last line must be a number, got 'fast'"
    assert why[4] is why[5] is None
    seen = list(opened().observations())
    assert [o.failed for o in seen] == [o.params["n"] < 4 for o in seen] == [s["failed"] for s in steps]
    assert end["done"]["failures"] == sum(o.failed for o in seen)


def test_a_time_out_is_a_failure(tune):
    (step,), _ = tune(f"{SMALL} --steps 1 --timeout 0.001", "time.sleep(600)")
    assert step["why"].startswith("took longer than its time-out and was ended after")
    assert [o.failed for o in opened().observations()] == [step["failed"]] == [True]


def test_a_time_out_ends_the_whole_group_even_if_it_will_not(tune, tmp_path):
    body = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))\n"
        f"print(json.dumps([os.getpid(), child.pid]), file=open({str(tmp_path / 'pids')!r}, 'w'), flush=True)\n"
        "time.sleep(600)\n"
    )
    for seconds in (0.4, 2, 10, 50):  # on a busy machine it may not even have begun by then
        (step,), _ = tune(f"{SMALL} --steps 1 --timeout {seconds} --grace 0.1", body)
        assert step["failed"]
        if (tmp_path / "pids").exists() and lines(tmp_path / "pids"):
            break
    (pids,) = lines(tmp_path / "pids")
    assert not any(map(alive, pids))


def test_what_a_command_leaves_running_ends_with_it(tune, tmp_path):
    body = (
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"print(json.dumps(child.pid), file=open({str(tmp_path / 'pids')!r}, 'a'), flush=True)\n"
        "print(1.0)\n"
    )
    tune(f"{SMALL} --steps 2", body)
    assert len(lines(tmp_path / "pids")) == 2
    assert not any(map(alive, lines(tmp_path / "pids")))


def test_failures_in_a_row_stop_it(tune):
    steps, said = tune(f"{SMALL} --stop-after 3", "sys.exit('is the server up?')", code=1)
    assert [s["failed"] for s in steps] == [True] * 3
    assert "the last 3 commands failed (exit code 1: is the server up?); try by hand: " in said
    assert opened().describe().counts.unanswered == 0


def test_bad_output_may_stop_it_and_is_tried_again(tune):
    steps, said = tune(f"{SMALL} --on-bad-output stop", "print('12 ms')", code=1)
    assert not steps
    assert "the last line must be a number, got '12 ms'" in said
    (left,) = opened().pending()
    (step,), _ = tune("--steps 1", "print(12)")
    assert (step["resumed"], step["id"], step["reward"]) == (True, left.id, 12.0)


def test_fresh_gives_up_what_was_left(tune):
    tune(f"{SMALL} --on-bad-output stop", "print('12 ms')", code=1)
    (left,) = opened().pending()
    (step,), _ = tune("--steps 1 --fresh", "print(12)")
    assert not step["resumed"]
    assert step["id"] != left.id
    counts = opened().describe().counts
    assert (counts.abandoned, counts.unanswered, counts.told) == (1, 0, 1)


def test_what_somebody_else_asked_is_left_alone(tune):
    study = Study("s", {"x": Float(0, 1)}, ("sw-gp-ucb", {"window": 10}), path="driftwise.db")
    theirs = study.ask()
    (step,), _ = tune("--steps 1", PARABOLA)
    assert step["id"] != theirs.id
    assert [s.id for s in study.pending()] == [theirs.id]


def test_fields_measures_and_limits(tune):
    body = "x = float(sys.argv[1])\nprint(json.dumps({'score': x, 'ms': {'p99': 300 * x}, 'cpu': 1}))\n"
    options = "--limit p99<=200 --reward-field score --measure p99=ms.p99 --measure cpu --steps 14"
    steps, end = tune(f"{SMALL} {options}", body)
    assert all(s["measures"] == {"p99": 300 * s["reward"], "cpu": 1.0} for s in steps)
    assert [dict(o.measures) for o in opened().observations()] == [s["measures"] for s in steps]
    assert str(dict(opened().description.limits)["p99"]) == "at most 200"
    assert end["best"]["params"]["x"] < 0.7
    (step,), _ = tune("--reward-field score --steps 1 --keep-going", body)  # the limit's measure is always wanted
    assert step["why"].startswith("the last line has no field 'p99'")


def test_the_run_time_is_a_cost(tune):
    steps, _ = tune(f"{SMALL} --minimize --reward time --steps 2", "time.sleep(0.05)")
    assert all(s["reward"] == s["seconds"] >= 0.05 for s in steps)


def test_rules_are_kept(tune):
    steps, _ = tune(f"{SMALL} --int n=1:8 --where 'x * n <= 2' --steps 10", "print(1)", "{x} {n}")
    assert all(s["params"]["x"] * s["params"]["n"] <= 2 for s in steps)


def test_several_at_once_are_distinct(tune, tmp_path):
    """Each waits until three are there, so that this ends only if three run at once."""
    body = (
        f"folder, n = {str(tmp_path)!r}, int(sys.argv[1])\n"
        "open(f'{folder}/at-{n}', 'w').close()\n"
        "while len([f for f in os.listdir(folder) if f.startswith('at-')]) < 3: time.sleep(0.01)\n"
        "print(n)\n"
    )
    steps, _ = tune("--int n=1:1000 --policy sw-gp-ucb:window=10 --jobs 3 --steps 6", body, "{n}")
    assert len(steps) == 6
    assert len({s["id"] for s in steps}) == 6
    first = [o.params["n"] for o in opened().observations()][:3]
    assert len(set(first)) == 3
    assert opened().describe().counts.unanswered == 0


def test_it_stops_when_its_time_is_over(tune):
    steps, end = tune(f"{SMALL} --until-seconds 0.001 --pause 0.01", PARABOLA)  # without --steps it would go on
    assert len(steps) == end["done"]["steps"] <= 1


def test_a_pause_changes_nothing_else(tune):
    steps, _ = tune(f"{SMALL} --steps 3 --pause 0.05 --jobs 2", PARABOLA)
    assert sorted(s["number"] for s in steps) == [1, 2, 3]


def test_parameters_in_the_environment(tune):
    body = "found = json.loads(os.environ['DRIFTWISE_PARAMS'])\nassert str(found['x']) == os.environ['DRIFTWISE_x']\n"
    steps, _ = tune(f"{SMALL} --env --steps 2", body + "print(found['x'])", "")
    assert all(s["reward"] == s["params"]["x"] for s in steps)


@pytest.mark.parametrize("shell", ["", "--shell"])
def test_quotes_unicode_and_spaces_arrive(tune, shell):
    values = ["a b", "'", '"', "$HOME", "größe", "日本", "{x}", "-n", "*", "a;b"]
    body = "print(json.dumps({'word': 1, 'argv': sys.argv[1:]}), file=open('argv', 'a'))\nprint(1)\n"
    choice = shlex.quote("word=" + ",".join(values))
    steps, _ = tune(f"--choice {choice} --policy random --steps 25 {shell}", body, "-- {word}")
    with open("argv", encoding="utf-8") as file:
        arrived = [json.loads(line)["argv"][-1] for line in file]
    assert arrived == [s["params"]["word"] for s in steps]
    assert len(set(arrived)) > 5


def test_a_long_output_and_bytes_that_are_no_text(tune):
    body = "sys.stdout.buffer.write(b'\\xff\\xfe' + b'x' * 3_000_000 + b'\\n2.5\\n')\n"
    (step,), _ = tune(f"{SMALL} --steps 1", body)
    assert step["reward"] == 2.5


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("tune s --float x=0:1 -- sh {y}", "{y} must be a parameter"),
        ("tune s --float x=0:1 -- sh", "{x} is missing"),
        ("tune s --float x=0:1 -- ./nowhere {x}", "must be a program that can be run"),
        ("tune s --float x=0:1", "the command is missing"),
        ("tune s -- sh {x}", "give its parameters"),
        ("tune s --minimize -- sh {x}", "--minimize belongs to the parameters"),
        ("tune s --float x=0:1 --reward time -- sh {x}", "a run time is a cost"),
        ("tune s --float x=0:1 --limit p99 -- sh {x}", "a limit is written as p99_ms<=200"),
        ("tune s --float x=0:1 --where 'x < y' -- sh {x}", "y"),
        ("tune s --float x=0:1 --timeout 0 -- sh {x}", "timeout must be from 0.001 to 1e+07 seconds, got 0.0"),
        ("tune s --float x=0:1 --timeout inf -- sh {x}", "timeout must be finite"),
        ("tune s --float x=0:1 --jobs 33 -- sh {x}", "jobs must be at most the study's patience, 32, got 33"),
        ("tune s --float x=0:1 --measure =a -- sh {x}", "a measure is written as FIELD or NAME=FIELD"),
    ],
)
def test_what_is_refused(refused, line, problem):
    assert problem in refused(line)
    assert "jobs" in line or not [f for f in os.listdir() if f.endswith(".db")]


def test_a_command_that_cannot_be_started_is_no_failure(tune, tmp_path, call):
    program = tmp_path / "broken"
    program.write_text("#!/nowhere/at/all\n")
    program.chmod(0o755)
    result = call(f"tune s {SMALL} --steps 3 -- {program} {{x}}")
    assert result.exit_code == 2
    assert "cannot be started: no such file or directory" in result.stderr
    counts = opened().describe().counts
    assert (counts.told, counts.unanswered) == (0, 1)


def test_a_study_with_a_context_is_refused(refused):
    Study("s", {"x": Float(0, 1)}, context={"n": Int(0, 3)}, path="driftwise.db")
    assert "has a context" in refused("tune s -- sh {x}")


def test_lines_for_people(good, tmp_path):
    command = script(tmp_path, "x = float(sys.argv[1])\nif x > 0.9: sys.exit('\\x1b[31mtoo big')\nprint(x)\n")
    text = good(f"tune s {SMALL} --steps 12 -- {command} {{x}}")
    *steps, done, best, run = text.splitlines()
    assert len(steps) == 12
    assert "failed: exit code 1: \\x1b[31mtoo big" in text
    assert "best now: x = " in steps[0]
    assert done.startswith("12 steps done, ")
    assert best.startswith("Best now: x = ")
    assert run == f"  {command} {opened().recommend().params['x']!r}"


def test_in_a_terminal_of_fifty_columns(call, tmp_path, monkeypatch):
    """Every line of the drawing fits, and what is left at the end is the result."""
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich then takes any output for a terminal
    monkeypatch.setenv("TERM", "xterm-256color")
    command = script(tmp_path, "print(float(sys.argv[1]))")
    line = f"tune s {SMALL} --choice a_rather_long_name=some-rather-long-value,b --steps 9 -- {command} {{x}} "
    result = CliRunner().invoke(app, line + "{a_rather_long_name}", prog_name="driftwise")
    assert result.exit_code == 0, result.output
    assert "step 9 of 9" in result.stdout
    assert "█" in result.stdout
    assert "Best now: " in result.stdout
