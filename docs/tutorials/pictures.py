"""The pictures of live-service.md, in light and dark, of the very studies that its code makes: `make pictures`."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

from driftwise.plots.style import LIGHT, Theme, papers, png, single

PAGE = Path(__file__).with_name("live-service.md")
IMAGES = Path(__file__).parents[1] / "images"


def main() -> None:
    world: dict[str, Any] = {}
    drawn = {"1. Minimise": minimise, "4. Traffic": context, "7. Tomorrow": tomorrow}
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    for section in sections:
        for example in doctest.DocTestParser().get_examples(section):
            exec(example.source, world)
        for title, draw in drawn.items():
            if section.startswith(title):
                for theme in papers(dark=True).values():
                    draw(world, theme)


def best_workers(traffic: float) -> float:
    """Where 30 (1 + 15 traffic) / workers + 2.5 workers is smallest."""
    return (30 * (1 + 15 * traffic) / 2.5) ** 0.5


def minimise(world: dict[str, Any], theme: Theme) -> None:
    figure, axes = sketch(theme, "step", "latency (ms)")
    seen = list(world["study"].observations())
    axes.plot(
        [o.number for o in seen], [o.reward for o in seen], "o-", color=theme.colour(1), markersize=4, linewidth=0.8
    )
    axes.axhline(70.5, color=theme.colour(0), linewidth=1, label="the best setting")
    axes.set_yscale("log")
    axes.set_yticks([70, 100, 200, 400], ["70", "100", "200", "400"])
    axes.minorticks_off()
    save(figure, axes, theme, "tutorial-minimise.png")


def context(world: dict[str, Any], theme: Theme) -> None:
    figure, axes = sketch(theme, "traffic", "workers")
    study, levels = world["study"], [i / 20 for i in range(21)]
    tried = list(study.observations())
    axes.plot(
        [o.context["traffic"] for o in tried],
        [o.params["workers"] for o in tried],
        ".",
        color=theme.muted,
        label="tried",
    )
    chosen = [study.recommend(context={"traffic": level}).params["workers"] for level in levels]
    axes.plot(levels, [best_workers(level) for level in levels], color=theme.colour(0), linewidth=1, label="the best")
    axes.plot(levels, chosen, color=theme.colour(1), label="recommended")
    save(figure, axes, theme, "tutorial-context.png")


def tomorrow(world: dict[str, Any], theme: Theme) -> None:
    figure, axes = sketch(theme, "hour", "workers")
    study, hours = world["study"], range(120, 145)
    tried = [o for o in study.observations() if o.at >= 72]
    axes.plot([o.at for o in tried], [o.params["workers"] for o in tried], ".", color=theme.muted, label="tried")
    every = range(72, 145)
    axes.plot(
        every, [best_workers(world["traffic"](h)) for h in every], color=theme.colour(0), linewidth=1, label="the best"
    )
    axes.plot(
        hours, [study.recommend(at=h).params["workers"] for h in hours], color=theme.colour(1), label="recommended"
    )
    axes.axvline(119.5, color=theme.muted, linewidth=0.8, linestyle=":")
    axes.set_xticks(range(72, 145, 12))
    save(figure, axes, theme, "tutorial-tomorrow.png")


def sketch(theme: Theme, x: str, y: str) -> Any:
    return single((6.4, 2.6), theme, x=x, y=y)


def save(figure: Any, axes: Any, theme: Theme, name: str) -> None:
    axes.legend(frameon=False, fontsize=8, labelcolor=theme.ink)
    file = IMAGES / (name if theme is LIGHT else name.replace(".png", "-dark.png"))
    file.write_bytes(png(figure, dpi=110))


if __name__ == "__main__":
    main()
