"""Policies of a user's own: what a class must have to be one, and how it is made from options."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.policies.base import MEMBERS, AnyPolicy
from driftwise.policies.setup import Options, options_in
from driftwise.spaces import as_space

GUIDE = "docs/adding-a-policy.md has an example"


def a_policy_class(name: str, given: Any) -> Any:
    """The rule that something is the class of a policy: a frozen dataclass with the members of `Policy`."""
    shown = checks.shown(name)
    if not isinstance(given, type):
        raise InvalidInput(f"{shown} must be the class of a policy, got {checks.shown(given)}; {GUIDE}")
    if not is_frozen(given):
        raise InvalidInput(f"{shown} must be a dataclass with frozen=True, because a study stores its fields; {GUIDE}")
    has = {field.name for field in dataclasses.fields(given)}
    missing = [member for member in MEMBERS if member not in has and not hasattr(given, member)]
    if missing:
        raise InvalidInput(f"{shown} is not a policy: it has no {', no '.join(missing)}; {GUIDE}")
    if not isinstance(getattr(given, "name", None), str):
        raise InvalidInput(f'{shown} needs a text as its name, as name: ClassVar[str] = "greedy"; {GUIDE}')
    if not hasattr(given, "of") and "space" not in has:
        raise InvalidInput(f"{shown} needs the field space or a class method of(space, *, …); {GUIDE}")
    return given


def is_frozen(cls: type) -> bool:
    """Whether a class is a frozen dataclass itself, not merely a child of one."""
    return "__dataclass_params__" in vars(cls) and bool(vars(cls)["__dataclass_params__"].frozen)


def fields_in(cls: type) -> Options:
    """The options of a policy that has no `of`: its fields but for the space."""
    return options_in(cls, [name for name in inspect.signature(cls).parameters if name != "space"])


def made_from(cls: Any, space: Any, options: dict[str, Any]) -> AnyPolicy:
    """The policy by its `of`, or by its fields where it has none."""
    made: AnyPolicy = cls.of(space, **options) if hasattr(cls, "of") else cls(space=as_space(space), **options)
    return made
