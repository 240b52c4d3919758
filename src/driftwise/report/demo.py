"""The demonstration's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftwise.lab.demo import MEMORY, WIDTH, Scene
from driftwise.lab.statistics import INTERVAL
from driftwise.plots.beliefs import Panel, belief_over_time
from driftwise.plots.regret import regret_curves
from driftwise.plots.style import CSS, LIGHT, Theme, svg
from driftwise.report.page import Html, bullets, figure, page, prose, section, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"deng-abrupt": "Abrupt changes", "deng-slow": "Slow drift"}
HEADER = ("policy", "regret", "95% interval", "per step", "seeds", "µs per step")


def title(scene: Scene) -> str:
    """The name of this environment in the report."""
    return NAMES.get(scene.world, scene.world)


def rows(scene: Scene) -> tuple[list[tuple[str, ...]], list[int]]:
    """The table of one environment, and the row with the least regret."""
    made: list[tuple[str, ...]] = [
        (
            label,
            f"{float(total.mean):.0f}",
            total.written(".0f"),
            f"{float(total.mean) / scene.horizon:.2f}",
            f"{scene.seeds[label]}",
            f"{1e6 * scene.seconds[label]:.0f}",
        )
        for label, total in scene.totals.items()
    ]
    means = [float(total.mean) for total in scene.totals.values()]
    return made, [means.index(min(means))]


def regret_figure(scene: Scene, theme: Theme = LIGHT) -> Figure:
    """R(t) of the policies that are shown in detail."""
    curves = {_short(label): (c.mean, *c.band()) for label, c in scene.curves.items() if label in scene.closeups}
    return regret_curves(curves, changes=scene.changes, theme=theme, size=(6.4, 3.5))


def belief_figure(scene: Scene, theme: Theme = LIGHT) -> Figure:
    """The truth, and what each policy believed of it."""
    panels = [Panel("The truth", scene.truth)]
    panels += [Panel.of(label, seen) for label, seen in scene.closeups.items()]
    return belief_over_time(panels, candidates=scene.candidates, best=scene.best, theme=theme)


def demo_page(scenes: Sequence[Scene], *, version: str) -> str:
    first = scenes[0]
    most, few = max(first.seeds.values()), min(first.seeds.values())
    return page(
        "Keeping up with a moving optimum",
        "GP-UCB finds the best setting of something you can only try. When that something changes, its old "
        "observations mislead it. Restarts, a sliding window, or a model of the change keep it on track.",
        section(
            "In one picture",
            figure(
                svg(belief_figure(first, CSS), label="belief over time with abrupt changes"),
                "Time runs to the right, settings up, and bright is good. The top strip is the true function, which "
                f"changes at {_and(first.changes)}. Each strip below is the posterior mean of a policy at that moment, "
                "with a red dot where it asked and a line where the optimum really was. GP-UCB averages over all the "
                "functions it has seen. R-GP-UCB and SW-GP-UCB forget the old ones. `auto` learns from the rewards "
                "when the function changed, and is given neither kernel nor noise.",
            ),
        ),
        *(_world(scene, with_belief=i > 0) for i, scene in enumerate(scenes)),
        section(
            "How to read this",
            bullets(
                "**Regret** of a step is the best reward there was minus the reward at the setting tried, both without "
                "noise. R(T) is its sum over all T steps: lower is better, and a flat curve has found the optimum.",
                f"**Bands and intervals** are of the mean over {most} seeds, and over {few} for `auto`, which takes "
                f"longer. {INTERVAL} A seed fixes both the environment and the noise, and all policies meet "
                "the same ones.",
                "**R-GP-UCB** forgets everything every H steps; **SW-GP-UCB** keeps the last w observations. "
                f"H = w = {MEMORY} is a plain choice. The one of the paper's **Remark 2** follows from the horizon T "
                "and the true amount of change P_T. It is made for the worst case and forgets sooner than needed here.",
                "**auto** is the default of a study. It is given the settings and the rewards only. The other policies "
                f"know the true kernel and noise variance, and all use the same width, β = {WIDTH:g}.",
                "The strips show the seed whose GP-UCB regret is the median of those that all policies ran.",
            ),
        ),
        section(
            "Try it",
            bullets(
                "`driftwise compare --policy gp-ucb --policy sw-gp-ucb:window=30` compares policies of your choice.",
                "`driftwise study create prices --float price=5:20` starts tuning something of your own.",
                "`driftwise theory` prints what the theorems promise, as numbers.",
            ),
        ),
        footer=f"Made by driftwise {version}: {len(scenes)} environments, T = {first.horizon}. "
        "The environments are those of Deng et al. (2022): 100 settings, functions drawn from an RBF kernel's space.",
    )


def _world(scene: Scene, *, with_belief: bool) -> Html:
    cells, best = rows(scene)
    parts = [
        prose(_finding(scene)),
        table(HEADER, [(row[0].replace(" = ", "\u00a0=\u00a0"), *row[1:]) for row in cells], best=best),
        figure(
            svg(regret_figure(scene, CSS), label=f"cumulative regret, {scene.world}"),
            "Cumulative regret, averaged over the seeds, with 95% bands.",
        ),
    ]
    if with_belief:
        caption = (
            f"Seed {scene.shown} in detail. The function drifts slowly, but its optimum may still jump, when another "
            "maximum becomes the highest."
        )
        parts.append(figure(svg(belief_figure(scene, CSS), label=f"belief over time, {scene.world}"), caption))
    return section(title(scene), *parts)


def _finding(scene: Scene) -> str:
    """What happened, in the numbers of this very run."""
    plain, *others = scene.totals
    label = min(others, key=lambda other: float(scene.totals[other].mean))
    best, beside = float(scene.totals[label].mean), float(scene.beside[label].mean)
    pairs = [(scene.totals[other], scene.beside[other]) for other in others]
    apart = all(not total.overlaps(theirs) and total.mean < theirs.mean for total, theirs in pairs)
    verdict = (
        "All the others do better than it, with intervals that do not overlap."
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
        f"On the same {scene.seeds[label]} seeds the regret of **{plain}** is {beside:.0f} and that of **{label}** "
        f"{best:.0f}: {beside / max(best, 1e-12):.1f} times less. {verdict}"
    )


def _short(label: str) -> str:
    return label.split(",")[0]


def _and(steps: Sequence[int]) -> str:
    return "t = " + " and ".join(map(str, steps)) if steps else "no step"
