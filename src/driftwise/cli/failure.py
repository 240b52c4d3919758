"""What a user sees when something goes wrong: one to three lines on stderr, never a traceback."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError
from driftwise.text import visible

DEBUG = "DRIFTWISE_DEBUG"
STOPPED = 130
LONGEST = 400  # characters of a line
PAGED = 10  # a change of the world, to whoever asked for an exit code
EXIT_CODES = (
    "Exit codes: 0 if the command succeeded; 2 if the input is wrong, such as an unknown option, study or suggestion, "
    "or a value out of range; 1 if anything else failed, such as a file that cannot be read, a suggestion that already "
    f"has another reward, or a check that found damage; {STOPPED} after Ctrl-C; {PAGED} if `study changes --exit-code` "
    "found a change."
)
# arguments as they are written in Python; what they are called here
PYTHON = re.compile(r"\b(failed|safe|log|together|path|engine|timeout|token)=(?:True|\.\.\.|'([^']*)')")
# what Python raises when a user's value is beyond what a computer can represent
BEYOND: dict[type[Exception], str] = {
    MemoryError: "this needs more memory than this machine has; give smaller sizes",
    ArithmeticError: "a number given is too large or too small for this computation",
    RecursionError: "the input is nested too deeply",
}


def group(help: str) -> typer.Typer:
    """A group of commands, which says what there is if none is called."""
    return typer.Typer(no_args_is_help=True, epilog=EXIT_CODES, help=help, rich_markup_mode="rich")


class Friendly(TyperGroup):
    """The command group that reports failures in one line. Every call goes through `main`."""

    def main(self, *args: Any, **options: Any) -> Any:
        options["standalone_mode"] = False
        sys.exit(guarded(lambda: TyperGroup.main(self, *args, **options)))


def guarded(call: Callable[[], Any]) -> int:
    """Runs `call` and gives the exit code."""
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always", RuntimeWarning)  # NumPy's warnings about overflow: reported below
        code = _code(call)
    beyond = [warning for warning in noticed if issubclass(warning.category, RuntimeWarning)]
    if beyond and code == 0:
        tell(f"a number was out of the range of floating point ({beyond[0].message}); the results may be wrong")
    return code


def _code(call: Callable[[], Any]) -> int:
    try:
        code = call()
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except BrokenPipeError:  # the reader of our output has stopped, for example head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # some versions of the parser have it: the help is printed
            return 0
        if os.environ.get(DEBUG):
            raise
        tell(*lines_of(error))
        return 2 if _is_bad_input(error) else 1
    if code == STOPPED:  # some versions of the parser make Ctrl-C an exit code of their own
        tell("stopped")
    return code if isinstance(code, int) else 0


def tell(problem: str, *more: str) -> None:
    """One line, and perhaps more, such as a hint."""
    print(f"driftwise: {_one_line(problem)}", file=sys.stderr)
    for line in more:
        print(f"  {visible(line)[:LONGEST]}", file=sys.stderr)


def lines_of(error: Exception) -> tuple[str, ...]:
    """The problem, and what follows it: a hint, or the rule that cannot be read with a mark below the place."""
    if hasattr(error, "format_message"):  # the parser's own: an unknown option, a missing value
        usage = getattr(error, "ctx", None)
        problem = _one_line(error.format_message()).removesuffix(".") + _value_of(error)
        return (problem, f"see: {usage.command_path} --help") if usage else (problem,)
    if isinstance(error, DriftwiseError):
        problem, *more = str(error).split("\n  ")[:3]
        return PYTHON.sub(_option, problem), *more
    if isinstance(error, OSError) and error.strerror:
        return (f"{error.strerror.lower()}: {error.filename}" if error.filename else error.strerror.lower(),)
    if isinstance(error, UnicodeEncodeError):
        return (f"text must be valid Unicode, got {error.object!r:.80}",)
    if _has_nul(error):
        return ("a path cannot contain the character NUL; give another",)
    for kind, why in BEYOND.items():
        if isinstance(error, kind) or (kind is ArithmeticError and _out_of_domain(error)):
            return (f"{why} ({type(error).__name__}: {error})",)
    return (
        f"something unexpected happened ({type(error).__name__}: {_one_line(str(error))})",
        f"this is a bug; {DEBUG}=1 shows the traceback, which helps us to fix it",
    )


def _option(advice: re.Match[str]) -> str:
    """An argument that an error of the library advises, as the option of the command line."""
    name, value = advice.groups()
    return ":log" if name == "log" else f"--{name}" + (f" {value}" if value else "")


def _value_of(error: Exception) -> str:
    """The value that was given, if the parser knows it and does not say."""
    details = getattr(error.__cause__, "errors", None)
    found = details() if callable(details) else []
    return f", got {found[0]['input']!r:.80}" if found and "input" in found[0] else ""


def _is_bad_input(error: Exception) -> bool:
    ours = isinstance(error, (InvalidInput, NotFoundError, UnicodeEncodeError, *BEYOND))
    return ours or hasattr(error, "format_message") or _has_nul(error) or _out_of_domain(error)


def _has_nul(error: Exception) -> bool:
    """Whether this is Python's error for a path with NUL in it, whose text differs from call to call."""
    return isinstance(error, ValueError) and "embedded null" in str(error)


def _out_of_domain(error: Exception) -> bool:
    """The word of Python's `math` and of NumPy on numbers that they have no answer for, as sin(∞).

    NumPy's is known by its name, so that the completion of a word need not load NumPy.
    """
    known = "math domain error" in str(error) or type(error).__name__ == "LinAlgError"
    return isinstance(error, ValueError) and known


def _one_line(message: str) -> str:
    line = visible(" ".join(message.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
