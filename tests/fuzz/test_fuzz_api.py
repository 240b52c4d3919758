"""The Python API under random arguments: a bounded part of `python -m tests.fuzz api`, and what it found before."""

import pytest
from tests.fuzz import api

from driftwise.errors import DriftwiseError

# made without complaint once, or ended by Python itself, NumPy or nobody
REFUSED = (
    "dw.policy('sw-gp-ucb', BOX, window=10**19)",
    "dw.policy('r-gp-ucb', BOX, interval=2**63 - 1)",
    "dw.Study('s', space=BOX, patience=10**30)",
    "studied('latest', 10**30)",
    "studied('drift_history', points=10**30)",
    "dw.policy('sw-gp-ucb', BOX, horizon=10**12, budget=-1)",
    "dw.policy('ldp', BOX, inner='abc')",
    "dw.policy('ldp', BOX, bound=1e308)",
    "dw.policy('ldp', BOX, bound=1e60, epsilon=1e-60)",
    "dw.policy('ldp', BOX, noise='abc')",
    "dw.policy('bob-gp-ucb', BOX, lengths=5)",
    "dw.policy('pe-gp-ucb', BOX, epsilons=1)",
    *(f"dw.policy('{name}', GRID, seed=2**64)" for name in ("ada-opkb", "bob-gp-ucb", "ldp", "master-gp-ucb")),
    "dw.policy('ada-opkb', GRID, reg=2**53)",
    "dw.policy('gp-ucb', BOX, kernel=dw.RBF)",
    "dw.policy('gp-ucb', BOX, kernel=Broken())",
    "dw.policy('gp-ucb', BOX, kernel=dw.Product(dw.Scaled(dw.RBF(), 1e90), dw.Scaled(dw.RBF(), 1e90)))",
    "dw.policy('gp-ucb', BOX, width=1e308)",
    "dw.policy('gp-ucb', BOX, width=len)",
    "dw.policy('gp-ucb', BOX, width=widths.Bogunovic)",
    "dw.policy([], BOX)",
    "dw.policy('tv-r-gp-ucb', BOX, epsilon=1e-320)",
    "dw.environment('deng-abrupt', noise_std=1e308)",
    "dw.environment('bogunovic', side=10**6)",
    "dw.environment('rotating', side=[])",
    "environments.World(BOX, BASIS, environments.Still(), 0.1)",
    "environments.Moving(GRID, environments.Swept('hartmann3', 5), dw.RBF(), environments.Gaussian())",
    "environments.Moving(BOX, 5, dw.RBF(), environments.Gaussian())",
    "dw.Candidates([[1e308], [-1e308]])",
    "dw.Candidates([[0.0]], names=5)",
    "dw.Choice(['\\ud800'])",
    "dw.Choice([10**5000])",
    "dw.RBF([[1.0], [2.0, 3.0]])",
    "dw.Scaled(5, 1.0)",
    "dw.RBF()(5, 6)",
    "dw.RBF()(np.array([[1e308]]), np.array([[-1e308]]))",
    "dw.Posterior(dw.RBF(), 0.1).append('x', 1.0)",
    "theory.Problem(GAIN.upper, 100, 1.0, B=0)",
    "theory.Problem(5, 100, 1.0)",
    "theory.greedy_gain(dw.RBF(), [[0.0]], 1.0, 10**12)",
    "domains.cube(30000, 100)",
    "codec.loads('[' * 10**5)",
    "codec.dumps(nested(5000))",
    "WORLD.sup_variation(2**31)",
    "environments.World(GRID, BASIS, environments.Chain(0.1), environments.Gaussian()).best(2**53)",
    "lab.regrets(5)",
    "lab.interval(np.array([[1e308], [-1e308]]))",
    "environments.recorded('a\\x00b')",
    "environments.recorded('x' * 10**6)",
    "BELIEF.imagine(nested(5000))",
    "policies.REGISTRY['gp-ucb'](5, 2.0)",
    "dw.run('gp-ucb', WORLD, 5)",
)
FINE = (
    "dw.Study('s', space=BOX, seed=np.int8(3), patience=np.int64(3)).ask()",
    "played(dw.policy('sw-gp-ucb', BOX, window=2**53))",
    "played(dw.policy('r-gp-ucb', BOX, interval=2**53))",
    "played(dw.policy('master-gp-ucb', GRID, seed=2**64 - 1))",
    "played(dw.policy('tv-gp-ucb', BOX, epsilon=1e-320))",
    "played(dw.policy('sw-gp-ucb', BOX, horizon=10**12, width='lemma'))",
    "theory.known_budget(0, horizon=10, budget=0.0)",
    "studied('latest', 2**53)",
)


@pytest.mark.parametrize("line", REFUSED)
def test_bad_input_is_refused_when_a_thing_is_made(line):
    with pytest.raises(DriftwiseError, match=r"\bgot\b|must|no |cannot|at most") as caught:
        api.do(line)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("line", FINE)
def test_what_is_large_and_good_works(line):
    api.do(line)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_call_gives_a_value_or_an_error_of_ours(seed):
    assert api.run(100, seed) == []


def test_the_cases_reach_everything_public():
    texts = " ".join(target.text for target in api.targets())
    assert all(f"{name!r}" in texts for name in (*api.policies.REGISTRY, *api.environments.REGISTRY))
    assert all(f"{name}(" in texts for name in api.theory.__all__ if name != "GainCurve")
