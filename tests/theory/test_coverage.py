"""Over 1,000 simulated runs the corrected bands fail no more often than δ; and the uncorrected ones do fail."""

from dataclasses import dataclass

import numpy as np
import pytest

from driftwise import RBF, Candidates, policy
from driftwise.records import Ask, Observation
from driftwise.theory import drift_aware_band, paper_band, relaxed_drift_aware_band, xi

RUNS, T, LENGTH = 1000, 20, 8
DELTA, R, NOISE = 0.1, 0.1, 0.01
KERNEL = RBF(0.2)
SPACE = Candidates(np.linspace(0, 1, 30)[:, None])
X = SPACE.points


@dataclass(frozen=True)
class World:
    """f_t = cos(a_t) g + sin(a_t) h, g and h orthonormal in the RKHS: ‖f_t‖ = 1, ‖f_{t+1} − f_t‖ = 2 |sin(Δa/2)|."""

    f: np.ndarray  # (T, n)
    moves: np.ndarray  # (T − 1,): ‖f_{t+1} − f_t‖_H

    @classmethod
    def drawn(cls, rng, *, jump):
        centres = rng.choice(len(X), size=5, replace=False)
        K = KERNEL(X[centres], X[centres])
        # columns a with aᵀKa = 1, and orthogonal in that sense
        coefficients = np.linalg.solve(np.linalg.cholesky(K).T, np.linalg.qr(rng.standard_normal((5, 2)))[0])
        g, h = (KERNEL(X, X[centres]) @ coefficients).T
        steps = 0.01 * rng.random(T - 1)
        steps[rng.integers(5, T - 5)] += jump
        angle = np.concatenate([[0.0], np.cumsum(steps)])
        return cls(np.outer(np.cos(angle), g) + np.outer(np.sin(angle), h), 2 * np.abs(np.sin(steps / 2)))


def run(made, world, rng):
    """(t, belief, β_t, the steps in use) before each choice, which is then made and observed."""
    state = made.start()
    for t in range(1, T + 1):
        ask = Ask(number=t, at=float(t))
        belief = made.belief(state, ask)
        yield t, belief, made.width(belief, t), slice(t - 1 - len(belief), t - 1)
        i = int(np.flatnonzero((made.choose(state, ask) == X).all(axis=1))[0])
        y = float(world.f[t - 1, i] + R * rng.standard_normal())
        state = made.update(state, Observation(t, float(t), SPACE.coordinates[i], y))


def test_the_worlds_norms_are_exact():
    world = World.drawn(np.random.default_rng(0), jump=np.pi)
    # the norm on finitely many points is the smallest that interpolates, hence at most ‖f‖, and here it is attained
    K = KERNEL(X, X)
    moved = world.f[1:] - world.f[:-1]
    norms = np.sqrt(np.einsum("tn,nt->t", moved, np.linalg.lstsq(K, moved.T, rcond=1e-12)[0]))
    assert norms == pytest.approx(world.moves, rel=1e-3, abs=1e-6)
    assert world.moves.max() == pytest.approx(2.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "length"), [("r-gp-ucb", "interval"), ("sw-gp-ucb", "window")])
def test_bands_in_a_moving_world(name, length):
    """Lemmas 1 and 2 and the drift-aware band, at every step and every candidate, with f turned over in mid-run."""
    told = {length: LENGTH, "horizon": T, "delta": DELTA, "R": R, "noise": NOISE, "kernel": KERNEL}
    made = policy(name, SPACE, width="lemma", **told)
    cost = xi(LENGTH, NOISE, made.width.gain(LENGTH))
    failed = {"lemma": 0, "drift-aware": 0, "relaxed": 0, "without the drift": 0}
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        world, outside = World.drawn(rng, jump=np.pi), set()
        for t, belief, beta, used in run(made, world, rng):
            mean, std = belief.predict(X)
            error = np.abs(mean - world.f[t - 1])
            moved = float(np.abs(world.f[used] - world.f[t - 1]).max(initial=0.0))
            bands = {
                "lemma": paper_band(belief, X, beta=beta, drift=world.moves[used].sum(), xi=cost),
                "drift-aware": drift_aware_band(belief, X, beta=beta, drift=moved),
                "relaxed": relaxed_drift_aware_band(belief, X, beta=beta, drift=moved),
                "without the drift": beta * std,
            }
            assert (bands["drift-aware"] <= bands["relaxed"] + 1e-9).all()
            outside |= {band for band, half in bands.items() if (error > half + 1e-12).any()}
        for band in outside:
            failed[band] += 1
    assert failed["lemma"] <= DELTA * RUNS
    assert failed["drift-aware"] <= DELTA * RUNS
    assert failed["relaxed"] <= DELTA * RUNS
    assert failed["without the drift"] > DELTA * RUNS  # the world is hard enough for the drift term to matter


def failures(made, world):
    """In how many of RUNS runs |μ − f| > β σ somewhere."""
    count = 0
    for seed in range(RUNS):
        beliefs = run(made, world, np.random.default_rng(seed))
        outside = (
            (np.abs(mean - world.f[t - 1]) > beta * std).any()
            for t, belief, beta, _ in beliefs
            for mean, std in [belief.predict(X)]
        )
        count += any(outside)
    return count


@pytest.mark.slow
def test_the_boxes_width_fails_where_the_lemmas_holds():
    """f = 0, so B = 0 and all the error is noise: at λ = 0.01 the boxes' form promises ten times too much."""
    nothing = World(np.zeros((T, len(X))), np.zeros(T - 1))
    told = {"B": 0.0, "R": R, "noise": NOISE, "delta": DELTA, "kernel": KERNEL}
    assert 0 < failures(policy("gp-ucb", SPACE, width="realised", **told), nothing) <= DELTA * RUNS
    assert failures(policy("gp-ucb", SPACE, width="algorithm", **told), nothing) > DELTA * RUNS
