"""A sampler for Optuna studies of something that changes: `DriftSampler`, and `best_now`, `drift` for what it knows.

docs/integrations/optuna.md says what it does and what it cannot do.
"""

from __future__ import annotations

import math
import secrets
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from driftwise import checks
from driftwise.auto.diagnosis import Diagnosis, Motion
from driftwise.errors import InvalidInput, missing_extra
from driftwise.feasible import Feasible, at_most
from driftwise.integrations.history import Newest
from driftwise.integrations.optuna_space import SearchSpace
from driftwise.integrations.optuna_trials import SHARED, Distributions, TrialLog, finished, shared_space, steady
from driftwise.policies import checked, restrictable
from driftwise.records import Ask, Recommendation
from driftwise.rng import generator
from driftwise.spaces import pinned
from driftwise.study.description import PATIENCE
from driftwise.study.given import policy_of

try:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise missing_extra("optuna", "optuna") from None

ATTRIBUTE = "drift"  # of a study: how its world moves
REPORTED = 16  # trials after which the study's attribute is written again, though nothing is new


class DriftSampler(BaseSampler):
    """Chooses by a policy of driftwise, which forgets: for objectives that change from trial to trial.

    `policy` is a name, or a pair of a name and its options; `options` are those of the policy, too. With a `seed` a
    study in one process is repeated exactly. `constraints_func` is as Optuna's own samplers have it: values above 0
    violate a constraint. `at` gives the time of a trial, for example `lambda trial: trial.datetime_start.timestamp()`;
    by default time is counted in trials. A running trial counts as pending while the next `patience` are asked.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=DriftSampler(seed=1), direction="maximize")
    >>> for day in range(1, 31):
    ...     trial = study.ask()
    ...     best_price = 8 + 0.1 * day  # it moves
    ...     study.tell(trial, 100 - (trial.suggest_float("price", 5, 20) - best_price) ** 2) and None
    >>> abs(best_now(study).params["price"] - 11) < 1
    True
    """

    def __init__(
        self,
        policy: str | tuple[str, dict[str, Any]] = "auto",
        *,
        seed: int | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        at: Callable[[FrozenTrial], float] | None = None,
        patience: int = PATIENCE,
        **options: Any,
    ) -> None:
        name, own = policy if isinstance(policy, tuple) else (policy, {})
        self.policy = (name, checked(name, own | options))
        self.seed = secrets.randbits(32) if seed is None else checks.seed("seed", seed)
        self.patience = checks.count("patience", patience, least=0)
        self.constraints_func = constraints_func
        self.at = at
        self._empty()

    def _empty(self) -> None:
        """Nothing is cached yet. What is cached makes asks faster, and never other ones."""
        self._lock = threading.RLock()
        self._read = Newest(64)  # trials as they were when one began, by study and that one's number
        self._logs = Newest(32)  # by study and search space
        self._chosen = Newest(32)  # settings of running trials by number, by study
        self._told = Newest(32)  # what was written of a study, and before which trial

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._empty()

    def reseed_rng(self) -> None:
        """Nothing to do: draws are a function of the seed and of the trial's number, which no two trials share."""

    # --- what Optuna asks -------------------------------------------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        """The parameters that are chosen together."""
        trials = self._read.put((study.study_name, trial.number), study.get_trials(deepcopy=False))
        return shared_space(finished(trials))

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: Distributions) -> dict[str, Any]:
        """A setting of the parameters that all trials have."""
        _check_objective(study)
        if not search_space:
            return {}
        with self._lock:
            trials = self._trials(study, trial)
            log = self._log(study, trials, SearchSpace.of(search_space))
            found = self._choose(log, study, trials, trial, self.seed)
            self._report(log, study, trial)
        return found

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value of a parameter that only some trials have; at random, if its range is another in every trial."""
        _check_objective(study)
        space = SearchSpace.of({param_name: param_distribution})
        seed = zlib.crc32(param_name.encode(), self.seed & 0xFFFFFFFF)  # one for each parameter
        trials = self._trials(study, trial)
        if not steady(param_name, param_distribution, finished(trials)[-SHARED:]):
            x = space.box.sample(generator(seed, trial.number + 1), 1)[0]
            return space.params(tuple(x.tolist()))[param_name]
        with self._lock:
            return self._choose(self._log(study, trials, space), study, trials, trial, seed)[param_name]

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Store the constraints where Optuna has them."""
        if self.constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            from optuna.samplers._base import _process_constraints_after_trial  # as every sampler does it

            _process_constraints_after_trial(self.constraints_func, study, trial, state)

    # --- how it chooses ---------------------------------------------------------------------------------------------

    def _trials(self, study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
        """All trials as they were when this one began, since a storage may be slow."""
        known: list[FrozenTrial] | None = self._read.get((study.study_name, trial.number))
        return study.get_trials(deepcopy=False) if known is None else known

    def _log(self, study: Study, trials: list[FrozenTrial], space: SearchSpace) -> TrialLog:
        """The finished trials in a search space, from the cache if it is there."""
        ended = finished(trials)
        limits = next((tuple(sorted(t.constraints)) for t in reversed(ended[-SHARED:]) if t.constraints), ())
        key = (study.study_name, study.direction, space, limits)
        log: TrialLog = self._logs.get(key) or TrialLog(self._feasible(space, limits), study, space, self.at)
        log.read(ended)
        return self._logs.put(key, log)

    def _feasible(self, space: SearchSpace, constraints: tuple[str, ...]) -> Feasible:
        inner = policy_of(self.policy, space.box, {})
        return Feasible(inner, limits=tuple((name, at_most(0.0)) for name in constraints))

    def _choose(
        self, log: TrialLog, study: Study, trials: list[FrozenTrial], trial: FrozenTrial, seed: int
    ) -> dict[str, Any]:
        fixed = log.space.inside(trial.system_attrs.get("fixed_params", {}))  # of `enqueue_trial`
        if len(fixed) == len(log.space.names):
            return {}
        pins = pinned(log.space.box, fixed) if fixed and restrictable(log.history.policy) else ()
        chosen = self._running(study, trials)
        others = [params for number, params in sorted(chosen.items()) if number != trial.number]
        points = (log.space.point(params) for params in others[max(len(others) - self.patience, 0) :])
        ask = log.ask(trial, tuple(x for x in points if x is not None), seed, pins)
        found = log.space.params(log.history.choose(log.state, ask))
        chosen[trial.number] = chosen.get(trial.number, {}) | found
        return found

    def _running(self, study: Study, trials: list[FrozenTrial]) -> dict[int, dict[str, Any]]:
        """The settings of the trials that are running, by number: those stored, and those chosen in this process."""
        ended = {trial.number for trial in trials if trial.state.is_finished()}
        before: dict[int, dict[str, Any]] = self._chosen.get(study.study_name) or {}
        chosen = {number: params for number, params in before.items() if number not in ended}
        for trial in trials:
            if trial.state == TrialState.RUNNING:
                chosen[trial.number] = chosen.get(trial.number, {}) | trial.params
        return self._chosen.put(study.study_name, chosen)

    # --- what it says -----------------------------------------------------------------------------------------------

    def _report(self, log: TrialLog, study: Study, trial: FrozenTrial) -> None:
        """Write how the world moves to the study, if the policy says so: where it is new, and from time to time."""
        explain = getattr(log.history.policy.inner, "motion", None)
        if explain is None or not log.log:
            return
        motion: Motion = explain(log.state.reward, log.ask(trial))
        changed = None if motion.change is None else (motion.change.number, motion.change.probability > 0.5)
        last, before = self._told.get(study.study_name) or (-math.inf, None)
        if before != (news := (motion.alarm, changed)) or trial.number - last >= REPORTED:
            self._told.put(study.study_name, (trial.number, news))
            study.set_user_attr(ATTRIBUTE, {"trial": trial.number} | _in_trials(motion))

    def recommend(self, study: Study) -> Recommendation:
        """The best setting now: `best_now`."""
        log, ask = self._now(study)
        point, found = log.history.recommend(log.state, ask)
        return Recommendation(log.space.params(point), found.mean, found.std, found.sure)

    def diagnose(self, study: Study) -> Diagnosis:
        """How the world moves: `drift`."""
        log, ask = self._now(study)
        explain: Callable[[Any, Ask], Diagnosis] | None = getattr(log.history.policy.inner, "diagnose", None)
        if explain is None:
            raise InvalidInput(f"{self.policy[0]} does not say how the world moves; use the policy auto")
        return explain(log.state.reward, ask)

    def _now(self, study: Study) -> tuple[TrialLog, Ask]:
        _check_objective(study)
        trials = study.get_trials(deepcopy=False)
        space = shared_space(finished(trials))
        if not space:
            raise InvalidInput("there is no parameter that all the last trials have, or no trial; run some first")
        with self._lock:
            log = self._log(study, trials, SearchSpace.of(space))
            if not any(not seen.failed for seen in log.log):
                raise InvalidInput("no trial has a value yet; run some first")
            return log, log.next(finished(trials)[-1])


def best_now(study: Study) -> Recommendation:
    """The best setting now, in the place of `study.best_params`, which is that of the luckiest trial ever.

    It has `params`, the expected value `mean` with its `std`, and `sure`, which is False while little is known. It is
    computed from the trials, whatever sampler made them. The parameters are those that all the last trials have.
    """
    return _sampler_of(study).recommend(study)


def drift(study: Study) -> Diagnosis:
    """How the world of a study moves: the rate, the last change, which parameters matter. Numbers are trials' + 1."""
    return _sampler_of(study).diagnose(study)


def _sampler_of(study: Study) -> DriftSampler:
    sampler = study.sampler
    return sampler if isinstance(sampler, DriftSampler) else DriftSampler(seed=0)


def _check_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise InvalidInput(
            f"DriftSampler is for one objective, got {len(study.directions)}; use Optuna's NSGAIISampler"
        )


def _in_trials(motion: Motion) -> dict[str, Any]:
    """What is said of the world as JSON has it, with the numbers of trials."""
    change: Mapping[str, Any] | None = None if motion.change is None else asdict(motion.change)
    if change is not None:
        change = {"trial": change["number"] - 1, "at": change["at"], "probability": change["probability"]}
    cycle = None if motion.cycle is None else asdict(motion.cycle)
    return {"rate": motion.rate, "alarm": motion.alarm, "change": change, "cycle": cycle}
