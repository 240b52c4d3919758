"""A study as small JSON documents. None of them grows with the study's length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from driftwise.auto.drift_history import FEW
from driftwise.errors import InvalidInput
from driftwise.feasible import Limit
from driftwise.records import Params, Recommendation, Suggestion
from driftwise.spaces import Box, Candidates, Choice, Int
from driftwise.study import Reading, Study
from driftwise.study.slices import Slice, newest_context, slices

SPARK = 60  # rewards of a spark line
POINTS = 600  # observations of a chart
ROWS = 50  # entries of a page of the log
CURVE = 61  # values of a parameter at which its curve is drawn
AHEAD = 24  # typical gaps of a forecast

Json = dict[str, Any]


def glance(study: Study) -> Json:
    """A study in a list: what to run now, how sure that is, whether the world changed, and the last rewards."""
    summary = study.describe()
    shown: Json = {
        "name": study.name,
        "policy": study.policy.name,
        "direction": summary.description.direction,
        "counts": _counts(study),
        "spark": [[seen.number, seen.reward] for seen in study.latest(SPARK)] if summary.counts.rewards else [],
    }
    return shown | best_now(study) | {"drift": moves(study)["drift"]}


def best_now(study: Study, context: Params | None = None) -> Json:
    """The recommendation, or why there is none."""
    try:
        best = study.recommend(context=newest_context(study) if context is None else context)
    except InvalidInput as error:
        return {"recommended": None, "why_not": str(error)}
    return {"recommended": recommended(best)}


def recommended(best: Recommendation) -> Json:
    return {
        "params": plain(best.params),
        "context": plain(best.context),
        "mean": finite(best.mean),
        "std": finite(best.std),
        "sure": best.sure,
    }


def moves(study: Study) -> Json:
    """How the world moves, if the policy says so."""
    return {"drift": clean(asdict(study.drift())) if _explains(study) else None}


def changes(study: Study) -> Json:
    """The abrupt changes among the last observations, which are judged one by one: seconds, when first asked for."""
    return {"changes": [clean(asdict(each)) for each in study.changes()] if _explains(study) else []}


def _explains(study: Study) -> bool:
    """Whether the policy says how the world moves, and has seen enough for it."""
    return hasattr(study.policy, "diagnose") and study.describe().counts.rewards >= FEW


def head(study: Study, context: Params | None = None) -> Json:
    """What stands above everything on a study's page: its definition, what to run now, and what it awaits."""
    description = study.description
    return {
        "name": study.name,
        "policy": study.policy.name,
        "direction": description.direction,
        "counts": _counts(study),
        "parameters": parameters(study.space),
        "context": [] if description.context is None else parameters(description.context),
        "newest_context": plain(newest_context(study)),
        "where": list(description.where),
        "limits": [_limit(name, limit) for name, limit in description.limits],
        "safe": description.safe,
        "pending": [suggestion(each) for each in study.pending()],
        **best_now(study, context),
    }


def parameters(space: Any) -> list[Json]:
    """The parameters of a space, as controls on a page need them."""
    if isinstance(space, Candidates):
        if space.labels:
            return [{"name": space.names[0], "kind": "choice", "values": list(space.labels)}]
        spans = zip(space.names, space.points.min(axis=0), space.points.max(axis=0), strict=True)
        return [{"name": n, "kind": "float", "low": float(low), "high": float(high)} for n, low, high in spans]
    assert isinstance(space, Box)
    return [_parameter(name, each) for name, each in space.parameters]


def _parameter(name: str, each: Any) -> Json:
    if isinstance(each, Choice):
        return {"name": name, "kind": "choice", "values": [value_of(value) for value in each.values]}
    kind = "int" if isinstance(each, Int) else "float"
    return {"name": name, "kind": kind, "low": each.low, "high": each.high, "log": each.log}


def rewards(study: Study, first: int = 1, last: int | None = None) -> Json:
    """The rewards over time: all of a short span, and an even sample of a long one."""
    counts = study.describe().counts
    end = counts.last if last is None else min(last, counts.last)
    found = study.sampled(POINTS, first=first, last=end)
    outliers = set(study.drift().outliers) if _explains(study) else set()
    rows = [[seen.number, seen.at, seen.reward, int(seen.failed), int(seen.number in outliers)] for seen in found]
    return {"first": first, "last": end, "every": max((end - first + 1) / POINTS, 1.0), "rows": rows}


def belief(study: Study, context: Params | None = None) -> Json:
    """The posterior along each parameter through the best setting."""
    if not study.describe().counts.rewards:
        return {"slices": []}
    best, made = slices(study, context)
    return {"recommended": recommended(best), "slices": [curve(each) for each in made]}


def curve(each: Slice) -> Json:
    places = each.ranked()[:POINTS]
    if each.numeric and len(places) > CURVE:
        places = [places[i] for i in np.unique(np.linspace(0, len(places) - 1, CURVE).round().astype(int))]
    return {
        "name": each.name,
        "numeric": each.numeric,
        "log": each.log,
        "values": [value_of(each.values[i]) for i in places],
        "mean": [finite(each.mean[i]) for i in places],
        "std": [finite(each.std[i]) for i in places],
        "best": value_of(each.best),
        "seen": [[value_of(value), reward] for value, reward in each.seen],
        "failed": [value_of(value) for value in each.failed],
    }


def forecast(study: Study) -> Json:
    """The best setting at times to come, as far as the policy models time."""
    if not _explains(study) or study.description.context is not None:
        return {"ahead": []}
    diagnosis = study.drift()
    newest = study.latest(1)[-1].at
    span = AHEAD * diagnosis.gap if diagnosis.cycle is None else diagnosis.cycle.period
    times = [newest + share * span for share in (0.25, 0.5, 0.75, 1.0)]
    ahead = [{"at": at, **recommended(study.recommend(at=at))} for at in times]
    return {"ahead": ahead}


def over_time(study: Study) -> Json:
    """The rate of drift and the observations in use, at moments of the past."""
    if not _explains(study):
        return {"moments": []}
    found = study.drift_history(points=30)
    return {"moments": [[m.number, m.drift.rate, m.drift.in_use, int(m.drift.alarm)] for m in found]}


def log(study: Study, before: int | None = None) -> Json:
    """A page of the log, newest first, with the corrections of its entries."""
    end = study.describe().counts.last if before is None else min(before - 1, study.describe().counts.last)
    found = [seen for seen in study.page(max(end - ROWS, 0), ROWS) if seen.number <= end]
    corrected = {each.number for each in study.corrections()} if study.describe().counts.corrected else set()
    rows = [{**entry(seen), "corrected": seen.number in corrected} for seen in reversed(found)]
    return {"rows": rows, "older": max(end - ROWS, 0) + 1 if end > ROWS else None}


def entry(seen: Reading) -> Json:
    return {
        "number": seen.number,
        "at": seen.at,
        "params": plain(seen.params),
        "context": plain(seen.context),
        "reward": seen.reward,
        "failed": seen.failed,
        "measures": clean(dict(seen.measures)),
    }


def suggestion(each: Suggestion) -> Json:
    return {"id": each.id, "number": each.number, "params": plain(each.params), "context": plain(each.context)}


# --- values that JSON has ---------------------------------------------------------------------------------------------


def _counts(study: Study) -> Json:
    summary = study.describe()
    counts = summary.counts
    return {
        "last": counts.last,
        "rewards": counts.rewards,
        "awaited": summary.awaited,
        "failed": counts.failed,
        "corrected": counts.corrected,
    }


def _limit(name: str, limit: Limit) -> Json:
    return {"name": name, "low": limit.low, "high": limit.high}


def plain(params: Params | None) -> Json | None:
    return None if params is None else {name: value_of(value) for name, value in params.items()}


def value_of(value: Any) -> Any:
    """A value as JSON has it: numbers, texts, truth values; anything else as its text."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return finite(value)
    return str(value)


def finite(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def clean(data: Mapping[str, Any] | Iterable[Any] | Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): clean(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [clean(value) for value in data]
    return value_of(data)
