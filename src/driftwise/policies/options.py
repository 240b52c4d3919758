"""The options that policies share, checked once."""

from __future__ import annotations

from typing import Any

from driftwise import widths
from driftwise.acquisition import Model, Width
from driftwise.errors import InvalidInput
from driftwise.kernels import Kernel, Matern
from driftwise.spaces import Space, as_space


def model(space: Any, kernel: Kernel | None, noise: float, standardise: bool) -> Model:
    """The model of the world."""
    if kernel is not None and not callable(kernel):
        raise InvalidInput(f"kernel must be a kernel, as RBF(0.2), got {kernel!r}")
    return Model(as_space(space), kernel or Matern(2.5, 0.2), noise, standardise)


def width(given: float | Width) -> Width:
    """A number means a constant width."""
    if isinstance(given, int | float):
        return widths.Constant(given)
    if not callable(given):
        raise InvalidInput(f"width must be a number or a width, as 2.0, got {given!r}")
    return given


def finite(name: str, space: Space) -> None:
    """Refused where the settings cannot be listed."""
    if space.points is None:
        raise InvalidInput(
            f"{name} is defined on finitely many settings only, and this space cannot be listed; "
            "give Candidates(points), or Int and Choice parameters with at most 2,500 settings in all"
        )
