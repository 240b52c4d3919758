"""The pictures of docs/drift-in-five-pictures.md, docs/auto.md and one of docs/gallery.md, in light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import FancyBboxPatch

import driftwise as dw
from driftwise.auto.policy import MATERN, ROUGH, SMOOTH
from driftwise.cli.study_pictures import moved
from driftwise.environments import Gaussian
from driftwise.lab import regrets
from driftwise.plots.style import Theme, blank, dress, papers, png, single
from driftwise.records import Ask, Observation

IMAGES = Path(__file__).parents[1] / "images"
T, JUMP, SEEDS = 200, 120, 5
WINDOWS = (5, 10, 20, 40, 80, 160)
STEPS = np.arange(1, T + 1)
LINE = dw.Candidates(np.linspace(0, 1, 101))
NOISE = Gaussian(0.1)
GIVEN = {"kernel": dw.RBF(0.2), "noise": 0.01}
UNIT = {"x": dw.Float(0, 1)}
ACROSS = np.linspace(0, 1, 301)
EDGE, READ = 0.7, 24  # where a cost falls off a cliff, and how often it is read
HAPPENS, ENDS = 40, 50  # the number of a strange reading, and of the last


@dataclass(frozen=True)
class Shop:
    """f_t(x) = exp(−((x − x*_t)/0.15)²): the best price climbs slowly, and falls at one step."""

    seed: int = 0

    def seeded(self, seed: int) -> Shop:
        return replace(self, seed=seed)

    def value(self, t: int, X: Any) -> Any:
        return np.exp(-(((X[:, 0] - optimum(t)) / 0.15) ** 2))

    def observe(self, t: int, x: Any) -> float:
        return float(self.value(t, x[None])[0]) + NOISE.draw(self.seed, t)

    def best(self, t: int) -> float:
        return float(self.value(t, LINE.points).max())


def optimum(t: int) -> float:
    return 0.5 + 0.35 * t / JUMP if t <= JUMP else 0.25 + 0.05 * math.sin(t / 8)


@cache
def played(name: str, seed: int = 0, **options: Any) -> list[Any]:
    return list(dw.run(dw.policy(name, LINE, **options), Shop(), T, seed=seed))


def window(w: int, seed: int = 0) -> list[Any]:
    return played("sw-gp-ucb", seed, window=w, **GIVEN)


def total(steps: list[Any]) -> float:
    return float(regrets(steps).sum())


def strip(theme: Theme, steps: list[Any] | None, title: str) -> Any:
    """The world over time, bright where it is good, and where a policy asked."""
    figure, axes = single((7.2, 2.6), theme, title=title, x="day", y="price")
    world = np.array([Shop().value(int(t), LINE.points) for t in STEPS]).T
    axes.imshow(world, origin="lower", aspect="auto", extent=(0.5, T + 0.5, 0, 1), cmap="viridis")
    axes.plot(STEPS, [optimum(int(t)) for t in STEPS], color="white", linewidth=1)
    if steps is not None:
        axes.plot(STEPS, [step.seen.x[0] for step in steps], ".", color="#ff6b52", markersize=4)
    return figure


def windows(theme: Theme) -> Any:
    """Regret against the length of the window, with the policies without one beside it."""
    figure, axes = single((7.2, 2.8), theme, x="length of the window, days", y="regret", grid="y")
    lost = np.array([[total(window(w, seed)) for seed in range(SEEDS)] for w in WINDOWS])
    axes.fill_between(WINDOWS, lost.min(axis=1), lost.max(axis=1), color=theme.colour(1), alpha=0.2, linewidth=0)
    axes.plot(WINDOWS, lost.mean(axis=1), "o-", color=theme.colour(1), label="SW-GP-UCB")
    for i, (name, steps) in enumerate({"GP-UCB": still, "auto": adaptive}.items()):
        mean = np.mean([total(steps(seed)) for seed in range(SEEDS)])
        axes.axhline(mean, color=theme.colour((0, 2)[i]), linestyle="--", linewidth=1.2, label=name)
    axes.set_xscale("log")
    axes.set_xticks(WINDOWS, [str(w) for w in WINDOWS])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="center", bbox_to_anchor=(0.45, 0.68))
    return figure


def curves(theme: Theme) -> Any:
    """The regret so far of three policies, mean and range over the seeds."""
    figure, axes = single((7.2, 2.8), theme, x="day", y="regret so far", grid="y")
    kinds = {"GP-UCB": still, "SW-GP-UCB, 40 days": lambda seed: window(40, seed), "auto": adaptive}
    for i, (name, steps) in enumerate(kinds.items()):
        lost = np.array([np.cumsum(regrets(steps(seed))) for seed in range(SEEDS)])
        axes.fill_between(STEPS, lost.min(axis=0), lost.max(axis=0), color=theme.colour(i), alpha=0.2, linewidth=0)
        axes.plot(STEPS, lost.mean(axis=0), color=theme.colour(i), label=name)
    axes.axvline(JUMP, color=theme.muted, linewidth=0.8, linestyle=":")
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9)
    return figure


def still(seed: int = 0) -> list[Any]:
    return played("gp-ucb", seed, **GIVEN)


def adaptive(seed: int = 0) -> list[Any]:
    return played("auto", seed)


@cache
def watched() -> dw.Study:
    """`auto` in deng-abrupt."""
    world = dw.environment("deng-abrupt", seed=0)
    study = dw.Study("deng-abrupt", world.space, seed=0)
    for t in range(1, 301):
        asked = study.ask()
        study.tell(asked, world.observe(t, np.array(asked.x)))
    return study


@cache
def noticed() -> tuple[list[Any], list[Any]]:
    return watched().drift_history(60), watched().changes(since=0)


# --- how auto works ---------------------------------------------------------------------------------------------------


def cost(x: Any) -> Any:
    """11 to 15, and 20 times that beyond the edge."""
    smooth = 13 + 2 * np.sin(7 * x + 2.2) + 4 * (x - 0.4) ** 2
    return np.where(x > EDGE, 20 * smooth, smooth)


@cache
def fallen() -> tuple[dw.Study, dw.Study]:
    """`auto`, and one Gaussian process that is told the same readings."""
    study = dw.Study("cliff", UNIT, direction="minimize", seed=0)
    other = dw.Study("cliff", UNIT, policy="gp-ucb", direction="minimize", seed=0)
    for t in range(1, READ + 1):
        asked = study.ask()
        read = float(cost(asked.params["x"])) * (1 + 0.3 * NOISE.draw(0, t))
        study.tell(asked, read)
        other.observe(asked.params, read)
    return study, other


def intervals() -> dict[str, tuple[Any, Any]]:
    """The ends of the 95% intervals of both."""
    study, other = fallen()
    belief: Any = study.belief()
    location, scale = belief.units
    low, high = belief.interval(ACROSS[:, None], 0.95)  # of minus the cost
    mean, std = other.predict_many([{"x": float(x)} for x in ACROSS])
    return {
        "One Gaussian process": (mean - 1.96 * std, mean + 1.96 * std),
        "auto": (-location - scale * high, -location - scale * low),
    }


def cliff(theme: Theme) -> Any:
    """Two beliefs about one cost, all of it and below the edge."""
    figure, seen = blank(7.2, 4.6, theme), list(fallen()[0].observations())
    rows = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=(3, 2))
    for j, (name, (low, high)) in enumerate(intervals().items()):
        for i, axes in enumerate(rows[:, j]):
            dress(
                axes, theme, title=name * (not i), x="setting" * i, y=("cost", "cost, enlarged")[i] * (not j), grid="y"
            )
            colour = theme.colour(1 if j else 0)
            axes.fill_between(ACROSS, low, high, color=colour, alpha=0.28, linewidth=0, label="95% interval")
            for part in (ACROSS <= EDGE, ACROSS > EDGE):
                axes.plot(ACROSS[part], cost(ACROSS[part]), color=theme.ink, linewidth=1.3)
            axes.plot([o.params["x"] for o in seen], [o.reward for o in seen], ".", color=theme.ink, markersize=5)
            axes.set_ylim(*((-130, 430), (0, 32))[i])
            axes.set_xlim(0, 1)
    keys: dict[str, Any] = {"the truth": {"linewidth": 1.3}, f"{READ} readings": {"marker": ".", "linewidth": 0}}
    for label, looks in keys.items():
        rows[0, 1].plot([], [], color=theme.ink, label=label, **looks)
    rows[0, 1].legend(frameon=False, labelcolor=theme.ink, fontsize=8.5, loc="upper left")
    return figure


@dataclass(frozen=True)
class Sudden:
    """A function that is another one at reading HAPPENS: from then on, or for this reading only."""

    stays: bool

    def observe(self, n: int, x: float) -> float:
        new = n == HAPPENS or (self.stays and n > HAPPENS)
        return (1.2 - 4 * (x - 0.2) ** 2 if new else 2 - 4 * (x - 0.6) ** 2) + NOISE.draw(0, n)


@cache
def told(stays: bool) -> tuple[list[float], list[Any]]:
    """The readings, and the rows of `auto` after each."""
    policy, world, readings, rows = dw.policy("auto", UNIT), Sudden(stays), list[float](), list[Any]()
    state = policy.start()
    for n in range(1, ENDS + 1):
        [x] = policy.choose(state, Ask(n, float(n)))
        readings.append(world.observe(n, float(x)))
        state = policy.update(state, Observation(n, float(n), (float(x),), readings[-1]))
        rows.append(state.followed)
    return readings, rows


def explained(followed: Any) -> tuple[float, float]:
    """The weight of an error at HAPPENS, and of a new function or another level since then."""
    weights, sheaf, place = followed.weights.sum(axis=1), followed.sheaf, followed.window.data.place(HAPPENS)
    if place == len(followed.window):
        return 0.0, 0.0
    wrong = sheaf.labels[:, place] & (sheaf.judged.share[:, place] < 0.5)
    return float(weights @ wrong), float(weights @ [row.date == HAPPENS for row in sheaf.rows])


def sudden(theme: Theme) -> Any:
    """The same strange reading, once wrong and once true."""
    figure, numbers = blank(7.2, 3.9, theme), np.arange(1, ENDS + 1)
    panels = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=(1, 1))
    for j, (stays, name) in enumerate({False: "One wrong reading", True: "A new function"}.items()):
        readings, rows = told(stays)
        above, below = panels[:, j]
        dress(above, theme, title=name, y="reward" * (not j), grid="y")
        above.plot(numbers, readings, ".-", color=theme.muted, linewidth=0.8, markersize=5)
        above.plot(HAPPENS, readings[HAPPENS - 1], "o", color=theme.colour(0), markersize=6)
        dress(below, theme, x="reading", y="weight" * (not j), grid="y")
        wrong, new = np.array([explained(each) for each in rows]).T
        below.plot(numbers, wrong, "o-", color=theme.colour(0), markersize=3.5, label=f"an error at {HAPPENS}")
        below.plot(numbers, new, "s-", color=theme.colour(1), markersize=3.5, label=f"a change at {HAPPENS}")
        above.set_xlim(HAPPENS - 14, ENDS + 0.5)
        below.set_ylim(-0.05, 1.08)
    panels[1, 0].legend(frameon=False, labelcolor=theme.ink, fontsize=8.5, loc="center left")
    return figure


def explanations(followed: Any) -> list[tuple[str, str, str, float]]:
    """Kernel, time, what happened, and weight of the heaviest rows; those that differ in noise alone are one."""
    sheaf, numbers, found = followed.sheaf, followed.window.data.numbers, dict[tuple[str, str, str], float]()
    kernels = [f"Matérn-5/2, {s}" for s in MATERN] + [f"RBF, {s}" for s in SMOOTH] + [f"Matérn-1/2, {s}" for s in ROUGH]
    wrong = sheaf.labels & (sheaf.judged.share < 0.5)
    for row, its, weight in zip(sheaf.rows, wrong, followed.weights.sum(axis=1), strict=True):
        errors = f"{', '.join(map(str, numbers[its]))} are errors" if its.any() else "nothing"
        happened = f"new function at {row.since}" if row.since else f"new level at {row.shift}" if row.shift else errors
        moves = getattr(row.time, "epsilon", None)
        time = "smooth" if moves is None else f"forgets {100 * moves:g}%" if moves else "still"
        key = kernels[row.kernel], time, happened
        found[key] = found.get(key, 0.0) + float(weight)
    heaviest = sorted(found.items(), key=lambda each: -each[1])
    return [(*key, weight) for key, weight in heaviest]


def flow(theme: Theme) -> Any:
    """From a reading to a choice, with a true table between: that of `told(True)` after its second strange reading."""
    figure, table = blank(7.6, 3.3, theme), explanations(told(True)[1][HAPPENS])
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 76), ylim=(0, 33))
    axes.set_axis_off()
    box(axes, theme, (1, 10.5, 11.5, 9), "a reading", "setting,\nreward,\ntime")
    box(axes, theme, (16, 26.5, 41, 5.5), "proposals", "by a search, every 16 readings; after a surprise, a change")
    box(axes, theme, (16, 4.5, 41, 19), "the table")
    box(axes, theme, (60.5, 15.5, 14.5, 8), "what it says", "intervals, drift,\nchanges, cycles,\nerrors")
    box(axes, theme, (60.5, 4.5, 14.5, 8), "its choice", "the setting of\nmost value, by\nall rows")
    columns = 17, 27.5, 36, 49.5
    for x, head in zip(columns, ("kernel", "time", "what happened", "weight"), strict=True):
        axes.text(x, 19, head, fontsize=7.5, color=theme.muted)
    for i, (*words, weight) in enumerate(table[:5]):
        y = 17 - 2.1 * i
        for x, word in zip(columns, words, strict=False):
            axes.text(x, y - 0.4, word, fontsize=8, color=theme.ink)
        axes.barh(y, max(6.5 * weight, 0.1), left=columns[-1], height=1.3, color=theme.colour(1))
    axes.text(17, 6.2, f"… and {len(table) - 5} more", fontsize=8, color=theme.muted, va="center")
    for path in (
        [(12.5, 15), (16, 15)],
        [(36.5, 26.5), (36.5, 23.5)],
        [(57, 19.5), (60.5, 19.5)],
        [(57, 8.5), (60.5, 8.5)],
        [(67.75, 4.5), (67.75, 2), (6.75, 2), (6.75, 10.5)],
    ):
        *_, before, end = path
        axes.plot(*zip(*path, strict=True), color=theme.muted, linewidth=1)
        looks = {"arrowstyle": "-|>", "color": theme.muted, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, before, arrowprops=looks)
    return figure


def box(axes: Any, theme: Theme, place: tuple[float, float, float, float], title: str, text: str = "") -> None:
    x, y, width, height = place
    looks: dict[str, Any] = {"facecolor": "none", "edgecolor": theme.muted, "linewidth": 0.9}
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.8", **looks))
    axes.text(x + 1, y + height - 1.6, title, fontsize=9, fontweight="bold", color=theme.ink, va="center")
    axes.text(x + 1, y + height - 2.8, text, fontsize=8, color=theme.ink, va="top")


def pictures(theme: Theme) -> Iterator[tuple[str, Any]]:
    yield "drift-1-world", strip(theme, None, "What every price would earn, day by day")
    yield "drift-2-still", strip(theme, still(), "GP-UCB: everything counts for ever")
    yield "drift-3-window", windows(theme)
    yield "drift-4-auto", strip(theme, adaptive(), "auto: how fast it forgets is learned")
    yield "drift-5-regret", curves(theme)
    yield "auto-drift", moved(*noticed(), "deng-abrupt", theme)
    yield "auto-table", flow(theme)
    yield "auto-cliff", cliff(theme)
    yield "auto-sudden", sudden(theme)


def main() -> None:
    for ending, theme in papers(dark=True).items():
        for name, figure in pictures(theme):
            (IMAGES / f"{name}{ending}.png").write_bytes(png(figure, dpi=120))
    print({w: round(float(np.mean([total(window(w, s)) for s in range(SEEDS)]))) for w in WINDOWS})
    print({f.__name__: round(float(np.mean([total(f(s)) for s in range(SEEDS)]))) for f in (still, adaptive)})


if __name__ == "__main__":
    main()
