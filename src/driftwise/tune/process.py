"""A command under way, behind its guard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.text import visible

GUARD = Path(__file__).with_name("guard.py")
TAIL = 1 << 20  # bytes of what a command printed that are looked at


@dataclass(frozen=True)
class Finished:
    """What came of a command."""

    code: int  # negative: the signal that ended it
    seconds: float
    timed_out: bool
    printed: str
    complained: str  # on its standard error

    @property
    def trouble(self) -> str:
        """Why it failed, in a line; nothing if it did not."""
        if self.timed_out:
            return f"took longer than its time-out and was ended after {self.seconds:.3g} s"
        if self.code == 0:
            return ""
        how = f"exit code {self.code}" if self.code > 0 else f"ended by signal {-self.code}"
        lines = [line.strip() for line in self.complained.splitlines() if line.strip()]
        return f"{how}: {visible(lines[-1])[:200]}" if lines else how


class Running:
    """A command that was started, and ends with us."""

    def __init__(
        self, arguments: Sequence[str], variables: Mapping[str, str], *, timeout: float | None, grace: float
    ) -> None:
        if os.name != "posix":
            raise InvalidInput("driftwise tune needs process groups, which only POSIX systems have; use ask and tell")
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        files = (self._out.fileno(), self._err.fileno())
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=files,
            start_new_session=True,  # Ctrl-C is for us; we decide what becomes of the command
        )
        asked: dict[str, Any] = {"arguments": list(arguments), "environment": {**os.environ, **variables}}
        asked |= {"timeout": timeout, "grace": grace, "out": files[0], "err": files[1]}
        self._program = arguments[0]
        with suppress(BrokenPipeError):  # `finished` says what happened
            self._lifeline.write((json.dumps(asked) + "\n").encode())
            self._lifeline.flush()

    @property
    def _lifeline(self) -> IO[bytes]:
        assert self._guard.stdin is not None
        return self._guard.stdin

    def fileno(self) -> int:
        """A file that can be read when the command is done."""
        assert self._guard.stdout is not None
        return self._guard.stdout.fileno()

    def finished(self) -> Finished:
        """Waits for the end of the command."""
        assert self._guard.stdout is not None
        try:
            line = self._guard.stdout.readline()
            printed, complained = _tail(self._out), _tail(self._err)
        finally:
            self.end()
        if not line:
            raise DriftwiseError("the process that watched over the command was killed; run the same line again")
        report: dict[str, Any] = json.loads(line)
        if "error" in report:
            raise InvalidInput(f"the command {self._program!r} cannot be started: {report['error'].lower()}")
        return Finished(**report, printed=printed, complained=complained)

    def end(self) -> None:
        """Ends the command if it runs, and returns when it and its guard are gone."""
        assert self._guard.stdout is not None
        with suppress(BrokenPipeError):
            self._lifeline.close()
        self._guard.wait()
        for file in (self._guard.stdout, self._out, self._err):
            file.close()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TAIL, 0))
    return file.read().decode("utf-8", "replace")
