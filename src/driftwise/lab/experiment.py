"""An experiment: the trials that are asked for, which of them a folder lacks, and the running of those."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from driftwise import checks
from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError
from driftwise.lab.cases import Case, Suite, like
from driftwise.lab.engine import Engine, Failure, cpu_since_last, replies
from driftwise.lab.results import Folder
from driftwise.lab.trials import Entrant, Trial

ELSEWHERE = "its code changed while it ran, or is another one where it ran; use the same everywhere"
MOST = 1_000_000  # trials of an experiment: all are listed before the first is run


def plan(
    suites: Iterable[Suite],
    contenders: Sequence[Entrant],
    *,
    seeds: int | None = None,
    horizon: int | None = None,
    pattern: str = "*",
    first: int = 0,
) -> list[Trial]:
    """Every contender on every case and seed, case by case and seed by seed, so that what is done can be compared.

    Without `seeds` or `horizon` each case has its own; a world is laid out for its horizon, so that its changes are at
    parts of it whatever it is. `pattern` is a glob of case names, and `first` is the first seed.
    """
    sized = [
        (suite.name, _sized(case, horizon, seeds))
        for suite in suites
        for case in suite.cases
        if like(pattern, suite.name, case.name)
    ]
    if not sized:
        raise NotFoundError(f"no case is called {pattern!r} in these suites; see: driftwise suites")
    count = len(contenders) * sum(case.seeds for _, case in sized)
    if count > MOST:
        raise InvalidInput(f"these are {count:,} runs, and {MOST:,} is the most; give fewer seeds, cases or policies")
    trials = [
        Trial(contender, suite, case, case.horizon, seed)
        for suite, case in sized
        for seed in range(first, first + case.seeds)
        for contender in contenders
    ]
    if len({trial.name for trial in trials}) < len(trials):
        raise InvalidInput("each policy and each suite can be given once; drop the repeated one or change an option")
    return trials


def _sized(case: Case, horizon: int | None, seeds: int | None) -> Case:
    """The case with this horizon and so many seeds, where they are given."""
    steps = case.horizon if horizon is None else checks.count("horizon", horizon)
    return replace(case, horizon=steps, seeds=case.seeds if seeds is None else checks.count("seeds", seeds))


def check(trials: Iterable[Trial]) -> None:
    """Refuses a policy that cannot be made on any case: better before hours of work than after."""
    problems: dict[str, DriftwiseError] = {}
    made, tried = set[str](), set[tuple[str, str, str]]()
    for trial in trials:
        label = trial.contender.label
        if label in made or trial.cell in tried:
            continue
        tried.add(trial.cell)
        try:
            trial.contender.on(trial.case.environment(trial.seed))
            made.add(label)
        except DriftwiseError as error:
            problems[label] = error
    for label, problem in problems.items():
        if label not in made:
            raise problem


@dataclass(frozen=True)
class Account:
    """How an experiment went. `useful` of all `cpu` seconds were spent inside policies and environments."""

    asked: int
    there: int  # done before this run
    stale: int  # made by other code or defaults, and removed
    done: int
    failed: int
    seconds: float
    cpu: float
    useful: float

    @property
    def share(self) -> float:
        """The part of the CPU time that was spent inside policies and environments."""
        return self.useful / self.cpu if self.cpu > 0 else 0.0


def conduct(
    trials: Sequence[Trial],
    folder: Folder,
    engine: Engine,
    *,
    tell: Callable[[str], None] = lambda key: None,
) -> Account:
    """Runs what is missing in the folder. `tell` is called with the key of each trial that ended, well or not."""
    keys = [trial.key for trial in trials]
    stale = folder.drop_other_code(keys)
    missing = [replace(trial, sent=key) for trial, key in zip(trials, keys, strict=True) if key not in folder.done]
    began, cpu, useful, failed = time.perf_counter(), 0.0, 0.0, 0
    with closing(replies(missing, engine)) as said:
        for reply in said:
            cpu += reply.cpu
            for answer in reply.answers:
                trial = missing[answer.number]
                if isinstance(answer, Failure) or answer.value.result.key != trial.key:
                    failed += 1
                    folder.failed(trial.key, answer.problem if isinstance(answer, Failure) else ELSEWHERE)
                else:
                    result, timing, _ = answer.value
                    folder.append(result, timing)
                    useful += timing.policy + timing.environment
                tell(trial.key)
    return Account(
        asked=len(trials),
        there=len(trials) - len(missing),
        stale=stale,
        done=len(missing) - failed,
        failed=failed,
        seconds=time.perf_counter() - began,
        cpu=cpu + cpu_since_last(),
        useful=useful,
    )
