"""The states of k keys: one observation for each, and the score by which each chooses."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from driftwise.gp.window.density import log_density, shape_and_rate
from driftwise.gp.window.experts import Beliefs, after, begun_again, foreseen, imagined, of_level, slide
from driftwise.gp.window.slots import Index
from driftwise.lean.bank import LeanBank
from driftwise.lean.weigh import weigh
from driftwise.lean.window import Numbers, Recent, Units, WindowSlots
from driftwise.records import Array

RENEWED = 8  # numbers between two beginnings of an expert that begins again

Tree = TypeVar("Tree", bound=tuple[Any, ...])


class LeanState(NamedTuple):
    """All that is known of k keys: arrays of a fixed shape, whatever was observed."""

    held: WindowSlots
    beliefs: Beliefs  # at the time of the newest observation
    weights: Array  # (k, S, D)
    units: Units
    origin: Array  # (k,): the reward from which others are counted, so that a high level costs no digits
    last: Numbers  # (k,): the number of the newest observation, 0 if there is none
    recent: Recent

    @classmethod
    def start(cls, bank: LeanBank, keys: int = 1) -> LeanState:
        held, origin = WindowSlots.nothing(keys, bank.window), np.zeros(keys)
        return cls(
            held,
            Beliefs.prior(bank.experts, keys),
            np.broadcast_to(bank.shares, (keys, *bank.shares.shape)),
            Units.of(bank, held, origin),
            origin,
            np.zeros(keys, dtype=np.int64),
            Recent.nothing(keys, bank.span),
        )

    def at(self, bank: LeanBank, number: Numbers) -> Beliefs:
        """The beliefs at the steps `number`."""
        return after(bank.experts, self.beliefs, (number - self.last).astype(float))


def observe(bank: LeanBank, state: LeanState, j: Index, y: Array, number: Numbers) -> LeanState:
    """The states after the reward `y` at candidate `j` in step `number` of each key: (k,) each.

    When the number passes a multiple of the span, the state is made anew from the last `span` observations alone, so
    that a replay of the last two spans gives the same bits, and rounding errors do not add up.
    """
    recent = state.recent.followed_by(j, y, number)
    due = number // bank.span != state.last // bank.span
    if due.all():
        return made_anew(bank, recent)
    if not due.any():
        return _stepped(bank, state, j, y, number)._replace(recent=recent)
    made = rows_of(state, slice(None))
    for rows in (np.flatnonzero(due), np.flatnonzero(~due)):
        some = observe(bank, rows_of(state, rows), j[rows], y[rows], number[rows])
        made = with_rows(made, rows, some)
    return made


def made_anew(bank: LeanBank, recent: Recent) -> LeanState:
    """The states of the observations that are selected among the recent ones, one after the other."""
    chosen = recent.selected(bank)
    counts = (recent.number > 0).sum(axis=1)
    state = LeanState.start(bank, len(counts))._replace(recent=recent)
    for count in np.unique(np.minimum(counts, bank.window)).tolist():  # keys of equal counts go together
        keys = np.flatnonzero(np.minimum(counts, bank.window) == count)
        some = rows_of(state, keys)
        for column in chosen[keys].T[-count:]:
            seen = (each[keys, column] for each in recent)
            some = _stepped(bank, some, *seen)
        state = with_rows(state, keys, some)
    return state


def _stepped(bank: LeanBank, state: LeanState, j: Index, y: Array, number: Numbers) -> LeanState:
    """One more observation of each key: weigh, slide, and begin again with the experts whose turn it is."""
    experts, held, units = bank.experts, state.held, state.units
    y = y - bank.expected[j]
    origin = np.where(state.last > 0, state.origin, y)
    y = units.clipped(y - origin)
    beliefs, slot = state.at(bank, number), held.slot()
    now = held.put(bank, slot, j, y, number)
    units = Units.of(bank, now, origin)
    before = held.at(number)
    of = foreseen(experts, beliefs, before, j)
    density = log_density(experts, beliefs, units.location, units.scale, of, y)
    weights = weigh(bank, state.weights, density)
    beliefs = slide(experts, beliefs, before, slot, j, y, of)
    turn = number // RENEWED != state.last // RENEWED
    if bank.restarts and turn.any():
        beliefs = begun_again(beliefs, turn[:, None, None] & _lightest(bank, weights))
    return LeanState(now, beliefs, weights, units, origin, number, state.recent)


def _lightest(bank: LeanBank, weights: Array) -> Any:
    """Of the experts that begin again, the one with the least weight of each shape: (k, S, D)."""
    some = np.zeros(weights.shape, dtype=bool)
    lightest = np.argmin(weights[:, :, bank.renewed], axis=2)[..., None]
    np.put_along_axis(some[:, :, bank.renewed], lightest, True, axis=2)
    return some


# --- what it says ---------------------------------------------------------------------------------------------------


class Moments(NamedTuple):
    """Of every expert at every candidate, as targets: (k, S, D, n) each."""

    mean: Array
    std: Array


def moments(
    bank: LeanBank, state: LeanState, number: Numbers, pending: Index | None = None, *, level: bool = False
) -> Moments:
    """What the experts think at the steps `number`, as if `pending` candidates, (k, q), were answered at the mean.

    It is of the function alone, by which to choose, or with the `level` that moves, as rewards are.
    """
    experts, b, held = bank.experts, state.at(bank, number), state.held.at(number)
    mean, V, prior = b.mean, b.explained, experts.variance[:, None]
    if level and bank.levels:
        of_mean, of_V = of_level(experts, b, held)
        mean, V, prior = mean + of_mean[..., None], V + of_V, prior + experts.level[0][:, None]
    if pending is not None:
        V = V + imagined(experts, b, held, pending, level=level)
    a, rate = shape_and_rate(b, state.units.location, state.units.scale)
    location, scale = (each[:, None, None, None] for each in state.units[:2])
    targets = (mean[..., 0, :] - location * mean[..., 1, :] + bank.expected) / scale
    return Moments(targets, np.sqrt(np.clip(prior - V, 0.0, prior) * (rate / a)[..., None]))


def optimism(bank: LeanBank, state: LeanState, said: Moments, width: float) -> Array:
    """Σ w_e (μ_e + β b_e σ_e) at every candidate, b_e the width at which exploring just pays: (k, n)."""
    bounds = said.mean + width * bank.bonus[:, None] * said.std
    return np.einsum("ksd,ksdn->kn", state.weights, bounds)


def mixed(state: LeanState, said: Moments) -> tuple[Array, Array]:
    """Mean and standard deviation of the mixture at every candidate, as targets: (k, n) each."""
    mean = np.einsum("ksd,ksdn->kn", state.weights, said.mean)
    square = np.einsum("ksd,ksdn->kn", state.weights, said.std**2 + said.mean**2)
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


# --- some of many keys ----------------------------------------------------------------------------------------------


def rows_of(tree: Tree, rows: Any) -> Tree:
    """The same of some keys alone: a copy, if `rows` are indices."""
    each = (rows_of(part, rows) if isinstance(part, tuple) else part[rows] for part in tree)
    return type(tree)(*each)


def with_rows(tree: Tree, rows: Index, some: Tree) -> Tree:
    """The same with the states of some keys in place of theirs."""
    return type(tree)(*(_replaced(part, rows, new) for part, new in zip(tree, some, strict=True)))


def _replaced(part: Any, rows: Index, new: Any) -> Any:
    if isinstance(part, tuple):
        return with_rows(part, rows, new)
    copy = part.copy()
    copy[rows] = new
    return copy
