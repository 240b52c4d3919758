"""What a user sees when something goes wrong: one or two lines on stderr, never a traceback.

Exit codes: 2 for input that breaks a rule, 1 for everything else, 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError

DEBUG = "DRIFTWISE_DEBUG"
STOPPED = 130


class Friendly(TyperGroup):
    """The command group whose failures are told in a line. `main` is the one door that every call goes through."""

    def main(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        sys.exit(guarded(lambda: TyperGroup.main(self, *args, **options)))


def guarded(call: Callable[[], Any]) -> int:
    """Runs `call` and gives the exit code."""
    try:
        code = call()
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        tell(*lines_of(error))
        return 2 if _is_bad_input(error) else 1
    if code == STOPPED:  # some versions of the parser make Ctrl-C an exit code of their own
        tell("stopped")
    return code if isinstance(code, int) else 0


def tell(problem: str, hint: str = "") -> None:
    """One line, and perhaps a second with the way out."""
    print(f"driftwise: {problem}", file=sys.stderr)
    if hint:
        print(f"  {hint}", file=sys.stderr)


def lines_of(error: Exception) -> tuple[str, str]:
    """The problem, and a hint or nothing."""
    if hasattr(error, "format_message"):  # the parser's own: an unknown option, a missing value
        usage = getattr(error, "ctx", None)
        problem = _one_line(error.format_message()).removesuffix(".") + _value_of(error)
        return problem, f"see: {usage.command_path} --help" if usage else ""
    if isinstance(error, DriftwiseError):
        return _one_line(str(error)), ""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror.lower()}: {error.filename}" if error.filename else error.strerror.lower(), ""
    return (
        f"something unexpected happened ({type(error).__name__}: {_one_line(str(error))})",
        f"this is a bug; {DEBUG}=1 shows the traceback, which helps us to mend it",
    )


def _value_of(error: Exception) -> str:
    """What was given, where the parser knows it and does not say."""
    details = getattr(error.__cause__, "errors", None)
    found = details() if callable(details) else []
    return f", got {found[0]['input']!r:.80}" if found and "input" in found[0] else ""


def _is_bad_input(error: Exception) -> bool:
    return isinstance(error, InvalidInput | NotFoundError) or hasattr(error, "format_message")


def _one_line(message: str, longest: int = 400) -> str:
    line = " ".join(message.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
