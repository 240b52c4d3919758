"""A history of what all candidates gave: the estimate against its formula, and any table there may be."""

import numpy as np
import pytest

from driftwise import Candidates, Float, Study
from driftwise.errors import InvalidInput
from driftwise.gp.factors import Factors
from driftwise.gp.past import LEAST, common, completed, intensity, past, shrunk
from driftwise.log import codec
from driftwise.policies import REGISTRY, options_of, policy
from driftwise.spaces import joint

RNG = np.random.default_rng(7)
LABELS = ["red", "green", "blue", "teal"]
ARMS = Candidates(labels=LABELS)
TABLE = 100 + RNG.normal(size=(60, 1)) + np.array([0.0, 1.0, 2.0, 3.0]) + 0.3 * RNG.normal(size=(60, 4))


def test_the_shrinkage_is_ledoit_and_wolfs_formula():
    Z = RNG.normal(size=(9, 4)) @ RNG.normal(size=(4, 4))
    S = sum(np.outer(z, z) for z in Z) / 9
    off = np.mean([S[i, j] for i in range(4) for j in range(4) if i != j])
    F = np.array([[np.mean(np.diag(S)) if i == j else max(off, 0.0) for j in range(4)] for i in range(4)])
    a = sum(((np.outer(z, z) - S) ** 2).sum() for z in Z) / 81 / ((S - F) ** 2).sum()
    assert 0 < a < 1
    assert common(S) == pytest.approx(F)
    assert intensity(Z, S, F) == pytest.approx(a)
    assert shrunk(Z) == pytest.approx((1 - a) * S + a * F)


def test_with_many_rows_the_true_covariance_is_found():
    true = np.array([[2.0, 1.5, 0.0], [1.5, 2.0, 0.0], [0.0, 0.0, 0.5]])
    rows = np.random.default_rng(1).multivariate_normal(np.zeros(3), true, size=50_000)
    known = past(Candidates(labels=["a", "b", "c"]), rows)
    assert known.scale**2 * known.about_level.matrix == pytest.approx(true, abs=0.05)


def test_means_are_where_the_belief_begins():
    known = past(ARMS, TABLE)
    assert known.level == pytest.approx(TABLE.mean())
    assert known.level + known.scale * known.about_means.mean(ARMS.points) == pytest.approx(TABLE.mean(axis=0))
    assert (known.about_level.mean(ARMS.points) == 0).all()


@pytest.mark.parametrize(
    "table",
    [
        np.column_stack([np.ones(5), np.zeros(5), np.arange(5.0), 2 * np.arange(5.0)]),  # constant columns
        np.tile(np.arange(6.0)[:, None], 4),  # equal columns
        [[1.0, 2.0, 3.0, 5.0]],  # one row
        [[1.0, 2.0, 3.0, 5.0], [2.0, 1.0, 0.0, 0.0]],  # fewer rows than arms
        [[1.0, np.nan, 3.0, 5.0], [2.0, np.nan, np.nan, 1.0]],  # gaps, and an arm that is new
        [[1.0, np.nan, np.nan, np.nan], [np.nan, 2.0, np.nan, np.nan], [np.nan, np.nan, 3.0, 4.0]],
        1e99 * TABLE / 100,
        1e-99 * TABLE,
        1e9 + TABLE,
        TABLE.round().astype(int),
    ],
)
def test_any_table_gives_a_positive_definite_kernel(table):
    known = past(ARMS, table)
    for kernel in (known.about_level, known.about_means):
        C = kernel(ARMS.points, ARMS.points)
        assert np.linalg.eigvalsh(C).min() > 0
        assert np.isfinite(C).all()
        assert (kernel.diagonal(ARMS.points) == np.diagonal(C)).all()
    assert known.about_level.matrix.max() <= 1
    assert codec.loads(codec.dumps(known.about_means)) == known.about_means


def test_gaps_are_filled_by_row_and_column():
    level, filled, missing = completed(np.array([[1.0, 2.0], [3.0, np.nan]]))
    assert filled.tolist() == [[1.0, 2.0], [3.0, 3.0]]  # one above its column's mean
    assert missing.tolist() == [0.0, 0.5]
    assert level == filled.mean()


def test_an_arm_without_a_past_is_less_certain_than_the_others():
    table = TABLE.copy()
    table[:, 0] = np.nan
    variances = np.diagonal(past(ARMS, table).about_means.matrix)
    assert variances[0] > 1.5 * variances[1:].max() or variances[0] > variances[1:].mean()


def test_columns_are_found_by_label():
    by_label = {label: TABLE[:, i] for i, label in reversed(list(enumerate(LABELS)))}
    assert past(ARMS, by_label) == past(ARMS, TABLE) == past(ARMS, TABLE.tolist())


def test_candidates_with_coordinates_have_a_past_too():
    space = Candidates([[1.0, 0.0], [5.0, 2.0], [2.0, 2.0], [0.0, 7.0]])
    with_points, without = past(space, TABLE).about_means, past(ARMS, TABLE).about_means
    assert (with_points(space.points, space.points) == without.matrix).all()
    with pytest.raises(InvalidInput, match="of 4 candidates, got others"):
        with_points(np.array([[1.0, 1.0]]), space.points)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([[1.0, 2.0, 3.0], [1.0]], "a row for each time and a column for each candidate"),
        (TABLE[:, :3], r"4 columns, got shape \(60, 3\)"),
        (TABLE[:, 0], r"4 columns, got shape \(60,\)"),
        (TABLE[:0], r"4 columns, got shape \(0, 4\)"),
        ("file.csv", "must be a table of numbers"),
        ([["a", "b", "c", "d"]], "must be a table of numbers"),
        (np.full((3, 4), np.nan), "gaps alone"),
        (np.full((3, 4), 2.5), "rewards that differ"),
        (np.full((3, 4), np.inf), "up to 1e100"),
        (np.full((3, 4), 1e101), "up to 1e100"),
        ({"red": [1.0], "green": [2.0], "blue": [1.0]}, "none for 'teal'; for an arm that is new"),
        ({label: [1.0] for label in [*LABELS, "pink"]}, "'pink', which is no label"),
        ({label: [1.0] for label in LABELS} | {"red": [1.0, 2.0]}, "columns of one length, got 1 and 2"),
        (dict.fromkeys(LABELS, "abc"), "must be a table of numbers"),
        (dict.fromkeys(LABELS, 5), "got shape"),
    ],
)
def test_bad_histories_are_refused(history, message):
    with pytest.raises(InvalidInput, match=message):
        Study("ads", ARMS, history=history)


def test_a_history_needs_candidates_and_replaces_a_kernel():
    with pytest.raises(InvalidInput, match="history is for Candidates, whose past it holds, got a Box"):
        Study("ads", {"x": Float(0, 1)}, history=TABLE)
    with pytest.raises(InvalidInput, match="history is for Candidates, whose past it holds, got a Joint"):
        policy("auto", joint(ARMS, {"hour": Float(0, 1)}), history=TABLE)
    with pytest.raises(InvalidInput, match="history by label needs labels"):
        policy("auto", Candidates([[0.0], [1.0]]), history={"a": [1.0], "b": [2.0]})
    kernel = past(ARMS, TABLE).about_level
    with pytest.raises(InvalidInput, match="known_kernel and history both"):
        policy("auto", ARMS, history=TABLE, known_kernel=kernel)
    with pytest.raises(InvalidInput, match="kernel and history both"):
        policy("sw-gp-ucb", ARMS, history=TABLE, kernel=kernel)


@pytest.mark.parametrize("name", sorted(n for n in REGISTRY if "kernel" in options_of(n)))
def test_every_policy_with_a_kernel_takes_a_history(name):
    if name in ("w-dbo", "tv-r-gp-ucb"):  # whose theory is for these two kernels
        with pytest.raises(InvalidInput, match=r"RBF (or|and) Matern"):
            policy(name, ARMS, history=TABLE)
        return
    made = policy(name, ARMS, history=TABLE)
    assert codec.loads(codec.dumps(made)) == made
    assert '"Factors"' in codec.dumps(made)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("level", [0.0, 100.0])
def test_the_first_suggestion_is_the_best_arm_of_the_past(direction, level, tmp_path):
    history = TABLE - 100 + level
    study = Study("ads", ARMS, history=history, direction=direction, path=tmp_path / "ads.db")
    best = "teal" if direction == "maximize" else "red"
    s = study.ask()
    assert s.params == {"arm": best}
    study.tell(s, level + float(LABELS.index(best)))
    assert study.recommend().params == {"arm": best}
    again = Study("ads", ARMS, history=history, direction=direction, path=tmp_path / "ads.db")
    assert again.ask().number == 2


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "level"), [(1.0, 0.0), (1.0, 1000.0), (1000.0, 0.0), (0.001, 0.0)])
def test_a_past_that_is_no_longer_true_does_not_hold_it_back(unit, level):
    """The arms' order is reversed, and rewards have another level or another unit."""
    study, rng = Study("ads", ARMS, history=TABLE), np.random.default_rng(3)
    chosen = []
    for _ in range(50):
        s = study.ask()
        chosen.append(s.params["arm"])
        study.tell(s, level + unit * (100 - LABELS.index(chosen[-1]) + 0.3 * rng.normal()))
    assert study.recommend().params == {"arm": "red"}
    assert chosen[-25:].count("red") >= 18


def test_factors_are_checked():
    with pytest.raises(InvalidInput, match="own must be one for each of the 2 candidates, got 1"):
        Factors(((1.0,), (2.0,)), (0.5,))
    with pytest.raises(InvalidInput, match="means must be one for each"):
        Factors(((1.0,),), (0.5,), means=(1.0, 2.0))
    with pytest.raises(InvalidInput, match="points must be one for each"):
        Factors(((1.0,),), (0.5,), points=((1.0,), (2.0,)))
    assert LEAST > 0


def test_the_same_table_gives_the_same_description_whatever_the_order_of_rounding():
    """A study is opened again by comparing descriptions, also on another machine, whose sums round differently."""
    rng = np.random.default_rng(2)
    shaken = TABLE * (1 + 1e-14 * rng.normal(size=TABLE.shape))
    assert codec.dumps(policy("auto", ARMS, history=shaken)) == codec.dumps(policy("auto", ARMS, history=TABLE))


def low_rank(rows: int, arms: int, own: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A covariance of one common factor, one more and own parts, and rows drawn from it."""
    rng = np.random.default_rng(seed)
    loadings = np.column_stack([np.ones(arms), rng.standard_normal(arms)])
    true = loadings @ loadings.T + own * np.eye(arms)
    return true, rng.multivariate_normal(np.zeros(arms), true, size=rows)


def test_a_covariance_of_few_factors_is_recovered():
    true, rows = low_rank(20_000, 24, 0.2, seed=3)
    known = past(Candidates(labels=[f"arm {i}" for i in range(24)]), rows)
    found = known.scale**2 * known.about_level.matrix
    assert np.abs(found - true).max() < 0.05 * true.max()
    assert np.array(known.about_level.loadings).shape[1] <= 16
    # two factors say it all: what a third one has is of the size of what arms have on their own
    values = np.linalg.eigvalsh(found)[::-1]
    assert values[2] < 0.3 < 10 * 0.3 < values[1]


def test_independent_arms_have_nearly_a_diagonal():
    rows = np.random.default_rng(4).standard_normal((200, 24))
    C = past(Candidates(labels=[f"arm {i}" for i in range(24)]), rows).about_level.matrix
    sizes = np.sqrt(np.diagonal(C))
    apart = np.abs(C / np.outer(sizes, sizes) - np.eye(24)).max()
    assert apart < 0.05 < np.abs(np.corrcoef(rows, rowvar=False) - np.eye(24)).max()  # the table's own: 0.2
