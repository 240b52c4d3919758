"""A price whose best value moves, tuned in Optuna: TPE and GPSampler lose the optimum, and DriftSampler follows it.

python examples/integrations/optuna_drift.py [picture.png]    GPSampler needs PyTorch, and is left out without it.
"""

import importlib.util
import math
import random
import sys
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import BaseSampler, GPSampler, TPESampler

from driftwise.integrations.optuna import DriftSampler, best_now

DAYS = 200


def best_price(day: int) -> float:
    """It moves slowly, and jumps on day 120."""
    return 12 + 5 * math.sin(day / 30) if day < 120 else 19 - 0.12 * (day - 120)


def demand(price: float, day: int) -> float:
    return 100 * math.exp(-(((price - best_price(day)) / 3) ** 2))


def tuned(sampler: BaseSampler) -> optuna.Study:
    """A study of all days: each day a price is asked for and what it earned is told."""
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for day in range(DAYS):
        trial = study.ask()
        earned = demand(trial.suggest_float("price", 5, 20), day)
        study.tell(trial, earned + random.Random(day).gauss(0, 3))
    return study


def lost(study: optuna.Study) -> float:
    """What was lost to the best price, a day, after the first 20."""
    late = range(20, DAYS)
    return sum(100 - demand(study.trials[day].params["price"], day) for day in late) / len(late)


def draw(studies: dict[str, optuna.Study], file: Path) -> None:
    """On white paper, and on dark paper in a file beside it."""
    from matplotlib import pyplot as plt

    for style, ending in (("default", ""), ("dark_background", "-dark")):
        with plt.style.context(style):
            strips(studies).savefig(file.with_stem(file.stem + ending), dpi=110)


def strips(studies: dict[str, optuna.Study]) -> Any:
    """A strip for each sampler."""
    import numpy as np
    from matplotlib import pyplot as plt

    line = plt.rcParams["text.color"]
    days, prices = np.arange(DAYS), np.linspace(5, 20, 200)
    world = np.array([[demand(price, day) for day in days] for price in prices])
    figure, axes = plt.subplots(len(studies), 1, figsize=(8, 2.3 * len(studies)), sharex=True, layout="constrained")
    for axis, (name, study) in zip(np.atleast_1d(axes), studies.items(), strict=True):
        axis.imshow(world, origin="lower", aspect="auto", extent=(0, DAYS, 5, 20), cmap="Greys_r", alpha=0.5)
        axis.plot(days, [best_price(day) for day in days], color=line, linewidth=1.2, label="the best price")
        asked = [trial.params["price"] for trial in study.trials]
        axis.plot(days, asked, ".", color="tab:red", markersize=4, label="asked")
        axis.set_title(f"{name}: {lost(study):.0f} lost a day, of 100", loc="left", fontsize=10)
        axis.set_ylabel("price")
    axes[0].legend(loc="upper right", ncols=2, fontsize=8, framealpha=0.9)
    axes[-1].set_xlabel("day")
    return figure


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers: dict[str, BaseSampler] = {"TPESampler": TPESampler(seed=0), "DriftSampler": DriftSampler(seed=0)}
    if importlib.util.find_spec("torch"):
        samplers = {"GPSampler": GPSampler(seed=0, deterministic_objective=False)} | samplers
    studies = {name: tuned(sampler) for name, sampler in samplers.items()}
    for name, study in studies.items():
        print(f"{name:<12} lost {lost(study):5.1f} a day, of 100")
    ours = studies["DriftSampler"]
    print(f"the best price is {best_price(DAYS):.1f}")
    print(f"best_now says {best_now(ours).params['price']:.1f}, study.best_params {ours.best_params['price']:.1f}")
    print(f"how the world moves: {ours.user_attrs['drift']}")
    if sys.argv[1:]:
        draw(studies, Path(sys.argv[1]))
