"""Recordings: what is written is what is played back, and what cannot be read is said to be so."""

import numpy as np
import pytest

import driftwise as dw
from driftwise.environments import recorded
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Empirical, Matern

REWARDS = np.random.default_rng(0).standard_normal((12, 3)) @ np.array([[1.0, 0.5, 0], [0, 1, 0.3], [0, 0, 0.2]])
POINTS = np.array([[0.0, 10.0], [0.5, 20.0], [1.0, 15.0]])


def write(path, table, header=None):
    lines = ([header] if header else []) + [",".join(map(repr, row)) for row in table.tolist()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("header", [None, "a,b,c"])
def test_a_csv_with_points_is_played_back_exactly(tmp_path, header):
    rewards = write(tmp_path / "r.csv", REWARDS, header)
    points = write(tmp_path / "p.csv", POINTS, "left,right" if header else None)
    world = recorded(rewards, points)
    assert world.horizon == 12
    assert world.labels == (("a", "b", "c") if header else ())
    assert world.space.names == (("left", "right") if header else ("x0", "x1"))
    assert world.kernel == Matern(2.5, (0.2, 2.0))  # a fifth of each range
    for t in range(1, 13):
        assert world.value(t, POINTS).tolist() == REWARDS[t - 1].tolist()
        assert world.best(t) == REWARDS[t - 1].max()
        assert (world.best_x(t) == POINTS[REWARDS[t - 1].argmax()]).all()
        assert world.observe(t, POINTS[1]) == REWARDS[t - 1, 1]
    assert recorded(rewards, points, kernel=RBF(0.3)).kernel == RBF(0.3)


def test_without_points_the_kernel_is_the_covariance_of_the_training_rows(tmp_path):
    world = recorded(write(tmp_path / "r.csv", REWARDS))
    assert world.horizon == 6
    assert world.best(1) == REWARDS[6].max()
    C = np.cov(REWARDS[:6], rowvar=False)
    X = world.space.points
    assert X.tolist() == np.eye(3).tolist()
    assert isinstance(world.kernel, Empirical)
    assert world.kernel(X, X) == pytest.approx(C / C.diagonal().max())
    assert world.kernel.diagonal(X).max() == pytest.approx(1.0)
    assert recorded(REWARDS, train=9).horizon == 3


def sheet(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_costs_are_played_back_with_the_sign_flipped():
    world = recorded(REWARDS, POINTS, minimize=True)
    for t in range(1, 13):
        assert world.best(t) == -REWARDS[t - 1].min()
        assert (world.best_x(t) == POINTS[REWARDS[t - 1].argmin()]).all()
    halved = recorded(REWARDS, minimize=True)
    assert halved.best(1) == -REWARDS[6].min()
    assert halved.kernel == recorded(REWARDS).kernel  # a covariance has no sign


def test_the_times_of_the_rows_are_what_policies_get_as_at(tmp_path):
    path = sheet(tmp_path / "r.csv", "a,hour,b", "1,8.5,2", "3,9.0,4", "5,11.5,6")
    world = recorded(path, np.array([[0.0], [1.0]]), time="hour")
    assert world.labels == ("a", "b")
    assert world.rewards.tolist() == [[1, 2], [3, 4], [5, 6]]
    steps = list(dw.run(dw.policy("random", world.space), world, 3))
    assert [step.seen.at for step in steps] == [8.5, 9.0, 11.5]
    assert [recorded(path, np.array([[0.0], [1.0], [2.0]])).at(t) for t in (1, 2)] == [1.0, 2.0]  # no column is named
    dates = sheet(tmp_path / "d.csv", "day,a", "2026-11-16,1", "2026-11-17T00:00+00:00,2", "2026-11-17T06:00,3")
    played = recorded(dates, np.array([[0.0]]), time="day")
    assert np.diff(played.times).tolist() == [86_400.0, 21_600.0]
    late = recorded(sheet(tmp_path / "h.csv", "t,a,b", *(f"{10 * t},{t},{-(t**2)}" for t in range(6))), time="t")
    assert late.times == (30.0, 40.0, 50.0)  # the first half is for the kernel


def test_gaps_are_refused_by_row_and_column_or_filled_or_dropped(tmp_path):
    path, points = sheet(tmp_path / "r.csv", "t,left,right", "1,1,2", "2,,4", "3,5,", "4,7,8"), np.array([[0.0], [1.0]])
    with pytest.raises(InvalidInput, match=r"line 3, column 2 \('left'\): must be a finite .* got ''; fill the gap"):
        recorded(path, points, time="t")
    filled = recorded(path, points, time="t", gaps="previous")
    assert filled.rewards.tolist() == [[1, 2], [1, 4], [5, 4], [7, 8]]
    dropped = recorded(path, points, time="t", gaps="drop")
    assert dropped.rewards.tolist() == [[1, 2], [7, 8]]
    assert dropped.times == (1.0, 4.0)


@pytest.mark.parametrize(
    ("lines", "options", "words"),
    [
        (("t,a", "1,1", "0.5,2"), {"time": "t"}, "line 3: times must not run backwards, got '0.5'; sort the rows"),
        (("t,a", "noon,1"), {"time": "t"}, "line 2: a time must be a number or an ISO 8601 date, got 'noon'"),
        (("t,a", ",1"), {"time": "t"}, "line 2: a time must be a number"),
        (("t,a", "1,1"), {"time": "when"}, "one column of .*, got 'when'; the file has 't', 'a'"),
        (("1,1", "2,2"), {"time": "t"}, "the file has no headings"),
        (("t", "1", "2"), {"time": "t"}, "has no rows of numbers"),
        (("a,b", ",1", "2,2"), {"gaps": "previous"}, r"line 2, column 1 \('a'\): a gap in the first row"),
        (("a,b", ",1", "2,"), {"gaps": "drop"}, "no rows of numbers without a gap"),
        (("a,b", "1,x"), {"gaps": "drop"}, "must be a finite number, got 'x'$"),
        (("a,b", "1,2"), {"gaps": "ignore"}, "gaps must be one of refuse, previous, drop, got 'ignore'"),
    ],
)
def test_times_and_gaps_that_nothing_can_be_made_of(tmp_path, lines, options, words):
    with pytest.raises(InvalidInput, match=words):
        recorded(sheet(tmp_path / "r.csv", *lines), np.array([[0.0], [1.0]]), **options)


def test_variation_is_what_brute_force_finds():
    world = recorded(REWARDS, POINTS)
    K = world.kernel(POINTS, POINTS)
    moves = np.diff(REWARDS[:7], axis=0)
    assert world.variation(7) == pytest.approx(sum(np.sqrt(m @ np.linalg.solve(K, m)) for m in moves))
    assert world.sup_variation(7) == pytest.approx(sum(np.abs(m).max() for m in moves))
    assert (world.variation(1), world.sup_variation(1)) == (0.0, 0.0)


def test_variation_is_infinite_where_the_rewards_are_not_in_the_rkhs():
    twins = REWARDS[:, [0, 0, 1]]  # in training the first two never differ
    later = np.vstack([twins, REWARDS])
    assert recorded(later, train=12).variation(5) == np.inf


def test_noise_may_be_added_and_depends_on_the_seed():
    world = recorded(REWARDS, POINTS, noise_std=0.5)
    added = [world.seeded(s).observe(1, POINTS[0]) - REWARDS[0, 0] for s in (1, 2, 1)]
    assert added[0] == added[2] != added[1]
    assert world.seeded(1).noise.R == 0.5


def test_a_policy_runs_on_it():
    world = recorded(REWARDS)
    policy = dw.policy("sw-gp-ucb", world.space, kernel=world.kernel, window=3)
    steps = list(dw.run(policy, world, world.horizon))
    assert all(s.regret == REWARDS[5 + s.seen.number].max() - s.seen.y for s in steps)
    with pytest.raises(InvalidInput, match="has 6 steps, and step 7"):
        list(dw.run(policy, world, 7))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows of numbers"),
        ("a,b\n", "no rows of numbers"),
        ("1,2\n3\n", "line 2: 1 cells where the first row has 2"),
        ("a,b\n1,2,3\n", "line 2: 3 cells"),
        ("1,2\n3,x\n", "line 2, column 2: must be a finite number, got 'x'"),
        ("1,2\n3,\n", "column 2: must be a finite number, got ''"),
        ("1,2\n,\n", "column 1: must be a finite number, got ''"),
        ("1,2\nnan,4\n", "line 2, column 1"),
        ("1,2\n3,1e400\n", "line 2, column 2"),
        ("time,2\n3,4\n", "line 1, column 1"),
        ('1,2\n"3,4\n', "is no CSV file"),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        recorded(path)


def test_other_bad_input_is_refused(tmp_path):
    binary = tmp_path / "b.csv"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    cases = [
        ((tmp_path / "none.csv",), {}, "cannot read"),
        ((tmp_path,), {}, "cannot read"),
        ((binary,), {}, "is no CSV file"),
        ((REWARDS, POINTS[:2]), {}, "a row for each column"),
        ((REWARDS, POINTS[[0, 0, 1]]), {}, "must differ"),
        ((REWARDS, POINTS), {"train": 3}, "leave it out"),
        ((REWARDS,), {"kernel": RBF(0.2)}, "give points"),
        ((REWARDS,), {"train": 12}, "1 to play back"),
        ((REWARDS[:3],), {}, "at least 2 rows"),
        ((np.ones((6, 3)),), {}, "constant"),
        (([[1.0, np.nan]],), {}, "finite"),
        (([[1.0], [1.0, 2.0]],), {}, "one length"),
    ]
    for arguments, options, message in cases:
        with pytest.raises(InvalidInput, match=message):
            recorded(*arguments, **options)
    with pytest.raises(InvalidInput, match="none of the 3 recorded candidates"):
        recorded(REWARDS, POINTS).value(1, np.array([[0.1, 0.1]]))
