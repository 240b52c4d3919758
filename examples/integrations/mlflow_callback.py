"""DriftSampler with MLflow: every trial is a run, and the drift is logged beside it. It runs offline, into a folder.

pip install 'driftwise[optuna]' optuna-integration mlflow; then python examples/integrations/mlflow_callback.py FOLDER
"""

import sys
import tempfile
import warnings

import mlflow
import optuna
from moving_price import TRIALS, objective  # beside this file
from optuna_integration import MLflowCallback

from driftwise.integrations.optuna import DriftSampler, best_now


def log_drift(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
    """How fast the world moves, as a metric of the study's own run."""
    if "drift" in study.user_attrs:
        mlflow.log_metric("drift_rate", study.user_attrs["drift"]["rate"], step=trial.number)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")  # the callback is experimental, says Optuna
    folder = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()
    address = f"sqlite:///{folder}/mlflow.db"
    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("price")
    trials = MLflowCallback(tracking_uri=address, metric_name="earned", mlflow_kwargs={"nested": True})
    study = optuna.create_study(study_name="price", direction="maximize", sampler=DriftSampler(seed=0))
    with mlflow.start_run(run_name="study"):
        study.optimize(objective, n_trials=TRIALS, callbacks=[trials, log_drift])
        mlflow.log_params({f"best_{name}": value for name, value in best_now(study).params.items()})
    runs = mlflow.search_runs(search_all_experiments=True, output_format="list")
    print(f"{len(runs)} runs are in {folder}; the best price now is {best_now(study).params['price']:.1f}")
