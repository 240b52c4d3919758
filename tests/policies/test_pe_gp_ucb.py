"""PE-GP-UCB: the arithmetic of its elimination, and the whole of it against dense Gaussian processes."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float
from driftwise.errors import InvalidInput
from driftwise.gp.time_kernels import Forgetting, SpaceTime
from driftwise.policies import policy
from driftwise.policies.pe_gp_ucb import FiniteWidth, PriorErrors
from driftwise.records import Ask, Observation
from oracles import dense_posterior


def test_the_threshold_of_the_first_step():
    """Two priors, R = 0.1, δ = 0.1, |X| = 10, s = 1: √ξ₁ = 0.325 and β₁ = 3.896, so 10 goes if |y − 10| > 4.22."""
    made = policy("pe-gp-ucb", Candidates(np.arange(10.0)[:, None]), epsilons=(0.0, 0.1), noise=0.01, width=None)
    xi, beta = made.xi(1), made.width(None, 1)
    assert math.sqrt(xi) == pytest.approx(0.325, abs=5e-4)
    assert beta == pytest.approx(3.896, abs=5e-4)
    assert PriorErrors().add(error=0.0 - 10.0, width=beta).contradicted(xi)
    assert PriorErrors().add(error=-4.23, width=beta).contradicted(xi)
    assert not PriorErrors().add(error=4.21, width=beta).contradicted(xi)


def test_evidence_adds_up():
    """|E| > √(ξ n) + V: errors of opposite sign cancel."""
    evidence = PriorErrors().add(error=2.0, width=0.5).add(error=1.5, width=0.25)
    assert evidence == PriorErrors(2, 3.5, 0.75)
    assert evidence.contradicted(xi=(3.5 - 0.75) ** 2 / 2 * 0.999)
    assert not evidence.contradicted(xi=(3.5 - 0.75) ** 2 / 2 * 1.001)
    assert not evidence.add(error=-3.5, width=0.0).contradicted(xi=0.0)


def test_equals_the_algorithm_on_dense_gps():
    """Choices, evidence and deletions over 60 steps, with a width small enough that most priors go."""
    rng = np.random.default_rng(4)
    points, rates, noise, beta, delta = rng.random((20, 2)), (0.0, 0.02, 0.1, 0.4), 0.01, 0.3, 0.1
    made = policy(
        "pe-gp-ucb", Candidates(points), epsilons=rates, noise=noise, width=beta, delta=delta, kernel=RBF(0.3)
    )
    alive, tally, log, state, sizes = list(rates), {e: [0, 0.0, 0.0] for e in rates}, [], made.start(), []
    for t in range(1, 61):
        bands = {e: prior_or_posterior(e, noise, log, points, t) for e in alive}
        ucb = {e: mean + beta * np.sqrt(var) for e, (mean, var) in bands.items()}
        leader = max(alive, key=lambda e: ucb[e].max())
        i = int(np.argmax(ucb[leader]))
        x = made.choose(state, Ask(t, float(t)))
        np.testing.assert_array_equal(x, points[i])
        y = float(2 * np.sin(t / 4 + 4 * x[0]) + 0.1 * rng.standard_normal())
        mean, var = bands[leader]
        tally[leader][0] += 1
        tally[leader][1] += y - mean[i]
        tally[leader][2] += beta * math.sqrt(var[i])
        n, E, V = tally[leader]
        xi = 2 * noise * math.log(len(rates) * math.pi**2 * t**2 / delta)
        if abs(E) > math.sqrt(xi * n) + V and len(alive) > 1:
            alive.remove(leader)
        log.append(Observation(t, float(t), tuple(x.tolist()), y))
        state = made.update(state, log[-1])
        assert [suspect.epsilon for suspect in state.left] == alive
        for suspect in state.left:
            e = suspect.evidence
            np.testing.assert_allclose((e.count, e.errors, e.widths), tally[suspect.epsilon], atol=1e-8)
        sizes.append(len(alive))
    assert sizes[0] > sizes[-1]  # some priors did go


def prior_or_posterior(epsilon, noise, log, points, t):
    if not log:
        return np.zeros(len(points)), np.ones(len(points))
    rows, y = np.array([(*o.x, o.at) for o in log]), np.array([o.y for o in log])
    at = np.column_stack([points, np.full(len(points), float(t))])
    return dense_posterior(SpaceTime(RBF(0.3), Forgetting(epsilon)), noise, rows, y, at)


def test_the_last_prior_stays_and_says_so():
    made = policy("pe-gp-ucb", Candidates([[0.0]]), epsilons=(0.01,), width=0.0)
    state = made.update(made.start(), Observation(1, 1.0, (0.0,), 50.0))
    assert [suspect.epsilon for suspect in state.left] == [0.01]
    assert state.exhausted
    assert len(state.left[0].belief) == 1


@pytest.mark.parametrize("space", [Candidates(np.linspace(0, 1, 11)[:, None]), {"a": Float(0, 1)}], ids=["grid", "box"])
def test_one_prior_is_tv_gp_ucb(space):
    made = policy("pe-gp-ucb", space, epsilons=(0.05,), width=2.0, window=30)
    twin = policy("tv-gp-ucb", space, epsilon=0.05, width=2.0, window=30)
    one, other = made.start(), twin.start()
    for t in range(1, 25):
        ask = Ask(t, float(t), pending=((0.5,),) if t % 5 == 0 and isinstance(space, dict) else ())
        x = made.choose(one, ask)
        np.testing.assert_array_equal(x, twin.choose(other, ask))
        np.testing.assert_array_equal(made.belief(one, ask).predict(x[None]), twin.belief(other, ask).predict(x[None]))
        seen = Observation(t, float(t), tuple(x.tolist()), float(np.sin(6 * x[0] + t / 5)))
        one, other = made.update(one, seen), twin.update(other, seen)


def test_width_on_a_box_counts_twenty_points_an_axis():
    made = policy("pe-gp-ucb", {"a": Float(0, 1), "b": Float(0, 1)}, delta=0.2, width=None)
    assert made.width == FiniteWidth(400, 0.2)


def test_bad_input_is_refused():
    for options in ({"epsilons": ()}, {"epsilons": (0.1, 0.1)}, {"epsilons": (2.0,)}, {"delta": 0}, {"window": 0}):
        with pytest.raises(InvalidInput, match=next(iter(options))[:7]):
            policy("pe-gp-ucb", Candidates([[0.0]]), **options)
