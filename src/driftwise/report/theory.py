"""What `driftwise lab theory` measured, as a document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from driftwise.lab.theory import Measured, held, verdicts
from driftwise.lab.theory.coverage import BANDS, LENGTHS
from driftwise.lab.theory.regret import Cell, Exponent, Setting
from driftwise.plots.bounds import BoundsAlong
from driftwise.plots.bounds import bounds_figure as all_bounds
from driftwise.plots.dots import Dot, DotPanel, dots
from driftwise.plots.growth import Curve, GrowthPanel, growth
from driftwise.plots.style import LIGHT, Theme
from driftwise.report.page import page
from driftwise.report.parts import Data, Part, Picture, Table, as_html, as_markdown, code
from driftwise.theory.curves import over_budget, over_horizon

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "The theory, measured"
LEAD = (
    "This page compares what the theorems guarantee with what happens in simulations: how often the confidence bands "
    "are left, how far the regret is below its bounds, with which powers of T and P_T it grows, and how fast γ grows."
)


def parts(measured: Measured) -> list[Part]:
    return [
        _coverage(measured),
        _held(measured),
        _drawn(measured),
        _bounds(measured),
        _exponents(measured),
        _linear(measured),
        _growth(measured),
    ]


def html(made: Sequence[Part], *, folder: str, footer: str) -> str:
    """As a page whose files are in `folder`."""
    return page(TITLE, LEAD, *(as_html(part, folder=folder) for part in made), footer=footer)


def markdown(made: Sequence[Part], *, command: str, images: str | None) -> str:
    lead = (LEAD, f"Made by {code(command)}. Symbols are those of notation.md. The bounds are those of theory.md.")
    return as_markdown(made, title=TITLE, lead=lead, images=images)


# --- coverage --------------------------------------------------------------------------------------------------------


def _coverage(measured: Measured) -> Part:
    s = measured.settings
    cells: dict[tuple[str, str], list[str]] = {}
    for row in measured.coverage:
        told = f"{row.failures} · {row.tightest:.2f} · {row.informative:.0%}"
        cells.setdefault((row.world, row.policy), []).append(told)
    rows = [(*place, *made) for place, made in cells.items()]
    caption = f"Runs of {s.runs:,} that leave the band · largest error · informative share"
    return Part(
        "Do the bands hold?",
        words=(
            f"The functions have norm ‖f_t‖ = 1 on {s.candidates} candidates of [0, 1] with k = RBF(0.2). The noise "
            f"has standard deviation {s.R:g}, and λ = 0.01, T = {s.coverage_horizon}, H = w = {s.coverage_length}, "
            f"δ = {s.delta:g}. A run fails if a band is left at any step, at any candidate.",
            "Four bands are tested: **lemma**, βσ + ξ Σ‖f_{s+1} − f_s‖ of Lemmas 1 and 2; **drift-aware**, βσ + V‖α‖₁; "
            "**relaxed**, (β + V√(n/λ))σ; and **no drift term**, βσ. The largest error is that of |f − μ| divided by "
            "the half-width of the band. The informative share is that of the steps and candidates at which the band "
            "excludes a part of |f| ≤ B.",
        ),
        points=verdicts.of_coverage(measured.coverage, s.delta),
        tables=[Table(caption, ("world", "policy", *BANDS), rows)],
        data=[Data.of("theory-coverage", measured.coverage)],
    )


# --- every bound, held against many runs -----------------------------------------------------------------------------


def _held(measured: Measured) -> Part:
    s, found = measured.settings, measured.held
    fields = ("bound", "P_T", "world", "length", "drift", "estimation", "trivial", "mean", "largest", "below", "runs")
    data = [
        (
            *(r.job.bound, r.job.budget, r.job.world, r.length, r.bound.drift, r.bound.estimation, r.bound.trivial),
            *(r.mean, r.largest, r.below, s.held_runs),
        )
        for r in found
    ]
    return Part(
        "Every bound, held against many runs",
        words=(
            f"T = {s.held_horizon}, λ = 1, B = 1, R = {s.R:g}, δ = {s.delta:g}, {s.held_candidates} candidates, and "
            "every bound at its own best length, with the policy and the width that it is about. The turning world is "
            "that of the sections below. The jumping one moves by P_T in jumps of norm 2 at most, each a third into a "
            "block, where a change costs most. drift-aware is told an even drift, and plays in the turning world only.",
            "A run could only have had more regret than its bound if the bound is below 2BT.",
        ),
        points=verdicts.of_held(found, s.held_runs),
        tables=[_held_table(measured, budget) for budget in s.held_budgets],
        data=[Data("theory-held", fields, data)],
    )


def _held_table(measured: Measured, budget: float) -> Table:
    header = ("bound", "world", "H or w", "its value", "of 2BT", "mean regret", "largest", "runs below")
    rows = [
        (
            *(r.job.bound, r.job.world if budget else "still", str(r.length), _marked(r.bound.total, r.bound.trivial)),
            *(f"{r.bound.total / r.bound.trivial:.2f}", f"{r.mean:.1f}", f"{r.largest:.1f}"),
            f"{r.below:,} of {measured.settings.held_runs:,}",
        )
        for r in measured.held
        if r.job.budget == budget
    ]
    return Table(f"P_T = {budget:g}", header, rows)


def _drawn(measured: Measured) -> Part:
    s, found = measured.settings, measured.drawn
    rows = [(c.policy, c.axis, f"{c.slope:.2f}", f"{c.low:.2f} – {c.high:.2f}", f"{c.theorem:.2f}") for c in found]
    data = [(c.policy, c.axis, float(x), float(y)) for c in found for x, y in zip(c.x, c.regret, strict=True)]
    return Part(
        "Bounds and regret in one picture",
        words=(
            f"The world turns evenly, λ = 1, B = 1, R = {s.R:g}, {s.held_candidates} candidates, and every bound and "
            f"every policy has its best length at each place. Regret is the mean of {s.drawn_runs} runs.",
            "Exponents are the slopes of ln R over the upper half of each axis, with intervals that are bootstrapped "
            "over runs. At the best length of a bound they follow the length, which the bound chooses.",
        ),
        pictures=[
            Picture(
                "theory-held",
                lambda theme: drawn_figure(measured, theme),
                "Upper and lower bounds with measured regret (dots), over T and over P_T; below, the two parts of the "
                "best bound.",
                Data("theory-drawn", ("policy", "axis", "place", "regret"), data),
            )
        ],
        tables=[Table("", ("policy", "exponent of", "measured", "95% interval", "theorem"), rows)],
    )


def drawn_figure(measured: Measured, theme: Theme = LIGHT) -> Figure:
    """The picture of `driftwise theory`, with the regret that was measured."""
    s = measured.settings
    regret = {axis: {c.policy: c.regret for c in measured.drawn if c.axis == axis} for axis in ("T", "P_T")}
    over_T, over_P = held.bound_curves(s, over_horizon), held.bound_curves(s, over_budget)
    along = [
        BoundsAlong("T", f"P_T = {s.drawn_budget:g}", over_T, regret["T"]),
        BoundsAlong("P_T", f"T = {s.drawn_horizon:,}", over_P, regret["P_T"]),
    ]
    return all_bounds(along, theme)


# --- bounds ----------------------------------------------------------------------------------------------------------


def _bounds(measured: Measured) -> Part:
    s = measured.settings
    cells = measured.cells
    fields = (
        *("lambda", "width", "policy", "T", "P_T", "length", "regret", "realised", "realised_sharp", "bound_drift"),
        *("bound_estimation", "bound", "sharp_bound", "trivial", "within_realised", "runs"),
    )
    rows = [
        (
            *(c.setting.noise, c.setting.width, c.policy, c.horizon, c.budget, c.length, c.regret, c.realised),
            *(c.realised_sharp, c.bound.drift, c.bound.estimation, c.bound.total, c.sharp.total, c.bound.trivial),
            *(c.covered if not math.isnan(c.realised) else "", c.runs),
        )
        for c in cells
    ]
    budget = _middle([c.budget for c in cells])
    return Part(
        "Regret and its bounds",
        words=(
            "The function f_t = cos(θ_t) g + sin(θ_t) h rotates at a constant rate. g and h are orthonormal, so that "
            "B = 1 and P_T are exact. H and w follow Remark (2) for the true P_T. All figures are means over "
            f"{s.seeds} seeds. The **realised** bound is drift + 2Σβ_tσ_{{t−1}}(x_t) of the run itself. An asterisk "
            "marks a vacuous bound, one of at least 2BT.",
        ),
        points=verdicts.of_bounds(cells),
        pictures=[
            Picture(
                "theory-bounds",
                lambda theme: bounds_figure(cells, budget, theme),
                f"Mean regret at P_T = {budget:g} (lines with dots), the realised and a-priori bounds, and the trivial "
                "bound 2BT.",
                Data("theory-regret", fields, rows),
            )
        ],
        tables=[_bounds_table(cells, setting) for setting in dict.fromkeys(c.setting for c in cells)],
    )


def bounds_figure(cells: Sequence[Cell], budget: float, theme: Theme = LIGHT) -> Figure:
    """R(T) and its bounds over T, a panel for each λ with the lemma's width and policy."""
    panels = []
    for setting in dict.fromkeys(c.setting for c in cells if c.setting.width == "lemma"):
        for name in LENGTHS:
            mine = [c for c in cells if (c.setting, c.policy, c.budget) == (setting, name, budget)]
            if mine:
                curves = [
                    Curve("2BT", np.array([c.bound.trivial for c in mine]), 5),
                    Curve("a priori", np.array([c.bound.total for c in mine]), 0),
                    Curve("a priori, sharper drift", np.array([c.sharp.total for c in mine]), 4),
                    Curve("realised", np.array([c.realised for c in mine]), 3),
                    Curve("realised, sharper drift", np.array([c.realised_sharp for c in mine]), 1),
                    Curve("regret", np.array([c.regret for c in mine]), 2, measured=True),
                ]
                x = np.array([float(c.horizon) for c in mine])
                panels.append(GrowthPanel(f"{name}, λ = {setting.noise:g}", x, curves))
    return growth(panels, x="T", y="regret", columns=4, share_y=True, theme=theme, panel_size=(1.9, 2.9))


def _bounds_table(cells: Sequence[Cell], setting: Setting) -> Table:
    told = setting.width == "lemma"
    header = ("policy", "T", "P_T", "H or w", "regret", "realised", "… sharper", "a priori", "… sharper")
    rows = [
        (
            *(c.policy, f"{c.horizon:,}", f"{c.budget:g}", str(c.length), f"{c.regret:.1f}"),
            *(_marked(v, c.bound.trivial) for v in (c.realised, c.realised_sharp, c.bound.total, c.sharp.total)),
        )
        for c in cells
        if c.setting == setting
    ]
    shown = len(header) if told else 5  # without the lemma's width there is no bound to show
    note = "" if told else "; the theorems do not speak of this width"
    return Table(f"{setting.label}{note}", header[:shown], [row[:shown] for row in rows])


def _marked(value: float, trivial: float) -> str:
    return f"{value:,.0f}" + ("*" if value >= trivial else "")


# --- exponents -------------------------------------------------------------------------------------------------------


def _exponents(measured: Measured) -> Part:
    found = measured.exponents
    header = ("setting", "policy", "of", "at", "measured", "95% interval", "theorem", "the bound's own", "")
    rows = [
        (
            *(e.setting.label, e.policy, e.of, _at(e), f"{e.slope:.2f}", f"{e.low:.2f} – {e.high:.2f}"),
            *(f"{e.theorem:g}", f"{e.bound:.2f}", "far" if e.far else ""),
        )
        for e in found
    ]
    fields = (
        *("lambda", "width", "policy", "of", "at", "slope", "low", "high", "theorem", "bound"),
        *("capped_bound", "far"),
    )
    data = [
        (
            *(e.setting.noise, e.setting.width, e.policy, e.of, e.at, e.slope, e.low, e.high, e.theorem, e.bound),
            *(e.capped, e.far),
        )
        for e in found
    ]
    return Part(
        "Exponents",
        words=(
            "An exponent is the slope of ln R against ln T at fixed P_T, or against ln P_T at fixed T, by least "
            "squares on the grid above. Intervals are bootstrapped over seeds. The theorems state "
            "Õ(γ^{7/8} P_T^{1/4} T^{3/4}). **The bound's own** is the slope of the a-priori bound on the same grid, "
            "with its constants, logarithms and rounding of H.",
            "A bound limits growth from above. An exponent below it is no contradiction. Neither is one above it over "
            "a finite range, if the bound's own exponent is above it too.",
        ),
        points=verdicts.of_exponents(found),
        pictures=[
            Picture(
                "theory-exponents",
                lambda theme: exponents_figure(found, theme),
                "Measured exponents with 95% intervals, beside those of the theorems (dashed).",
                Data("theory-exponents", fields, data),
            )
        ],
        tables=[Table("", header, rows)],
    )


def exponents_figure(found: Sequence[Exponent], theme: Theme = LIGHT) -> Figure:
    """A panel for T and one for P_T, a row for each setting and place, a dot for each policy."""
    panels = []
    for of, reference, label in (("T", 0.75, "3/4"), ("P_T", 0.25, "1/4")):
        rows: dict[str, list[Dot]] = {}
        for e in found:
            if e.of == of:
                dot = Dot(e.slope, e.low, e.high, colour=list(LENGTHS).index(e.policy) + 1)
                rows.setdefault(f"{e.setting.label}, {_at(e)}", []).append(dot)
        if rows:
            panels.append(DotPanel(f"Exponent of {of}", list(rows.items()), reference, label))
    legend = [(name, i + 1) for i, name in enumerate(LENGTHS)]
    longest = max(len(panel.rows) for panel in panels)
    return dots(panels, legend=legend, theme=theme, size=(8.4, 0.9 + 0.27 * longest))


def _at(e: Exponent) -> str:
    return f"P_T = {e.at:g}" if e.of == "T" else f"T = {e.at:g}"


# --- the linear case, and γ ------------------------------------------------------------------------------------------


def _linear(measured: Measured) -> Part:
    s = measured.settings
    header = ("policy", "same choices as", "in", "exponent of", "measured", "95% interval", "theorem")
    rows = [
        (
            *(r.policy, r.twin, f"{r.same:,} of {r.steps:,}", r.of, f"{r.slope:.2f}", f"{r.low:.2f} – {r.high:.2f}"),
            f"{r.theorem:g}",
        )
        for r in measured.linear
    ]
    return Part(
        "The linear special case",
        words=(
            f"Here k(x, y) = xᵀy on {s.linear_points} points with 0.9 ≤ ‖x‖ ≤ 1, f_t(x) = θ_tᵀx with ‖θ_t‖ = 1, λ = 1, "
            "and the widths are those of the lemmas. γ = O(d ln T), so the theorems state "
            "Õ(d^{7/8} P_T^{1/4} T^{3/4}). The linear bandits get the same window length and the same width.",
        ),
        points=verdicts.of_linear(measured.linear),
        tables=[Table("", header, rows)],
        data=[Data.of("theory-linear", measured.linear)],
    )


def _growth(measured: Measured) -> Part:
    curves = measured.growth
    rows = [
        (g.case, int(n), float(g.lower[i]), float(g.upper[i]), name, float(order[i]))
        for g in curves
        for name, order in g.orders
        for i, n in enumerate(g.n)
    ]
    table = [
        (g.case, f"{g.lower[-1]:.1f} – {g.upper[-1]:.1f}", f"{g.slope:.2f}", name, f"{slope:.2f}")
        for g in curves
        for (name, _), slope in zip(g.orders, g.order_slopes, strict=True)
    ]
    n = int(curves[0].n[-1])
    return Part(
        "γ and its orders",
        words=(
            f"γ_n is searched greedily on {curves[0].points:,} points of [0, 1]^d, with length scale 0.2 and λ = 0.01. "
            "The true value on these points lies between the line and the top of the band, which is the certificate of "
            "theory.md. The orders of the "
            f"literature have no constants. Each is scaled to meet γ at the last n = {n:,}. Slopes are those of the "
            "last decade of n.",
        ),
        points=verdicts.of_growth(curves),
        pictures=[
            Picture(
                "theory-gain",
                lambda theme: gain_figure(measured, theme),
                "γ_n (band: certified) and the orders of the literature, scaled to meet it at the end.",
                Data("theory-gain", ("case", "n", "lower", "upper", "order", "order_scaled"), rows),
            )
        ],
        tables=[Table("", ("kernel", f"γ at n = {n:,}", "exponent", "order", "its exponent"), table)],
    )


def gain_figure(measured: Measured, theme: Theme = LIGHT) -> Figure:
    panels = []
    for g in measured.growth:
        curves = [Curve("greedy γ", g.lower, 2, measured=True, upper=g.upper)]
        for name, order in g.orders:
            label, colour = ("order of 2009", 0) if name.startswith("2009") else ("order (newest)", 1)
            curves.append(Curve(label, order, colour))
        panels.append(GrowthPanel(g.case, g.n.astype(float), curves))
    return growth(panels, x="n", y="γ", columns=4, theme=theme, panel_size=(2.0, 2.0))


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(set(values))
    return ordered[(len(ordered) - 1) // 2]
