"""What there is to say of all keys of a fleet at once: figures a key, their quantiles, and the keys that stand out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise.fleet.fleet import Advice, Fleet, Movement
from driftwise.fleet.shard import Key
from driftwise.records import Array, Params

QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)
ADVISED = 2000  # keys whose advice is computed: their beliefs may have to be made again
TOLD, SPREAD, ALARMS, EXPECTED, REGRET = (
    "rewards", "spread of surprises", "alarms per 1,000 rewards", "reward expected now", "regret",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Overview:
    """The figures of a fleet's keys. Advice is that of some keys, taken at equal distances from the list of all."""

    name: str
    description: str
    movement: Movement
    advice: Advice
    advised: list[Params]
    regret: Array | None  # a figure for each key, where somebody knows it; NaN where not

    @property
    def rates(self) -> Array:
        """Alarms per 1,000 rewards of each key."""
        return np.asarray(1000 * self.movement.alarms / np.maximum(self.movement.told, 1))

    @property
    def figures(self) -> dict[str, Array]:
        """By their names, an array over keys each, without what is not known."""
        moved = self.movement
        found: dict[str, NDArray[Any]] = {TOLD: moved.told, SPREAD: moved.spread[moved.told > 0], ALARMS: self.rates}
        found |= {EXPECTED: self.advice.mean} | ({} if self.regret is None else {REGRET: self.regret})
        known = {name: array[np.isfinite(array)].astype(float) for name, array in found.items()}
        return {name: array for name, array in known.items() if len(array)}

    def quantiles(self) -> list[tuple[str, ...]]:
        """A row for each figure: the least, 10%, the median, 90%, the greatest and the mean."""
        return [
            (name, *(f"{value:.4g}" for value in (*np.quantile(array, QUANTILES), array.mean())))
            for name, array in self.figures.items()
        ]

    def worst(self, count: int) -> list[tuple[str, ...]]:
        """The keys with the largest regret, or else with the most alarms and the widest spread."""
        moved = self.movement
        first = moved.alarms if self.regret is None else np.nan_to_num(self.regret, nan=-np.inf)
        order = np.lexsort((-moved.spread, -first))[:count].tolist()
        return [
            (
                str(moved.keys[i]), f"{moved.told[i]:,}", f"{moved.spread[i]:.2f}", f"{moved.alarms[i]:,}",
                f"{moved.last_alarm[i]:,}" if moved.alarms[i] else "–",
                *([] if self.regret is None else [f"{self.regret[i]:.4g}"]),
            )
            for i in order
        ]  # fmt: skip

    @property
    def worst_header(self) -> tuple[str, ...]:
        header = ("key", "rewards", "spread", "alarms", "last at suggestion")
        return header if self.regret is None else (*header, REGRET)


HEADER = ("a key's", "least", "10%", "median", "90%", "greatest", "mean")


def overview(fleet: Fleet, regret: Mapping[Key, float] | None = None) -> Overview:
    """The figures of a fleet now. `regret` has what is known of some keys."""
    moved = fleet.drift()
    keys = list(moved.keys)
    advice = fleet.recommend(keys[:: -(-len(keys) // ADVISED) or 1])
    space: Any = fleet.definition.space
    definition = fleet.definition
    words = f"{definition.policy.name} on {definition.where}, engine {fleet.engine}"
    known = None if regret is None else np.array([regret.get(key, np.nan) for key in keys])
    params = [space.from_unit(tuple(x)) for x in advice.points.tolist()]
    return Overview(fleet.name, words, moved, advice, params, known)
