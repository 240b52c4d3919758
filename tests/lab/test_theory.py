"""What `driftwise lab theory` measures, against direct computation at tiny sizes."""

import io
import math
import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import binomtest
from typer.testing import CliRunner

import driftwise.lab.theory as lab
from driftwise import RBF, policy
from driftwise.cli import show
from driftwise.cli.app import app
from driftwise.errors import InvalidInput
from driftwise.lab.engine import perform_all
from driftwise.lab.run import run
from driftwise.lab.theory import FULL, assemble, coverage, gain, linear, plan, regret, verdicts
from driftwise.lab.theory.settings import Settings, smooth, turning
from driftwise.records import Ask
from driftwise.report.theory import html, markdown, parts
from driftwise.theory import MaximumGain, Problem, known_budget, restart_bound, sharp_window_bound, sharp_xi, xi
from pages import balanced, loads

TINY = replace(
    FULL, candidates=8, runs=4, coverage_horizon=12, coverage_length=4, horizons=(12, 24), budgets=(1.0, 4.0), seeds=2,
    linear_horizons=(12, 24), linear_budgets=(0.5, 1.0), dims=(2, 3), linear_points=15, linear_seeds=2,
    gain_points=20, gain_samples=40, held_runs=3, held_candidates=8, held_horizon=12, held_budgets=(0.0, 4.0),
    drawn_runs=3, drawn_horizon=24,
)  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return perform_all(plan(TINY))


@pytest.fixture(scope="module")
def measured(found):
    return assemble(TINY, found)


def test_turning_worlds_have_the_norm_and_the_variation_they_say():
    kernel, points = smooth(TINY)
    world = turning(kernel, points, budget=3.0, horizon=40, R=0.1, seed=5)
    assert world.variation(40) == pytest.approx(3.0, rel=1e-9)
    assert [world.norm(t) for t in (1, 17, 40)] == pytest.approx([1.0] * 3)
    # the norm of the values alone is no larger, and is the least that interpolates them
    K = kernel(points.points, points.points)
    f = world.value(9, points.points)
    assert f @ np.linalg.lstsq(K, f, rcond=1e-12)[0] <= 1 + 1e-6


def test_a_budget_that_no_world_has():
    with pytest.raises(InvalidInput, match="at most"):
        Settings(horizons=(4,), budgets=(7.0,))


@pytest.mark.parametrize("name", ["r-gp-ucb", "sw-gp-ucb"])
def test_coverage_by_dense_algebra(name):
    """Every band at every step from (K + λI)⁻¹, B + (R/√λ)√(2γ + 2 ln(m/δ)) and the true drift."""
    job = coverage.CoverageJob(TINY, "turning", name, (3,))
    [checked] = job.perform()
    world = coverage._world(TINY, "turning", 3)
    T, H, lam = TINY.coverage_horizon, TINY.coverage_length, coverage.NOISE
    X, k = world.space.points, RBF(0.2)
    made = coverage._policy(TINY, name)
    seen = [step.seen for step in run(made, world, T, seed=3)]
    gamma, unions = MaximumGain(k, lam, X), -(-T // H) if name == "r-gp-ucb" else T
    move = 2 * math.sin(world.drift.angle / 2)
    worst = np.zeros(4)
    for t in range(1, T + 1):
        n = (t - 1) % H if name == "r-gp-ucb" else min(t - 1, H)
        used = seen[t - 1 - n : t - 1]
        P = np.array([o.x for o in used]).reshape(n, 1)
        A = np.linalg.solve(k(P, P) + lam * np.eye(n), k(P, X)) if n else np.zeros((0, len(X)))
        mean = A.T @ np.array([o.y for o in used])
        std = np.sqrt(1 - np.einsum("nx,nx->x", k(P, X), A))
        beta = 1 + 0.1 / math.sqrt(lam) * math.sqrt(2 * gamma(n) + 2 * math.log(unions / 0.1))
        f = world.value(t, X)
        V = max((np.abs(world.value(o.number, X) - f).max() for o in used), default=0.0)
        bands = [
            beta * std + xi(H, lam, gamma.upper(H)) * n * move,
            beta * std + V * np.abs(A).sum(axis=0),
            (beta + V * math.sqrt(n / lam)) * std,
            beta * std,
        ]
        worst = np.maximum(worst, [(np.abs(f - mean) / band).max() for band in bands])
    assert checked.tightest == pytest.approx(worst, rel=1e-6)


def test_coverage_counts_runs_that_leave_a_band():
    job = coverage.CoverageJob(TINY, "still", "r-gp-ucb", (0,))
    runs = [coverage.Checked(job, (0.5, 0.9, 0.9, x), (1.0, 0.5, 0.5, 0.0)) for x in (0.8, 1.5, 2.0)]
    rows = {row.band: row for row in coverage.rows(runs)}
    assert (rows["no drift term"].failures, rows["no drift term"].tightest) == (2, 2.0)
    assert rows["lemma"].failures == 0
    said = verdicts.of_coverage(list(rows.values()), 0.1)
    assert any("no drift term** does not hold: it is left in 2 of 3" in s for s in said)


@pytest.mark.parametrize(("failures", "runs"), [(0, 50), (7, 50), (50, 50)])
def test_upper_limit(failures, runs):
    expected = binomtest(failures, runs, alternative="less").proportion_ci(0.95, method="exact").high
    assert coverage.upper_limit(failures, runs) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["r-gp-ucb", "sw-gp-ucb"])
def test_a_run_and_its_bounds(name):
    job = regret.RegretJob(TINY, regret.SETTINGS[0], name, 24, 4.0, 1)
    [played] = job.perform()
    kernel, points = smooth(TINY)
    gamma = MaximumGain(kernel, 1.0, points.points)
    length = known_budget(gamma(24), 24, 4.0)
    world = turning(kernel, points, budget=4.0, horizon=24, R=0.1, seed=1)
    option = {regret.LENGTHS[name]: length}
    made = policy(name, points, kernel=kernel, noise=1.0, width="lemma", R=0.1, horizon=24, **option)
    steps = list(run(made, world, 24, seed=1))
    assert played.length == length
    assert played.regret == pytest.approx(sum(s.best - s.value for s in steps))
    problem = Problem(gamma.upper, 24, 4.0, B=1.0, R=0.1, noise=1.0)
    if name == "r-gp-ucb":
        assert played.bound == restart_bound(problem, length)
    else:
        assert played.sharp == sharp_window_bound(problem, length)
    # 2 Σ_t (ξ Σ_s ‖f_{s+1} − f_s‖ + β_t σ_{t−1}(x_t)), step by step
    paper = sharp = 0.0
    state = made.start()
    for step in steps:
        t = step.seen.number
        belief = made.belief(state, Ask(number=t, at=float(t)))
        n = len(belief)
        moved = world.variation(t) - world.variation(t - n) if n else 0.0
        own = 2 * made.width(belief, t) * float(belief.predict(np.array([step.seen.x]))[1][0])
        paper += own + 2 * (xi(n, 1.0, gamma.upper(n)) * moved if n else 0.0)
        sharp += own + 2 * sharp_xi(n, 1.0) * moved
        state = made.update(state, step.seen)
    assert (played.realised, played.realised_sharp) == (pytest.approx(paper), pytest.approx(sharp))
    assert played.regret <= played.realised_sharp <= played.realised <= played.bound.total


def test_exponents_are_slopes(found, measured):
    played = {
        (p.job.policy, p.job.horizon, p.job.budget, p.job.seed): p.regret
        for part in found
        for p in part
        if isinstance(p, regret.Played) and p.job.setting == regret.SETTINGS[1]
    }
    e = next(e for e in measured.exponents if (e.setting, e.policy, e.of) == (regret.SETTINGS[1], "sw-gp-ucb", "P_T"))
    means = [np.mean([played["sw-gp-ucb", int(e.at), P, s] for s in (0, 1)]) for P in TINY.budgets]
    assert e.slope == pytest.approx(np.polyfit(np.log(TINY.budgets), np.log(means), 1)[0])
    assert e.low <= e.slope <= e.high
    assert e.theorem == 0.25


def test_slopes_of_a_power_have_no_spread():
    x = [1.0, 2.0, 4.0]
    assert regret.slopes(x, np.outer([1.0, 3.0], np.power(x, 0.75))) == pytest.approx((0.75, 0.75, 0.75))


def test_linear_kernel_makes_the_linear_bandits_choices(measured):
    assert measured.linear
    for row in measured.linear:
        assert row.same == row.steps > 0
    assert max(linear.shell(15, 3).points @ linear.shell(15, 3).points.T, key=max).max() <= 1


def test_growth_is_the_gain_of_the_greedy_picks():
    case = gain.CASES[0]
    g = gain.growth(case, points=20, samples=40)
    curve = lab.gain.greedy_gain(case.kernel, np.linspace(0, 1, 20)[:, None], 0.01, 40)
    P = np.linspace(0, 1, 20)[curve.picks][:, None]
    assert g.lower[-1] == pytest.approx(0.5 * np.linalg.slogdet(np.eye(40) + case.kernel(P, P) / 0.01)[1])
    assert all(order[-1] == pytest.approx(g.lower[-1]) for _, order in g.orders)
    assert g.order_slopes[0] == pytest.approx(
        np.polyfit(np.log(g.n[g.n >= 4]), 2 * np.log(np.log(g.n[g.n >= 4])), 1)[0]
    )


def test_the_order_of_the_pieces_does_not_matter(found, measured):
    shuffled = random.Random(0).sample(found, len(found))
    again = assemble(TINY, shuffled)
    assert again.coverage == measured.coverage
    assert again.linear == measured.linear
    assert [c.regret for c in again.cells] == [c.regret for c in measured.cells]
    assert again.exponents == measured.exponents


def test_vacuous_bounds_are_called_so(measured):
    said = " ".join(verdicts.of_bounds(measured.cells))
    told = [c for c in measured.cells if not math.isnan(c.realised)]
    vacuous = sum(c.bound.total >= 2 * c.horizon for c in told)
    assert f"vacuous (no better than 2BT, which holds whatever is done) in {vacuous} of {len(told)} cells" in said


def test_document(measured):
    made = parts(measured)
    page = html(made, folder="x_files", footer="")
    assert balanced(page)
    assert all(x.startswith("x_files/") for x in loads(page))
    assert not re.search(r"https?:", page)
    text = markdown(made, command="driftwise lab theory", images=None)
    assert text.count("\n## ") == 7
    assert "3 of 3" in text
    assert "![" not in text


@pytest.mark.slow
def test_command(tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "QUICK", TINY)
    done = CliRunner().invoke(app, ["lab", "theory", "--quick", "--jobs", "1", "-o", str(tmp_path / "t.html")])
    assert done.exit_code == 0, done.output
    assert "Exponents" in done.output
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert loads(page)
    for name in loads(page):
        assert (tmp_path / name).is_file(), name


def test_on_eighty_columns_no_cell_is_cut_and_no_column_left_out(measured):
    """Cells may go over several lines; read column by column, every one of them is there to its last letter."""
    for table in (table for part in parts(measured) for table in part.tables):
        console = Console(width=80, file=io.StringIO())
        console.print(show.table("", table.header, table.rows))
        printed = console.file.getvalue()
        letters = Counter("".join(printed.split()))
        wanted = Counter("".join("".join(cell.split()) for row in (table.header, *table.rows) for cell in row))
        assert not wanted - letters, table.header


@pytest.mark.parametrize("arguments", [["-o", "t.pdf"], ["--images", "x"], ["-o", "t.html", "--images", "x"]])
def test_command_errors(arguments):
    assert CliRunner().invoke(app, ["lab", "theory", *arguments]).exit_code == 2
