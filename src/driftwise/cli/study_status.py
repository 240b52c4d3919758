"""Where a study stands, in words and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import STILL, Moment
from driftwise.cli import show
from driftwise.cli.changes import POSSIBLE, abrupt_changes
from driftwise.errors import InvalidInput
from driftwise.records import Recommendation
from driftwise.study import Study, Summary
from driftwise.text import counted, visible

LISTED = 5  # abrupt changes that are told in words

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


def drift_in_words(moments: Sequence[Moment]) -> Words:
    """How the world moves by the newest diagnosis, and when it changed abruptly, in a few lines."""
    found = moments[-1].drift
    lines: Words = [f"{_pace(found)}\n{found.in_use:.0f} of the last {counted(found.seen, 'observation')} count.\n"]
    changes = abrupt_changes(moments)
    for each in changes[-LISTED:]:
        lines.append((f"{each}\n", "bold" if found.alarm and each is changes[-1] else ""))
    if len(changes) > LISTED:
        lines.append(f"There were {counted(len(changes) - LISTED, 'abrupt change')} before.\n")
    if found.cycle is not None and found.cycle.probability >= POSSIBLE:
        period, probability = found.cycle.period, found.cycle.probability
        lines.append(f"The function repeats with period {period:.4g} (probability {probability:.2f}).\n")
    if found.level >= POSSIBLE:
        lines.append(f"The level of all rewards shifts on its own (probability {found.level:.2f}).\n")
    lines.append(_shares("The function varies with", found.matters))
    if found.rate >= STILL or changes:
        lines.append(_shares("Its change over time varies with", found.moves))
    return lines


def _pace(found: Diagnosis) -> str:
    if found.rate < STILL:
        return "The world stands still at present."
    step = "at each step" if found.gap == 1 else f"after each step of {found.gap:.4g}"
    return f"The world drifts: {100 * found.rate:.2g}% of the function is new {step}."


def _shares(what: str, shares: dict[str, float]) -> str:
    most = sorted(shares.items(), key=lambda pair: -pair[1])[:6]
    return f"{what} " + ", ".join(f"{visible(name)} ({100 * share:.0f}%)" for name, share in most) + ".\n"


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
    state = f"{counted(s['told'], 'reward')}, {s['awaited']} awaited"
    if s["jittered"]:
        state += f", {counted(s['jittered'], 'suggestion')} that needed jitter (at most {summary.counts.jitter:.0e})"
    show.paragraph((s["name"], "bold"), f"  {s['policy']}, {s['direction']}, {state}")
