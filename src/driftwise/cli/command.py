"""What commands have in common: how a study is found, and how an answer is printed for scripts or for people."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from driftwise.cli import show
from driftwise.cli.options import DEFAULT, File, Json, Name, Timeout, Token

Answer = tuple[Any, Iterable[Any]]  # for scripts, as JSON or what makes it; and for people, line by line
Command = Callable[..., Any]
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def on_study(command: Command) -> Command:
    """A command of one study: the study is opened for it, and it has the options that say where the study is.

    It may take `path`, too, as it was typed.
    """

    def opened(name: str, path: str, token: str | None, timeout: float | None, **rest: Any) -> Any:
        from driftwise.study import Study

        study = Study.open(name, path=path, token=token, timeout=timeout)
        return command(study, **rest | ({"path": path} if "path" in own else {}))

    own = _parameters(command)
    del own[next(iter(own))]
    rest = [each for each in own.values() if each.name != "path"]
    where = [_option("path", File, DEFAULT), _option("token", Token, None), _option("timeout", Timeout, None)]
    return _with(command, opened, [inspect.Parameter("name", KEYWORD, annotation=Name), *rest, *where])


def answered(command: Callable[..., Any]) -> Command:
    """A command with --json. What it returns is printed for scripts, or line by line for people."""

    def printed(as_json: bool, **rest: Any) -> None:
        data, lines = command(**rest)
        if as_json:
            show.as_json(data() if callable(data) else data)
            return
        for line in lines:
            show.line(line)

    return _with(command, printed, [*_parameters(command).values(), _option("as_json", Json, False)])


def _parameters(command: Command) -> dict[str, inspect.Parameter]:
    signature = inspect.signature(command, eval_str=True)
    return {each.name: each.replace(kind=KEYWORD) for each in signature.parameters.values()}


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, KEYWORD, annotation=kind, default=default)


def _with(command: Command, done: Command, parameters: list[inspect.Parameter]) -> Command:
    """The function `done` with the name and the help of a command, and these parameters for Typer to read."""
    made = wraps(command)(done)
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    made.__annotations__ = {each.name: each.annotation for each in parameters}
    return made
