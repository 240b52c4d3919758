"""Worlds that are there already, as cases: one that was made, and a recording in a CSV."""

from __future__ import annotations

import hashlib
from functools import lru_cache, partial
from pathlib import Path

from driftwise.environments.recorded import Recorded, recorded
from driftwise.environments.world import SeededEnvironment
from driftwise.errors import InvalidInput
from driftwise.lab.cases import Case, Suite

SUITE = "recording"  # of a user's own CSV


def case_of(world: SeededEnvironment) -> Case:
    """A world as a case: a seed gives its other functions and noises, and the horizon does not change it."""
    return Case(world.name, partial(_seeded, world), world.horizon, seeds=1)


def _seeded(world: SeededEnvironment, *, seed: int, horizon: int) -> SeededEnvironment:
    return world.seeded(seed)


def recording(rewards: str | Path, points: str | Path | None = None) -> Suite:
    """The suite of one CSV of rewards. It is read where it is run, and its name changes when its content does."""
    files = [str(Path(file).resolve()) for file in (rewards, points) if file is not None]
    try:
        digest = hashlib.sha256(b"\0".join(Path(file).read_bytes() for file in files)).hexdigest()[:8]
    except OSError as error:
        raise InvalidInput(f"cannot read {error.filename}: {error.strerror}") from None
    name = f"{Path(rewards).stem}@{digest}"
    played = partial(_played, name, *files)
    case = Case(name, played, _recorded(name, *files).horizon, seeds=1)
    return Suite(SUITE, "", "", "", (case,))


def _played(name: str, *files: str, seed: int, horizon: int) -> Recorded:
    return _recorded(name, *files).seeded(seed)


@lru_cache(maxsize=2)
def _recorded(name: str, *files: str) -> Recorded:
    return recorded(*files, name=name)
