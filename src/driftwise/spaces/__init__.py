"""Spaces: what can be tuned, and where the maximum of an acquisition over it is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.spaces.box import Box
from driftwise.spaces.candidates import Candidates
from driftwise.spaces.context import Joint, in_context, joint, pinned, split
from driftwise.spaces.maximise import Score
from driftwise.spaces.mesh import Mesh
from driftwise.spaces.parameters import Choice, Float, Int, Parameter
from driftwise.spaces.restricted import all_of, draw
from driftwise.spaces.where import Where

Space = Box | Candidates | Joint | Mesh

__all__ = [
    "Box",
    "Candidates",
    "Choice",
    "Float",
    "Int",
    "Joint",
    "Mesh",
    "Parameter",
    "Score",
    "Space",
    "Where",
    "all_of",
    "as_space",
    "draw",
    "in_context",
    "joint",
    "pinned",
    "split",
]


def as_space(given: Any) -> Space:
    """A dict of parameters, or Candidates, or a space already."""
    if isinstance(given, Space):
        return given
    if isinstance(given, Mapping):
        return Box.of(given)
    got = checks.shown(given)
    raise InvalidInput(f"a space is a dict of Float, Int and Choice by name, or Candidates(points); got {got}")
