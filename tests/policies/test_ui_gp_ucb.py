"""UI-TVBO against the dense Gaussian process with its kernel, k_S·(1 + (σ̂²/σ_k²) min(t, t′))."""

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Scaled, Study
from driftwise.errors import InvalidInput
from driftwise.policies import policy
from driftwise.policies.ui_gp_ucb import representative
from driftwise.records import Ask, Observation
from oracles import dense_posterior


class Injected:
    """The kernel as the paper writes it: k_S(x, x′)·σ_w²(min(t, t′) − c0), σ_w² = σ̂²/σ_k², c0 = −1/σ_w²."""

    def __init__(self, space, injected, variance):
        self.space, self.w = space, injected / variance

    def __call__(self, X, Y):
        earlier = np.minimum(X[:, -1:], Y[:, -1:].T)
        return self.space(X[:, :-1], Y[:, :-1]) * self.w * (earlier + 1 / self.w)

    def diagonal(self, X):
        return np.diagonal(self(X, X))


@pytest.mark.parametrize("variance", [1.0, 0.25])
def test_chooses_by_the_dense_gp(variance):
    rng = np.random.default_rng(0)
    points = rng.random((25, 2))
    space = Scaled(RBF(0.3), variance)
    made = policy("ui-gp-ucb", Candidates(points), injection=0.05, kernel=space)
    kernel = Injected(space, 0.05, variance)
    state, log = made.start(), []
    for t in range(150):  # the paper's time starts at 0, with the first observation
        x = made.choose(state, Ask(t + 1, float(t)))
        if log:
            rows, y = np.array([(*o.x, o.at) for o in log]), np.array([o.y for o in log])
            mean, var = dense_posterior(kernel, 0.01, rows, y, np.column_stack([points, np.full(25, float(t))]))
            given, std = made.belief(state, Ask(t + 1, float(t))).predict(made.space.points)
            np.testing.assert_allclose(given, mean, rtol=0, atol=1e-9)
            np.testing.assert_allclose(std**2, var, rtol=0, atol=1e-9)
            np.testing.assert_array_equal(x, points[np.argmax(mean + 2 * np.sqrt(var))])
        log.append(Observation(t + 1, float(t), tuple(x.tolist()), float(np.sin(t / 9 + 3 * x[0]))))
        state = made.update(state, log[-1])


@pytest.mark.parametrize("space", [Candidates([[0.4]]), {"a": Float(0, 1)}], ids=["candidates", "box"])
def test_the_mean_persists_and_the_variance_grows(space):
    """One observation at t = 5, the same x at t = 25: the mean unchanged, the variance + 20·0.03 = 0.6."""
    made = policy("ui-gp-ucb", space, injection=0.03)
    state = made.update(made.start(), Observation(1, 5.0, (0.4,), 1.0))
    (now, s), (later, z) = (made.belief(state, Ask(2, at)).predict(np.array([[0.4]])) for at in (5.0, 25.0))
    assert later[0] == pytest.approx(now[0], rel=1e-14)
    assert z[0] ** 2 - s[0] ** 2 == pytest.approx(0.6, rel=1e-12)


def test_standing_still_it_is_gp_ucb():
    points = np.random.default_rng(3).random((30, 2))
    made, twin = (
        policy(name, Candidates(points), **o) for name, o in (("ui-gp-ucb", {"injection": 0}), ("gp-ucb", {}))
    )
    one, other = made.start(), twin.start()
    for t in range(1, 100):
        x = made.choose(one, Ask(t, float(t)))
        np.testing.assert_array_equal(x, twin.choose(other, Ask(t, float(t))))
        seen = Observation(t, float(t), tuple(x.tolist()), float(np.sin(7 * x[0] + x[1])))
        one, other = made.update(one, seen), twin.update(other, seen)


def test_on_a_box_the_newest_of_each_cell_is_kept():
    X = np.array([[0.01], [0.99], [0.03], [0.52], [1.0]])  # cells 0, 19, 0, 10, 19
    assert representative(X, newest=1).tolist() == [2, 3, 4]
    assert representative(X, newest=3).tolist() == [2, 3, 4]
    assert representative(X, newest=4).tolist() == [1, 2, 3, 4]

    made = policy("ui-gp-ucb", {"a": Float(0, 1)}, window=12)
    state = made.update(made.start(), Observation(1, 1.0, (0.9,), 3.0))
    for t in range(2, 40):
        state = made.update(state, Observation(t, float(t), (0.1,), 0.0))
    assert len(state) == 11  # the ten newest, and the one at 0.9
    mean, _ = made.belief(state, Ask(40, 40.0)).predict(np.array([[0.9]]))
    assert mean[0] == pytest.approx(3.0 / 1.01, abs=1e-2)
    for t in range(40, 60):
        state = made.update(state, Observation(t, float(t), ((t - 39.5) / 20,), 0.0))
    assert len(state) == 12


def test_a_late_reward_that_is_used_is_said_to_be_used():
    """On a box the only observation near a point stays in use, however many came after it."""
    study = Study("late", {"a": Float(0, 1)}, "ui-gp-ucb", window=12, standardise=False)
    late = study.ask()
    elsewhere = 0.1 if late.params["a"] > 0.5 else 0.9
    for _ in range(40):
        study.observe({"a": elsewhere}, 0.0)
    assert study.tell(late, 3.0).in_window
    mean, _ = study.belief().predict(np.array([[late.params["a"]]]))
    assert mean[0] == pytest.approx(3.0 / 1.01, abs=0.05)


def test_bad_input_is_refused():
    for options in ({"injection": -1}, {"window": 9}):
        with pytest.raises(InvalidInput, match=next(iter(options))):
            policy("ui-gp-ucb", Candidates([[0.0]]), **options)
