"""Environments by name as a suite, for `lab run --env`: built in, of an installed package or of a user's module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from driftwise.environments import ENVIRONMENTS, environment, options_of
from driftwise.environments.world import SeededEnvironment
from driftwise.lab.cases import Case, Suite

SUITE = "environments"
SEEDS = 20  # of a case, unless the run says otherwise

Options = tuple[tuple[str, Any], ...]


def environments(chosen: Iterable[tuple[str, dict[str, Any]]]) -> Suite:
    """Each environment and its options as a case, named by both.

    >>> [case.name for case in environments([("bogunovic", {"side": 10, "epsilon": 0.03})]).cases]
    ['bogunovic:epsilon=0.03,side=10']
    """
    return Suite(SUITE, "", "", "", tuple(_case(name, options) for name, options in chosen))


def _case(name: str, options: dict[str, Any]) -> Case:
    horizon = environment(name, **options).horizon  # what cannot be made is refused now
    given = tuple(sorted((option, value) for option, value in options.items() if option != "horizon"))
    written = ",".join(f"{option}={value}" for option, value in given)
    return Case(f"{name}:{written}" if written else name, Named(name, given), horizon, SEEDS)


@dataclass(frozen=True)
class Named:
    """Makes worlds of a name and options. The name is looked up where the trial is run."""

    name: str
    options: Options

    @property
    def made_of(self) -> tuple[Any, ...]:
        """What its `stamp` counts: the function or class, which has the defaults, and the options given."""
        return ENVIRONMENTS.find(self.name), self.options

    def __call__(self, *, seed: int, horizon: int) -> SeededEnvironment:
        """The world, laid out for the horizon where it can be."""
        laid_out = {"horizon": horizon} if "horizon" in options_of(self.name) else {}
        return environment(self.name, seed=seed, **dict(self.options) | laid_out)
