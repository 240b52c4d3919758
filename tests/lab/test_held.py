"""Many runs at once make the policies' choices; worlds have the norm and the variation that they say."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from driftwise import RBF, policy
from driftwise.lab.theory import FULL, held
from driftwise.lab.theory.batch import BatchMemory, BatchPlay, play
from driftwise.records import Ask, Observation
from driftwise.theory import MaximumGain, Problem, best, drift_aware_bound, tight_restart_bound
from driftwise.theory.curves import over_budget, over_horizon, places_of

TINY = replace(
    FULL, held_candidates=12, held_runs=5, held_horizon=40, held_budgets=(0.0, 3.0), drawn_runs=4, drawn_horizon=40,
)  # fmt: skip


def described(bound, problem, length):
    """The policy that a bound is about, made by its name."""
    kernel, points = held.of_held(TINY)
    told = {
        "kernel": kernel,
        "noise": problem.noise,
        "R": problem.R,
        "delta": problem.delta,
        "horizon": problem.horizon,
    }
    told["width"] = "lemma" if bound.startswith("Theorem") else "mixture"
    if bound.startswith("drift-aware"):
        forget = "restart" if "restarts" in bound else "window"
        return policy("drift-aware", points, budget=problem.budget, length=length, forget=forget, **told)
    if bound.startswith(("Theorem 1", "r-")):
        return policy("r-gp-ucb", points, interval=length, **told)
    return policy("sw-gp-ucb", points, window=length, **told)


@pytest.mark.parametrize("length", [1, 6, 40])
@pytest.mark.parametrize("bound", ["Theorem 1", "Theorem 2", "r-gp-ucb", "sw-gp-ucb", *list(held.TIGHT)[2:]])
def test_all_runs_are_those_of_the_policy(bound, length):
    """Replayed one by one: no candidate has a larger index, by the policy's own account, than the one chosen."""
    problem = held._problem(TINY, 40, 3.0)
    worlds = held.worlds(TINY, problem, length, runs=3, world="turning")
    played = play(held.played(TINY, bound, problem, length), worlds)
    made, (_, points) = described(bound, problem, length), held.of_held(TINY)
    X, regret = points.points, np.zeros(3)
    for run in range(3):
        state = made.start()
        for t in range(1, 41):
            ask, i = Ask(number=t, at=float(t)), played.chosen[t - 1, run]
            belief = made.belief(state, ask)
            mean, std = belief.predict(X)
            index = made.band(state, ask)(X) if hasattr(made, "band") else mean + made.width(belief, t) * std
            assert index[i] >= index.max() - 1e-9
            f = worlds.values(t)[run]
            regret[run] += f.max() - f[i]
            y = played.rewards[t - 1, run]
            assert y == pytest.approx(f[i] + worlds.noise[t - 1, run])
            state = made.update(state, Observation(t, float(t), points.coordinates[i], float(y)))
    assert played.regret == pytest.approx(regret)


@pytest.mark.parametrize("world", ["turning", "jumping"])
def test_worlds_have_the_norm_and_the_variation(world):
    problem = held._problem(TINY, 40, 3.0)
    made, (kernel, points) = held.worlds(TINY, problem, 6, runs=4, world=world), held.of_held(TINY)
    K = kernel(points.points, points.points)

    def norm(f):
        return np.sqrt(np.einsum("rn,nr->r", f, np.linalg.lstsq(K, f.T, rcond=1e-13)[0]))

    f = [made.values(t) for t in range(1, 41)]
    assert norm(f[17]) == pytest.approx(np.ones(4), rel=1e-5)
    moved = np.array([norm(b - a) for a, b in itertools.pairwise(f)])
    assert moved.sum(axis=0) == pytest.approx(np.full(4, 3.0), rel=1e-5)
    assert (moved > 1e-9).any(axis=1).sum() == (39 if world == "turning" else 2)
    still = held.worlds(TINY, held._problem(TINY, 40, 0.0), 6, runs=2, world=world)
    assert (still.values(1) == still.values(40)).all()


def test_rows_count_the_runs_below_their_bound():
    job = next(
        job for job in held.jobs(TINY) if isinstance(job, held.HeldJob) and job.bound == "r-gp-ucb" and job.budget
    )
    [row] = job.perform()
    problem = held._problem(TINY, 40, 3.0)
    assert (row.length, row.bound) == best(tight_restart_bound, problem)
    regret = held.simulated(TINY, "r-gp-ucb", problem, row.length, runs=5, world=job.world)
    assert (row.mean, row.largest, row.below) == (pytest.approx(regret.mean()), pytest.approx(regret.max()), 5)


def test_curves_are_at_the_places_of_the_bounds():
    found = [point for job in held.jobs(TINY) if isinstance(job, held.DrawnJob) for point in job.perform()]
    curves = held.curves(found)
    assert {(c.policy, c.axis) for c in curves} == {(name, axis) for name in held.DRAWN for axis in ("T", "P_T")}
    over = {"T": held.bound_curves(TINY, over_horizon), "P_T": held.bound_curves(TINY, over_budget)}
    for c in curves:
        assert (c.x == over[c.axis].x).all()
        assert c.low <= c.slope <= c.high
        bound = "best, R-GP-UCB" if c.policy == "r-gp-ucb" else "drift-aware"
        assert (c.regret <= over[c.axis].total(bound)).all()
    assert over["T"].total("drift-aware")[-1] == best(drift_aware_bound, held._problem(TINY, 40, 2.0))[1].total
    assert (places_of(2.0, around=True) == over["P_T"].x).all()


def wandering(rng, runs, T, root):
    """f_t of norm 1 at most, that stands still, creeps, jumps or turns over."""
    z, path = rng.standard_normal((runs, root.shape[1])), []
    often, far, over = rng.choice([0.03, 0.3, 1.0]), rng.choice([0.05, 0.5, 2.0]), rng.random() < 0.3
    for _ in range(T):
        moved = -z if over else z + far * rng.standard_normal(z.shape) / np.sqrt(z.shape[1])
        z = np.where(rng.random((runs, 1)) < often, moved, z)
        z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
        path.append(z @ root.T)
    return np.array(path)  # (T, runs, n)


@pytest.mark.parametrize("name", list(held.BOUNDS))
def test_without_noise_a_bound_is_a_certainty(name):
    """R = 0, so that β = B: no world, length and λ may break a bound, whatever the odds."""
    X = np.linspace(0, 1, 8)[:, None]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        kernel, noise = RBF(rng.choice([0.05, 0.2, 0.6])), float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        T = int(rng.integers(4, 40))
        H, K = int(rng.integers(1, T + 1)), kernel(X, X)
        values, vectors = np.linalg.eigh(K)
        F = wandering(rng, 100, T, vectors * np.sqrt(np.maximum(values, 0.0)))
        steps = np.abs(np.diff(F, axis=0)).max(axis=2)  # in sup-norm, (T − 1, runs)
        aware = name.startswith("drift-aware")
        drift = float(steps.max()) if aware else 0.0
        restarts = name.startswith(("Theorem 1", "r-")) or "restarts" in name
        memory = None
        regret, each = np.zeros(100), np.arange(100)
        how = BatchPlay(K, noise, lambda gain, _: np.ones(len(gain)), H, restarts, drift)
        for t in range(T):
            memory = BatchMemory(how, 100) if memory is None or (restarts and t % H == 0) else memory
            i = memory.index().argmax(axis=1)
            memory.observe(i, F[t, each, i])
            regret += F[t].max(axis=1) - F[t, each, i]
        gain = MaximumGain(kernel, noise, X)
        for lost, P in zip(regret, np.full(100, drift * (T - 1)) if aware else steps.sum(axis=0), strict=True):
            problem = Problem(gain.upper, T, float(P), B=1.0, R=0.0, noise=noise)
            assert lost <= held.BOUNDS[name](problem, H).total + 1e-9
