"""Randomness without stored state: a generator is a pure function of a seed and a number, so replay is exact."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from driftwise import checks


class Stream(IntEnum):
    """The purpose of a draw. Two purposes with the same seed and number never share draws."""

    POLICY = 0
    NOISE = 1
    WORLD = 2
    MECHANISM = 3
    SCHEDULE = 4
    RESTRICTED = 5
    EQUALS = 6
    DESIGN = 7
    ROLE = 8


def generator(seed: int, number: int = 0, stream: Stream = Stream.POLICY) -> np.random.Generator:
    """Philox with key (seed, number), counted from the offset of the stream.

    Args:
        seed: the seed of the run; a policy takes `ask.seed`.
        number: the number of the step; a policy takes `ask.number`.
        stream: the purpose of the draws.

    Returns:
        A NumPy generator, the same for the same arguments.

    >>> generator(1, 2).random() == generator(1, 2).random()
    True
    >>> generator(1, 2).random() == generator(1, 2, Stream.NOISE).random()
    False
    """
    key = np.array([checks.seed("seed", seed), number], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, int(stream)]))
