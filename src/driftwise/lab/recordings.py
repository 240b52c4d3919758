"""Worlds that are there already, as cases: one that was made, and a recording in a CSV."""

from __future__ import annotations

import hashlib
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

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


def recording(rewards: str | Path, points: str | Path | None = None, **options: Any) -> Suite:
    """The suite of one CSV of rewards, with the options of `recorded`.

    It is read where it is run, and its name changes when its content or an option does.
    """
    files = [str(Path(file).resolve()) for file in (rewards, points) if file is not None]
    try:
        content = b"\0".join(Path(file).read_bytes() for file in files)
    except OSError as error:
        raise InvalidInput(f"cannot read {error.filename}: {error.strerror}") from None
    given = tuple(sorted(options.items()))
    digest = hashlib.sha256(content + (repr(given).encode() if given else b"")).hexdigest()[:8]
    name = f"{Path(rewards).stem}@{digest}"
    played = partial(_played, name, tuple(files), given)
    case = Case(name, played, _recorded(name, tuple(files), given).horizon, seeds=1)
    return Suite(SUITE, "", "", "", (case,))


Options = tuple[tuple[str, Any], ...]


def _played(name: str, files: tuple[str, ...], options: Options, *, seed: int, horizon: int) -> Recorded:
    return _recorded(name, files, options).seeded(seed)


@lru_cache(maxsize=2)
def _recorded(name: str, files: tuple[str, ...], options: Options) -> Recorded:
    return recorded(*files, name=name, **dict(options))
