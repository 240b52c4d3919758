"""Optuna's distributions as a box: a grid of steps and a choice are whole numbers, which are turned back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput, missing_extra
from driftwise.records import Point
from driftwise.spaces import Box, Choice, Float, Int
from driftwise.spaces.parameters import LARGEST, Parameter

try:
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
except ImportError:
    raise missing_extra("optuna", "optuna") from None


@dataclass(frozen=True)
class SearchSpace:
    """Parameters with their distributions, of which none has a single value.

    >>> size, kind = FloatDistribution(0, 1, step=0.25), CategoricalDistribution(["a", "b"])
    >>> space = SearchSpace.of({"size": size, "kind": kind})
    >>> space.point({"size": 0.25, "kind": "b"})
    (0.25, 0.0, 1.0)
    >>> space.params((0.25, 0.0, 1.0))
    {'size': 0.25, 'kind': 'b'}
    """

    distributions: tuple[tuple[str, BaseDistribution], ...]

    @classmethod
    def of(cls, distributions: Mapping[str, BaseDistribution]) -> SearchSpace:
        return cls(tuple(distributions.items()))

    @cached_property
    def box(self) -> Box:
        return Box(tuple((name, parameter(distribution)) for name, distribution in self.distributions))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.distributions)

    def inside(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the parameters that are in the space, as the box has them."""
        known = {name: _ours(each, params[name]) for name, each in self.distributions if name in params}
        ranges = dict(self.box.parameters)
        return {name: value for name, value in known.items() if _is_in(ranges[name], value)}

    def point(self, params: Mapping[str, Any]) -> Point | None:
        """The point of a setting; None if a parameter is missing or lies outside of its range."""
        inside = self.inside(params)
        return self.box.to_unit(inside) if len(inside) == len(self.distributions) else None

    def params(self, x: Point) -> dict[str, Any]:
        """The setting of a point, with values as Optuna has them."""
        ours = self.box.from_unit(x)
        return {name: _theirs(distribution, ours[name]) for name, distribution in self.distributions}


def parameter(distribution: BaseDistribution) -> Parameter:
    """The parameter that stands for a distribution: steps and choices are counted from 0."""
    match distribution:
        case CategoricalDistribution():
            return Choice(range(len(distribution.choices)))
        case FloatDistribution(step=None):
            return Float(distribution.low, distribution.high, log=distribution.log)
        case IntDistribution(log=True):
            return _whole(distribution.low, distribution.high, log=True)
        case FloatDistribution() | IntDistribution():
            return _whole(0, round((distribution.high - distribution.low) / distribution.step))
    raise InvalidInput(f"a distribution must be one of floats, ints or categories, got {checks.shown(distribution)}")


def _whole(low: int, high: int, *, log: bool = False) -> Parameter:
    """Whole numbers; where they are too many to be told apart, real ones that are rounded."""
    return Int(low, high, log=log) if high <= LARGEST and low >= -LARGEST else Float(low, high, log=log)


def _ours(distribution: BaseDistribution, value: Any) -> Any:
    """A value of Optuna as the parameter has it; None if it is none of the choices."""
    match distribution:
        case CategoricalDistribution():
            try:
                return int(distribution.to_internal_repr(value))
            except ValueError:
                return None
        case FloatDistribution(step=None) | IntDistribution(log=True):
            return value
        case _:
            return round((value - distribution.low) / distribution.step)


def _theirs(distribution: BaseDistribution, value: Any) -> Any:
    match distribution:
        case CategoricalDistribution():
            return distribution.choices[value]
        case FloatDistribution(step=None):
            return float(value)
        case FloatDistribution():
            return float(min(distribution.low + value * distribution.step, distribution.high))
        case IntDistribution(log=True):
            return min(max(round(value), distribution.low), distribution.high)
        case _:
            return min(distribution.low + round(value) * distribution.step, distribution.high)


def _is_in(parameter: Parameter, value: Any) -> bool:
    try:
        parameter.encode(value)
    except InvalidInput:
        return False
    return True
