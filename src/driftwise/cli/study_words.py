"""What commands of a study say: settings, what to type next, where a study stands, in words and for scripts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import STILL, Diagnosis
from driftwise.auto.drift_history import Moment
from driftwise.cli import parse, show
from driftwise.cli.options import DEFAULT
from driftwise.errors import InvalidInput
from driftwise.records import Params, Prediction, Recommendation, Suggestion
from driftwise.study import Study, Summary, remote
from driftwise.study.slices import MOST
from driftwise.text import counted, give_or_take, visible

LISTED = 5  # abrupt changes that are told in words
SETTINGS = 3  # settings that failed, of which one is told

Words = list[str | tuple[str, str]]  # texts, and pairs of a text and its style


def setting(params: Params) -> str:
    """Parameters and their values in one line."""
    return visible(
        ", ".join(
            f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in params.items()
        )
    )


def next_command(verb: str, name: str, *rest: str, path: str) -> str:
    """The command to type next, with the path unless it is the default."""
    where = [] if path == DEFAULT else ["--path", path]
    return visible(shlex.join(["driftwise", "study", verb, name, *rest, *where]))


def for_service(path: str, **given: Any) -> dict[str, Any]:
    """What is given for a service, where the path is one: of a fork one side may be in a file."""
    return given if remote.is_address(path) else {}


def in_context(study: Study, given: Sequence[str] | None) -> dict[str, Any] | None:
    """The context that was typed. A study that has one needs it."""
    inside = study.description.context
    if inside is not None and not given:
        options = " ".join(f"--context {name}=VALUE" for name in inside.names)
        raise InvalidInput(f"study {study.name!r} has a context; give {options}")
    return parse.some_params(given, inside)


def suggestion_for_scripts(s: Suggestion) -> dict[str, Any]:
    made = {"id": s.id, "number": s.number, "params": dict(s.params), "at": s.at, "key": s.key}
    made |= {} if s.role is None else {"role": s.role}
    return made if s.context is None else made | {"context": dict(s.context)}


def expected(best: Recommendation) -> Words:
    return [(setting(best.params), "bold"), f", where {give_or_take(best.mean, best.std)} is expected"]


def doubt(study: Study) -> str:
    """Why a recommendation is not sure."""
    changed = hasattr(study.policy, "diagnose") and study.alarm
    return f"Not sure yet: {'the world has just changed' if changed else 'little is known there so far'}."


# --- constraints ------------------------------------------------------------------------------------------------------


def definition(study: Study) -> list[str]:
    """What restricts the study's choices, and what it goes on with though the defaults are others by now."""
    about, lines = study.description, []
    one = len(about.where) == 1
    if about.rules is not None:
        lines += [f"Rule: {visible(rule)}" for rule in about.where]
        lines.append(f"About {100 * about.rules.share:.2g}% of all settings obey {'it' if one else 'them'}.")
    for name, limit in about.limits:
        lines.append(f"{visible(name)} must be {limit}.")
    if about.safe:
        lines.append(f"It asks only where this holds with probability {1 - about.delta:g}.")
    return lines + [f"The study was {visible(str(each))}." for each in about.kept()]


def failures(study: Study) -> list[str]:
    """How many settings failed, and where last."""
    count = study.describe().counts.failed
    if not count:
        return []
    recent = {setting(o.params): o.number for o in study.latest(MOST) if o.failed}
    last = list(recent.items())[-SETTINGS:][::-1]
    where = "; ".join(f"{at} (observation {number})" for at, number in last)
    return [f"{counted(count, 'observation')} failed" + (f", last at {where}." if where else ", but none of late.")]


def awaited(study: Study) -> list[str]:
    """The newest suggestions without a reward, with the ids by which they are told."""
    waiting = study.pending()
    lines = [f"Awaited: {s.id}, {setting(s.params)}" for s in waiting[-LISTED:]]
    return [*lines, f"{len(waiting) - LISTED} more are awaited."] if len(waiting) > LISTED else lines


def limits_in_words(study: Study, found: Prediction) -> list[str]:
    """Each limit: what is expected of its measure at a setting, and how probably it holds."""
    lines = []
    for name, limit in study.description.limits:
        if name not in found.measures:
            lines.append(f"{visible(name)} was not measured yet; it must be {limit}.")
            continue
        mean, std = found.measures[name]
        sure = _probability(found.holds[name])
        lines.append(f"{visible(name)} is {give_or_take(mean, std)} there, and {limit} with probability {sure}.")
    return lines


def _probability(p: float) -> str:
    """Two digits, and never 1 or 0 where that is not so."""
    return f"{p:.2f}" if 0.01 <= p <= 0.99 else "more than 0.99" if p > 0.5 else "less than 0.01"


# --- drift ------------------------------------------------------------------------------------------------------------


def drift_in_words(found: Diagnosis, changes: Sequence[NoticedChange]) -> Words:
    """How the world moves by the newest diagnosis, and when it changed abruptly, in a few lines."""
    lines: Words = [f"{sentence}\n" for sentence in found.says]
    for each in changes[-LISTED:]:
        lines.append((f"{each}\n", "bold" if found.alarm and each is changes[-1] else ""))
    if len(changes) > LISTED:
        lines.append(f"There were {counted(len(changes) - LISTED, 'abrupt change')} before.\n")
    lines.append(_shares("The function varies with", found.matters))
    if found.rate >= STILL or changes:
        lines.append(_shares("Its change over time varies with", found.moves))
    return lines


def _shares(what: str, shares: dict[str, float]) -> str:
    most = sorted(shares.items(), key=lambda pair: -pair[1])[:6]
    return f"{what} " + ", ".join(f"{visible(name)} ({100 * share:.0f}%)" for name, share in most) + ".\n"


# --- for scripts ------------------------------------------------------------------------------------------------------


def recommendation_for_scripts(best: Recommendation) -> dict[str, Any]:
    made = {"params": dict(best.params), "mean": best.mean, "std": best.std, "sure": best.sure}
    return made if best.context is None else made | {"context": dict(best.context)}


def prediction_for_scripts(study: Study, found: Prediction) -> dict[str, Any]:
    measures = {
        name: {"mean": mean, "std": std, "holds": found.holds[name]} for name, (mean, std) in found.measures.items()
    }
    return {"mean": found.mean, "std": found.std, "works": found.works, "measures": measures}


def for_scripts(study: Study, context: Params | None) -> dict[str, Any]:
    """All that `show` has to say, for scripts."""
    made = summary_for_scripts(study.describe())
    waiting = [_pending(s) for s in study.pending()]
    try:
        best = study.recommend(context=context)
        found = study.predict(best.params, context=context)
    except InvalidInput:  # no rewards yet, or a policy that believes nothing
        return made | {"recommendation": None, "pending": waiting}
    about = recommendation_for_scripts(best) | {"works": found.works}
    about["measures"] = prediction_for_scripts(study, found)["measures"]
    made |= {"recommendation": about, "pending": waiting}
    if not hasattr(study.policy, "diagnose"):
        return made
    moments = study.drift_history()
    return made | {
        "drift": asdict(study.drift()),
        "drift_history": [{"number": m.number, "at": m.at} | asdict(m.drift) for m in moments],
        "changes": [asdict(each) for each in changes_in(study, moments)],
    }


def _pending(s: Suggestion) -> dict[str, Any]:
    wanted = ("id", "number", "params", "context")
    return {name: value for name, value in suggestion_for_scripts(s).items() if name in wanted}


def changes_in(study: Study, moments: Sequence[Moment]) -> list[NoticedChange]:
    """The changes that were noticed from the first of these moments on."""
    return study.changes(since=moments[0].number - 1) if moments else []


def summary_for_scripts(summary: Summary) -> dict[str, Any]:
    about, counts = summary.description, summary.counts
    limits = {name: {"low": limit.low, "high": limit.high} for name, limit in about.limits}
    return {
        "name": summary.name,
        "path": summary.path,
        "policy": about.policy.name,
        "direction": about.direction,
        "parameters": list(about.space.names),
        "context": list(about.context.names) if about.context else [],
        "where": list(about.where),
        "allowed": about.rules.share if about.rules else 1.0,
        "limits": limits,
        "safe": about.safe,
        "kept": [str(each) for each in about.kept()],
        "asked": counts.asked,
        "told": counts.told,
        "rewards": counts.rewards,
        "failed": counts.failed,
        "retracted": counts.retracted,
        "corrections": counts.corrected,
        "awaited": summary.awaited,
        "abandoned": counts.abandoned,
        "jittered": counts.jittered,
    }


def head(summary: Summary) -> None:
    counts, about = summary.counts, summary.description
    state = counted(counts.rewards, "reward")
    for count, noun in ((counts.failed, "failure"), (counts.corrected, "correction")):
        state += f", {counted(count, noun)}" if count else ""
    state += f", {summary.awaited} awaited"
    if counts.jittered:
        state += f", {counted(counts.jittered, 'suggestion')} that needed jitter (at most {counts.jitter:.0e})"
    show.paragraph((summary.name, "bold"), f"  {about.policy.name}, {about.direction}, {state}")
