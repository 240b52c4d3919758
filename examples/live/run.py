"""A live system that is tuned while its load changes: `make live`, or `python examples/live/run.py --help`."""

from __future__ import annotations

import argparse
import json
import signal
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
from outcome import picture, summary, table
from plan import Span, at, controls, cost, phases
from server import Knobs
from stack import Stack, started, wait

from driftwise import Int, Study

SETTLE, AVERAGE = 0.85, 0.5  # seconds; a setting is there after 0.2, and the average then looks back for 0.6
WARM = 4.0  # seconds of load before the first look at a cost
STEP = 0.35  # how far a setting may be from the one before, in the unit cube: one level, or a factor of 1.6 in slots
HOLD = 0.07  # of the time, at the end: the recommended setting stands still
SAY = 5.0  # seconds between two lines on the screen


def tune(stack: Stack) -> Study:
    """The study. From here on driftwise asks, hands out flags, waits, queries Prometheus, and tells."""
    study = Study(
        "web",
        {"level": Int(4, 7), "slots": Int(8, 32, log=True)},
        "auto",
        max_step=STEP,
        path=stack.driftwise,
        direction="minimize",
        seed=0,
    )
    time.sleep(WARM)
    found: list[dict[str, Any]] = []
    wait(
        lambda: bool(found.extend(stack.query(f"{cost('defaults')} > 0")) or found),
        lambda: "Prometheus knows no cost of the defaults",
    )
    study.observe(asdict(Knobs()), float(found[0]["value"][1]))  # so that it begins at the defaults
    source = {"prometheus": stack.prometheus, "query": cost("tuned"), "apply": "flag"}
    waits = {"settle_seconds": SETTLE, "average_seconds": AVERAGE}
    httpx.put(f"{stack.driftwise}/v1/studies/web/source", json=source | waits, timeout=30).raise_for_status()
    return study


def hold(stack: Stack) -> None:
    """End the search. From here on everybody gets the recommended setting, by the same flags."""
    study = f"{stack.driftwise}/v1/studies/web"
    httpx.delete(f"{study}/source", timeout=30).raise_for_status()
    httpx.put(f"{study}/flags", json={"explore": 0.0}, timeout=30).raise_for_status()


def play(stack: Stack, seconds: float, fixed: list[Span]) -> dict[str, Any]:
    """Change the load as planned, and the fixed setting beside it; say what happens. What was measured is returned."""
    load, study = phases(seconds), tune(stack)
    began, said, held = time.time(), -SAY, False
    now: tuple[Span | None, Span | None] = (None, None)
    while (past := time.time() - began) < seconds:
        phase, control = at(load, past), at(fixed, past)
        if phase is not now[0]:
            for lane in ("tuned", "defaults"):
                stack.play(lane, phase.kind)
        if control is not now[1]:
            httpx.put(stack.servers["fixed"], json=control.knobs).raise_for_status()
            stack.play("fixed", control.kind)
        if not held and past > (1 - HOLD) * seconds:
            hold(stack)
            held, hold_from = True, time.time() - began
        if past - said >= SAY:
            said = past
            print(line(stack, past, phase.kind, study), flush=True)
        now = (phase, control)
        time.sleep(0.1)
    return {"began": began, "seconds": seconds, "hold": hold_from, **read(stack, study)}


def line(stack: Stack, past: float, kind: str, study: Study) -> str:
    """One line on the screen."""

    def last(query: str) -> str:
        found = stack.query(query)
        return f"{float(found[0]['value'][1]):6.2f}" if found else "   ..."

    level, slots = (last(f'live_{name}{{lane="tuned"}}').strip().removesuffix(".00") for name in ("level", "slots"))
    return (
        f"{past:5.0f} s  {kind:5}  cost: tuned {last(cost('tuned'))}, defaults {last(cost('defaults'))}"
        f"   level {level:>3}, slots {slots:>3}   {study.describe().counts.rewards:3} rewards"
    )


def read(stack: Stack, study: Study) -> dict[str, Any]:
    """What the study was told, and what it recommends."""
    told = [{"params": dict(seen.params), "cost": seen.reward, "failed": seen.failed} for seen in study.observations()]
    return {"told": told, "recommended": dict(study.recommend().params)}


def interrupt(*_: Any) -> None:
    """A signal to end is as Ctrl-C."""
    raise KeyboardInterrupt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=160.0, help="of load, of which the last part holds still")
    parser.add_argument("--controls", type=int, default=16, help="fixed settings to compare with")
    parser.add_argument("--out", type=Path, default=Path("report/live"), help="folder for the report")
    given = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        with started(given.seconds + 60) as stack:
            print(f"dashboard: {stack.driftwise}/   Prometheus: {stack.prometheus}/graph", flush=True)
            fixed = controls(given.seconds, given.controls)
            played = play(stack, given.seconds, fixed)
            found = summary(stack, played, fixed)
    except KeyboardInterrupt:
        raise SystemExit("interrupted; everything is stopped") from None
    given.out.mkdir(parents=True, exist_ok=True)
    found["controls"] = [asdict(span) for span in fixed]
    (given.out / "live.json").write_text(json.dumps(found, indent=1))
    picture(found, given.out / "live.png")
    print(table(found))
    print(f"\n{given.out / 'live.png'}, {given.out / 'live.json'}")


if __name__ == "__main__":
    main()
