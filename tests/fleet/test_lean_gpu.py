"""`auto-lean` on a GPU against its NumPy path; without one, `TRITON_INTERPRET=1` runs the kernels in Python, slowly."""

from __future__ import annotations

import os

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import InvalidInput
from driftwise.fleet.folding import FoldingEngine
from driftwise.fleet.streams import Streams
from driftwise.lean.prior import Prior

torch = pytest.importorskip("torch", reason="the engine on a GPU needs PyTorch")
pytest.importorskip("triton", reason="the engine on a GPU needs Triton")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not (torch.cuda.is_available() or INTERPRETED):
    pytest.skip("the engine on a GPU needs a CUDA device, or Triton's interpreter", allow_module_level=True)

from driftwise.fleet.lean_engine import LeanEngine  # noqa: E402
from driftwise.fleet.lean_gpu import LeanTensors  # noqa: E402

DEVICE = "cpu" if INTERPRETED else "cuda"
POINTS = np.random.default_rng(5).random((20, 2))


def policy(**given):
    return dw.policy("auto-lean", dw.Candidates(POINTS), **{"window": 9, "span": 13} | given)


def engines(made, keys, *, held=100):
    """The engine on a card, which has room for `held` states, and that in NumPy, each with streams of its own."""
    streams = [Streams(made.memory, 4) for _ in range(2)]
    for each in streams:
        each.add(keys)
    card = LeanEngine(made, streams[0], memory=held * LeanTensors(made.bank, 1.0, DEVICE).bytes_each, device=DEVICE)
    return card, FoldingEngine(made, np.asarray(POINTS), streams[1], 0)


def play(made, steps=30 if INTERPRETED else 120, keys=2 if INTERPRETED else 6, **given):
    """Both engines get the same rewards; numbers are missing here and there. Yields what each said."""
    card, host = engines(made, keys, **given)
    rng, rows, numbers = np.random.default_rng(0), np.arange(keys), np.ones(keys, np.int32)
    for step in range(steps):
        choices = [engine.choose(rows, numbers) for engine in (card, host)]
        y = 30 + np.sin(5 * POINTS[choices[1], 0] + rows + step / 9) + 0.3 * rng.standard_normal(keys)
        y += 40 * (rng.random(keys) < 0.03)  # a wrong reading
        surprises = [engine.observe(rows, numbers, choices[1], y) for engine in (card, host)]
        for engine in (card, host):
            engine.streams.append(rows, numbers, choices[1], y)
        yield choices, surprises, numbers, (card, host)
        numbers = numbers + 1 + (rng.random(keys) < 0.1).astype(np.int32)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"prior": Prior(location=28.0, scale=2.0, strength=3.5, means=tuple(POINTS[:, 0].tolist()))},
        {"window": 33, "span": 14},
    ],
)
def test_choices_surprises_and_beliefs_are_those_of_numpy(given):
    said = list(play(policy(**given)))
    for choices, surprises, *_ in said:
        np.testing.assert_array_equal(*choices)
        np.testing.assert_allclose(*surprises, atol=1e-9)
    *_, numbers, (card, host) = said[-1]
    for ahead in (1, 5):
        rows = np.arange(len(numbers))
        for one, other in zip(*(each.predict(rows, numbers + ahead) for each in (card, host)), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_states_that_were_given_up_are_made_again():
    """There is room for one state alone, so that each step makes that of every key again from its observations."""
    for choices, surprises, *_ in play(policy(), 14 if INTERPRETED else 60, keys=2, held=1):
        np.testing.assert_array_equal(*choices)
        np.testing.assert_allclose(*surprises, atol=1e-9)


def test_what_is_awaited_counts():
    *_, (choices, _, numbers, both) = play(policy(), 14 if INTERPRETED else 60, keys=2)
    rows, numbers = np.arange(2), numbers + 1
    for _ in range(2):
        for engine in both:
            engine.streams.asked[rows] = numbers - 1
            engine.streams.suggest(rows, choices[1])
        numbers = numbers + 1
        choices = [engine.choose(rows, numbers) for engine in both]
        np.testing.assert_array_equal(*choices)


def test_keys_with_lessons_of_their_own_are_refused():
    with pytest.raises(InvalidInput, match="together=True needs engine='numpy'"):
        dw.Fleet("test", dw.Candidates(POINTS), "auto-lean", engine="gpu", together=True)
