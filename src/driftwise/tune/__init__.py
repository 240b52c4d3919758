"""Tuning a command: a study asks, the command is run with the setting, and what it prints is told.

Read the modules in this order.

1. `template`: the command with placeholders, and what it becomes for a setting.
2. `output`: the reward and the measures in what the command printed.
3. `guard`: a small program that runs the command and ends it when the time is up, or when we are gone.
4. `process`: a command under way, behind its guard.
5. `claim`: one tuner at a time for each study.
6. `loop`: ask, run, tell, several at once, until something says stop.
"""

from __future__ import annotations

from driftwise.tune.loop import Plan, Stopped, TunedStep, Tuner
from driftwise.tune.output import Reader
from driftwise.tune.template import Template

__all__ = ["Plan", "Reader", "Stopped", "Template", "TunedStep", "Tuner"]
