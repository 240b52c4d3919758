"""Arrays with a row for each key, which grow as keys come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class KeyColumns:
    """All attributes that are arrays are columns: rows from `size` on are room for keys to come, and hold zeros."""

    size = 0

    def add_rows(self, count: int) -> None:
        """`count` more rows of zeros."""
        size = self.size + count
        for name, array in self._arrays().items():
            if size > len(array):
                grown = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
                grown[: self.size] = array[: self.size]
                setattr(self, name, grown)
        self.size = size

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything, for a snapshot."""
        return {name: array[: self.size] for name, array in self._arrays().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """What `state` gave, taken back."""
        for name in self._arrays():
            setattr(self, name, np.array(state[name]))
            self.size = len(state[name])

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {name: each for name, each in vars(self).items() if isinstance(each, np.ndarray)}
