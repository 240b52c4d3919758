"""Tuning by itself: a study asks, the setting is tried, and what came of it is told.

Read the modules in this order.

1. `loop`: ask, try, tell, several at once, until something says stop. `claim`: one tuner at a time for each study.
2. A command tries the setting. `template`: the command with placeholders; `output`: the reward in what it printed;
   `guard` and `process`: a command under way, which ends when we do; `command`: all of it as an attempt.
3. A system that runs tries it. `live_plan`: how; `apply` and `prometheus`: the two ends; `live`: one step, which
   the service makes, too; `live_attempt`: the same for `loop`.
"""

from __future__ import annotations

from driftwise.tune.command import Command
from driftwise.tune.loop import Attempted, Plan, Stopped, TunedStep, Tuner
from driftwise.tune.output import Reader
from driftwise.tune.template import Template

__all__ = ["Attempted", "Command", "Plan", "Reader", "Stopped", "Template", "TunedStep", "Tuner"]
