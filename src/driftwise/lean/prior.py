"""What a key begins with: the weights of experts, and the units of rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.records import Array


@dataclass(frozen=True)
class Prior:
    """The weights of experts, and the units of rewards, with which a key begins.

    Args:
        weights: one for each expert of the bank, shape by shape; none stands for equal ones.
        location: the level of rewards.
        scale: their standard deviation.
        strength: of so many places `location` and `scale` are known; 0 if they are not.
        means: how much more than `location` each candidate gives; none stands for zeros.

    >>> Prior(strength=0.0).weights
    ()
    """

    weights: tuple[float, ...] = ()
    location: float = 0.0
    scale: float = 1.0
    strength: float = 0.0
    means: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        checks.settle(
            self,
            weights=lambda name, given: checks.each(name, given, checks.positive, "(0.5, 0.5)"),
            location=checks.size,
            scale=checks.positive,
            strength=checks.nonnegative,
            means=lambda name, given: checks.each(name, given, checks.size, "(0.0, 1.5)"),
        )

    def shares(self, shapes: int, drifts: int) -> Array:
        """The weights of S·D experts, of sum 1: (S, D)."""
        if not self.weights:
            return np.full((shapes, drifts), 1 / (shapes * drifts))
        if len(self.weights) != shapes * drifts:
            raise InvalidInput(f"weights must be one for each of {shapes * drifts} experts, got {len(self.weights)}")
        given = np.array(self.weights).reshape(shapes, drifts)
        return np.asarray(given / given.sum())

    def expected(self, candidates: int) -> Array:
        """`means` of so many candidates: (n,)."""
        if self.means and len(self.means) != candidates:
            raise InvalidInput(f"means must be one for each of {candidates} candidates, got {len(self.means)}")
        return np.array(self.means or (0.0,) * candidates)
