"""The table of `benchmarks.honest`: what each policy pays on each world beside a base, and whether it told the truth.

| column | is |
|---|---|
| ratio | the geometric mean of the ratios of regret to the base's on the same seeds, with Student's 95% interval |
| regret, late | mean and median per step; late: mean of the second half |
| random | the mean regret as a share of random's, if its runs are in one of the files |
| holds, > 4, worst | share of 95% intervals that hold the function; of statements off by more than 4 sd; the furthest |
| false, delays | announced changes that are none; readings after each real one until it was announced, – never |
| stuck | share of runs whose late regret is above 5 times the median of their world in the base |
| ms, p99 | of a step: median over runs of the median; of the 99th percentile, and that in medians |
| loss, alarms, bad | after one wrong reading: 20 steps' loss beside the base's; runs with an alarm, or bad advice |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t as student

Line = dict[str, Any]
STUCK = 5.0  # times the median of its world
HEADS = (
    *("world", "n", "ratio", "mean", "median", "late", "random", "holds", "> 4", "worst", "false", "delays"),
    *("stuck", "ms", "p99"),
)
WRONG = ("world", "n", "loss", "base's", "alarms", "bad")


def table(files: Sequence[Sequence[Line]]) -> str:
    """The tables of all policies in the first file, beside the first policy but random in the last file."""
    given, base = files[0], files[-1]
    lines = [line for file in files for line in file]
    random = {_key(line): line["regret"] for line in lines if line["policy"] == "random"}
    name = next((line["policy"] for line in base if line["policy"] != "random"), "random")
    known = {_key(line): line for line in base if line["policy"] == name}
    parts = []
    for policy in dict.fromkeys(line["policy"] for line in given):
        runs = [line for line in given if line["policy"] == policy]
        worlds = list(dict.fromkeys(line["world"] for line in runs))
        groups = {world: [line for line in runs if line["world"] == world] for world in worlds}
        rows = [_row(world, groups[world], known, random) for world in worlds]
        parts += [f"## {policy}, beside {name}", _printed(HEADS, [*rows, _all(groups, known)])]
        wrong = {world: group for world, group in groups.items() if "after" in group[0]}
        if wrong:
            parts.append(_printed(WRONG, [_wrong(world, group, known) for world, group in wrong.items()]))
    return "\n\n".join(parts)


def _key(line: Line) -> tuple[str, int]:
    return line["world"], line["seed"]


def ratio(group: Sequence[Line], known: dict[tuple[str, int], Line]) -> tuple[float, float, float]:
    """The geometric mean of the ratios of regret on the same seeds, and its 95% interval; nan where there is none."""
    pairs = [(line["regret"], known[_key(line)]["regret"]) for line in group if _key(line) in known]
    if not pairs:
        return math.nan, math.nan, math.nan
    logs = np.diff(np.log(np.maximum(np.array(pairs)[:, ::-1], 1e-12)), axis=1)[:, 0]
    n = len(logs)
    half = student.ppf(0.975, n - 1) * logs.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
    middle, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    return float(middle), float(low), float(high)


def _row(
    world: str, group: Sequence[Line], known: dict[tuple[str, int], Line], random: dict[tuple[str, int], float]
) -> list[str]:
    regret = np.array([line["regret"] * line["unit"] for line in group])
    late = [line["late"] for line in group]
    shares = [line["regret"] / random[_key(line)] for line in group if _key(line) in random]
    usual = np.median([line["late"] for line in known.values() if line["world"] == world] or late)
    ms = np.median([line["ms"] for line in group if line["ms"]] or [[math.nan] * 3], axis=0)
    return [
        world,
        str(len(group)),
        _interval(*ratio(group, known)),
        f"{regret.mean():.3g}",
        f"{np.median(regret):.3g}",
        f"{np.mean(late) * group[0]['unit']:.3g}",
        f"{np.mean(shares):.3f}" if shares else "",
        *_said(group),
        str(sum(line["false"] for line in group)),
        ",".join("–" if each is None else str(each) for line in group for each in line["delays"]),
        f"{np.mean(np.array(late) > STUCK * usual):.2f}",
        f"{ms[0]:.1f}",
        f"{ms[1]:.0f} ({ms[1] / ms[0]:.1f})",
    ]


def _interval(middle: float, low: float, high: float) -> str:
    if math.isnan(middle):
        return ""
    return f"{middle:.2f}" if math.isnan(low) else f"{middle:.2f} ({low:.2f}-{high:.2f})"


def _said(group: Sequence[Line]) -> list[str]:
    spoken = [line for line in group if "said" in line]
    if not spoken:
        return ["", "", ""]
    said, held, off = (sum(line[key] for line in spoken) for key in ("said", "held", "off"))
    return [f"{held / said:.2f}", f"{off / said:.2%}", f"{max(line['worst'] for line in spoken):.0f}"]


def _all(groups: dict[str, list[Line]], known: dict[tuple[str, int], Line]) -> list[str]:
    """The mean of the worlds' ratios, and the sums of what is said of all of them."""
    ratios = [ratio(group, known)[0] for group in groups.values()]
    finite = [each for each in ratios if math.isfinite(each)]
    runs = [line for group in groups.values() for line in group]
    mean = f"{np.mean(finite):.2f}, worst {max(finite):.2f}" if finite else ""
    false = str(sum(line["false"] for line in runs))
    return ["all", str(len(runs)), mean, "", "", "", "", *_said(runs), false, "", "", "", ""]


def _wrong(world: str, group: Sequence[Line], known: dict[tuple[str, int], Line]) -> list[str]:
    before = [known[_key(line)]["after"] for line in group if _key(line) in known]
    told = [f"{sum(line.get(key, 0) > 0 for line in group)}" for key in ("alarms", "bad")]
    loss = f"{np.mean([line['after'] for line in group]):.4g}"
    return [world, str(len(group)), loss, f"{np.mean(before):.4g}" if before else "", *told]


def _printed(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
