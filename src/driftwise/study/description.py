"""What defines a study: its policy, its constraints and its context, as it is stored, and what of it the user gave."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import ConflictError, InvalidInput, NotFoundError, StoreError
from driftwise.feasible import Feasible, Limit, as_limits
from driftwise.gp.past import negated
from driftwise.live import Live
from driftwise.log import Log, codec, without_password
from driftwise.policies import AnyPolicy, check_restrictable
from driftwise.records import Ask, Params, Point
from driftwise.spaces import Box, Candidates, Joint, Space, Where, as_space, in_context, joint, pinned, split
from driftwise.study import given as settings_given
from driftwise.study.readings import Reading, as_row

Fixed = tuple[tuple[int, float], ...]  # coordinates and their values, as an Ask has them
SIGNS = {"maximize": 1.0, "minimize": -1.0}
PATIENCE = 32
DELTA = 0.05
MOST_PATIENT = 1000  # as many as one ask may make; what is pending is a part of every choice
DEFAULTS = {"patience": PATIENCE, "delta": DELTA}

logger = logging.getLogger("driftwise")


@dataclass(frozen=True)
class Description:
    """What defines a study. It never changes after the study was created."""

    policy: AnyPolicy  # on the settings and the context together
    given: Mapping[str, Any] = field(compare=False)  # by the user, as `given_by` has it
    direction: str = "maximize"
    seed: int = 0
    patience: int = PATIENCE
    where: tuple[str, ...] = ()
    limits: tuple[tuple[str, Limit], ...] = ()
    safe: bool = False
    start: Point | None = None  # a setting known to be safe, as the policy sees it
    delta: float = DELTA
    context: Box | None = None
    live: Live | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.direction, str) or self.direction not in SIGNS:
            raise InvalidInput(f"direction must be 'maximize' or 'minimize', got {checks.shown(self.direction)}")
        checks.settle(
            self,
            seed=checks.seed,
            patience=partial(checks.count, least=0, most=MOST_PATIENT),
            limits=as_limits,
            safe=checks.flag,
            delta=checks.probability,
        )
        self.feasible  # noqa: B018  # what contradicts itself is refused now
        if self.context is not None:
            check_restrictable(self.policy, "context")
        if self.live is not None:
            check_live(self.live, self)

    @property
    def sign(self) -> float:
        return SIGNS[self.direction]

    @cached_property
    def feasible(self) -> Feasible:
        """The policy as the study uses it: within the constraints, and away from what failed."""
        return Feasible(self.policy, self.rules, self.limits, self.safe, self.start, self.delta)

    @cached_property
    def rules(self) -> Where | None:
        return Where.of(self.where, self.policy.space) if self.where else None

    # --- settings and contexts ----------------------------------------------------------------------------------

    @cached_property
    def space(self) -> Space:
        """The parameters that are chosen."""
        whole = self.policy.space
        if self.context is None:
            return whole
        if isinstance(whole, Joint):
            return whole.settings
        assert isinstance(whole, Box)
        return Box(tuple(pair for pair in whole.parameters if pair[0] not in self.context.names))

    def point(self, params: Params, context: Params | None) -> Point:
        """A setting in a context, as the policy sees it. Refused if it breaks a rule."""
        inside = self._in_context(context)
        self.space.to_unit(params)  # refused by its own name first
        whole = {**params, **(context or {})} if inside else params
        if self.rules is not None:
            self.rules.check(whole)
        return self.policy.space.to_unit(whole)

    def pins(self, context: Params | None, fixed: Params | None) -> Fixed:
        """The coordinates that a context and pinned parameters give."""
        inside = self._in_context(context)
        if fixed is None:
            return inside
        check_restrictable(self.policy, "fixed")
        return tuple(sorted((*inside, *pinned(self.space, fixed))))  # the context's coordinates come last

    def _in_context(self, context: Params | None) -> Fixed:
        if self.context is not None:
            return in_context(self.context, self.policy.space, context)
        if context is not None:
            raise InvalidInput(f"the study has no context, got {checks.shown(context)}; leave it out")
        return ()

    def split(self, x: Point) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """A point as the user's parameters, and as the context if there is one."""
        whole = self.policy.space.from_unit(x)
        return (whole, None) if self.context is None else split(self.context, whole)

    # --- as it is stored ----------------------------------------------------------------------------------------

    def to_json(self) -> str:
        return json.dumps(
            self.data() | {"given": self.given}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )

    def data(self) -> dict[str, Any]:
        """As JSON has it, without what the user gave."""
        return {part.name: codec.encode(getattr(self, part.name)) for part in fields(self) if part.name != "given"}

    @classmethod
    def from_json(cls, text: str) -> Description:
        data = json.loads(text)
        said = data.pop("given")
        return cls(**{name: codec.decode(value) for name, value in data.items()}, given=said)

    def kept(self) -> list[settings_given.KeptSetting]:
        """The settings with which the study goes on though the defaults are others by now."""
        return settings_given.kept(self.given, self.data(), defaults=DEFAULTS)

    # --- forks --------------------------------------------------------------------------------------------------

    def forked(self, space: Any, policy: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a study that is this one but for what is given."""
        made = {"direction": self.direction, "seed": self.seed, "patience": self.patience, "where": list(self.where)}
        made |= {"limits": dict(self.limits), "safe": self.safe, "delta": self.delta}
        if self.context is not None:
            made["context"] = dict(self.context.parameters)
        if self.start is not None:
            made["start"] = self.split(self.start)[0]
        if self.live is not None:
            made["live"] = self.live
        made |= {"space": self.space if space is None else space}
        if policy is not None:
            made["policy"] = policy
        elif isinstance(self.given.get("policy", ""), str):
            said = self.given.get("options", {})
            known = {name: self._said(name, value, options) for name, value in said.items()}
            made["policy"] = (self.given.get("policy", settings_given.DEFAULT), known)
        else:  # an object
            made["policy"] = self.policy if space is None else self.policy.name
        return made | dict(options)

    def _said(self, name: str, value: Any, options: Mapping[str, Any]) -> Any:
        """What the user gave for an option, which is not known if it was long."""
        if name not in options and isinstance(value, dict) and value.get("type") == settings_given.DIGEST:
            raise InvalidInput(f"{name} is too long to be stored with a study; give it again with the fork")
        return None if name in options else codec.decode(value)

    def adopted(self, seen: Reading) -> dict[str, Any] | None:
        """An observation of another study as a row of this one; None if it lies outside of the space or the rules."""
        try:
            self.point(seen.params, seen.context)
        except InvalidInput:
            return None
        return as_row(seen)


def described(space: Any, policy: Any, options: Mapping[str, Any], settings: Mapping[str, Any]) -> Description:
    """The description of a study that is made now from what the user gives."""
    said = settings_given.given_by(policy, options, space, **settings)
    parts = dict(settings)
    context = parts.pop("context", None)
    whole = space if context is None or space is None else joint(_settings(space), context)
    inside = None if context is None else _context(context)
    minimise = isinstance(parts.get("direction"), str) and parts["direction"] == "minimize"
    if minimise and options.get("history") is not None:  # a policy maximises
        options = {**options, "history": negated(options["history"])}
    made = settings_given.policy_of(policy, whole, options)
    if "where" in parts:
        rules = parts["where"]
        parts["where"] = (rules,) if isinstance(rules, str) else checks.each("where", rules, _text, "['a < b']")
    if "limits" in parts:
        parts["limits"] = as_limits("limits", parts["limits"])
    start = parts.pop("start", None)
    if start is not None:
        parts["start"] = _begin(made.space, inside, start)
    return Description(made, said, **parts, context=inside)


def check_live(live: Any, about: Description) -> None:
    """Refuse live operation whose incumbent is no setting of the study, or that could not find a candidate."""
    if not isinstance(live, Live):
        raise InvalidInput(f"live must be Live(incumbent={{...}}), got {checks.shown(live)}")
    try:
        about.space.to_unit(live.incumbent)
        if about.rules is not None and about.context is None:
            about.rules.check(live.incumbent)
        about.policy.belief(about.policy.start(), Ask(1, 1.0))
    except InvalidInput as error:
        raise InvalidInput(f"live: {error}") from None


def _context(given: Any) -> Box:
    if isinstance(given, Box):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(f"context must be a dict of Float, Int and Choice by name, got {checks.shown(given)}")
    return Box.of(given)


def _settings(space: Any) -> Box | Candidates:
    made = as_space(space)
    if not isinstance(made, Box | Candidates):
        raise InvalidInput("space must be the settings alone if there is a context, got a space with a context")
    return made


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be texts as 'workers < 16', got {checks.shown(value)}")
    return value


def _begin(space: Space, context: Box | None, start: Any) -> Point:
    """The setting that is known to be safe. With a context it is safe in every one, and is stored in the middle."""
    if context is None:
        return space.to_unit(start)
    if not isinstance(start, Mapping):
        raise InvalidInput(f"start must be a dict of parameters and their values, got {checks.shown(start)}")
    return space.to_unit({**start, **context.from_unit(tuple(context.snap(np.full((1, context.dim), 0.5))[0]))})


def agreed_with(now: Description, stored: Description, name: str, kind: str = "study") -> Description:
    """The description of a study or fleet that exists: it goes on as it was made, if the user gives nothing else."""
    before, after = stored.data(), now.data()
    found = settings_given.conflict(stored.given, before, now.given, after)
    if found:
        raise ConflictError(
            f"{kind} {name!r} already exists with different settings: {found}; leave these out, or take another name"
        )
    for each in settings_given.kept(stored.given, before, given=now.given, defaults=DEFAULTS):
        logger.info("%s %r was %s", kind, name, each)
    return stored


def description_of(log: Log, path: str | os.PathLike[str] | None) -> Description:
    """The description that is stored."""
    try:
        return Description.from_json(log.description)
    except (InvalidInput, NotFoundError, TypeError, ValueError, KeyError, AttributeError) as error:
        where = f"{without_password(str(path))}: study {log.name!r}"
        raise StoreError(f"{where} has a description this driftwise cannot read: {error}") from error
