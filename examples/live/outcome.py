"""What came of it, from Prometheus alone: the cost over time, beside the defaults and the best fixed setting."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean
from typing import Any

from plan import PHASES, Span, cost, latency, phases
from stack import Stack

SETTLED = 1.3  # seconds after which a fixed setting is measured
STEP = 0.25  # seconds between two points
MEAN = 10.0  # seconds of a moving mean
AHEAD = 2.0  # seconds after a change of the load that still look back at the old one
WANTED = 1.1  # times the best fixed setting

Points = list[tuple[float, float]]  # time and value


def series(stack: Stack, query: str, began: float, seconds: float) -> Points:
    found = stack.query(query, start=began, end=began + seconds, step=STEP)
    points = [(float(t) - began, float(value)) for t, value in found[0]["values"]] if found else []
    return [(t, value) for t, value in points if math.isfinite(value)]


def mean(points: Points, start: float, end: float) -> float | None:
    inside = [value for t, value in points if start <= t <= end]
    return fmean(inside) if inside else None


def best_fixed(fixed: Points, controls: list[Span]) -> dict[str, dict[str, Any]]:
    """The best of the fixed settings for each kind of load."""
    measured = [(mean(fixed, span.start + SETTLED, span.end), span) for span in controls]
    found: dict[str, dict[str, Any]] = {}
    for value, span in measured:
        if value is not None and value < found.get(span.kind, {"cost": math.inf})["cost"]:
            found[span.kind] = {"cost": value, "knobs": span.knobs}
    return found


def back_after(tuned: Points, start: float, end: float, limit: float) -> float | None:
    """The seconds after `start` from which a mean over the next ten is below a limit for the first time."""
    starts = [t for t, _ in tuned if start <= t <= end - MEAN]
    return next((t - start for t in starts if (mean(tuned, t, t + MEAN) or math.inf) <= limit), None)


def summary(stack: Stack, played: dict[str, Any], controls: list[Span]) -> dict[str, Any]:
    began, seconds = played["began"], played["seconds"]
    lines = {lane: series(stack, cost(lane), began, seconds) for lane in ("tuned", "defaults", "fixed")}
    waits = {lane: series(stack, latency(lane), began, seconds) for lane in ("tuned", "defaults")}
    knobs = {name: series(stack, f'live_{name}{{lane="tuned"}}', began, seconds) for name in ("level", "slots")}
    best = best_fixed(lines["fixed"], controls)
    rows = [
        {"what": span.kind, "kind": span.kind, "start": span.start + AHEAD, "end": span.end} for span in phases(seconds)
    ]
    shift = phases(seconds)[-1].start
    last = (played["hold"] - shift) / 3
    rows[-1]["end"] = played["hold"]
    rows.append({"what": "new, last third", "kind": "new", "start": played["hold"] - last, "end": played["hold"]})
    rows.append({"what": "new, recommended", "kind": "new", "start": played["hold"] + AHEAD, "end": seconds})
    for row in rows:
        for lane in ("tuned", "defaults"):
            row[lane] = mean(lines[lane], row["start"], row["end"])
            row[f"{lane}_ms"] = mean(waits[lane], row["start"], row["end"])
        row["best"] = best.get(row["kind"])
    limit = WANTED * best["new"]["cost"] if "new" in best else math.inf
    back = back_after(lines["tuned"], shift, played["hold"], limit)
    return {**played, "lines": lines, "knobs": knobs, "rows": rows, "best": best, "shift": shift, "back_after": back}


def excess(row: dict[str, Any]) -> str:
    """How much more than the best fixed setting the tuned server costs."""
    if row["tuned"] is None or row["best"] is None:
        return "an unknown part of"
    ratio = row["tuned"] / row["best"]["cost"] - 1
    return f"{abs(ratio):.0%} {'more' if ratio >= 0 else 'less'} than"


def table(found: dict[str, Any]) -> str:
    """The report in words."""

    def shown(value: float | None) -> str:
        return "     -" if value is None else f"{value:6.2f}"

    def row(one: dict[str, Any]) -> str:
        best = one["best"] or {"cost": None, "knobs": {"level": "-", "slots": "-"}}
        knobs = f"level {best['knobs']['level']}, slots {best['knobs']['slots']}"
        ratio = one["tuned"] / best["cost"] if one["tuned"] and best["cost"] else None
        figures = (one["tuned"], one["defaults"], best["cost"], ratio, one["tuned_ms"], one["defaults_ms"])
        return f"{one['what']:17}" + "".join(f"{shown(value):>12}" for value in figures) + f"   {knobs}"

    told = found["told"]
    failed = sum(one["failed"] for one in told)
    titles = ("tuned", "defaults", "best fixed", "tuned/best", "tuned ms", "defaults ms")
    head = f"{'load':17}" + "".join(f"{title:>12}" for title in titles) + "   best fixed setting"
    back = found["back_after"]
    again = "never" if back is None else f"{back:.0f} s after the shift for the first time"
    more = excess(found["rows"][-1])
    return "\n".join(
        [
            "",
            "The cost of an answer, in milliseconds of a processor, and the milliseconds that clients waited:",
            head,
            *map(row, found["rows"]),
            "",
            f"For the new load {found['recommended']} is recommended. It costs {more} the best fixed setting;",
            f"wanted is at most {WANTED - 1:.0%} more.",
            f"With the cost of the search, a mean over {MEAN:.0f} s is that low: {again}.",
            f"The study was told {len(told) - failed} rewards and {failed} failures.",
        ]
    )


def picture(found: dict[str, Any], path: Path) -> None:
    """The cost over time, and the knobs below."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tuned, blue, red, green = found["lines"]["tuned"], "#1f6fb4", "#b4471f", "#2f8f4e"
    figure, (top, low) = plt.subplots(2, 1, figsize=(8, 5.2), sharex=True, height_ratios=(2.2, 1), layout="constrained")
    top.plot(*zip(*tuned, strict=True), color=blue, alpha=0.3, lw=0.8)
    for name, line, color in (("tuned", tuned, blue), ("defaults", found["lines"]["defaults"], red)):
        smooth = [(t, mean(line, t - MEAN / 4, t + MEAN / 4)) for t, _ in line]
        top.plot(*zip(*smooth, strict=True), color=color, lw=1.8, label=f"{name} (mean over {MEAN / 2:.0f} s)")
    for number, span in enumerate(phases(found["seconds"])):
        if span.kind in found["best"]:
            value = found["best"][span.kind]["cost"]
            top.hlines(value, span.start, span.end, color=green, lw=2, ls="--", label=None if number else "best fixed")
        for axes in (top, low):
            axes.axvspan(span.start, span.end, color={"night": "0.85", "new": "#fff3d6"}.get(span.kind, "white"), lw=0)
        top.text(span.start + 1, 0.97, span.kind, transform=top.get_xaxis_transform(), va="top")
    top.axvline(found["hold"], color="0.5", lw=0.8, ls=":")
    top.text(found["hold"], 0.97, " held", transform=top.get_xaxis_transform(), va="top")
    top.set(yscale="log", ylabel="cost of an answer (ms)")
    top.yaxis.set_major_formatter("{x:g}")
    top.yaxis.set_minor_formatter("{x:g}")
    top.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.15), frameon=False)
    low.step(*zip(*found["knobs"]["slots"], strict=True), color=blue, where="post")
    low.set(yscale="log", ylabel="slots", xlabel=f"seconds ({', '.join(kind for kind, _ in PHASES)})")
    level = low.twinx()
    level.step(*zip(*found["knobs"]["level"], strict=True), color=red, where="post", alpha=0.7)
    level.set_ylabel("level", color=red)
    low.yaxis.label.set_color(blue)
    figure.savefig(path, dpi=80)
    plt.close(figure)
