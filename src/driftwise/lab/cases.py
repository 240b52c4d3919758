"""What policies are run on: a case is one kind of world at one size, a suite is the cases of one source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from driftwise import checks
from driftwise.environments.world import SeededEnvironment
from driftwise.errors import NotFoundError

LEAST_STEPS, LEAST_SEEDS = 20, 2  # of a quick case


@dataclass(frozen=True)
class Case:
    """One kind of world. `make(seed=…, horizon=…)` is a module's function or a partial of one, so it can be pickled.

    The world is laid out for the horizon: its changes are at parts of it, and a quick case has them too.

    >>> from driftwise.environments.catalogue import deng_abrupt
    >>> case = Case("abrupt", deng_abrupt, horizon=500, seeds=100)
    >>> case.quick().environment(seed=3).drift
    Abrupt(times=(10, 20))
    """

    name: str
    make: Callable[..., SeededEnvironment]
    horizon: int
    seeds: int
    definition: str = ""
    tags: tuple[str, ...] = ()

    def environment(self, seed: int = 0) -> SeededEnvironment:
        """The world of this seed."""
        return self.make(seed=checks.count("seed", seed, least=0), horizon=self.horizon)

    def quick(self) -> Case:
        """A tenth of it: of the steps (20 at least) and of the seeds (2 at least)."""
        horizon, seeds = max(self.horizon // 10, LEAST_STEPS), max(self.seeds // 10, LEAST_SEEDS)
        return replace(self, horizon=min(horizon, self.horizon), seeds=min(seeds, self.seeds))


def like(pattern: str, suite: str, case: str) -> bool:
    """Whether a case has a name like this: its own, or SUITE/CASE as tables print it.

    >>> like("abrupt*", "deng", "abrupt"), like("deng/abrupt", "deng", "abrupt"), like("slow", "deng", "abrupt")
    (True, True, False)
    """
    return fnmatchcase(case, pattern) or fnmatchcase(f"{suite}/{case}", pattern)


@dataclass(frozen=True)
class Suite:
    """Cases that belong together. `choices` says what the source leaves open, and what we chose."""

    name: str
    citation: str
    definition: str
    choices: str
    cases: tuple[Case, ...]

    def case(self, name: str) -> Case:
        for case in self.cases:
            if case.name == name:
                return case
        raise NotFoundError(f"{self.name} has no case {name!r:.80}; it has {', '.join(c.name for c in self.cases)}")

    def quick(self) -> Suite:
        """Every case at a tenth of its size."""
        return replace(self, cases=tuple(case.quick() for case in self.cases))
