import optuna
import optunahub

module = optunahub.load_module(package="samplers/drift")


def objective(trial: optuna.Trial) -> float:
    """The best x moves from 2 to 8 in 60 trials."""
    x = trial.suggest_float("x", 0, 10)
    return (x - 2 - 0.1 * trial.number) ** 2


study = optuna.create_study(sampler=module.DriftSampler(seed=0))
study.optimize(objective, n_trials=60)
print(f"the best x now: {module.best_now(study).params['x']:.1f}")
print(f"how the world moves: {study.user_attrs['drift']}")
