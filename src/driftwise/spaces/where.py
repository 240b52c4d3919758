"""Constraints that are known: rules on settings in the user's units, for example `workers * cache_mb <= 8192`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput, NothingAllowed
from driftwise.records import Array, Params
from driftwise.rng import generator
from driftwise.spaces.box import Box
from driftwise.spaces.parameters import Choice, Float, Int
from driftwise.spaces.rule_parser import Parameters, checked, parse
from driftwise.spaces.rules import Bounds, Columns, Every, Flags, Rule, Truth, exactly, names_in
from driftwise.spaces.subboxes import Explored, explore

MOST = 100  # rules
ROUNDING = 4 * np.finfo(float).eps  # of a number that is decoded for many settings at once, relative to its range
DECODED = 256  # settings so near to the border that each is decoded by itself; of more, the rest is not allowed
SAMPLED = 2**14  # settings of a space that is neither a box nor listed


@dataclass(frozen=True)
class Where:
    """The settings of `space` that satisfy every rule. `texts` are the rules as they were written.

    >>> where = Where.of(["n * size <= 8", "kind != 'slow' or n == 1"], Box.of(
    ...     {"n": Int(1, 9), "size": Float(0, 4), "kind": Choice(["fast", "slow"])}))
    >>> where.check({"n": 4, "size": 2.0, "kind": "fast"})
    >>> where.check({"n": 4, "size": 2.5, "kind": "fast"})
    Traceback (most recent call last):
    driftwise.errors.InvalidInput: a setting must satisfy 'n * size <= 8', got n=4, size=2.5; change one of them, or ...
    """

    space: Any
    texts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Any, space: Any) -> Where:
        """The rules on a space; refused where a rule cannot be read, or where nothing satisfies all of them."""
        listed = (texts,) if isinstance(texts, str) else texts
        where = cls(space, checks.each("where", listed, lambda _, text: checked(text), "['workers < 16']"))
        where.found  # noqa: B018  # a contradiction is an error now
        return where

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", tuple(self.texts))
        if len(self.texts) > MOST:
            raise InvalidInput(f"there may be at most {MOST} rules, got {len(self.texts):,}; join some by and")
        self.rules  # noqa: B018  # an error in one of them is an error now

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Their trees."""
        return tuple(parse(text, parameters_of(self.space)) for text in self.texts)

    # --- what is allowed ------------------------------------------------------------------------------------------

    def __call__(self, X: Array) -> Flags:
        return self.allowed(X)

    def allowed(self, X: Array) -> Flags:
        """Which rows of X, in unit coordinates, are settings that satisfy every rule: (m,)."""
        if not self.rules or not len(X):
            return np.ones(len(X), dtype=bool)
        return self._satisfied(Every(self.rules), X)

    def check(self, params: Params) -> None:
        """Refuse a setting that breaks a rule."""
        # refused where it is not in the space; a label has coordinates, which need not be given
        values = self.space.from_unit(self.space.to_unit(params)) | dict(params)
        columns = {name: _given(parameter, values[name]) for name, parameter in parameters_of(self.space).items()}
        for text, rule in zip(self.texts, self.rules, strict=True):
            if not _truth(rule, columns).sure[0]:
                named = [name for name in self.space.names if name in names_in(rule)]
                got = ", ".join(f"{name}={checks.shown(values[name])}" for name in named)
                raise InvalidInput(
                    f"a setting must satisfy {text!r}, got {got}; change one of them, or make a study without this rule"
                )

    def _satisfied(self, rule: Rule, X: Array) -> Flags:
        """Decoded all at once, which is exact but for rounding; where that could matter, each as the user gets it."""
        truth = _truth(rule, columns_of(self.space, X))
        close = np.flatnonzero(truth.sure != truth.may)[:DECODED]
        satisfied = truth.sure.copy()
        if len(close):
            satisfied[close] = _truth(rule, decoded(self.space, X[close], names_in(rule))).sure
        return satisfied

    # --- what there is ----------------------------------------------------------------------------------------------

    @property
    def examples(self) -> Array:
        """Some settings that are allowed: (k, d)."""
        return self.found.examples

    @property
    def share(self) -> float:
        """About which part of the space is allowed."""
        return self.found.share

    @cached_property
    def found(self) -> Explored:
        """Settings that are allowed; an error if there are none, or none was found."""
        found = self._explored(self.rules)
        if not len(found.examples):
            raise NothingAllowed(self._why(found))
        return found

    def _explored(self, rules: tuple[Rule, ...]) -> Explored:
        some = Where(self.space, tuple(t for t, r in zip(self.texts, self.rules, strict=True) if r in rules))
        points = self.space.points
        if points is None and isinstance(self.space, Box):
            return explore(self.space, some.rules, some.allowed)
        X = self.space.sample(generator(0), SAMPLED) if points is None else points
        kept = some.allowed(X)
        return Explored(X[kept], float(kept.mean()), exhausted=points is not None)

    def _why(self, found: Explored) -> str:
        """Which rules contradict each other: those without which the others would not."""
        if not found.exhausted:
            return (
                f"no setting was found that satisfies {_listed(self.texts)}, and no proof that there is none; "
                "rules that are an equality of Floats leave next to nothing: leave out the parameter that follows "
                "from the others, or allow a margin, as in abs(a + b - 1) <= 0.01"
            )
        core = self.rules
        for rule in self.rules:
            fewer = tuple(other for other in core if other != rule)
            left = self._explored(fewer) if fewer else None
            if left is not None and left.exhausted and not len(left.examples):
                core = fewer
        texts = [text for text, rule in zip(self.texts, self.rules, strict=True) if rule in core]
        return f"no setting satisfies {_listed(texts)}; loosen {'one of them' if texts[1:] else 'it'}"


def _listed(texts: Any) -> str:
    return " and ".join(f"{text!r}" for text in texts)


def _truth(rule: Rule, columns: Columns) -> Truth:
    with np.errstate(all="ignore"):
        return rule.truth(columns)


# --- from coordinates to the user's units ---------------------------------------------------------------------------


def parameters_of(space: Any) -> Parameters:
    """The parameters by name; a coordinate of candidates is a number, which is None here."""
    return dict(space.parameters)


def columns_of(space: Any, X: Array) -> Columns:
    """Settings in the user's units, to within rounding."""
    pairs = zip(space.parameters, space.slices, strict=True)
    return {name: _column(parameter, X[:, s]) for (name, parameter), s in pairs}


def _column(parameter: Float | Int | Choice | None, U: Array) -> Bounds | Flags:
    if parameter is None:
        return exactly(U[:, 0])
    if isinstance(parameter, Choice):
        return parameter.flags(U)
    if isinstance(parameter, Int):
        return exactly(parameter.value(U[:, 0]))
    values = parameter.value(U[:, 0])
    about = ROUNDING * (max(abs(parameter.low), abs(parameter.high)) if not parameter.log else 16 * values)
    low, high = np.maximum(values - about, parameter.low), np.minimum(values + about, parameter.high)
    return Bounds(low, high, np.zeros(len(values), dtype=bool))


def _given(parameter: Float | Int | Choice | None, value: Any) -> Bounds | Flags:
    """A value that the user gave."""
    return (
        np.array([parameter.encode(value)]) > 0 if isinstance(parameter, Choice) else exactly(np.array([float(value)]))
    )


def decoded(space: Any, X: Array, names: frozenset[str]) -> Columns:
    """Settings exactly as the user gets them, one after the other, as far as the parameters of these names go."""
    columns: dict[str, Bounds | Flags] = {}
    for (name, parameter), s in zip(space.parameters, space.slices, strict=True):
        if name not in names:
            continue
        if isinstance(parameter, Float):
            columns[name] = exactly(np.array([parameter.decode(tuple(u)) for u in X[:, s].tolist()]))
        else:
            columns[name] = exactly(X[:, s.start]) if parameter is None else _column(parameter, X[:, s])
    return columns
