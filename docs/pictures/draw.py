"""The pictures of docs/drift-in-five-pictures.md and one of docs/auto.md, in light and dark: docs/pictures/draw.py"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import driftwise as dw
from driftwise.cli.study_pictures import moved
from driftwise.environments import Gaussian
from driftwise.lab import regrets
from driftwise.plots.style import Theme, papers, png, single

IMAGES = Path(__file__).parents[1] / "images"
T, JUMP, SEEDS = 200, 120, 5
WINDOWS = (5, 10, 20, 40, 80, 160)
STEPS = np.arange(1, T + 1)
LINE = dw.Candidates(np.linspace(0, 1, 101))
NOISE = Gaussian(0.1)
GIVEN = {"kernel": dw.RBF(0.2), "noise": 0.01}


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


def pictures(theme: Theme) -> Iterator[tuple[str, Any]]:
    yield "drift-1-world", strip(theme, None, "What every price would earn, day by day")
    yield "drift-2-still", strip(theme, still(), "GP-UCB: everything counts for ever")
    yield "drift-3-window", windows(theme)
    yield "drift-4-auto", strip(theme, adaptive(), "auto: how fast it forgets is learned")
    yield "drift-5-regret", curves(theme)
    yield "auto-drift", moved(*noticed(), "deng-abrupt", theme)


def main() -> None:
    for ending, theme in papers(dark=True).items():
        for name, figure in pictures(theme):
            (IMAGES / f"{name}{ending}.png").write_bytes(png(figure, dpi=120))
    print({w: round(float(np.mean([total(window(w, s)) for s in range(SEEDS)]))) for w in WINDOWS})
    print({f.__name__: round(float(np.mean([total(f(s)) for s in range(SEEDS)]))) for f in (still, adaptive)})


if __name__ == "__main__":
    main()
