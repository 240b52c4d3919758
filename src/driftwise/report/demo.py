"""The demonstration's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftwise.lab.demo import MEMORY, WIDTH, Scene
from driftwise.lab.statistics import Interval
from driftwise.plots.beliefs import Panel, belief_over_time
from driftwise.plots.regret import regret_curves
from driftwise.plots.style import CSS, LIGHT, Theme, svg
from driftwise.report.page import Html, bullets, figure, page, prose, section, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"deng-abrupt": "A world that jumps", "deng-slow": "A world that slides"}
HEADER = ("policy", "regret", "95% interval", "a step", "µs a step")


def title(scene: Scene) -> str:
    """What this world is called in the report."""
    return NAMES.get(scene.world, scene.world)


def rows(scene: Scene) -> tuple[list[tuple[str, ...]], list[int]]:
    """The table of one world, and which row has the least regret."""
    made: list[tuple[str, ...]] = [
        (
            label,
            f"{float(total.mean):.0f}",
            between(total),
            f"{float(total.mean) / scene.horizon:.2f}",
            f"{1e6 * scene.seconds[label]:.0f}",
        )
        for label, total in scene.totals.items()
    ]
    means = [float(total.mean) for total in scene.totals.values()]
    return made, [means.index(min(means))]


def between(interval: Interval) -> str:
    """An interval in a cell; of a single run there is none."""
    low, high = float(interval.low), float(interval.high)
    return f"{max(low, 0):.0f} – {high:.0f}" if high < float("inf") else "–"


def regret_figure(scene: Scene, theme: Theme = LIGHT) -> Figure:
    """R(t) of the three policies that are looked at closely."""
    curves = {
        _short(label): (c.mean, *((c.low, c.high) if scene.seeds > 1 else (c.mean, c.mean)))
        for label, c in scene.curves.items()
        if label in scene.inside
    }
    return regret_curves(curves, changes=scene.changes, theme=theme, size=(6.4, 3.5))


def belief_figure(scene: Scene, theme: Theme = LIGHT) -> Figure:
    """The truth, and what each policy believed of it."""
    panels = [Panel("The truth", scene.truth)]
    panels += [
        Panel(label, seen.trace.belief, asked=seen.trace.asked[:, 0], restarts=seen.restarts, window=seen.window)
        for label, seen in scene.inside.items()
    ]
    return belief_over_time(panels, candidates=scene.candidates, best=scene.best, theme=theme)


def demo_page(scenes: Sequence[Scene], *, version: str) -> str:
    """The whole report."""
    first = scenes[0]
    return page(
        "Keeping up with a moving optimum",
        "GP-UCB finds the best setting of something you can only try. When that something changes, what it learned "
        "turns against it. Two small changes, to forget at intervals or to forget beyond a window, keep it on track.",
        section(
            "In one picture",
            figure(
                svg(belief_figure(first, CSS), label="belief over time in a world that jumps"),
                "Time runs to the right, settings up; bright is good. The top strip is the truth, which jumps at "
                f"{_and(first.changes)}. Each strip below is what a policy **believed** at that moment, with a red dot "
                "where it asked and a line where the optimum really was. GP-UCB mixes all the worlds it has seen into "
                "one; the others let go.",
            ),
        ),
        *(_world(scene, with_belief=i > 0) for i, scene in enumerate(scenes)),
        section(
            "How to read this",
            bullets(
                "**Regret** of a step is the best reward there was less the reward at the setting tried, both without "
                "noise. R(T) is its sum over all T steps: lower is better, and a flat curve has found the optimum.",
                f"**Bands and intervals** are 95% Student intervals of the mean over {first.seeds} seeds. A seed fixes "
                "both the world and the noise, and all policies meet the same ones.",
                "**R-GP-UCB** forgets everything every H steps; **SW-GP-UCB** keeps the last w observations. "
                f"H = w = {MEMORY} is a plain choice. The one of the paper's **Remark 2** follows from the horizon T "
                "and the true amount of change P_T. It is made for the worst case: it forgets sooner than needed here.",
                f"All policies know the true kernel and noise variance, and use one width, β = {WIDTH:g}.",
                "The strips show the seed whose GP-UCB regret is the median: neither a lucky nor an unlucky one.",
            ),
        ),
        section(
            "Try it",
            bullets(
                "`driftwise compare --policy gp-ucb --policy sw-gp-ucb:window=30` compares what you like.",
                "`driftwise study create prices --float price=5:20` starts tuning something of your own.",
                "`driftwise theory` says what the theorems promise, as numbers.",
            ),
        ),
        footer=f"Made by driftwise {version}: {len(scenes)} worlds, {first.seeds} seeds, T = {first.horizon}. "
        "The worlds are those of Deng et al. (2022): 100 settings, functions drawn from an RBF kernel's space.",
    )


def _world(scene: Scene, *, with_belief: bool) -> Html:
    cells, best = rows(scene)
    parts = [
        prose(_finding(scene)),
        table(HEADER, [(row[0].replace(" = ", "\u00a0=\u00a0"), *row[1:]) for row in cells], best=best),
        figure(
            svg(regret_figure(scene, CSS), label=f"cumulative regret, {scene.world}"),
            f"What each policy has lost so far, on average over {scene.seeds} seeds, with 95% bands.",
        ),
    ]
    if with_belief:
        caption = (
            f"Seed {scene.shown}, from inside. The function slides, and no jump gives the change away; its optimum "
            "may leap all the same, when another hill becomes the highest."
        )
        parts.append(figure(svg(belief_figure(scene, CSS), label=f"belief over time, {scene.world}"), caption))
    return section(title(scene), *parts)


def _finding(scene: Scene) -> str:
    """What happened, in the numbers of this very run."""
    plain, *others = scene.totals.items()
    label, best = min(others, key=lambda item: float(item[1].mean))
    ratio = float(plain[1].mean) / max(float(best.mean), 1e-12)
    apart = scene.seeds > 1 and all(not total.overlaps(plain[1]) and total.mean < plain[1].mean for _, total in others)
    verdict = (
        "All four that forget do better than it, with intervals that do not touch."
        if apart
        else "Not all of the others are clearly better than it in this run."
    )
    change = (
        f"The function is replaced after {_and(scene.changes)}"
        if scene.changes
        else "The function changes a little at every step"
    )
    return (
        f"{change} (`{scene.world}`, T = {scene.horizon}, P_T = {scene.variation:.1f}). "
        f"**{plain[0]}** loses {float(plain[1].mean):.0f}, **{label}** {float(best.mean):.0f}: "
        f"{ratio:.1f} times less. {verdict}"
    )


def _short(label: str) -> str:
    return label.split(",")[0]


def _and(steps: Sequence[int]) -> str:
    return "t = " + " and ".join(map(str, steps)) if steps else "no step"
