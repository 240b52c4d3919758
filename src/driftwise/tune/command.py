"""A setting is tried by a command, which prints its reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from driftwise import checks
from driftwise.records import Params, Suggestion
from driftwise.tune.loop import Attempted, Say, seconds
from driftwise.tune.output import BadOutput, Reader
from driftwise.tune.process import Running
from driftwise.tune.template import Template, variables


@dataclass(frozen=True)
class Command:
    """The command, where its reward is, and how long it may take, in seconds; None is for ever."""

    template: Template
    reader: Reader
    timeout: float | None = None
    grace: float = 5.0  # between SIGTERM and SIGKILL
    stop_at_bad_output: bool = False
    noun: str = "command"

    def __post_init__(self) -> None:
        checks.settle(self, timeout=checks.optional(seconds), grace=partial(seconds, least=0.0))

    def check(self, names: Sequence[str], *, all_of_them: bool) -> None:
        self.template.check(names, all_of_them=all_of_them)

    def measuring(self, names: Sequence[str]) -> Command:
        known = {name: name for name in names}
        return replace(self, reader=replace(self.reader, measures=known | dict(self.reader.measures or {})))

    def start(self, suggestion: Suggestion, say: Say) -> CommandAttempt:
        return CommandAttempt(self, suggestion.params)

    def arguments(self, params: Params) -> list[str]:
        return self.template.filled(params)

    def line(self, params: Params) -> str:
        return self.template.line(params)


class CommandAttempt:
    """A command under way with a setting."""

    def __init__(self, command: Command, params: Params) -> None:
        self._command = command
        self._running = Running(
            command.arguments(params), variables(params), timeout=command.timeout, grace=command.grace
        )
        self.fileno, self.end = self._running.fileno, self._running.end

    def outcome(self) -> Attempted:
        """The reward in what the command printed; without one the setting failed, or the run ends."""
        finished = self._running.finished()
        if finished.trouble:
            return Attempted(None, {}, finished.trouble, finished.seconds)
        try:
            reward, measures = self._command.reader.read(finished.printed, seconds=finished.seconds)
        except BadOutput as error:
            if self._command.stop_at_bad_output:
                raise
            return Attempted(None, {}, str(error), finished.seconds)
        return Attempted(reward, measures, "", finished.seconds)
