"""TGP-UCB: the paper's figures, and the inner policy wherever nothing is truncated."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Linear, Study, policy
from driftwise.cli import parse
from driftwise.errors import InvalidInput
from driftwise.gp.posterior import Posterior
from driftwise.log import codec
from driftwise.policies import options_of, replay
from driftwise.policies.tgp_ucb import TruncatedWidth, Truncation
from driftwise.records import Ask, Observation

LINE = Candidates(np.linspace(0, 1, 25)[:, None])
INNER = {
    "gp-ucb": {},
    "sw-gp-ucb": {"window": 7},
    "tv-gp-ucb": {"epsilon": 0.05},
    "wgp-ucb": {"eta": 0.9},
    "sw-linucb": {"window": 7},
    "master-gp-ucb": {},
    "et-gp-ucb": {},
    "random": {},
}


def played(made, steps=25, tail=1.0):
    """Its choices, as bits, and the log."""
    state, asked, log, rng = made.start(), [], [], np.random.default_rng(0)
    for t in range(1, steps + 1):
        x = made.choose(state, Ask(t, float(t), seed=1))
        asked.append(x.tobytes())
        log.append(Observation(t, float(t), tuple(x.tolist()), float(np.sin(6 * x[0]) + tail * rng.standard_t(2))))
        state = made.update(state, log[-1])
    return asked, log


def test_levels_of_the_paper():
    """α = 1, v = 4, t = 16: b = 4; −4 is kept, 5 becomes 0."""
    truncation = Truncation(moment=4.0, order=1.0)
    assert truncation.level(16) == pytest.approx(4.0)
    assert (truncation(16, -4.0), truncation(16, 5.0), truncation(16, -5.0)) == (-4.0, 0.0, 0.0)
    assert Truncation(8.0, 0.5).level(27) == pytest.approx(8 ** (1 / 1.5) * 27 ** (1 / 3))


def test_the_width_of_the_paper():
    """k = λ = B = v = α = 1, δ = 1/e: β_1 = 1 and β_2 = 1 + 3√(ln 2 + 2) ≈ 5.923."""
    width = TruncatedWidth(Truncation(1.0), B=1.0, delta=math.exp(-1))
    empty = Posterior(RBF(0.2), 1.0)
    assert width(empty, 1) == 1.0
    assert width(empty.append([0.5], 0.0), 2) == pytest.approx(1 + 3 * math.sqrt(math.log(2) + 2))
    assert round(width(empty.append([0.5], 0.0), 2), 3) == 5.923


@pytest.mark.parametrize("inner", INNER)
def test_where_nothing_is_truncated_it_is_the_inner_policy(inner):
    made = policy("tgp-ucb", LINE, inner=inner, moment=1e12, **INNER[inner])
    twin = policy(inner, LINE, **INNER[inner])
    assert made.inner == twin
    assert made.memory == twin.memory
    assert played(made)[0] == played(twin)[0]
    assert all(
        made.remembers(n, newest=9, newer=9 - n) == twin.remembers(n, newest=9, newer=9 - n) for n in range(1, 9)
    )


@pytest.mark.parametrize("inner", ["sw-gp-ucb", "tv-gp-ucb"])
@pytest.mark.parametrize("centre", [0.0, 0.5])
def test_what_is_truncated_is_told_as_the_centre(inner, centre):
    made, twin = (policy(name, LINE, **INNER[inner], **told) for name, told in
                  [("tgp-ucb", {"inner": inner, "moment": 0.5, "centre": centre}), (inner, {})])  # fmt: skip
    _, log = played(made, tail=2.0)
    levels = [math.sqrt(0.5) * seen.number**0.25 for seen in log]
    told = [
        Observation(s.number, s.at, s.x, s.y if abs(s.y - centre) <= b else centre)
        for s, b in zip(log, levels, strict=True)
    ]
    assert 3 < sum(a != b for a, b in zip(log, told, strict=True)) < 22
    ask = Ask(26, 26.0)
    one, other = made.belief(replay(made, log), ask), twin.belief(replay(twin, told), ask)
    np.testing.assert_allclose(one.predict(LINE.points), other.predict(LINE.points), atol=1e-12)


def test_its_width_reaches_the_inner_policy():
    told = {"width": "truncated", "moment": 2.0, "B": 1.5, "delta": 0.2}
    made = policy("tgp-ucb", LINE, inner="sw-gp-ucb", window=9, horizon=70, **told)
    assert made.inner.width == TruncatedWidth(Truncation(2.0), B=1.5, delta=0.2, unions=70)
    assert policy("tgp-ucb", LINE, inner="gp-ucb", **told).inner.width.unions == 1
    with pytest.raises(InvalidInput, match="width='truncated' holds over a horizon"):
        policy("tgp-ucb", LINE, inner="sw-gp-ucb", window=9, **told)
    with pytest.raises(InvalidInput, match="width='lemma' has no theorem here: rewards that are cut off"):
        policy("tgp-ucb", LINE, inner="sw-gp-ucb", horizon=70, width="lemma")
    assert codec.loads(codec.dumps(made)) == made
    with pytest.raises(InvalidInput, match="k\\(x, x\\) ≤ 1"):
        policy("tgp-ucb", Candidates([[3.0]]), kernel=Linear(), width="truncated", horizon=9)


def test_its_width_is_refused_where_it_is_not_proved():
    """2ρ + √2 ≤ 3ρ needs ρ² ≥ 2, which δ ≤ 1/e gives whatever was learned."""
    with pytest.raises(InvalidInput, match=r"delta must be at most 1/e = 0\.368 for width='truncated', got 0.5"):
        policy("tgp-ucb", LINE, inner="gp-ucb", width="truncated", delta=0.5)


def test_a_growing_truncation_costs_twice_its_last_level():
    """‖Σ ζ_s φ_s‖ ≤ (2b − b₁) max_s ‖Z_s‖, Z_s = Σ (ζ_i/b_i) φ_i, each norm by its own V⁻¹: summation by parts."""
    rng, n, d = np.random.default_rng(0), 40, 3
    level = np.array([Truncation(1.0, order=0.2).level(s) for s in range(1, n + 1)])
    for _ in range(50):
        features, noise = rng.normal(size=(n, d)), level * rng.uniform(-1, 1, n)

        def norm(weights, features):
            total = weights @ features
            return math.sqrt(total @ np.linalg.solve(features.T @ features + np.eye(d), total))

        most = max(norm(noise[:s] / level[:s], features[:s]) for s in range(1, n + 1))
        assert norm(noise, features) <= (2 * level[-1] - level[0]) * most + 1e-9


def test_one_around_another():
    within = policy("ldp", LINE, epsilon=3.0, window=5)
    made = policy("tgp-ucb", LINE, inner=within, moment=50.0)
    assert made.memory == within.memory
    assert codec.loads(codec.dumps(made)) == made
    with pytest.raises(InvalidInput, match="differ"):
        policy("tgp-ucb", Candidates([[0.0]]), inner=within)
    with pytest.raises(InvalidInput, match="made already"):
        made.of(LINE, inner=within, window=4)


def test_options_of_the_inner_policy_are_known_wherever_policies_are_named():
    assert "epsilon" in options_of("tgp-ucb", inner="tv-gp-ucb")
    assert "window" in options_of("tgp-ucb")
    assert "window" not in options_of("tgp-ucb", inner="gp-ucb")
    contender = parse.policy("tgp-ucb:inner=tv-gp-ucb,epsilon=0.02,moment=3")
    assert dict(contender.options) == {"inner": "tv-gp-ucb", "epsilon": 0.02, "moment": 3}
    study = Study("s", LINE, "tgp-ucb", inner="r-gp-ucb", interval=9)
    assert (study.policy.inner.interval, study.policy.inner.model.standardise) == (9, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"moment": 0}, "moment must be > 0"),
        ({"order": 1.5}, "order must be at most 1"),
        ({"centre": math.nan}, "centre must be finite"),
        ({"epsilon": 0.1}, "tgp-ucb has no option 'epsilon'"),
        ({"inner": "gp-ucb", "window": 5}, "tgp-ucb has no option 'window'"),
        ({"inner": "nothing"}, "no policy is called 'nothing'"),
        ({"inner": 3}, "inner must be a policy's name or a policy"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises((InvalidInput, LookupError), match=words):
        policy("tgp-ucb", LINE, **options)
