"""Where a study stands: in words, for scripts, and as pictures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import FEW, STILL, Moment, alarms, changed
from driftwise.cli import files, show
from driftwise.errors import InvalidInput
from driftwise.records import Recommendation
from driftwise.study import Study, Summary
from driftwise.text import visible

Words = list[str | tuple[str, str]]  # texts, and pairs of a text and its style


def setting(params: Any) -> str:
    return visible(
        ", ".join(
            f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in params.items()
        )
    )


def expected(best: Recommendation) -> Words:
    return [(setting(best.params), "bold"), f", where {best.mean:.4g} ± {best.std:.2g} is expected"]


def drift_in_words(found: Diagnosis) -> Words:
    """How the world moves, in a few lines."""
    if found.seen < FEW:
        return [f"how the world moves can be said after {FEW} rewards; there are {found.seen}\n"]
    moving = found.rate >= STILL
    pace = f"renews {100 * found.rate:.2g}% of itself a step of {found.gap:.4g}" if moving else "stands still"
    lines: Words = [f"the world {pace}; {found.in_use:.0f} of the last {found.seen} observations count\n"]
    broke = found.change if found.change and found.change.probability >= 0.1 else None
    if broke:
        lines.append(("it just changed", "bold") if found.alarm else "abrupt change")
        lines.append(f": number {broke.number}, at {broke.at:.6g}, with probability {broke.probability:.2f}\n")
    if found.cycle is not None and found.cycle.probability >= 0.1:
        lines.append(f"it comes back every {found.cycle.period:.4g}, with probability {found.cycle.probability:.2f}\n")
    if found.level >= 0.1:
        lines.append(f"the level of all rewards moves on its own, with probability {found.level:.2f}\n")
    for what, shares in (("matters", found.matters), *([("moves", found.moves)] if moving or broke else [])):
        most = sorted(shares.items(), key=lambda pair: -pair[1])[:6]
        lines.append(f"what {what}: " + ", ".join(f"{visible(name)} {100 * share:.0f}%" for name, share in most) + "\n")
    return lines


def for_scripts(study: Study) -> dict[str, Any]:
    """All that `show` has to say, for scripts."""
    try:
        best = study.recommend()
    except InvalidInput:  # no rewards yet, or a policy that believes nothing
        best = None
    found = {"params": dict(best.params), "mean": best.mean, "std": best.std} if best else None
    waiting = [{"id": s.id, "number": s.number, "params": dict(s.params)} for s in study.pending()]
    drift: dict[str, Any] = {}
    if best and hasattr(study.policy, "diagnose"):
        moments = [{"number": m.number, "at": m.at} | asdict(m.drift) for m in study.drift_history()]
        drift = {"drift": asdict(study.drift()), "drift_history": moments}
    return summary_for_scripts(study.describe()) | {"recommendation": found, "pending": waiting} | drift


def summary_for_scripts(summary: Summary) -> dict[str, Any]:
    policy, counts = summary.description.policy, summary.counts
    return {
        "name": summary.name,
        "path": summary.path,
        "policy": policy.name,
        "direction": summary.description.direction,
        "parameters": list(policy.space.names),
        "asked": counts.asked,
        "told": counts.told,
        "awaited": counts.awaited,
        "abandoned": counts.abandoned,
        "jittered": counts.jittered,
    }


def head(summary: Summary) -> None:
    s = summary_for_scripts(summary)
    state = f"{s['told']} rewards, {s['awaited']} awaited"
    if s["jittered"]:
        state += f", {s['jittered']} questions that needed jitter (at most {summary.counts.jitter:.0e})"
    show.say((s["name"], "bold"), f"  {s['policy']}, {s['direction']}, {state}")


def draw_over_time(study: Study, png: Path | None) -> None:
    """How the world moved, in the terminal or as a picture."""
    from driftwise.cli.over_time import over_time

    moments = study.drift_history()
    if len(moments) < 2:
        raise InvalidInput(f"study {study.name!r} has {len(moments)} rewards; over time it can be shown from two on")
    if png is None:
        show.out().print(over_time(moments))
    else:
        _keep(png, _drift_picture(moments, title=f"{study.name}: how the world moved"), study)


def _drift_picture(moments: list[Moment], *, title: str) -> bytes:
    import numpy as np

    from driftwise.plots import drift_over_time
    from driftwise.plots import png as as_png

    figure = drift_over_time(
        np.array([m.number for m in moments]),
        rate=np.array([m.drift.rate for m in moments]),
        in_use=np.array([m.drift.in_use for m in moments]),
        kept=np.array([m.drift.seen for m in moments]),
        changes=[changed(m) for m in alarms(moments)],
        floor=STILL,
        title=title,
    )
    return as_png(figure)


def draw_belief(drawn: Any, study: Study, png: Path) -> None:
    import numpy as np

    from driftwise.plots import belief_now
    from driftwise.plots import png as as_png

    if not drawn.numeric:
        raise InvalidInput(
            f"a picture needs a parameter with numbers, and {drawn.name!r} has none; choose another with --parameter"
        )
    seen = (np.array([v for v, _ in drawn.seen]), np.array([r for _, r in drawn.seen]))
    figure = belief_now(
        np.array(drawn.values),
        drawn.mean,
        drawn.std,
        observed=seen,
        recommended=drawn.best,
        title=f"{study.name}: what it believes now",
        label=drawn.name,
        log=drawn.log,
    )
    _keep(png, as_png(figure), study)


def _keep(png: Path, picture: bytes, study: Study) -> None:
    files.write(png, picture, inputs=[None if study.path is None else Path(study.path)])
    show.say(f"the picture is in {visible(str(png))}")
