"""`driftwise tune` is interrupted and killed: nothing is lost, nothing doubled, and no process is left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter

import pytest
from tests.tune.scripts import FAST, alive, lines, parent, script, started, until

from driftwise import Study

pytestmark = pytest.mark.slow  # it says nothing about versions of other packages

# Each command and a child of its own note their ids, so that orphans are found, and the setting.
BODY = """
x, journal, naps = float(sys.argv[1]), sys.argv[2], float(sys.argv[3])
child = subprocess.Popen(["sleep", "600"])
def note(*words):
    os.write(file, (json.dumps(words) + "\\n").encode())
file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
note("begin", x, os.getpid(), child.pid)
time.sleep(naps)
while os.path.exists(journal + ".hold"):
    time.sleep(0.01)
note("end", x)
print(x * x)
"""


@pytest.fixture
def tuned(tmp_path):
    """The folder, its journal, and what starts `driftwise tune` there."""
    journal = tmp_path / "journal"
    journal.touch()
    command = script(tmp_path, BODY).split()

    def start(*options: str, naps: float = 0.05):
        words = ("tune", "s", "--float", "x=0:1", *FAST, "--json", *options, "--", *command)
        return started(tmp_path, *words, "{x}", str(journal), str(naps))

    return tmp_path, journal, start


def begun(journal) -> list:
    return [line for line in lines(journal) if line[0] == "begin"]


def nothing_left_running(journal) -> None:
    pids = [pid for _, _, *pids in begun(journal) for pid in pids]
    until(lambda: not any(map(alive, pids)))


def test_killed_at_random_moments(tuned):
    folder, journal, start = tuned
    draw, printed = random.Random(0), []
    for round_ in range(4):
        tuner = start("--grace", "0.2", *(["--jobs", "2"] if round_ % 2 else []))
        # in the first round until one step is done, so that something was printed
        least = len(begun(journal)) + max(draw.randrange(3), round_ == 0)
        until(lambda least=least: len(begun(journal)) > least)
        time.sleep(draw.uniform(0, 0.15))
        tuner.kill()
        out, _ = tuner.communicate()
        printed += [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
        nothing_left_running(journal)
        study = Study.open("s", path=folder / "driftwise.db")
        stored = {o.number: o.reward for o in study.observations()}
        assert all(stored[step["number"]] == step["reward"] for step in printed)
        assert len(study.pending()) <= 2
        study.close()
    last = start("--steps", "4")
    out, said = last.communicate()
    assert last.returncode == 0, said
    seen = list(Study.open("s", path=folder / "driftwise.db").observations())
    counts = Study.open("s", path=folder / "driftwise.db").describe().counts
    assert [o.number for o in seen] == list(range(1, counts.asked + 1))
    assert (counts.told, counts.unanswered, counts.abandoned) == (counts.asked, 0, 0)
    assert all(o.reward == o.params["x"] ** 2 for o in seen)
    assert {x for _, x, *_ in begun(journal)} == {o.params["x"] for o in seen}  # all that was tried has its reward
    once = Counter(step["number"] for step in printed)
    assert set(once.values()) == {1}  # no step was done twice
    nothing_left_running(journal)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGHUP])
def test_ended_by_a_signal_it_takes_its_commands_along(tuned, stop):
    if signal.getsignal(stop) is signal.SIG_IGN:
        pytest.skip(f"{stop.name} is ignored here, as it is under nohup")
    folder, journal, start = tuned
    tuner = start(naps=600)
    until(lambda: begun(journal))
    tuner.send_signal(stop)
    tuner.communicate()
    assert tuner.returncode == -stop
    nothing_left_running(journal)
    (left,) = Study.open("s", path=folder / "driftwise.db").pending()
    assert left.params["x"] == begun(journal)[0][1]


def test_the_first_interrupt_waits_for_the_commands_under_way(tuned):
    folder, journal, start = tuned
    hold = journal.with_name(journal.name + ".hold")
    hold.touch()  # the commands end after it is gone
    tuner = start("--jobs", "2")
    until(lambda: len(begun(journal)) == 2)
    tuner.send_signal(signal.SIGINT)
    until(lambda: "Waiting for the commands under way." in tuner.stderr.readline())
    hold.unlink()
    out, _ = tuner.communicate()
    assert tuner.returncode == 130
    *steps, end = [json.loads(line) for line in out.splitlines()]
    assert [step["reward"] for step in steps] == [step["params"]["x"] ** 2 for step in steps]
    assert len(steps) == end["done"]["steps"] == 2
    assert end["done"]["stopped"]
    assert Study.open("s", path=folder / "driftwise.db").describe().counts.unanswered == 0


def test_the_second_interrupt_ends_them_and_the_next_run_takes_them_up(tuned):
    folder, journal, start = tuned
    tuner = start(naps=600)
    until(lambda: begun(journal))
    tuner.send_signal(signal.SIGINT)
    until(lambda: "Waiting" in tuner.stderr.readline())
    tuner.send_signal(signal.SIGINT)
    tuner.communicate()
    assert tuner.returncode == 130
    nothing_left_running(journal)
    again = start("--steps", "1", naps=0.0)
    out, said = again.communicate()
    assert again.returncode == 0, said
    step = json.loads(out.splitlines()[0])
    assert step["resumed"]
    assert step["params"]["x"] == begun(journal)[0][1]
    assert len(list(Study.open("s", path=folder / "driftwise.db").observations())) == 1


def test_there_is_one_tuner_for_a_study(tuned):
    _, journal, start = tuned
    tuner = start(naps=600)
    until(lambda: begun(journal))
    other = start()
    _, said = other.communicate()
    assert other.returncode == 1
    assert "another `driftwise tune s` is at work" in said
    tuner.kill()
    tuner.communicate()
    nothing_left_running(journal)
    assert len(begun(journal)) == 1


def test_a_guard_that_is_killed_is_no_failure_of_the_setting(tuned):
    folder, journal, start = tuned
    tuner = start(naps=600)
    until(lambda: begun(journal))
    (_, _, pid, child) = begun(journal)[0]
    os.kill(parent(pid), signal.SIGKILL)
    _, said = tuner.communicate()
    for each in (pid, child):
        os.kill(each, signal.SIGKILL)
    assert tuner.returncode == 1
    assert "the process that watched over the command was killed" in said
    assert Study.open("s", path=folder / "driftwise.db").describe().counts.unanswered == 1
