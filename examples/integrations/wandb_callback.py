"""DriftSampler with Weights & Biases: every trial is a step, with the drift beside it. It runs offline, into a folder.

pip install 'driftwise[optuna]' optuna-integration wandb; then python examples/integrations/wandb_callback.py FOLDER
"""

import sys
import tempfile
import warnings
from pathlib import Path

import optuna
import wandb
from moving_price import TRIALS, objective  # beside this file
from optuna_integration import WeightsAndBiasesCallback

from driftwise.integrations.optuna import DriftSampler, best_now


def log_drift(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
    """How fast the world moves, and the best price now, at the same step."""
    if "drift" in study.user_attrs:
        said = {"drift_rate": study.user_attrs["drift"]["rate"], "best_price": best_now(study).params["price"]}
        wandb.log(said, step=trial.number)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")  # the callback is experimental, says Optuna
    folder = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()
    settings = {"project": "price", "mode": "offline", "dir": folder}
    trials = WeightsAndBiasesCallback(metric_name="earned", wandb_kwargs=settings)
    study = optuna.create_study(direction="maximize", sampler=DriftSampler(seed=0))
    study.optimize(objective, n_trials=TRIALS, callbacks=[log_drift, trials])
    wandb.finish()
    stored = sorted(Path(folder).glob("wandb/offline-run-*/*.wandb"))
    print(f"{len(stored)} run is in {folder}; the best price now is {best_now(study).params['price']:.1f}")
