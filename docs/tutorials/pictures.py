"""The pictures of live-service.md, of the very studies that its code makes: python docs/tutorials/pictures.py"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("live-service.md")
IMAGES = Path(__file__).parents[1] / "images"
BLUE, ORANGE, GREY = "#3465a4", "#e08214", "#888888"


def main() -> None:
    world: dict[str, Any] = {}
    drawn = {"1. Minimise": minimise, "4. Traffic": context, "7. Tomorrow": tomorrow}
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    for section in sections:
        for example in doctest.DocTestParser().get_examples(section):
            exec(example.source, world)
        for title, draw in drawn.items():
            if section.startswith(title):
                draw(world)


def best_workers(traffic: float) -> float:
    """Where 30 (1 + 15 traffic) / workers + 2.5 workers is smallest."""
    return (30 * (1 + 15 * traffic) / 2.5) ** 0.5


def minimise(world: dict[str, Any]) -> None:
    figure, axes = sketch("step", "latency (ms)")
    seen = list(world["study"].observations())
    axes.plot([o.number for o in seen], [o.reward for o in seen], "o-", color=BLUE, markersize=4, linewidth=0.8)
    axes.axhline(70.5, color=ORANGE, linewidth=1, label="the best setting")
    axes.set_yscale("log")
    axes.set_yticks([70, 100, 200, 400], ["70", "100", "200", "400"])
    axes.minorticks_off()
    save(figure, axes, "tutorial-minimise.png")


def context(world: dict[str, Any]) -> None:
    figure, axes = sketch("traffic", "workers")
    study, levels = world["study"], [i / 20 for i in range(21)]
    tried = list(study.observations())
    axes.plot(
        [o.context["traffic"] for o in tried], [o.params["workers"] for o in tried], ".", color=GREY, label="tried"
    )
    chosen = [study.recommend(context={"traffic": level}).params["workers"] for level in levels]
    axes.plot(levels, [best_workers(level) for level in levels], color=ORANGE, linewidth=1, label="the best")
    axes.plot(levels, chosen, color=BLUE, label="recommended")
    save(figure, axes, "tutorial-context.png")


def tomorrow(world: dict[str, Any]) -> None:
    figure, axes = sketch("hour", "workers")
    study, hours = world["study"], range(120, 145)
    tried = [o for o in study.observations() if o.at >= 72]
    axes.plot([o.at for o in tried], [o.params["workers"] for o in tried], ".", color=GREY, label="tried")
    every = range(72, 145)
    axes.plot(every, [best_workers(world["traffic"](h)) for h in every], color=ORANGE, linewidth=1, label="the best")
    axes.plot(hours, [study.recommend(at=h).params["workers"] for h in hours], color=BLUE, label="recommended")
    axes.axvline(119.5, color=GREY, linewidth=0.8, linestyle=":")
    axes.set_xticks(range(72, 145, 12))
    save(figure, axes, "tutorial-tomorrow.png")


def sketch(x: str, y: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Any, axes: Any, name: str) -> None:
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(IMAGES / name, dpi=110)


if __name__ == "__main__":
    main()
