"""What `driftwise tune` shows: a few lines that are redrawn in a terminal, a line for each step elsewhere, or JSON."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from driftwise.cli import show
from driftwise.cli.study_words import setting
from driftwise.records import Recommendation
from driftwise.text import as_json as json_text
from driftwise.text import counted, give_or_take, visible
from driftwise.tune import Attempted, TunedStep, Tuner

BARS = "▁▂▃▄▅▆▇█"
FAILED = "×"
REMEMBERED = 200  # rewards of the sparkline


class Screen(Protocol):
    """Told of each step, and of nothing now and then while commands run."""

    def step(self, step: TunedStep | None) -> None: ...
    def say(self, words: str) -> None: ...
    def end(self) -> None: ...


@contextmanager
def screen(tuner: Tuner, as_json: bool) -> Iterator[Screen]:
    """As JSON, as a drawing in a terminal, or as lines."""
    console = show.out()
    if as_json:
        yield Lines(tuner)
    elif not console.is_terminal:
        yield PlainLines(tuner)
    else:
        drawing = Drawing(tuner, console)
        with Live(drawing, console=console, refresh_per_second=4, transient=True, redirect_stderr=False):
            yield drawing
        drawing.last_words()


# --- for scripts ----------------------------------------------------------------------------------------------------


class Lines:
    """One JSON object a step, and a last one with what to run now."""

    def __init__(self, tuner: Tuner) -> None:
        self.tuner = tuner

    def step(self, step: TunedStep | None) -> None:
        if step is None:
            return
        s, came = step.suggestion, step.outcome
        found: dict[str, Any] = {"step": step.done, "number": s.number, "id": s.id, "params": dict(s.params)}
        found |= {"reward": came.reward, "failed": came.reward is None, "measures": dict(came.measures)}
        found |= {"seconds": came.seconds, "resumed": step.resumed, "best": _best(self.tuner.best())}
        print(json_text(found | ({"why": came.trouble} if came.trouble else {}), indent=None), flush=True)

    def say(self, words: str) -> None:
        show.aside().print(words)

    def end(self) -> None:
        best = self.tuner.best()
        command = None if best is None else self.tuner.way.arguments(best.params)
        counts = {"steps": self.tuner.done, "failures": self.tuner.failed, "stopped": self.tuner.stopping}
        print(json_text({"done": counts, "best": _best(best), "command": command}, indent=None), flush=True)


def _best(best: Recommendation | None) -> dict[str, Any] | None:
    if best is None:
        return None
    return {"params": dict(best.params), "mean": best.mean, "std": best.std, "sure": best.sure}


# --- lines ----------------------------------------------------------------------------------------------------------


class PlainLines:
    """One line a step, for a log."""

    def __init__(self, tuner: Tuner) -> None:
        self.tuner = tuner

    def step(self, step: TunedStep | None) -> None:
        if step is not None:
            show.say(f"{step.suggestion.number:4}  {setting(step.params)}  {in_words(step.outcome)}{_now(self.tuner)}")

    def say(self, words: str) -> None:
        show.aside().print(words)

    def end(self) -> None:
        last_words(self.tuner)


def in_words(outcome: Attempted) -> str:
    """What came of a step."""
    if outcome.reward is None:
        return f"failed: {visible(outcome.trouble)}"
    measures = "".join(f", {visible(name)} {value:.4g}" for name, value in outcome.measures.items())
    return f"→ {outcome.reward:.6g}{measures}"


def _now(tuner: Tuner) -> str:
    best = tuner.best()
    return "" if best is None else f"  (best now: {setting(best.params)}, {expectation(best)})"


def expectation(best: Recommendation) -> str:
    return give_or_take(best.mean, best.std) + ("" if best.sure else ", not sure yet")


def last_words(tuner: Tuner) -> None:
    """What was done, and what to run now."""
    failures = f", {counted(tuner.failed, 'failure')}" if tuner.failed else ""
    show.paragraph(f"{counted(tuner.done, 'step')} done{failures}.")
    best = tuner.best()
    if best is None:
        show.paragraph("There is no reward yet, and so nothing to recommend.")
        return
    run = tuner.way.arguments(best.params) is not None
    expected = f", where {expectation(best)} is expected.{' Run:' if run else ''}"
    show.paragraph("Best now: ", (setting(best.params), "bold"), expected)
    if run:
        show.say(f"  {visible(tuner.way.line(best.params))}")


# --- a drawing ------------------------------------------------------------------------------------------------------


class Drawing:
    """The last step, the best setting and the rewards so far, drawn again several times a second."""

    def __init__(self, tuner: Tuner, console: Console) -> None:
        self.tuner, self.console = tuner, console
        self.begun = time.monotonic()
        self.rewards: deque[float | None] = deque(maxlen=REMEMBERED)
        self.newest: TunedStep | None = None
        self.best: Recommendation | None = None
        self.words = ""
        self.ended = False

    def step(self, step: TunedStep | None) -> None:
        if step is not None:
            self.rewards.append(step.outcome.reward)
            self.newest, self.best = step, self.tuner.best()

    def say(self, words: str) -> None:
        self.words = words

    def end(self) -> None:
        self.ended = True

    def last_words(self) -> None:
        if self.ended:
            last_words(self.tuner)

    def __rich__(self) -> RenderableType:
        tuner, columns = self.tuner, show.width()
        of = "" if tuner.plan.steps is None else f" of {tuner.plan.steps}"
        failures = f", {counted(tuner.failed, 'failure')}" if tuner.failed else ""
        head = f"step {tuner.done}{of}{failures}, {time.monotonic() - self.begun:.0f} s"
        lines = [Text.assemble((visible(tuner.study.name), "bold"), f"  {head}")]
        if self.newest is not None:
            lines.append(Text(f"last  {setting(self.newest.params)}  {in_words(self.newest.outcome)}"))
        if self.best is not None:
            lines.append(Text.assemble("best  ", (setting(self.best.params), "bold"), f"  {expectation(self.best)}"))
        if self.rewards:
            lines.append(Text(sparkline(list(self.rewards), columns - 1), style="cyan"))
        if self.words:
            lines.append(Text(self.words, style="yellow"))
        return Group(*lines)


def sparkline(rewards: list[float | None], columns: int) -> str:
    """The newest rewards as bars from the lowest to the highest, and × for a failure.

    >>> sparkline([1.0, None, 2.0, 1.5], 20), sparkline([1.0, 1.0, 3.0], 2)
    ('▁×█▄', '▁█')
    """
    shown = rewards[-columns:]
    known = [each for each in shown if each is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)

    def bar(reward: float) -> str:
        share = (reward / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5  # halves do not overflow
        return BARS[math.floor(share * (len(BARS) - 1))] if math.isfinite(share) else BARS[0]

    return "".join(FAILED if each is None else bar(each) for each in shown)
