"""The reference `oracle`, against dense algebra and the closed form of its choice."""

import numpy as np
import pytest

import driftwise as dw
from driftwise.cli import parse
from driftwise.environments import Changing
from driftwise.errors import InvalidInput
from driftwise.lab.cases import Case
from driftwise.lab.oracle import WIDTHS, Reference, references
from driftwise.lab.recordings import case_of
from driftwise.lab.run import run
from driftwise.lab.tables import CaseTable, cautions
from driftwise.lab.trials import Trial
from driftwise.lab.zoo import zoo

KINDS = ("abrupt-often", "rotating", "noise", "level-jumps-moving", "one-coordinate")


def dense(world, steps, t):
    """μ and σ of f_t at the candidates after `steps`, by one dense solve over rows (x, t)."""
    kernel = world.truth().kernel
    rows = np.array([[*step.seen.x, step.seen.at] for step in steps])
    noise = world.noise
    stds = [noise.std(s.seen.number) if isinstance(noise, Changing) else noise.R for s in steps]
    now = np.column_stack([world.space.points, np.full(len(world.space.points), float(t))])
    A = kernel(rows, rows) + np.diag(np.square(stds))
    k = kernel(rows, now)
    variance = kernel.diagonal(now) - np.einsum("nm,nm->m", k, np.linalg.solve(A, k))
    return k.T @ np.linalg.solve(A, [step.seen.y for step in steps]), np.sqrt(np.maximum(variance, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_its_belief_is_the_dense_posterior_and_its_choice_the_bounds_maximum(kind):
    world = zoo(kind=kind, dim=1, horizon=40, seed=5)
    oracle = Reference(1.5).on(world)
    steps = list(run(oracle, world, 30))
    state = dw.policies.replay(oracle, [step.seen for step in steps])
    mean, std = oracle.belief(state, dw.Ask(31, 31.0)).predict(world.space.points)
    expected = dense(world, steps, 31)
    np.testing.assert_allclose(mean, expected[0], atol=1e-7)
    np.testing.assert_allclose(std, expected[1], atol=1e-6)
    chosen = oracle.choose(state, dw.Ask(31, 31.0))
    assert chosen.tolist() == world.space.points[np.argmax(mean + 1.5 * std)].tolist()


def test_after_a_change_it_knows_nothing():
    world = zoo(kind="abrupt-rarely", dim=1, horizon=20)  # the function is another one from step 11 on
    oracle = Reference(1.0).on(world)
    state = dw.policies.replay(oracle, [step.seen for step in run(oracle, world, 10)])
    mean, std = oracle.belief(state, dw.Ask(11, 11.0)).predict(world.space.points)
    assert np.abs(mean).max() == 0.0
    assert std.min() == 1.0
    _, before = oracle.belief(state, dw.Ask(10, 10.0)).predict(world.space.points)
    assert before.min() < 0.2


def test_a_trial_of_the_lab_runs_it_on_a_box():
    case = Case("box", zoo_box, horizon=8, seeds=1)
    result = Trial(references({})[1], "own", case, 8, 3).perform().result
    assert result.policy == "oracle:width=1"
    assert "oracle:width=1.0 seed=0003" in result.key


def zoo_box(*, seed, horizon):
    return zoo(kind="slow-0.01", dim=2, box=True, seed=seed, horizon=horizon)


def test_the_command_line_has_it_at_five_widths_or_at_one():
    assert [entrant.label for entrant in parse.entrants(["oracle"])] == [f"oracle:width={w:g}" for w in WIDTHS]
    assert [entrant.label for entrant in parse.entrants(["oracle:width=2", "auto"])] == ["oracle:width=2", "auto"]
    with pytest.raises(InvalidInput, match="oracle has the option width alone, got window"):
        parse.entrants(["oracle:window=3"])


@pytest.mark.parametrize("make", [lambda: dw.Study("s", {"x": dw.Float(0, 1)}, policy="oracle"), parse.policy])
def test_a_study_refuses_it(make):
    with pytest.raises(InvalidInput, match="oracle is no policy but a reference of the lab"):
        make("oracle") if make is parse.policy else make()


def test_a_recording_cannot_say_what_it_is():
    rewards = np.random.default_rng(0).random((30, 4))
    world = dw.environments.recorded(rewards, np.linspace(0, 1, 4)[:, None])
    with pytest.raises(InvalidInput, match="cannot say what it is"):
        Reference(1.0).on(case_of(world).environment())


def test_tables_say_that_it_is_a_reference():
    from types import SimpleNamespace

    lines = [SimpleNamespace(policy="oracle:width=1"), SimpleNamespace(policy="auto")]
    table: CaseTable = SimpleNamespace(lines=lines, seeds=50)
    assert cautions([table]) == [
        "oracle is a reference: it is told what the world truly is, and is no policy for a live system."
    ]
