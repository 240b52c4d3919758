"""The engine for `auto-lean` on a GPU: it knows which keys are on the card, and leaves arithmetic to `LeanTensors`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from driftwise.errors import InvalidInput
from driftwise.fleet.engine import Numbers, most_cautious
from driftwise.fleet.lean_gpu import LeanTensors
from driftwise.fleet.residents import Residents
from driftwise.fleet.streams import Places, Rows, Streams
from driftwise.lean.step import LeanState, Moments, mixed, moments, optimism
from driftwise.policies.auto_lean import AutoLean
from driftwise.records import Array

SHARE = 0.7  # of the free memory of the card that states may take
AT_ONCE = 256  # states that are fetched together


def lean_engine(policy: AutoLean, streams: Streams, *, memory: int | None = None) -> LeanEngine:
    """An engine whose states take at most `memory` bytes of the card, or most of what is free."""
    if not torch.cuda.is_available():
        raise InvalidInput("engine='gpu' needs a CUDA device, and PyTorch finds none; use engine='numpy'")
    free = int(SHARE * torch.cuda.mem_get_info()[0]) if memory is None else memory
    return LeanEngine(policy, streams, memory=free)


class LeanEngine:
    """States of as many keys as fit into memory; others are made again from the streams when they are needed."""

    name = "gpu"

    def __init__(self, policy: AutoLean, streams: Streams, *, memory: int, device: str = "cuda") -> None:
        self.policy, self.streams, self.bank = policy, streams, policy.bank
        self.tensors = LeanTensors(self.bank, policy.width, device)
        self.residents = Residents(max(memory // self.tensors.bytes_each, 1))
        # by slot: the number of the newest observation, that of the choice, and the choice
        self.last, self.chosen_for, self.best = np.zeros((3, 0), np.int32)

    # --- the interface ------------------------------------------------------------------------------------------------

    def choose(self, rows: Rows, numbers: Numbers) -> Places:
        chosen = np.empty(len(rows), np.int32)
        for part in self._parts(rows):
            slots = self._slots(rows[part])
            stale = self.chosen_for[slots] != numbers[part]
            if stale.any():
                self._choose(slots[stale], numbers[part][stale])
            chosen[part] = self.best[slots]
        for i in np.flatnonzero(self.streams.waits(rows)).tolist():
            pending = self.streams.awaited_by(int(rows[i])).astype(np.intp)[None]
            state, said = self._said(rows[i : i + 1], numbers[i : i + 1], pending)
            chosen[i] = np.argmax(optimism(self.bank, state, said, self.policy.width)[0])
        return chosen

    def observe(self, rows: Rows, numbers: Numbers, where: Places, y: Array) -> Array:
        surprises = np.empty(len(rows))
        for part in self._parts(rows):
            surprises[part] = self._observe(self._slots(rows[part]), numbers[part], where[part], y[part])
        return surprises

    def forget(self, row: int) -> None:
        self.residents.dismiss(row)

    def advise(self, rows: Rows, numbers: Numbers, caution: float) -> tuple[Places, Array, Array]:
        return most_cautious(*self.predict(rows, numbers), caution)

    def predict(self, rows: Rows, numbers: Numbers) -> tuple[Array, Array]:
        means, stds = np.empty((2, len(rows), len(self.bank.points)))
        for part in self._parts(rows, AT_ONCE):
            state, said = self._said(rows[part], numbers[part], level=True)
            mean, std = mixed(state, said)
            location, scale = (state.origin + state.units.location)[:, None], state.units.scale[:, None]
            means[part], stds[part] = location + scale * mean, scale * std
        return means, stds

    def _said(
        self, rows: Rows, numbers: Numbers, pending: NDArray[np.intp] | None = None, *, level: bool = False
    ) -> tuple[LeanState, Moments]:
        """The states of these rows, and what their experts think at the steps `numbers`."""
        slots = self._to(self._slots(rows))
        state = self.tensors.known(slots, inverses=level or pending is not None)
        return state, moments(self.bank, state, numbers.astype(np.int64), pending, level=level)

    # --- steps --------------------------------------------------------------------------------------------------------

    def _observe(self, slots: Rows, numbers: Numbers, where: Places, y: Array) -> Array:
        """When the number passes a multiple of the span, the state is made anew, as `lean.step.observe` does."""
        due = numbers // self.bank.span != self.last[slots] // self.bank.span
        surprises = self.tensors.step(*map(self._to, (slots, where, y, numbers)))
        if due.any():
            self.tensors.remake(self._to(slots[due]))
        self.last[slots], self.chosen_for[slots] = numbers, numbers + 1
        said = torch.stack([surprises, self.tensors.state["best"][self._to(slots)].double()]).cpu().numpy()
        self.best[slots] = said[1]
        return np.asarray(said[0])

    def _choose(self, slots: Rows, numbers: Numbers) -> None:
        at = self._to(slots)
        self.tensors.choose(at, self._to(numbers - self.last[slots]))
        self.chosen_for[slots], self.best[slots] = numbers, self.tensors.state["best"][at].cpu().numpy()

    def _to(self, array: Any) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(array)).to(self.tensors.device)

    # --- from the streams ---------------------------------------------------------------------------------------------

    def _parts(self, rows: Rows, most: int | None = None) -> list[slice]:
        """The rows in parts that fit into memory."""
        size = min(self.residents.most, most or len(rows) or 1)
        return [slice(start, start + size) for start in range(0, len(rows), size)]

    def _slots(self, rows: Rows) -> Rows:
        """Where the states of these rows are; those that are not there are made."""
        slots, absent = self.residents.admit(rows, self.streams.size)
        if len(self.residents) > len(self.last):
            more = len(self.residents) - len(self.last)
            self.tensors.grow(len(self.residents))
            self.last, self.chosen_for, self.best = (
                np.pad(each, (0, more)) for each in (self.last, self.chosen_for, self.best)
            )
        if len(absent):
            self._load(slots[absent], rows[absent])
        return slots

    def _load(self, slots: Rows, rows: Rows) -> None:
        """States from the streams: made anew where that was last done, and from there step by step."""
        span = self.bank.span
        numbers, where, y, counts = self.streams.tables(rows)
        columns = np.arange(numbers.shape[1])
        passed = (np.diff(numbers // span, axis=1, prepend=0) != 0) & (columns < counts[:, None])
        starts = np.where(passed.any(axis=1), len(columns) - passed[:, ::-1].argmax(axis=1), 0)
        # the observation that is in each place of a ring of those before `starts`; negative if none is
        newest = starts[:, None] - 1
        places = newest - (newest - np.arange(span)) % span
        kept, there = np.clip(places, 0, len(columns) - 1), places >= 0
        ring = (np.where(there, np.take_along_axis(each, kept, 1), 0) for each in (where, y, numbers))
        at = self._to(slots)
        self.tensors.fill_ring(at, starts.astype(np.int32), *ring)
        self.tensors.reset(at)
        if starts.any():
            self.tensors.remake(at[self._to(starts > 0)])
        for step in range(int((counts - starts).max(initial=0))):
            on = np.flatnonzero(starts + step < counts)
            now = on, (starts + step)[on]
            self.tensors.step(*map(self._to, (slots[on], where[now], y[now], numbers[now])))
        newest = np.take_along_axis(numbers, np.maximum(counts - 1, 0)[:, None], 1)[:, 0]
        self.last[slots], self.chosen_for[slots] = np.where(counts > 0, newest, 0), 0
