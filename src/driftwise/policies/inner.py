"""Policies around policies: how the one inside is made from what a user gives."""

from __future__ import annotations

from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.policies.base import AnyPolicy, a_policy
from driftwise.spaces import as_space


def inner_policy(outer: str, given: str | AnyPolicy, space: Any, options: dict[str, Any]) -> AnyPolicy:
    """A policy by name with its options, or one as it is, which has its own."""
    from driftwise.policies import policy  # the registry has the outer policies too

    if isinstance(given, str):
        return policy(given, space, **options)
    a_policy("inner", given)
    if options:
        got = checks.shown(next(iter(options)))
        raise InvalidInput(f"{outer} has no option {got}; the inner policy was made already")
    if as_space(space) != given.space:
        raise InvalidInput(f"{outer}'s space and the inner policy's differ; give the same to both")
    return given
