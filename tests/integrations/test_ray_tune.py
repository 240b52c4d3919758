"""In Ray Tune, by its OptunaSearch."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("optuna", reason="needs the extra optuna")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what it imports
    # Ray without its part `tune` has the module, which raises an ImportError
    missing = {"reason": "needs ray[tune]; make test-integrations has it", "exc_type": ImportError}
    tune = pytest.importorskip("ray.tune", **missing)
    search = pytest.importorskip("ray.tune.search.optuna", **missing)

import optuna

from driftwise.integrations.optuna import DriftSampler, best_now

pytestmark = pytest.mark.filterwarnings("ignore")


def searching(**given):
    return search.OptunaSearch(
        space={"x": tune.uniform(0, 1)}, metric="y", mode="max", sampler=DriftSampler(seed=0), **given
    )


def test_it_suggests_what_optuna_alone_suggests():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    alone = optuna.create_study(direction="maximize", sampler=DriftSampler(seed=0))
    searcher = searching()
    for t in range(10):
        name = f"trial-{t}"
        x = searcher.suggest(name)["x"]
        trial = alone.ask()
        assert x == trial.suggest_float("x", 0, 1)
        y = -((x - 0.3 - 0.02 * t) ** 2)
        alone.tell(trial, y)
        searcher.on_trial_complete(name, result={"y": y, "training_iteration": 1})


@pytest.mark.slow
def test_a_tuner_runs_it(tmp_path):
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        searcher = searching()
        tuner = tune.Tuner(
            lambda config: {"y": -((config["x"] - 0.7) ** 2)},
            tune_config=tune.TuneConfig(search_alg=searcher, num_samples=10, max_concurrent_trials=1),
            run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
        )
        results = tuner.fit()
        assert len(results) == 10
        assert not results.errors
        assert abs(best_now(searcher._ot_study).params["x"] - 0.7) < 0.15
    finally:
        ray.shutdown()
