"""DriftSampler asks what a Study would ask, in every storage, and learns from every kind of trial."""

from __future__ import annotations

import math
import pickle
import random
import socket
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial

import driftwise as dw
from driftwise.errors import InvalidInput
from driftwise.integrations.optuna import ATTRIBUTE, DriftSampler, best_now, drift
from driftwise.integrations.optuna_space import SearchSpace
from driftwise.integrations.optuna_trials import entry, shared_space
from driftwise.records import Observation

optuna.logging.set_verbosity(optuna.logging.ERROR)
WINDOW = {"window": 20, "kernel": dw.RBF(0.3)}


def made(direction="maximize", storage=None, **options):
    return optuna.create_study(sampler=DriftSampler(seed=0, **options), direction=direction, storage=storage)


def value(x: float, t: int) -> float:
    return math.exp(-(((x - 0.3 - 0.01 * t) / 0.2) ** 2))


def played(study, steps: int, start: int = 0) -> list[float]:
    """Ask and tell, and what was asked."""
    asked = []
    for t in range(start, start + steps):
        trial = study.ask()
        asked.append(trial.suggest_float("x", 0, 1))
        trial.suggest_int("n", 1, 9, log=True)
        study.tell(trial, value(asked[-1], t))
    return asked


# --- the same questions as a study ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), [("auto", {}), ("sw-gp-ucb", WINDOW)])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_it_asks_what_a_study_asks(name, options, direction):
    sign = 1 if direction == "maximize" else -1
    theirs = made(direction, policy=name, **options)
    ours = dw.Study("a", {"n": dw.Int(1, 9, log=True), "x": dw.Float(0, 1)}, (name, options), direction=direction)
    for t in range(14):
        trial = theirs.ask()
        params = {"x": trial.suggest_float("x", 0, 1), "n": trial.suggest_int("n", 1, 9, log=True)}
        if t == 0:  # nothing is known of the space at first
            ours.observe(params, sign * value(params["x"], 0))
            theirs.tell(trial, sign * value(params["x"], 0))
            continue
        s = ours.ask()
        assert params == s.params
        if t % 6 == 3:
            ours.tell(s, failed=True)
            theirs.tell(trial, state=TrialState.FAIL)
        else:
            ours.tell(s, sign * value(params["x"], t))
            theirs.tell(trial, sign * value(params["x"], t))
    known, found = ours.recommend(), best_now(theirs)
    assert (found.params, found.mean, found.std, found.sure) == (known.params, known.mean, known.std, known.sure)


def storages():
    yield "rdb", lambda folder: RDBStorage(f"sqlite:///{folder / 'a.db'}")
    yield "url", lambda folder: f"sqlite:///{folder / 'a.db'}"
    yield "journal", lambda folder: JournalStorage(JournalFileBackend(str(folder / "a.log")))


@pytest.mark.parametrize("storage", [each for _, each in storages()], ids=[name for name, _ in storages()])
def test_the_storage_makes_no_difference_and_a_study_goes_on(storage, tmp_path):
    expected = played(made(policy="sw-gp-ucb", **WINDOW), 14)
    study = made(storage=storage(tmp_path), policy="sw-gp-ucb", **WINDOW)
    assert played(study, 8) == expected[:8]
    again = optuna.load_study(
        study_name=study.study_name, storage=storage(tmp_path), sampler=DriftSampler("sw-gp-ucb", seed=0, **WINDOW)
    )
    assert played(again, 6, start=8) == expected[8:]


def test_a_storage_behind_grpc():
    pytest.importorskip("grpc", reason="needs grpcio")
    pytest.importorskip("google.protobuf", reason="needs protobuf")
    from optuna.storages._grpc.server import make_server

    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    with ThreadPoolExecutor(2) as pool:
        server = make_server(InMemoryStorage(), "localhost", port, thread_pool=pool)
        server.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            proxy = optuna.storages.GrpcStorageProxy(host="localhost", port=port)
        try:
            proxy.wait_server_ready(timeout=60)
            study = made(storage=proxy, policy="sw-gp-ucb", **WINDOW)
            assert played(study, 8) == played(made(policy="sw-gp-ucb", **WINDOW), 8)
        finally:
            proxy.close()
            server.stop(None).wait()


# --- several at once --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_turn", [False, True])
def test_threads_that_ask_at_once_spread_out(in_turn, monkeypatch):
    """Whoever is first; and if they choose in the order of their numbers, they choose what one alone would."""
    study, barrier, turn, chosen = made(), threading.Barrier(4), threading.Condition(), []
    played(study, 6)
    choose = study.sampler.sample_relative

    def waiting(study, trial, space):
        with turn:
            assert turn.wait_for(lambda: trial.number == 6 + len(chosen), timeout=60)
            found = choose(study, trial, space)
            chosen.append(trial.number)
            turn.notify_all()
        return found

    if in_turn:
        monkeypatch.setattr(study.sampler, "sample_relative", waiting)

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.suggest_int("n", 1, 9, log=True)
        barrier.wait(timeout=60)  # all four have been asked before any is told
        return value(x, trial.number)

    study.optimize(objective, n_trials=4, n_jobs=4)
    asked = [(trial.params["x"], trial.params["n"]) for trial in study.trials[6:]]
    assert len(set(asked)) == 4
    alone = made()
    played(alone, 6)
    known = []
    for _ in range(4):
        trial = alone.ask()
        known.append((trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 9, log=True)))
    assert asked == known or not in_turn


WORKER = """
import sys, optuna
from driftwise.integrations.optuna import DriftSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = JournalStorage(JournalFileBackend(sys.argv[1]))
study = optuna.load_study(study_name="a", storage=storage, sampler=DriftSampler())
study.optimize(lambda trial: -(trial.suggest_float("x", 0, 1) - 0.7) ** 2, n_trials=10)
"""


@pytest.mark.slow
def test_several_processes_share_a_study(tmp_path):
    file = str(tmp_path / "a.log")
    study = optuna.create_study(
        study_name="a", storage=JournalStorage(JournalFileBackend(file)), direction="maximize", sampler=DriftSampler()
    )
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, file], stderr=subprocess.PIPE) for _ in range(2)]
    for worker in workers:
        assert worker.communicate()[1] == b""
        assert worker.returncode == 0
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 20
    assert abs(best_now(study).params["x"] - 0.7) < 0.05


def test_what_is_cached_changes_nothing():
    """Trials end late, fail and are pruned; at every ask a sampler without a cache gives the same answer."""
    study, open_trials = made(policy="sw-gp-ucb", **WINDOW), []
    for t in range(25):
        trial = study.ask()
        found = (trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 9, log=True))
        if t > 3:
            frozen = study.get_trials()[trial.number]
            fresh = pickle.loads(pickle.dumps(study.sampler))
            space = fresh.infer_relative_search_space(study, frozen)
            again = fresh.sample_relative(study, frozen, space)
            assert (again["x"], again["n"]) == found
        open_trials.append(trial)
        if t % 3:
            late = open_trials.pop(0 if t % 5 else -1)
            if t % 4 == 0:
                study.tell(late, state=TrialState.FAIL)
            else:
                late.report(value(late.params["x"], late.number), step=1)
                state = TrialState.PRUNED if t % 4 == 1 else TrialState.COMPLETE
                study.tell(late, None if state == TrialState.PRUNED else value(late.params["x"], t), state=state)
    assert {trial.state for trial in study.trials} == set(TrialState) - {TrialState.WAITING}


def test_a_trial_costs_one_read_of_the_storage():
    """Beside the one that Optuna makes at each ask, whatever the sampler. It writes where something is new."""

    class Counting(InMemoryStorage):
        reads = writes = 0

        def get_all_trials(self, *arguments, **options):
            self.reads += 1
            return super().get_all_trials(*arguments, **options)

        def set_study_user_attr(self, *arguments):
            self.writes += 1
            super().set_study_user_attr(*arguments)

    ours = made(storage=Counting())
    others = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), storage=Counting())
    for study in (ours, others):
        played(study, 10)
    assert ours._storage.reads == others._storage.reads + 10
    assert ours._storage.writes == 1


def test_one_sampler_may_serve_two_studies():
    sampler = DriftSampler("sw-gp-ucb", seed=0, **WINDOW)
    one, two = (optuna.create_study(sampler=sampler, direction="maximize") for _ in range(2))
    expected = played(made(policy="sw-gp-ucb", **WINDOW), 10)
    pairs = [(played(one, 1, start=t), played(two, 1, start=t)) for t in range(10)]
    assert [x for (x,), _ in pairs] == [x for _, (x,) in pairs] == expected


# --- trials -----------------------------------------------------------------------------------------------------------


def finished(state=TrialState.COMPLETE, value=1.0, constraints=None, **intermediate):
    trial = create_trial(
        state=state,
        value=value,
        params={"x": 0.5},
        distributions={"x": FloatDistribution(0, 1)},
        intermediate_values=intermediate.get("values", {}),
        constraints=constraints,
    )
    trial.number = 4
    return trial


def test_a_trial_as_an_observation():
    assert entry(finished(), (0.5,), 5.0) == Observation(5, 5.0, (0.5,), 1.0)
    pruned = finished(TrialState.PRUNED, 0.25, values={1: 0.5, 3: 0.25})
    assert entry(pruned, (0.5,), 5.0) == Observation(5, 5.0, (0.5,), 0.25)
    assert entry(finished(TrialState.PRUNED, None), (0.5,), 5.0) is None
    assert entry(finished(TrialState.FAIL, None), (0.5,), 5.0).failed
    assert entry(finished(value=math.inf), (0.5,), 5.0).failed
    assert entry(finished(constraints={"c": math.inf}), (0.5,), 5.0).failed
    assert entry(finished(constraints={"c": -1.5, "b": 2.0}), (0.5,), 5.0).measures == (("b", 2.0), ("c", -1.5))


def test_a_pruned_trial_has_its_last_intermediate_value():
    study = made()
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    trial.report(0.5, step=1)
    trial.report(0.25, step=2)
    study.tell(trial, state=TrialState.PRUNED)
    assert entry(study.trials[0], (0.5,), 1.0).y == 0.25


def test_settings_that_fail_are_avoided():
    study = made()
    for _ in range(30):
        trial = study.ask()
        x = trial.suggest_float("x", 0, 1, step=0.02)
        if x > 0.6:
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, x)
    late = [trial.state for trial in study.trials[15:]]
    assert late.count(TrialState.FAIL) <= 3  # the best setting is beside those that fail
    assert 0.4 < best_now(study).params["x"] <= 0.6


def test_enqueued_settings_are_tried_and_what_they_leave_open_is_chosen_for_them():
    study = made()
    played(study, 5)
    study.enqueue_trial({"x": 0.125, "n": 7})
    study.enqueue_trial({"n": 3})
    assert played(study, 1) == [0.125]
    assert study.trials[5].params == {"x": 0.125, "n": 7}
    (x,) = played(study, 1)
    assert study.trials[6].params["n"] == 3
    ours = dw.Study("a", {"n": dw.Int(1, 9, log=True), "x": dw.Float(0, 1)})
    for trial in study.trials[:6]:
        ours.observe(trial.params, trial.value)
    assert x == ours.ask(fixed={"n": 3}).params["x"]


def constrained(trial):
    return (trial.params["x"] - 0.5,)


@pytest.mark.parametrize("by_function", [True, False])
def test_constraints_are_obeyed(by_function):
    study = made(constraints_func=constrained if by_function else None)
    for _ in range(30):
        trial = study.ask()
        x = trial.suggest_float("x", 0, 1, step=0.02)
        if not by_function:
            trial.set_constraint("half", x - 0.5)
        study.tell(trial, x)
    assert [trial.constraints for trial in study.trials] == [
        {"0" if by_function else "half": trial.params["x"] - 0.5} for trial in study.trials
    ]
    assert sum(trial.params["x"] > 0.5 + 0.01 for trial in study.trials[15:]) <= 2
    assert best_now(study).params["x"] == pytest.approx(0.5, abs=0.05)


# --- search spaces ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distribution", "values"),
    [
        (FloatDistribution(-1.3, 0.2, step=0.3), [-1.3, -0.7, 0.2]),
        (IntDistribution(3, 15, step=4), [3, 7, 15]),
        (IntDistribution(1, 2**60), [1, 2**40]),
        (IntDistribution(1, 1000, log=True), [1, 10, 999]),
        (FloatDistribution(1e-7, 10, log=True), [1e-7, 1.0, 10]),
        (CategoricalDistribution(["a", None, 1, False, 2.5]), ["a", None, 1, False, 2.5]),
    ],
)
def test_values_come_back(distribution, values):
    space = SearchSpace.of({"x": distribution})
    for each in values:
        back = space.params(space.point({"x": each}))["x"]
        assert type(back) is type(distribution.to_external_repr(distribution.to_internal_repr(each)))
        assert back == pytest.approx(each, rel=1e-6) if isinstance(each, float | int) else back is each


def test_what_is_not_in_the_space_is_no_point_of_it():
    space = SearchSpace.of({"x": FloatDistribution(0, 1), "k": CategoricalDistribution(["a", "b"])})
    assert space.point({"x": 0.5}) is None
    assert space.point({"x": 1.5, "k": "a"}) is None
    assert space.point({"x": 0.5, "k": "c"}) is None
    assert space.point({"x": 0.5, "k": "b", "else": 3}) == (0.5, 0.0, 1.0)


def test_conditional_parameters_are_learned_one_by_one():
    study = made("minimize")

    def objective(trial):
        if trial.suggest_categorical("kind", ["far", "near"]) == "far":
            return 3 + trial.suggest_float("y", 0, 1)
        return abs(trial.suggest_float("z", 0, 10) - 7.5)

    study.optimize(objective, n_trials=40)
    assert [*shared_space(study.trials)] == ["kind"]
    assert best_now(study).params == {"kind": "near"}
    assert min(abs(trial.params["z"] - 7.5) for trial in study.trials[-10:] if "z" in trial.params) < 0.5


def test_a_range_that_was_moved_is_used_once_it_is_steady():
    study = made()
    for t in range(32):
        trial = study.ask()
        x = trial.suggest_float("x", 0, 1 if t < 20 else 4)
        study.tell(trial, -((x - 2) ** 2))
    assert shared_space(study.trials[:20]) == {"x": FloatDistribution(0, 1)}
    assert shared_space(study.trials[:21]) == {}
    assert shared_space(study.trials) == {"x": FloatDistribution(0, 4)}
    assert best_now(study).params["x"] == pytest.approx(2, abs=0.3)


def test_a_range_that_is_another_in_every_trial_is_sampled_at_random():
    study = made()
    for t in range(12):
        trial = study.ask()
        x = trial.suggest_float("x", 0, 1)
        study.tell(trial, trial.suggest_float("y", 0, x + 1e-3 * (t + 1)))
    assert [*shared_space(study.trials)] == ["x"]
    assert all(0 <= trial.params["y"] <= trial.params["x"] + 0.02 for trial in study.trials)
    assert len({trial.params["y"] for trial in study.trials}) == 12


# --- what it says -----------------------------------------------------------------------------------------------------


def test_a_study_says_that_its_world_changed_and_where_the_best_is_now():
    study, rng = made(), random.Random(2)
    for t in range(70):
        trial = study.ask()
        x = trial.suggest_float("x", 0, 1, step=0.02)
        best = 0.2 if t < 50 else 0.8
        height = 2.0 if t < 50 else 1.0
        study.tell(trial, height - 4 * (x - best) ** 2 + rng.gauss(0, 0.05))
    said = study.user_attrs[ATTRIBUTE]
    assert abs(said["change"]["trial"] - 50) <= 4
    assert said["change"]["probability"] > 0.5
    assert said["alarm"] is True
    assert abs(study.best_params["x"] - 0.2) < 0.1  # of the old world, whose values were higher
    assert abs(best_now(study).params["x"] - 0.8) < 0.1
    found = drift(study)
    assert found.change.number == said["change"]["trial"] + 1
    assert found.matters["x"] > 0.5


def test_the_best_now_is_known_whatever_made_the_trials():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1), direction="maximize")
    study.optimize(lambda trial: value(trial.suggest_float("x", 0, 1, step=0.02), trial.number), n_trials=40)
    assert abs(best_now(study).params["x"] - (0.3 + 0.01 * 39)) < 0.1


def test_own_times_are_used():
    at = []
    study = made(at=lambda trial: at.append(trial.number) or 100.0 * trial.number)
    played(study, 12)
    assert set(at) == set(range(12))
    assert drift(study).gap == pytest.approx(100.0)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_refused_at_once():
    with pytest.raises(InvalidInput, match="has no option 'windw'"):
        DriftSampler("sw-gp-ucb", windw=3)
    with pytest.raises(dw.errors.NotFoundError):
        DriftSampler("no-such-policy")
    with pytest.raises(InvalidInput, match="run some first"):
        best_now(made())
    with pytest.raises(InvalidInput, match="one objective, got 2"):
        best_now(optuna.create_study(directions=["minimize", "maximize"]))
    study = made(policy="sw-gp-ucb", **WINDOW)
    played(study, 3)
    with pytest.raises(InvalidInput, match="use the policy auto"):
        drift(study)
    assert ATTRIBUTE not in study.user_attrs
