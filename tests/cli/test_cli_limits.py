"""What would never end is refused at once; workers are few, and end with whoever started them."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import pytest
from tests.tune.scripts import alive, until

from driftwise.concurrency.threads import cores
from driftwise.lab.engine import SHARE, bounded, perform_all

HUGE = str(10**12)


@pytest.mark.parametrize(
    "line",
    [
        f"compare --policy random --horizon {HUGE}",
        f"compare --policy random --seeds {HUGE}",
        f"compare --policy random --env deng-abrupt:horizon={HUGE}",
        f"compare --policy r-gp-ucb:horizon={HUGE}",
        f"study create s --float x=0:1 --policy r-gp-ucb:horizon={HUGE}",
        "compare --policy random --env rotating-box:dim=1000",
        f"demo --horizon {HUGE}",
        f"demo --seeds {HUGE}",
        f"lab run --policy random --suite deng --seeds {HUGE}",
        f"lab run --policy random --suite deng --horizon {HUGE}",
        f"theory --horizon {HUGE}",
        "theory --points 100000",
        "theory --dim 30000",
        f"theory --dim {10**30}",
    ],
)
def test_what_would_never_end_is_refused_with_the_limit(refused, line):
    assert "must be at most" in refused(line)


def test_so_is_a_plan_that_is_too_long_to_be_listed(refused):
    policies = " ".join(f"--policy sw-gp-ucb:window={i + 1}" for i in range(60))
    assert "1,000,000 is the most" in refused(f"lab run --suite deng {policies} --seeds 10000")


@pytest.mark.parametrize(
    "line", ["theory --B 0", "theory --B 1e308 --R 1e308", "theory --noise 1e-320", "theory --delta 1e-320"]
)
def test_numbers_beyond_the_computer_are_no_bug(call, line):
    result = call(line)
    assert result.exit_code in (0, 2)
    assert "bug" not in result.stderr
    assert len(result.stderr.splitlines()) <= 2


@pytest.mark.parametrize(
    "line",
    [
        "--policy ldp:inner=abc",
        "--policy ldp:noise=abc",
        "--policy bob-gp-ucb:lengths=5",
        "--policy pe-gp-ucb:epsilons=1",
        "--policy random --env still:noise_std=1e308",
        "--policy random --env bogunovic:side=1000000000",
        "--policy random --env rotating:period=1e-320",
    ],
)
def test_options_that_nothing_can_be_made_of_are_no_bug(refused, line):
    assert "bug" not in refused(f"compare --horizon 3 --seeds 1 {line}")


def test_workers_are_no_more_than_tasks_nor_than_a_few_a_core():
    assert bounded(99_999, 3) == min(3, SHARE * cores())
    assert bounded(99_999, 10**6) == SHARE * cores()
    assert bounded(1, 0) == 1


@dataclass(frozen=True)
class Pid:
    """A job that says which process performs it."""

    cell: str = ""

    def perform(self) -> int:
        return os.getpid()


def test_no_process_is_started_for_one_task():
    assert perform_all([Pid()], workers=99_999) == [os.getpid()]


PARENT = """
import os, time
from driftwise.lab.engine import perform_all
class Wait:
    cell = ""
    def perform(self):
        print(os.getpid(), flush=True)
        time.sleep(600)
perform_all([Wait(), Wait()], workers=2)
"""


@pytest.mark.slow
def test_workers_end_with_their_parent_however_it_ends():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until(lambda: not any(map(alive, workers)))
    parent.stdout.close()
