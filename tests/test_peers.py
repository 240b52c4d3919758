"""What puts the peers into the lab, tested without any of them: a fake peer, a fake suite, a shelf in a folder."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.auto import Told
from benchmarks.peers import cases, table
from benchmarks.peers.__main__ import arguments, plan, run
from benchmarks.peers.adapter import Adapted
from benchmarks.peers.contenders import OURS, PEERS, ours, peers, untold
from benchmarks.peers.elsewhere import Elsewhere, PaidOnce, request
from benchmarks.peers.shelf import SHELF, Shelf, kept_steps, packed, unpacked
from benchmarks.peers.stepper import step
from benchmarks.peers.worker import answer, trial_of
from scipy import stats

from driftwise.environments import catalogue
from driftwise.environments.drift import Rotating
from driftwise.environments.noise import Gaussian
from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError
from driftwise.lab import suites
from driftwise.lab.cases import Case, Suite
from driftwise.lab.engine import Failure, Work, do, serial
from driftwise.lab.run import run as steps_of
from driftwise.lab.statistics import interval
from driftwise.lab.trials import Timing, Trial, checkpoints
from driftwise.policies import replay
from driftwise.records import Ask, Observation
from driftwise.spaces import Candidates


class Fake:
    """A peer that remembers how often it was asked, as some do, and goes where the log and its memory send it."""

    def __init__(self, dim, seed):
        self.rng, self.dim, self.asked, self.sum = np.random.default_rng(seed), dim, 0, 0.0

    def ask(self, number, at):
        self.asked += 1
        return (self.rng.random(self.dim) + self.sum + 0.1 * self.asked + at) % 1.0

    def tell(self, seen):
        self.sum += seen.y + sum(seen.x)


def rotating(*, seed, horizon, name="box", period=30.0):
    return catalogue.on_box(Rotating(period), seed=seed, horizon=horizon, name=name)


def line(*, seed, horizon):
    return catalogue.still(seed=seed)


BOX = Case("box", rotating, horizon=12, seeds=2)
TOY = Suite("toy", "", "", "", (BOX, replace(BOX, name="box/2"), replace(BOX, name="line", make=line)))


@pytest.fixture(autouse=True)
def _toy(monkeypatch):
    monkeypatch.setitem(suites.SUITES, "toy", TOY)


def trial(contender="random", *, case=None, seed=0, horizon=12):
    return Trial(untold(contender), "toy", case or BOX, horizon, seed)


# --- the adapter -----------------------------------------------------------------------------------------------------


def natural_loop(world, horizon, seed):
    """A peer used as its own manual would have it."""
    peer, log = Fake(world.space.dim, seed), []
    for t in range(1, horizon + 1):
        x = peer.ask(t, float(t))
        log.append(Observation(t, float(t), tuple(x.tolist()), world.observe(t, x)))
        peer.tell(log[-1])
    return log


def test_an_adapted_peer_does_what_it_does_in_its_own_loop():
    world = BOX.environment(3)
    steps = list(steps_of(Adapted(world.space, Fake), world, 12, seed=3))
    assert [step.seen for step in steps] == natural_loop(world, 12, 3)


def test_choices_are_pure_and_a_replay_gives_the_next_question():
    world = BOX.environment(1)
    log = natural_loop(world, 8, 1)
    policy = Adapted(world.space, Fake)
    asks = [Ask(number=t, at=float(t), seed=1) for t in range(1, 10)]
    states = [replay(policy, log[:n]) for n in range(9)]
    first = [policy.choose(state, ask) for state, ask in zip(states, asks, strict=True)]
    assert [tuple(x.tolist()) for x in first[:8]] == [seen.x for seen in log]
    # again, backwards and from a policy that saw none of it
    for n in (8, 2, 5, 5, 0):
        np.testing.assert_array_equal(policy.choose(states[n], asks[n]), first[n])
        np.testing.assert_array_equal(Adapted(world.space, Fake).choose(states[n], asks[n]), first[n])


def test_another_seed_another_time_and_another_reward_are_other_questions():
    world = BOX.environment(1)
    policy, log = Adapted(world.space, Fake), natural_loop(world, 3, 1)
    ask = Ask(number=4, at=4.0, seed=1)
    x = policy.choose(tuple(log), ask)
    changed = (log[0], replace(log[1], y=log[1].y + 0.25), log[2])
    for other in (
        policy.choose(tuple(log), replace(ask, seed=2)),
        policy.choose(tuple(log), replace(ask, at=4.5)),
        policy.choose(changed, ask),
    ):
        assert not np.allclose(other, x)
    np.testing.assert_array_equal(policy.choose(tuple(log), ask), x)


def test_a_peer_that_steps_out_of_the_cube_is_brought_back():
    class Outside(Fake):
        def ask(self, number, at):
            return [-1e-9, 1.5]

    policy = Adapted(BOX.environment(0).space, Outside)
    assert policy.choose((), Ask(number=1, at=1.0)).tolist() == [0.0, 1.0]


def test_what_peers_cannot_do_is_refused():
    with pytest.raises(InvalidInput, match="boxes of Float"):
        Adapted(Candidates([[0.0], [1.0]]), Fake)
    policy = Adapted(BOX.environment(0).space, Fake)
    with pytest.raises(InvalidInput, match="one at a time"):
        policy.choose((), Ask(number=1, at=1.0, pending=((0.0, 0.0),)))
    with pytest.raises(InvalidInput, match="keeps what it believes"):
        policy.belief((), Ask(number=1, at=1.0))


# --- who and where ---------------------------------------------------------------------------------------------------


def test_ours_are_told_nothing_of_the_world():
    world = BOX.environment(0)
    assert world.kernel != untold("sw-gp-ucb").on(world).model.kernel
    assert untold("sw-gp-ucb").on(world).model.standardise
    assert {c.name for c in ours(OURS)} <= set(OURS)
    with pytest.raises(InvalidInput, match="no policy is called 'sw'"):
        ours(["sw"])
    with pytest.raises(InvalidInput, match=r"no peer is called 'tpe'; there are botorch, "):
        peers(["tpe"])


def test_cases_are_those_on_boxes_that_are_named():
    assert [c.name for c in cases.boxes("toy", ["*"])] == ["box", "box/2"]
    assert [c.name for c in cases.boxes("toy", ["box/*"])] == ["box/2"]
    for wrong, why in ((["line"], "are on boxes"), (["no*"], r"are called no\*")):
        with pytest.raises(NotFoundError, match=why):
            cases.boxes("toy", wrong)
    with pytest.raises(NotFoundError, match="no suite is called 'zoo'"):
        cases.boxes("zoo", ["*"])


def test_a_fingerprint_is_of_the_world_and_its_noise():
    world = BOX.environment(0)
    faster = replace(BOX, make=partial(rotating, period=31.0)).environment(0)
    noisier = replace(world, noise=Gaussian(0.2))
    marks = {cases.fingerprint(w, 12) for w in (world, world.seeded(1), faster, noisier)}
    assert len(marks) == 4
    assert cases.fingerprint(BOX.environment(0), 12) in marks


# --- elsewhere -------------------------------------------------------------------------------------------------------


def test_a_trial_travels_as_a_line():
    sent = Trial(PEERS["botorch-window"], "toy", TOY.case("box/2"), 7, 3)
    back = trial_of(json.loads(json.dumps(request(sent))))
    assert back.key == sent.key
    assert sent.name == "toy/box/2 T=7/12 botorch:window=50 seed=0003"


def test_what_a_peer_raises_is_an_answer():
    assert (
        "NotFoundError: toy has no case '?'" in answer({"suite": "toy", "case": "?", "peer": "optuna-tpe"})["problem"]
    )


def test_a_process_that_dies_is_a_failed_trial(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    trials = [trial(seed=seed) for seed in (0, 1)]
    answers = [a for reply in Elsewhere(python)(Work(trials)) for a in reply.answers]
    assert answers == [Failure(n, "the process that ran it ended with status 3") for n in range(2)]


def test_a_worker_answers_every_trial(tmp_path):
    """In this environment there is neither the toy suite nor a peer: the worker says so, and lives on."""
    trials = [Trial(PEERS["optuna-tpe"], "toy", BOX, 5, seed) for seed in (0, 1)]
    answers = [a for reply in Elsewhere(Path(sys.executable))(Work(trials)) for a in reply.answers]
    assert [a.number for a in answers] == [0, 1]
    assert all("no suite is called 'toy'" in a.problem for a in answers)


def test_peers_that_are_not_installed_are_said_to_be(tmp_path):
    with pytest.raises(InvalidInput, match="run: make"):
        list(Elsewhere(tmp_path / "python")(Work([trial()])))


# --- the shelf -------------------------------------------------------------------------------------------------------


def test_what_is_kept_comes_back(tmp_path):
    done = trial(horizon=120)
    result, timing, _ = done.perform()
    Shelf(tmp_path).put(done, result, timing)
    found, spent, _ = Shelf(tmp_path).get(done)
    assert replace(found, curve=()) == replace(result, curve=())
    assert spent.policy == pytest.approx(timing.policy, rel=1e-3)
    at = [checkpoints(120).index(t) for t in kept_steps(120)]
    np.testing.assert_allclose(np.array(found.curve)[at], np.array(result.curve)[at], rtol=1e-4)
    # R(t) never falls, so between two kept steps the straight line is never further off than they are apart
    apart = np.diff(np.array(result.curve)[at]).max()
    assert np.abs(np.array(found.curve) - result.curve).max() <= apart


def test_a_kept_curve_has_fifty_points_at_most():
    assert kept_steps(3).tolist() == [1, 2, 3]
    assert len(kept_steps(1001)) == 50
    assert kept_steps(1001)[-1] == 1001
    result, _ = trial(horizon=60).perform()[:2]
    assert len(packed(result, "w")["curve"]) == 50
    assert unpacked(packed(result, "w")).curve[-1] == pytest.approx(result.regret, rel=1e-4)


def test_a_world_that_was_defined_anew_has_nothing_kept(tmp_path):
    done = trial()
    Shelf(tmp_path).put(done, *done.perform()[:2])
    again = trial(case=replace(BOX, make=partial(rotating, period=31.0)))
    assert again.name == done.name
    assert Shelf(tmp_path).get(again) is None


def test_a_torn_line_is_passed_over_and_nothing_is_rewritten(tmp_path):
    first, second = trial(), trial(seed=1)
    Shelf(tmp_path).put(first, *first.perform()[:2])
    file = tmp_path / "results.jsonl"
    file.write_bytes(file.read_bytes() + b'{"key":"toy/box')
    torn = file.read_bytes()
    Shelf(tmp_path).put(second, *second.perform()[:2])
    assert file.read_bytes().startswith(torn)
    assert Shelf(tmp_path).get(first)
    assert Shelf(tmp_path).get(second)


def test_it_is_paid_once(tmp_path):
    performed = []

    def engine(work):
        for batch in work.batches():
            performed.extend(t.key for _, t in batch)
            yield do(batch)

    trials = [trial(seed=seed) for seed in range(3)]
    list(PaidOnce(Shelf(tmp_path), engine)(Work(trials[:2])))
    replies = list(PaidOnce(Shelf(tmp_path), engine)(Work(trials)))
    assert performed == [t.key for t in trials]
    assert sorted(a.value.result.key for r in replies for a in r.answers) == [t.key for t in trials]


def test_what_lies_in_the_repository_can_be_read():
    for name in ("results.jsonl", "timings.jsonl"):
        lines = [json.loads(line) for line in (SHELF / name).read_text(encoding="utf-8").splitlines()]
        assert lines
        assert len({(line["key"], line["world"]) for line in lines}) == len(lines)
    shelf = Shelf()
    assert shelf.results.keys() <= shelf.timings.keys()
    for record in shelf.results.values():
        result = unpacked(record)
        assert len(record["curve"]) == min(50, result.horizon)
        assert record["curve"][-1] == pytest.approx(result.regret, rel=1e-4)
        assert np.all(np.diff(result.curve) >= 0)
        assert result.policy in PEERS


# --- the command and its table ---------------------------------------------------------------------------------------


def made(policy, case, seed, regret, seconds=1.0):
    result, _ = trial(horizon=2).perform()[:2]
    key = f"{policy} {case} {seed}"
    timing = Timing(key, 0, median=seconds, wall=0, policy=2 * seconds, environment=0, rest=0)
    return replace(result, key=key, policy=policy, case=case, seed=seed, regret=regret), timing


def test_shares_are_of_random_on_the_same_world():
    runs = [made("random", case, seed, 10.0 + seed) for case in "ab" for seed in (0, 1)]
    runs += [made("x", "a", 0, 5.0, 0.5), made("x", "a", 1, 1.1, 0.7), made("x", "b", 1, 2.2, 0.9)]
    runs += [made("x", "c", 0, 9.0)]  # where random was not run
    best, base = table.rows(runs)
    assert (best.policy, base.policy) == ("x", "random")
    assert best.shares == pytest.approx({"a": 0.3, "b": 0.2})
    assert best.mean.mean == pytest.approx(0.25)
    assert best.mean.high == np.inf  # case b has one seed
    assert (best.runs, best.seconds, best.wall) == (3, 0.7, 0.7)
    text = table.markdown([best, base])
    assert text.splitlines()[0] == "| policy | a | b | mean [95%] | runs | CPU ms a step | median ms a step |"
    assert text.splitlines()[2].startswith("| x | 0.30 | 0.20 | 0.25 | 3 | 700 |")
    with pytest.raises(InvalidInput, match="add it to --ours"):
        table.rows(runs[4:])


def test_an_interval_over_cases_is_that_of_seeds_within_them():
    values = np.array([0.2, 0.5, 0.3, 0.8])
    one = table.over_cases([values])
    assert (one.low, one.high) == pytest.approx((interval(values).low, interval(values).high))
    two = table.over_cases([values, values + 7.0])  # that the second is harder says nothing of the seeds
    assert two.mean == pytest.approx(values.mean() + 3.5)
    far = table.over_cases([values + 1e4, values + 1e4])  # where the logarithm is straight
    width = stats.t.ppf(0.975, 6) * values.std(ddof=1) / 2 / np.sqrt(2)
    assert far.high - far.mean == pytest.approx(width, rel=1e-3)


@pytest.mark.parametrize(
    ("given", "why"),
    [(["--seeds", "0"], "whole number from 1"), (["--horizon", "x"], "whole number"), (["--cases"], "at least one")],
)
def test_wrong_arguments_are_refused(given, why, capsys):
    with pytest.raises(SystemExit):
        arguments(given)
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    "given", [["--peers", "tpe"], ["--suite", "none"], ["--cases", "line"], ["--ours", "gp-ucb", "--peers", ""]]
)
def test_what_cannot_be_run_is_an_error_before_anything_is(given, tmp_path):
    asked = arguments(["--suite", "toy", "--seeds", "1", "--horizon", "2", "--out", str(tmp_path / "out"), *given])
    with pytest.raises(DriftwiseError):
        run(asked, quiet())


def quiet():
    from rich.console import Console

    return Console(quiet=True)


def test_one_command_runs_both_and_writes_one_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.__main__.Shelf", lambda: Shelf(tmp_path / "shelf"))
    monkeypatch.setattr("benchmarks.peers.__main__.Elsewhere", lambda: serial)
    monkeypatch.setattr(type(PEERS["botorch"]), "load", lambda rival: lambda dim, seed, **options: Fake(dim, seed))
    given = ["--suite", "toy", "--cases", "box", "--seeds", "2", "--horizon", "6", "--ours", "random,sw-gp-ucb"]
    given += ["--peers", "botorch,optuna-tpe", "--markdown", str(tmp_path / "t.md"), "--out", str(tmp_path / "out")]
    asked = arguments(given)
    assert [t.seed for t in plan(asked, peers(asked.peers))] == [0, 0, 1, 1]
    assert run(asked, quiet()) == 0
    from driftwise.lab.results import read

    results = read(tmp_path / "out")
    assert sorted(set(results.policy.tolist())) == ["botorch", "optuna-tpe", "random", "sw-gp-ucb"]
    assert len(results) == 8
    assert "optuna-tpe" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    before = (tmp_path / "t.md").read_text()
    # what is kept is enough, in a new folder and without the peers
    asked = arguments([*given[:-1], str(tmp_path / "again"), "--kept"])
    assert run(asked, quiet()) == 0
    again = (tmp_path / "t.md").read_text()
    kept = [line for line in before.splitlines() if line.startswith(("| botorch", "| optuna"))]
    assert all(line.rsplit("|", 4)[0] in again for line in kept)


def test_a_peer_that_lives_through_our_log_is_asked_only_where_it_is_timed():
    happened = []

    class Quiet:
        def ask(self, number, at):
            happened.append(("ask", number, at))
            return np.zeros(1)

        def tell(self, seen):
            happened.append(("tell", seen.number, seen.x, seen.y))

    line = {"number": 3, "at": 3.0, "x": [0.5], "y": 1.0}
    assert step(Quiet(), line | {"timed": False}) >= 0
    assert step(Quiet(), line | {"timed": True}) >= 0
    assert happened == [("tell", 3, (0.5,), 1.0), ("ask", 3, 3.0), ("tell", 3, (0.5,), 1.0)]


def test_alarms_are_counted_by_the_change_they_tell_of():
    told = Told(((105, 101), (106, 101), (140, 101), (150, 140), (151, 142), (190, 180)))
    assert told.delay(101) == 4
    assert told.delay(98) == 7  # dated 3 late
    assert told.delay(180) == 10
    assert told.delay(50) is None
    assert told.others((101, 180)) == 1  # 140 and 142 are one date
    assert told.others(()) == 3
    assert Told(()).others(()) == 0
