"""The arithmetic of every width, by hand."""

import math

import numpy as np
import pytest

from driftwise import RBF, Candidates, Float, Linear, Posterior, Scaled, policy
from driftwise.errors import InvalidInput
from driftwise.log import codec
from driftwise.theory import widths
from driftwise.theory.information import MaximumGain

X = tuple((x,) for x in np.linspace(0, 1, 30))
LN2 = math.log(2)


def belief(n, noise):
    """n times the same point: ½ ln det(I + K/λ) = ½ ln(1 + n/λ)."""
    posterior = Posterior(RBF(0.2), noise)
    for _ in range(n):
        posterior = posterior.append([0.5], 0.0)
    return posterior


def far(noise):
    """Two points that do not see each other: γ_1 = ½ ln(1 + 1/λ), γ_2 = ln(1 + 1/λ)."""
    return MaximumGain(RBF(0.2), noise, ((0.0,), (99.0,)))


def test_lemma():
    """B + (R/√λ) √(2γ_n + 2 ln(m/δ)): two points, γ_2 = ln 2 at λ = 1."""
    beta = widths.Lemma(far(1.0), B=3.0, R=2.0, delta=0.5, unions=4)
    assert beta(belief(2, 1.0), 99) == pytest.approx(3 + 2 * math.sqrt(2 * LN2 + 2 * math.log(8)))
    assert beta(belief(0, 1.0), 1) == pytest.approx(3 + 2 * math.sqrt(2 * math.log(8)))
    small = widths.Lemma(far(0.25), B=0.0, R=1.0, delta=0.5)
    assert small(belief(1, 0.25), 1) == pytest.approx(2 * math.sqrt(math.log(5) + 2 * LN2))


def test_lemma_is_never_below_realised():
    """The greedy γ is a lower bound: where the window gained more than it, β uses what was gained."""
    blind = MaximumGain(RBF(0.2), 0.01, ((0.0,),))
    two = Posterior(RBF(0.2), 0.01).append([0.0], 0.0).append([9.0], 0.0)
    assert blind(2) < two.information_gain
    assert widths.Lemma(blind)(two, 3) == pytest.approx(widths.Realised()(two, 3))


def test_realised():
    beta = widths.Realised(B=1.0, R=0.5, delta=0.1, unions=7)
    gain = 0.5 * math.log(1 + 3 / 0.04)
    assert beta(belief(3, 0.04), 1) == pytest.approx(1 + 0.5 / 0.2 * math.sqrt(2 * gain + 2 * math.log(70)))


def test_algorithm():
    beta = widths.Algorithm(far(1.0), B=1.0, R=2.0, delta=math.exp(-1))
    assert beta(belief(2, 1.0), 1) == pytest.approx(1 + 2 * math.sqrt(2 * (LN2 + 2)))


@pytest.mark.parametrize("noise", [1.0, 1.02, 4.0])
def test_algorithm_is_at_least_lemma_where_noise_is_at_least_one(noise):
    gain = MaximumGain(RBF(0.2), noise, X)
    for n in (0, 5, 50):
        assert widths.Algorithm(gain)(belief(n, noise), 1) >= widths.Lemma(gain)(belief(n, noise), 1)


def test_algorithm_is_too_small_below_one():
    gain = MaximumGain(RBF(0.2), 0.01, X)
    assert widths.Algorithm(gain)(belief(5, 0.01), 6) < 0.4 * widths.Realised()(belief(5, 0.01), 6)


def test_srinivas():
    assert widths.SrinivasFinite(100, 0.1)(belief(0, 1.0), 3) ** 2 == pytest.approx(
        2 * math.log(100 * 9 * math.pi**2 / 0.6)
    )
    rkhs = widths.SrinivasRkhs(far(1.0), B=2.0, delta=0.1)
    assert rkhs(belief(2, 1.0), 3) ** 2 == pytest.approx(8 + 300 * LN2 * math.log(30) ** 3)


def test_bogunovic_is_clamped_at_zero():
    temperature = widths.Bogunovic(c1=0.8, c2=0.4)
    assert [temperature(belief(0, 1.0), t) for t in (1, 2)] == [0.0, 0.0]
    assert temperature(belief(0, 1.0), 3) ** 2 == pytest.approx(0.8 * math.log(1.2))


@pytest.mark.parametrize("field", ["B", "R", "delta", "unions"])
def test_refusals(field):
    with pytest.raises(InvalidInput, match=field):
        widths.Realised(**{field: -1})


# --- by name -------------------------------------------------------------------------------------------------------


def test_the_union_bounds_of_the_policies():
    """One event where nothing is forgotten, ⌈T/H⌉ blocks, T windows."""
    space = Candidates(X)
    told = {"kernel": RBF(0.2), "width": "realised", "B": 2.0, "R": 0.3, "delta": 0.05}
    known = {"B": 2.0, "R": 0.3, "delta": 0.05}
    assert policy("gp-ucb", space, **told).width == widths.Realised(**known, unions=1)
    assert policy("r-gp-ucb", space, interval=30, horizon=100, **told).width == widths.Realised(**known, unions=4)
    assert policy("sw-gp-ucb", space, window=30, horizon=100, **told).width == widths.Realised(**known, unions=100)


def test_every_policy_that_forgets_counts_its_events():
    """T where a sum fades or slides, or where an era may begin anywhere; ⌈T/N⌉ where it begins at known steps."""
    space = Candidates(X)
    told = {"kernel": RBF(0.2), "width": "lemma", "horizon": 100}
    for norm in ("single", "double"):
        assert policy("wgp-ucb", space, eta=0.9, norm=norm, **told).width.unions == 100
    for name in ("et-gp-ucb", "bob-gp-ucb"):
        assert policy(name, space, **told).width.unions == 100
    assert policy("tv-r-gp-ucb", space, epsilon=0.01, **told).width.unions == 3  # N = 38
    assert policy("drift-aware", space, forget="restart", length=30, **told).width.unions == 4


def test_the_mixtures_event_is_one_of_every_step():
    told = {"kernel": RBF(0.2), "width": "mixture", "B": 2.0, "R": 0.3, "delta": 0.05}
    known = {"B": 2.0, "R": 0.3, "delta": 0.05}
    assert policy("gp-ucb", Candidates(X), **told).width == widths.MixtureBand(**known)
    for name, length in (("r-gp-ucb", "interval"), ("sw-gp-ucb", "window")):
        made = policy(name, Candidates(X), horizon=100, **{length: 30}, **told)
        assert made.width == widths.MixtureBand(**known, unions=100)
        assert codec.loads(codec.dumps(made)) == made


def test_mixture():
    """√(B² + (R²/λ)(2g + 2 ln(m/δ))): a right-angled triangle whose sides are the parts of `Realised`."""
    gain = 0.5 * math.log(1 + 3 / 0.04)
    beta = widths.MixtureBand(B=1.0, R=0.5, delta=0.1, unions=7)(belief(3, 0.04), 1)
    assert beta**2 == pytest.approx(1 + 0.25 / 0.04 * (2 * gain + 2 * math.log(70)))
    assert beta < widths.Realised(B=1.0, R=0.5, delta=0.1, unions=7)(belief(3, 0.04), 1)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("tv-gp-ucb", {"width": "lemma"}, "tv-gp-ucb lets f be drawn anew"),
        ("tv-gp-ucb", {"width": "mixture"}, "tv-gp-ucb lets f be drawn anew"),
        ("wgp-ucb", {"width": "mixture", "horizon": 9}, "observations that count alike, and these fade"),
        ("sw-gp-ucb", {"width": "realised", "standardise": True, "horizon": 9}, "standardise=True changes these"),
    ],
)
def test_names_without_a_theorem_are_refused_with_the_reason(name, options, reason):
    with pytest.raises(InvalidInput, match=reason):
        policy(name, Candidates(X), **options)


def test_widths_by_name_and_written_down():
    for name, cls in {
        "lemma": widths.Lemma,
        "algorithm": widths.Algorithm,
        "realised": widths.Realised,
        "srinivas": widths.SrinivasFinite,
        "bogunovic": widths.Bogunovic,
    }.items():
        made = policy("sw-gp-ucb", Candidates(X), width=name, horizon=100)
        assert isinstance(made.width, cls)
        assert codec.loads(codec.dumps(made)) == made
    assert isinstance(policy("gp-ucb", {"x": Float(0, 1)}, width="srinivas").width, widths.SrinivasRkhs)


def test_the_noise_scale_is_that_of_gaussian_noise_unless_said():
    made = policy("gp-ucb", Candidates(X), noise=0.04, width="realised")
    assert math.isclose(made.width.R, 0.2)


def test_names_refused():
    with pytest.raises(
        InvalidInput, match="one of lemma, algorithm, realised, mixture, dual, srinivas, bogunovic; got 'wide'"
    ):
        policy("gp-ucb", Candidates(X), width="wide")
    with pytest.raises(InvalidInput, match="width='lemma' holds over a horizon, and none is given; give horizon="):
        policy("sw-gp-ucb", Candidates(X), width="lemma")
    with pytest.raises(InvalidInput, match="interval must be ≥ 1, got 0; use gp-ucb"):
        policy("r-gp-ucb", Candidates(X), interval=0, width="lemma", horizon=10)


def test_the_papers_widths_need_a_bounded_kernel_and_a_constant_does_not():
    wide = Scaled(RBF(0.2), 4.0)
    for width in ("lemma", widths.Realised()):
        with pytest.raises(InvalidInput, match=r"assume k\(x, x\) ≤ 1, got 4"):
            policy("gp-ucb", Candidates(X), kernel=wide, width=width)
    for width in (2.0, "bogunovic", "srinivas"):
        policy("gp-ucb", Candidates(X), kernel=wide, width=width)
    with pytest.raises(InvalidInput, match=r"assume k\(x, x\) ≤ 1, got 2"):  # at the far corner of the square
        policy("gp-ucb", {"a": Float(0, 1), "b": Float(0, 1)}, kernel=Linear(), width="realised")
