"""Beliefs of windows on a GPU, in double precision. Imported if the extra `gpu` is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from driftwise.errors import InvalidInput
from driftwise.fleet.streams import Places, Rows, Streams, span
from driftwise.fleet.window_kernels import move, put
from driftwise.fleet.windowed import Terms
from driftwise.fleet.windows import WindowEngine
from driftwise.gp.window.gpu import LAZY, blocks, whole
from driftwise.gp.window.gpu_kernels import exchange
from driftwise.records import Array

SHARE = 0.7  # of the free memory of the card that beliefs may take
PUT_WARPS, WARPS, MOVE_WARPS = 1, 2, 2  # of a program, by measurement
CHUNK = 2048  # beliefs that are computed afresh at a time
PART = 32_768  # beliefs whose rewards are sent at a time


def gpu_engine(terms: Terms, streams: Streams, *, memory: int | None = None) -> WindowEngine:
    """An engine whose beliefs take at most `memory` bytes of the card, or most of what is free."""
    if not torch.cuda.is_available():
        raise InvalidInput("engine='gpu' needs a CUDA device, and PyTorch finds none; use engine='compiled'")
    beliefs = GpuBeliefs(terms)
    free = int(SHARE * torch.cuda.mem_get_info()[0]) if memory is None else memory
    return WindowEngine(terms, streams, beliefs, max(free // beliefs.bytes_each, 1))


class _Box:
    """Memory of the host that the card can read and write by itself, for what is sent and what comes back."""

    def __init__(self, size: int, device: str) -> None:
        def empty(*shape: int, dtype: torch.dtype) -> torch.Tensor:
            return torch.empty(shape, dtype=dtype, pin_memory=device == "cuda" and size > 0)

        self.device = device
        self.ints, self.reals = empty(4, size, dtype=torch.int32), empty(2, size, dtype=torch.float64)
        self.y, self.surprise = self.reals[0], empty(size, dtype=torch.float64)
        self.best = empty(size, dtype=torch.int32)

    def send(self, part: slice, ints: tuple[NDArray[Any], ...], reals: tuple[NDArray[Any], ...]) -> list[torch.Tensor]:
        """This part of arrays of one length, as tensors on the card."""
        sent = []
        for rows, arrays in ((self.ints, ints), (self.reals, reals)):
            for row, array in zip(rows.numpy(), arrays, strict=True):
                row[part] = array[part]
            sent += [row[part].to(self.device, non_blocking=True) for row in rows]
        return sent


class GpuBeliefs:
    """A⁻¹ in three blocks with what is late, mean and variance of every slot, as tensors on the card."""

    name = "gpu"

    def __init__(self, terms: Terms, device: str = "cuda") -> None:
        self.terms, self.device = terms, device
        self.w, self.n, self.q = terms.window, len(terms.prior), 2 if terms.model.standardise else 1
        self.half = triton.next_power_of_2(max(self.w, 32)) // 2
        self.N = triton.next_power_of_2(self.n)
        self.kernel, self.prior = self._to(terms.kernel), self._to(terms.prior)
        self.noise = self._to(np.array([terms.noise]))
        self.P = self._zeros(0, 3, self.half, self.half)
        self.late, self.lag = self._zeros(0, LAZY, 2, 2 * self.half), self._zeros(0, LAZY, dtype=torch.int32)
        self.mean, self.var = self._zeros(0, self.q, self.n), self._zeros(0, self.n)
        self.where, self.Y = self._zeros(0, self.w, dtype=torch.int32), self._zeros(0, self.w)
        self.units, self.best = self._zeros(0, 2), self._zeros(0, dtype=torch.int32)
        self.choices = np.zeros(0, np.int32)  # the same as `best`, on the host
        self._box = _Box(0, device)
        self.bytes_each = (
            8 * (3 * self.half**2 + 4 * LAZY * self.half + (1 + self.q) * self.n) + 12 * self.w + 4 * LAZY + 20
        )

    def _to(self, array: Any) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(array)).to(self.device, non_blocking=True)

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def grow(self, slots: int) -> None:
        more = slots - len(self.best)
        for name in ("P", "late", "lag", "mean", "var", "where", "Y", "units", "best"):
            tensor = getattr(self, name)
            setattr(self, name, torch.cat([tensor, self._zeros(more, *tensor.shape[1:], dtype=tensor.dtype)]))
        self.choices = np.pad(self.choices, (0, more))

    # --- the step ---------------------------------------------------------------------------------------------------

    def slide(self, slots: Rows, counts: Places, places: Places, where: Places, y: Array, beta: Array) -> Array:
        """In parts: the card computes one while the host writes the next."""
        if len(self._box.y) < len(slots):
            self._box = _Box(2 * len(slots), self.device)
        box = self._box
        for start in range(0, len(slots), PART):
            part = slice(start, min(start + PART, len(slots)))
            sent = box.send(part, (slots, counts, places, where), (y, beta))
            at = sent[0].long()
            surprise = self.step(at, *sent[1:])
            box.surprise[part].copy_(surprise, non_blocking=True)
            box.best[part].copy_(self.best[at], non_blocking=True)
        if self.device == "cuda":
            torch.cuda.current_stream().synchronize()
        self.choices[span(slots)] = box.best[: len(slots)].numpy()
        return np.array(box.surprise[: len(slots)].numpy())

    def step(
        self,
        slots: torch.Tensor,
        counts: torch.Tensor,
        places: torch.Tensor,
        where: torch.Tensor,
        y: torch.Tensor,
        beta: torch.Tensor,
    ) -> torch.Tensor:
        """The same with everything on the card."""
        r, n = len(slots), self.n
        ints, reals = torch.empty(r, 4, dtype=torch.int32, device=self.device), self._empty(r, 6)
        spread, swept, scalars = self._empty(2 * r, n), self._empty(2 * r, n), self._empty(r, 8)
        surprise, none = self._empty(r), self.noise
        put[(r,)](
            slots, counts, places, where, y, self.where, self.Y, ints, reals,
            w=self.w, W=2 * self.half, num_warps=PUT_WARPS,
        )  # fmt: skip
        exchange[(r, 1)](
            slots, where, ints, reals, counts, counts, self.P, self.late, self.lag, none, self.where, self.Y,
            self.kernel, self.noise, none, none, none, spread, scalars, n, r,
            w=self.w, H=self.half, N=self.N, D=1, STEADY=1, R=2,
            LAZY=LAZY, TIMED=False, REFINED=self.terms.refined, num_warps=WARPS,
        )  # fmt: skip
        torch.mm(spread, self.kernel, out=swept)
        move[(r,)](
            slots, counts, where, y, beta, swept, scalars, reals, self.units, self.prior, self.mean, self.var,
            self.best, surprise, self.noise, n, q=self.q, N=self.N, num_warps=MOVE_WARPS,
        )  # fmt: skip
        return surprise

    def _empty(self, *shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.float64, device=self.device)

    # --- afresh -----------------------------------------------------------------------------------------------------

    def fill(self, slots: Rows, counts: Places, where: Places, y: Array) -> None:
        for start in range(0, len(slots), CHUNK):
            part = slice(start, start + CHUNK)
            self._fill(*map(self._to, (slots[part], counts[part], where[part], y[part])))

    def _fill(self, slots: torch.Tensor, counts: torch.Tensor, where: torch.Tensor, y: torch.Tensor) -> None:
        held = torch.arange(self.w, device=self.device) < counts[:, None]
        spots, targets = where.long(), torch.stack([y, torch.ones_like(y)], 1)[:, : self.q] * held[:, None]
        A = self.kernel[spots[:, :, None], spots[:, None, :]] * (held[:, :, None] & held[:, None, :])
        A.diagonal(dim1=1, dim2=2).add_(torch.where(held, self.noise, torch.ones_like(self.noise)))
        identity = torch.eye(self.w, dtype=torch.float64, device=self.device).expand_as(A)
        root = torch.linalg.solve_triangular(torch.linalg.cholesky(A), identity, upper=False)
        inverse = root.mT @ root * (held[:, :, None] & held[:, None, :])
        inverse = 0.5 * (inverse + inverse.mT)  # symmetric to the last bit
        K = self.kernel[spots]
        solved = inverse @ K
        self.P[slots], self.lag[slots] = blocks(inverse, self.half), 0
        self.mean[slots], self.var[slots] = targets @ solved, self.prior - (K * solved).sum(1)
        self.where[slots], self.Y[slots], self.units[slots] = where, y, self._units(y, counts, held)

    def _units(self, y: torch.Tensor, counts: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
        size = counts.clamp(min=1)
        location = (y * held).sum(1) / size
        scale = (((y - location[:, None]) * held) ** 2).sum(1).div(size).sqrt()
        equal = scale <= 1e-12 * (y.abs() * held).amax(1)
        return torch.stack([location, torch.where(equal, 1.0, scale)], 1)

    # --- what it says -----------------------------------------------------------------------------------------------

    def choose(self, slots: Rows, counts: Places, beta: Array) -> None:
        where, width = self._to(slots), self._to(beta)
        mean, std = self._predict(where)
        self.best[where] = torch.argmax(mean + width[:, None] * std, 1).to(torch.int32)
        self.choices[slots] = self.best[where].cpu().numpy()

    def chosen(self, slots: Rows) -> Places:
        return np.array(self.choices[span(slots)])

    def windows(self, slots: Rows) -> tuple[Places, Array]:
        at = self._to(slots)
        return self.where[at].cpu().numpy(), self.Y[at].cpu().numpy()

    def predict(self, slots: Rows, counts: Places) -> tuple[Array, Array, Array]:
        at = self._to(slots)
        mean, std = self._predict(at)
        units = self.units[at].T if self.q > 1 else torch.tensor([[0.0], [1.0]], device=self.device).expand(2, len(at))
        return mean.cpu().numpy(), std.cpu().numpy(), units.cpu().double().numpy()

    def _predict(self, slots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, std = self.mean[slots, 0], self.var[slots].clamp(min=0.0).minimum(self.prior).sqrt()
        if self.q > 1:
            location, scale = self.units[slots].T[:, :, None]
            mean = (mean - location * self.mean[slots, 1]) / scale
        return mean, std

    def near(self, slots: Rows, counts: Places, firsts: Places) -> tuple[Array, Array, Array]:
        raise AssertionError("a fleet on a GPU has no blocks")

    def covariances(self, slot: int, count: int, candidates: Places, others: Places) -> Array:
        P = whole(self.P[slot], self.late[slot], self.lag[slot], self.w)[:count, :count]
        where, some = self.where[slot, :count].long(), self._to(candidates).long()
        covariances = self.kernel[some] - self.kernel[some][:, where] @ P @ self.kernel[where]
        return np.asarray(covariances.cpu().numpy()[:, others])
