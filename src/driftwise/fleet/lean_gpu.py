"""The states of `auto-lean` on a GPU, in double precision. Imported if the extra `gpu` is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton

from driftwise.fleet.lean_kernels import seat
from driftwise.fleet.lean_scores import move, superseded, weigh
from driftwise.gp.window.density import STRENGTH, gammas
from driftwise.gp.window.experts import Beliefs
from driftwise.gp.window.gpu import LAZY, whole
from driftwise.gp.window.gpu_kernels import exchange
from driftwise.lean.bank import LeanBank
from driftwise.lean.step import RENEWED, LeanState
from driftwise.lean.weigh import RARE, SHARE
from driftwise.lean.window import CLIPPED, EMPTY, NEWER, SEVERAL, Recent, Units, WindowSlots

ROWS = 16_384  # keys of one pass over the kernels, whose products with the kernel matrices are in memory together
SEAT_WARPS, EXCHANGE_WARPS, MOVE_WARPS = 2, 1, 2  # of a program, by measurement
WHOLE = torch.float64


class LeanTensors:
    """What `LeanState` has of many keys, as tensors on the card, by slot."""

    def __init__(self, bank: LeanBank, width: float, device: str = "cuda") -> None:
        self.bank, self.device = bank, device
        (self.S, self.D), self.n, self.w = bank.shares.shape, len(bank.points), bank.window
        self.half, self.N = triton.next_power_of_2(max(self.w, 32)) // 2, triton.next_power_of_2(self.n)
        E, T, n, w = self.S * self.D, len(bank.trends), self.n, self.w
        self.rows = 2 * self.D + 2 * T  # of products with the kernel matrix of a shape
        start, experts = LeanState.start(bank), bank.experts
        self.kernel, self.variance, self.noise = map(self._to, (experts.kernel, experts.variance, experts.noise[:, 0]))
        self.rates, self.sloped, self.shares = map(self._to, (experts.rates, experts.sloped, bank.shares.ravel()))
        self.level = self._to(experts.level)
        self.near, self.same = (self._to(each.astype(np.uint8)) for each in (bank.near, bank.same_place))
        self.expected, self.quantiles, self.gammas = map(self._to, (bank.expected, bank.quantiles, gammas(bank.window)))
        self.bonus = self._to(width * bank.bonus)
        self.prior = self._to(np.array([bank.prior.location, bank.prior.scale, bank.prior.strength]))
        self.constants = self._to(np.array([STRENGTH, SHARE, RARE, RENEWED]))
        self.first_units = self._to(np.concatenate(start.units))

        def none(*shape: int, dtype: torch.dtype = WHOLE) -> torch.Tensor:
            return torch.zeros((0, *shape), dtype=dtype, device=device)

        ints = torch.int32
        self.state = {
            "P": none(E, 3, self.half, self.half), "late": none(E, LAZY, 2, 2 * self.half),
            "lag": none(E, LAZY, dtype=ints), "mean": none(E, 2, n), "V": none(E, n),
            "slope": none(self.S, T, 2, n), "V_slope": none(self.S, T, 2, n), "Q": none(E, 3), "weights": none(E),
            "spread": none(E), "seen": none(E, dtype=ints),
            "where": none(w, dtype=ints), "Y": none(w), "numbers": none(w, dtype=ints), "newer": none(w, dtype=ints),
            "units": none(4), "origin": none(), "last": none(dtype=ints), "best": none(dtype=ints),
            "ring_where": none(bank.span, dtype=ints), "ring_y": none(bank.span),
            "ring_number": none(bank.span, dtype=ints), "told": none(dtype=ints),
        }  # fmt: skip
        self.bytes_each = sum(each.element_size() * each.shape[1:].numel() for each in self.state.values())

    def _to(self, array: Any) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(array)).to(self.device)

    def grow(self, slots: int) -> None:
        for name, tensor in self.state.items():
            more = torch.zeros((slots - len(tensor), *tensor.shape[1:]), dtype=tensor.dtype, device=self.device)
            self.state[name] = torch.cat([tensor, more])

    def reset(self, slots: torch.Tensor) -> None:
        """Nothing has been seen in these slots; what came last is still known. What is left in P is not read."""
        for name in ("Q", "seen", "where", "Y", "numbers", "newer", "origin", "last"):
            self.state[name][slots] = 0
        self.state["weights"][slots], self.state["spread"][slots] = self.shares, 1.0
        self.state["units"][slots] = self.first_units

    # --- steps --------------------------------------------------------------------------------------------------------

    def step(
        self, slots: torch.Tensor, where: torch.Tensor, y: torch.Tensor, number: torch.Tensor, *, keep: bool = True
    ) -> torch.Tensor:
        """One more observation of each slot; what is best at the next number is chosen. Returned are the surprises."""
        parts = zip(*(each.split(ROWS) for each in (slots, where, y, number)), strict=True)
        return torch.cat([self._step(*part, keep=keep) for part in parts])

    def _step(
        self, slots: torch.Tensor, where: torch.Tensor, y: torch.Tensor, number: torch.Tensor, *, keep: bool
    ) -> torch.Tensor:
        s, r, S, D, E = self.state, len(slots), self.S, self.D, self.S * self.D
        ints = torch.empty(r, 4, dtype=torch.int32, device=self.device)
        reals, scalars = self._empty(r, 6), self._empty(r, E, 8)
        spread, swept = self._empty(S, r, self.rows, self.n), self._empty(S, r * self.rows, self.n)
        surprise = self._empty(r)
        seat[(r,)](
            slots, where, y, number, s["where"], s["Y"], s["numbers"], s["newer"],
            s["ring_where"], s["ring_y"], s["ring_number"], s["told"], s["units"], s["origin"], s["last"],
            self.near, self.same, self.expected, self.quantiles, self.prior, ints, reals,
            self.n, len(self.quantiles) - 1, self.bank.span, w=self.w, W=2 * self.half, KEEP=keep, SEVERAL=SEVERAL,
            CLIPPED=CLIPPED, num_warps=SEAT_WARPS,
        )  # fmt: skip
        exchange[(r, E)](
            slots, where, ints, reals, number, s["numbers"], s["P"], s["late"], s["lag"], s["seen"], s["where"],
            s["Y"], self.kernel, self.noise, self.rates, self.sloped, self.level, spread, scalars, self.n, r,
            w=self.w, H=self.half, N=self.N, D=D, STEADY=self.bank.steady, R=self.rows,
            LAZY=LAZY, TIMED=True, REFINED=False, num_warps=EXCHANGE_WARPS,
        )  # fmt: skip
        torch.bmm(spread.view(S, r * self.rows, self.n), self.kernel, out=swept)
        weigh[(r,)](
            slots, where, number, ints, reals, scalars, s["seen"], s["weights"], s["spread"], s["Q"], s["units"],
            self.variance, self.level, self.noise, self.shares, self.gammas, self.constants, surprise, self.n,
            S=S, D=D, EP=triton.next_power_of_2(E), FIRST=self.bank.renewed.start, STEADY=self.bank.steady,
            num_warps=1,
        )  # fmt: skip
        self._move(slots, ints, scalars, swept, torch.ones_like(slots), slide=True)
        return surprise

    def _move(
        self, slots: torch.Tensor, ints: torch.Tensor, scalars: torch.Tensor, swept: torch.Tensor, ahead: torch.Tensor,
        *, slide: bool,
    ) -> None:  # fmt: skip
        s = self.state
        move[(len(slots),)](
            slots, ints, scalars, swept, s["mean"], s["V"], s["slope"], s["V_slope"], s["seen"], s["weights"],
            s["spread"], s["units"], self.variance, self.expected, self.rates, self.bonus, ahead, s["best"],
            self.n, len(slots), SLIDE=slide, S=self.S, D=self.D, STEADY=self.bank.steady, N=self.N,
            num_warps=MOVE_WARPS,
        )  # fmt: skip

    def choose(self, slots: torch.Tensor, ahead: torch.Tensor) -> None:
        """What is best so many steps after the newest observation."""
        self._move(slots, slots, self.prior, self.prior, ahead, slide=False)

    def _empty(self, *shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=WHOLE, device=self.device)

    # --- anew ---------------------------------------------------------------------------------------------------------

    def remake(self, slots: torch.Tensor) -> None:
        """The states of the observations that are selected among the last ones, as `lean.step.made_anew`."""
        for part in slots.split(ROWS):
            self._remake(part)

    def _remake(self, slots: torch.Tensor) -> None:
        s, span = self.state, self.bank.span
        order = (s["told"][slots].long()[:, None] + torch.arange(span, device=self.device)) % span  # oldest first
        where, number, y = (s[name][slots].gather(1, order) for name in ("ring_where", "ring_number", "ring_y"))
        chosen = self._selected(where, number)
        first = chosen.shape[1] - (number > 0).sum(1).clamp(max=chosen.shape[1])
        self.reset(slots)
        for column in range(int(first.min()), chosen.shape[1]):
            on = torch.nonzero(first <= column)[:, 0]
            at = chosen[on, column]
            self._step(slots[on], where[on, at], y[on, at], number[on, at], keep=False)

    def _selected(self, where: torch.Tensor, number: torch.Tensor) -> torch.Tensor:
        """As `lean.window.Recent.selected`: (r, w)."""
        span, newer = self.bank.span, torch.empty_like(where)
        superseded[(len(where),)](
            where, self.near, newer, self.n, span=span, SPAN=triton.next_power_of_2(span), num_warps=4
        )
        rank = torch.where(number > 0, newer.long() * NEWER - number, EMPTY)
        order = torch.argsort(rank, dim=1, stable=True)[:, : min(self.w, span)]
        return torch.sort(order, 1)[0]

    def fill_ring(self, slots: torch.Tensor, told: Any, where: Any, y: Any, number: Any) -> None:
        """What came last, (r, span) each, by place in the ring."""
        s = self.state
        s["told"][slots], s["ring_where"][slots] = self._to(told), self._to(where)
        s["ring_y"][slots], s["ring_number"][slots] = self._to(y), self._to(number)

    # --- what is known ------------------------------------------------------------------------------------------------

    def known(self, slots: torch.Tensor, *, inverses: bool) -> LeanState:
        """The states of some slots, for `lean` to go on with; without the last observations."""
        k, S, D, n = len(slots), self.S, self.D, self.n

        def of(name: str, *shape: int) -> Any:
            return self.state[name][slots].cpu().numpy().reshape(k, *shape or (-1,))

        seen = of("seen", S, D)
        some = (seen > 0).astype(float)[..., None]
        trends = some[:, :, self.bank.steady :, :, None]
        squares = of("Q", S, D, 3)[..., [0, 1, 1, 2]].reshape(k, S, D, 2, 2)
        beliefs = Beliefs(
            self._inverses(slots) * some[..., None] if inverses else np.zeros((k, S, D, 0, 0)),
            of("mean", S, D, 2, n) * some[..., None],
            of("V", S, D, n) * some,
            of("slope", S, D - self.bank.steady, 2, n) * trends,
            of("V_slope", S, D - self.bank.steady, 2, n) * trends,
            squares,
            seen.astype(np.intp),
        )
        held = WindowSlots(
            of("where").astype(np.intp), of("Y"), of("numbers").astype(np.int64), of("newer").astype(np.int64)
        )
        last, origin = of("last")[:, 0].astype(np.int64), of("origin")[:, 0]
        return LeanState(held, beliefs, of("weights", S, D), Units(*of("units").T), origin, last, Recent.nothing(k, 0))

    def _inverses(self, slots: torch.Tensor) -> Any:
        """A⁻¹: (k, S, D, w, w)."""
        P, late, lag = (self.state[name][slots] for name in ("P", "late", "lag"))
        every = whole(P, late, lag, self.w)
        return every.reshape(len(slots), self.S, self.D, self.w, self.w).cpu().numpy()
