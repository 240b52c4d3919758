"""An experiment: what is to be run, what of it is missing in a folder, and the running of that."""

from __future__ import annotations

import hashlib
import platform
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from driftwise import checks
from driftwise.environments.recorded import Recorded, recorded
from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError
from driftwise.lab.engine import Engine, Failure, Reply, Work, cpu_since_last
from driftwise.lab.results import Folder
from driftwise.lab.trials import Entrant, Trial

MOST = 1_000_000  # trials of an experiment: all are listed before the first is run
RECORDING = "recording"  # the suite of a user's own CSV


class Suite(Protocol):
    """A name and its cases, as `suites.Suite`."""

    @property
    def name(self) -> str: ...
    @property
    def cases(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Recording:
    """A user's recording as a case: it is read where it is run, and its name changes when its content does."""

    name: str
    rewards: str
    points: str | None
    horizon: int
    seeds: int = 1
    tags: tuple[str, ...] = ()

    def environment(self, seed: int) -> Recorded:
        """The recording, with the noise of `seed` where it has any."""
        return _recorded(self.rewards, self.points, self.name).seeded(seed)


@lru_cache(maxsize=2)
def _recorded(rewards: str, points: str | None, name: str) -> Recorded:
    return recorded(rewards, points, name=name)


def recording(rewards: str | Path, points: str | Path | None = None) -> Recording:
    """The case of a CSV of rewards, a row a time and a column a candidate, and one of the candidates' coordinates."""
    files = [str(Path(file).resolve()) for file in (rewards, points) if file is not None]
    try:
        digest = hashlib.sha256(b"\0".join(Path(file).read_bytes() for file in files)).hexdigest()[:8]
    except OSError as error:
        raise InvalidInput(f"cannot read {error.filename}: {error.strerror}") from None
    name = f"{Path(rewards).stem}@{digest}"
    coordinates = files[1] if points is not None else None
    return Recording(name, files[0], coordinates, _recorded(files[0], coordinates, name).horizon)


@dataclass(frozen=True)
class Gathered:
    """Cases that are run as a suite."""

    name: str
    cases: tuple[Any, ...]


def plan(
    suites: Iterable[Suite],
    contenders: Sequence[Entrant],
    *,
    seeds: int | None = None,
    horizon: int | None = None,
    pattern: str = "*",
) -> list[Trial]:
    """Every contender on every case and seed, case by case and seed by seed, so that what is done can be compared.

    Without `seeds` or `horizon` each case has its own; a world is laid out for its horizon, so that its changes are at
    parts of it whatever it is. `pattern` is a glob of case names.
    """
    sized = {} if horizon is None else {"horizon": checks.count("horizon", horizon)}
    cases = [
        (suite.name, replace(case, **sized), case.seeds if seeds is None else checks.count("seeds", seeds))
        for suite in suites
        for case in suite.cases
        if fnmatchcase(case.name, pattern)
    ]
    if not cases:
        raise NotFoundError(f"no case is called {pattern!r} in these suites; see: driftwise suites")
    count = len(contenders) * sum(many for _, _, many in cases)
    if count > MOST:
        raise InvalidInput(f"these are {count:,} runs, and {MOST:,} is the most; give fewer seeds, cases or policies")
    trials = [
        Trial(contender, suite, case, case.horizon, seed)
        for suite, case, many in cases
        for seed in range(many)
        for contender in contenders
    ]
    if len({trial.key for trial in trials}) < len(trials):
        raise InvalidInput("each policy and each suite can be given once; drop the repeated one or change an option")
    return trials


def check(trials: Iterable[Trial]) -> None:
    """Refuses a policy that cannot be made on any case: it is better told before hours of work than after."""
    problems: dict[str, DriftwiseError | None] = {}
    tried = set()
    for trial in trials:
        if trial.cell in tried or problems.get(trial.contender.label, trial) is None:
            continue
        tried.add(trial.cell)
        try:
            trial.contender.on(trial.case.environment(trial.seed))
            problems[trial.contender.label] = None
        except DriftwiseError as error:
            problems[trial.contender.label] = error
    for problem in problems.values():
        if problem is not None:
            raise problem


@dataclass(frozen=True)
class Account:
    """How an experiment went. `useful` of all `cpu` seconds were spent inside policies and environments."""

    asked: int
    there: int  # done before
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
    missing = [trial for trial in trials if trial.key not in folder.done]
    began, cpu, useful, failed = time.perf_counter(), 0.0, 0.0, 0
    with warnings.catch_warnings(), closing(_replies(engine, missing)) as replies:
        # joblib's word on Ctrl-C; what is cancelled is done by the next run
        warnings.filterwarnings("ignore", message=".*still being processed by the workers")
        for reply in replies:
            cpu += reply.cpu
            for answer in reply.answers:
                if isinstance(answer, Failure):
                    failed += 1
                    folder.failed(answer.key, answer.problem)
                    tell(answer.key)
                else:
                    result, timing = answer
                    folder.append(result, timing)
                    useful += timing.policy + timing.environment
                    tell(result.key)
    return Account(
        asked=len(trials),
        there=len(trials) - len(missing),
        done=len(missing) - failed,
        failed=failed,
        seconds=time.perf_counter() - began,
        cpu=cpu + cpu_since_last(),
        useful=useful,
    )


def _replies(engine: Engine, trials: Sequence[Trial]) -> Generator[Reply, None, None]:
    """Nothing is started where there is nothing to do."""
    if trials:
        yield from engine(Work(trials))


def versions() -> dict[str, str]:
    """What the bits of a result may depend on."""
    found = {name: version(name) for name in ("driftwise", "numpy", "scipy")}
    return found | {"python": platform.python_version(), "machine": platform.machine()}
