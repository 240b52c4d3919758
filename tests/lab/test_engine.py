"""The same bytes whoever performs the trials, and whatever is killed meanwhile."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from driftwise.concurrency.threads import cores
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.lab import engine as engines
from driftwise.lab.cases import Suite
from driftwise.lab.engine import Done, Failure, Joblib, Reply, Work, engine, perform_all, serial
from driftwise.lab.experiment import check, conduct, plan
from driftwise.lab.results import Folder, failures, line, pairs, read
from driftwise.lab.suites import suite
from driftwise.lab.theory import QUICK, coverage
from driftwise.lab.trials import Contender, name_of

CONTENDERS = (Contender("window", "sw-gp-ucb", (("window", 10),)), Contender("random", "random"))
DENG = suite("deng").quick()
SLOW = "deng/slow T=50 sw-gp-ucb:window=10 seed=0002"


@dataclass(frozen=True)
class Deadly(Contender):
    """Kills the process that makes it: `lives` times, as the marker says, then never again."""

    marker: str = ""
    lives: int = 1
    spared: int = field(default_factory=os.getpid)  # the process of the tests themselves

    def on(self, world):
        deaths = Path(self.marker).read_text().count("x") if Path(self.marker).exists() else 0
        if deaths < self.lives and os.getpid() != self.spared:
            with open(self.marker, "a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().on(world)


@dataclass(frozen=True)
class Faulty(Contender):
    """Raises while its marker is there."""

    marker: str = ""

    def on(self, world):
        if Path(self.marker).exists():
            raise ZeroDivisionError("a fault\nin two lines")
        return super().on(world)


def unstamped(found):
    """Without the stamps of code: a stand-in that kills or raises has its own."""
    return re.sub(rb" code=\w+", b"", found)


def exported(path):
    """All results of a folder as one text, a function of the trials alone."""
    return b"".join(line(result) for result, _ in pairs(path))


def ran(path, engine, contenders=CONTENDERS, seeds=3):
    """The bytes of a run's results, and its account."""
    with Folder(path) as folder:
        account = conduct(plan([DENG], contenders, seeds=seeds), folder, engine)
    return exported(path), account


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What one process makes of the trials, one after the other."""
    found, account = ran(tmp_path_factory.mktemp("serial"), serial)
    assert account.done == found.count(b"\n") == 12
    return found


def test_joblib_gives_the_same_bytes(tmp_path, expected):
    found, account = ran(tmp_path, Joblib(2))
    assert found == expected
    assert 0 < account.useful < account.cpu


def test_jobs_come_back_in_their_order_whoever_performs_them():
    """Trials and jobs of the theory alike: the same bytes, in the order of the list, whichever process was first."""
    sizes = replace(QUICK, candidates=8, runs=40, coverage_horizon=8, coverage_length=4)
    jobs = [*coverage.jobs(sizes), *plan([DENG], CONTENDERS, seeds=2)]
    one, two = (perform_all(jobs, workers=workers) for workers in (1, 2))
    theory = len(coverage.jobs(sizes))
    assert one[:theory] == two[:theory]
    assert [o.result for o in one[theory:]] == [o.result for o in two[theory:]]
    assert [o.regret.tobytes() for o in one[theory:]] == [o.regret.tobytes() for o in two[theory:]]
    assert [o.result.key for o in one[theory:]] == [job.key for job in jobs[theory:]]


@pytest.mark.slow
def test_the_first_job_that_fails_is_raised_as_it_was(tmp_path):
    marker = tmp_path / "marker"
    marker.touch()
    faulty = Faulty("window", "sw-gp-ucb", (("window", 10),), marker=str(marker))
    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError, match="a fault"):
            perform_all(plan([DENG], [faulty], seeds=2), workers=workers)


def test_only_what_is_missing_is_done(tmp_path, expected):
    ran(tmp_path, serial, seeds=1)
    told = []
    with Folder(tmp_path) as folder:
        account = conduct(plan([DENG], CONTENDERS, seeds=3), folder, serial, tell=told.append)
    assert (account.asked, account.there, account.done) == (12, 4, 8)
    assert len(set(told)) == 8
    assert not any(name_of(key).endswith("seed=0000") for key in told)
    assert exported(tmp_path) == expected
    assert ran(tmp_path, serial)[1].done == 0


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(tmp_path, expected):
    deadly = Deadly("window", "sw-gp-ucb", (("window", 10),), marker=str(tmp_path / "marker"), lives=2)
    found, account = ran(tmp_path / "out", Joblib(2), (deadly, CONTENDERS[1]))
    assert (tmp_path / "marker").read_text() in ("xx", "xxx")  # two workers may die at once
    assert unstamped(found) == unstamped(expected)
    assert account.failed == 0


@pytest.mark.slow
def test_a_trial_that_kills_every_worker_fails_alone(tmp_path, expected, monkeypatch):
    monkeypatch.setattr(engines, "PATIENCE", 1)
    only = Suite("deng", "", "", "", (replace(DENG.case("slow"), seeds=1),))
    deadly = Deadly("deadly", "random", (("deadly", True),), marker=str(tmp_path / "marker"), lives=100)
    trials = plan([DENG], CONTENDERS, seeds=3) + plan([only], [deadly])
    with Folder(tmp_path / "out") as folder:
        account = conduct(trials, folder, Joblib(2))
    assert (account.done, account.failed) == (12, 1)
    assert exported(tmp_path / "out") == expected
    assert "killed, every time" in next(iter(failures(tmp_path / "out").values()))


def test_a_trial_that_raises_is_written_down_and_tried_again(tmp_path, expected):
    marker = tmp_path / "marker"
    marker.touch()
    faulty = Faulty("window", "sw-gp-ucb", (("window", 10),), marker=str(marker))
    _, account = ran(tmp_path / "out", serial, (faulty, CONTENDERS[1]))
    assert (account.done, account.failed) == (6, 6)
    problems = failures(tmp_path / "out")
    assert len(problems) == 6
    (line,) = (said for key, said in problems.items() if name_of(key) == SLOW)
    assert line.startswith("ZeroDivisionError: a fault in two lines (test_engine.py:")
    marker.unlink()
    found, account = ran(tmp_path / "out", serial, (faulty, CONTENDERS[1]))
    assert (account.done, account.failed) == (6, 0)
    assert unstamped(found) == unstamped(expected)
    assert not failures(tmp_path / "out")


def test_every_trial_is_handed_out_once_in_batches_that_are_short():
    trials = plan([DENG], CONTENDERS, seeds=40)
    work, seconds, sizes, seen = Work(trials), {"window": 0.06, "random": 0.001}, [], []
    for batch in work.batches():
        sizes.append(sum(seconds[t.contender.label] for _, t in batch))
        seen += batch
        work.finish(Reply(tuple(Done(n, None, seconds[t.contender.label]) for n, t in batch), 0.0))
    assert seen == list(enumerate(trials))
    assert len(work) == 0
    assert max(sizes) <= engines.BATCH
    assert sizes[0] == 0.06  # of its kind nothing was known yet, so it went alone
    assert max(sizes[-5:-1]) > 0.18


def test_what_was_handed_out_and_lost_waits_behind_the_others():
    work = Work(plan([DENG], CONTENDERS, seeds=1))
    first = work.batch()
    work.put_back()
    assert work.waiting[-1] == first[0]
    assert len(work) == 4
    work.finish(Reply((Failure(work.batch()[0][0], "no"),), 0.0))
    assert len(work) == 3


def test_plans():
    with pytest.raises(NotFoundError, match="no case is called 'nothing'"):
        plan([DENG], CONTENDERS, pattern="nothing")
    with pytest.raises(InvalidInput, match="given once"):
        plan([DENG, DENG], CONTENDERS)
    trials = plan([DENG], CONTENDERS, pattern="ab*", horizon=80)
    assert {(t.case.name, t.horizon, t.case.environment(0).drift.times) for t in trials} == {("abrupt", 80, (16, 32))}
    assert len(trials) == 20
    assert [t.seed for t in trials[:4]] == [0, 0, 1, 1]  # what is done first can be compared


def test_a_policy_that_cannot_be_made_anywhere_is_refused_at_once():
    with pytest.raises(InvalidInput, match="window must be ≥ 1"):
        check(plan([DENG], [*CONTENDERS, Contender("none", "sw-gp-ucb", (("window", 0),))]))
    check(plan([DENG], CONTENDERS))


def test_engines_by_name():
    assert engine("joblib") == Joblib(cores())
    for name, options, problem in [
        ("spark", {}, "must be one of serial, joblib, ray"),
        ("serial", {"address": "auto"}, "use --engine ray"),
        ("joblib", {"jobs": 0}, "jobs must be ≥ 1"),
    ]:
        with pytest.raises(InvalidInput, match=problem):
            engine(name, **options)


# --- the command, killed ---------------------------------------------------------------------------------------------


HORIZON = 150


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The trials of the command, and the bytes that it writes."""
    contenders = [Contender("sw-gp-ucb:window=10", "sw-gp-ucb", (("window", 10),)), CONTENDERS[1]]
    trials, out = plan([DENG], contenders, seeds=12, horizon=HORIZON), tmp_path_factory.mktemp("afresh")
    with Folder(out) as folder:
        conduct(trials, folder, serial)
    return trials, exported(out)


def command(out, name):
    policies = [word for c in ("sw-gp-ucb:window=10", "random") for word in ("--policy", c)]
    sizes = ["--quick", "--seeds", "12", "--horizon", str(HORIZON), "--jobs", "2"]
    main = "from driftwise.cli import main; main()"
    run = [sys.executable, "-c", main, "lab", "run", "--suite", "deng", "--engine", name, "--out", str(out)]
    return [*run, *policies, *sizes]


def ended(path):
    """How many trials a run has written by now."""
    try:
        return len(read(path))
    except (NotFoundError, InvalidInput):  # nothing yet, or a file that is being made
        return 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "blow"), [("serial", "SIGKILL"), ("joblib", "SIGKILL"), ("joblib", "SIGINT")])
def test_a_killed_run_goes_on_where_it_was_and_ends_in_the_same_bytes(tmp_path, uninterrupted, name, blow):
    if not hasattr(signal, blow):
        pytest.skip(f"this system has no {blow}")
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background is born deaf to it
    process = subprocess.Popen(
        command(tmp_path, name), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=heed
    )
    while process.poll() is None and ended(tmp_path) < 5:
        time.sleep(0.005)
    process.send_signal(getattr(signal, blow))
    said = process.communicate()[1]
    if blow == "SIGINT":
        assert process.returncode == 130
        assert "of 48 runs are missing; the same command does them" in said
    before = set(read(tmp_path).key)
    assert 5 <= len(before) < 48
    trials, expected = uninterrupted
    told = []
    with Folder(tmp_path) as folder:
        assert conduct(trials, folder, serial, tell=told.append).failed == 0
    assert not before & set(told)
    assert exported(tmp_path) == expected


# --- Ray -------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray leaves files and processes to the garbage collector
def test_ray_gives_the_same_bytes_and_survives_its_workers(tmp_path, expected, monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'driftwise[ray]'")
    from driftwise.lab import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 2)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # its workers cannot import tests
    window = Deadly("window", "sw-gp-ucb", (("window", 10),), marker=str(tmp_path / "once"))
    deadly = Deadly("deadly", "random", (("deadly", True),), marker=str(tmp_path / "always"), lives=100)
    only = Suite("deng", "", "", "", (replace(DENG.case("slow"), seeds=1),))
    trials = plan([DENG], (window, CONTENDERS[1]), seeds=3) + plan([only], [deadly])
    with Folder(tmp_path / "out") as folder:
        account = conduct(trials, folder, engine("ray", jobs=2))
    assert not ray.is_initialized()
    assert "x" in (tmp_path / "once").read_text()
    assert unstamped(exported(tmp_path / "out")) == unstamped(expected)
    assert (account.done, account.failed) == (12, 1)
    assert "killed, every time" in next(iter(failures(tmp_path / "out").values()))
