"""driftwise serve: studies behind HTTP."""

from __future__ import annotations

import inspect
from dataclasses import Field, fields
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import typer

from driftwise.cli import show
from driftwise.errors import missing_extra
from driftwise.service.settings import ServiceSettings


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def serve(*, level: LogLevel = LogLevel.INFO, **given: Any) -> None:
    """Serve the studies of a file or of a PostgreSQL database over HTTP.

    Programs of any language ask and tell, and `Study("prices", path="http://127.0.0.1:8321")` is a study as any other.
    Logs are JSON lines on standard error. SIGTERM and Ctrl-C finish what was begun, and then stop. Every option may
    also be given in the environment, for example DRIFTWISE_PORT.

    [bold]Examples[/bold]

      driftwise serve

      driftwise token create laptop --scope admin

      driftwise serve --host 0.0.0.0 --certificate cert.pem --certificate-key key.pem
    """
    try:
        import uvicorn  # noqa: F401

        from driftwise.service import run
    except ModuleNotFoundError as error:
        raise missing_extra("serve", error.name or "fastapi") from None
    taken: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
    settings = ServiceSettings(**taken)
    scheme = "https" if settings.certificate else "http"
    said = f"Serving {settings.shown} at {scheme}://{settings.host}:{settings.port}. Ctrl-C stops."
    run.serve(settings, level=level.value, begins=lambda: show.say(said))


def _options() -> list[inspect.Parameter]:
    """One for each setting, whose only definition is `ServiceSettings`."""
    hints: dict[str, Any] = get_type_hints(ServiceSettings)
    made = [_option(each, hints[each.name]) for each in fields(ServiceSettings)]
    said = Annotated[LogLevel, typer.Option("--log-level", help="debug, info, warning or error.")]
    return [*made, inspect.Parameter("level", inspect.Parameter.KEYWORD_ONLY, default=LogLevel.INFO, annotation=said)]


def _option(each: Field[Any], kind: Any) -> inspect.Parameter:
    name = each.metadata["option"] or each.name.replace("_", "-")
    several, variable = kind == tuple[str, ...], f"DRIFTWISE_{name.replace('-', '_').upper()}"
    option = typer.Option(f"--{name}", envvar=variable, show_envvar=False, help=each.metadata["help"])
    return inspect.Parameter(
        each.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=[] if several else each.default,
        annotation=Annotated[list[str] if several else kind, option],
    )


serve.__signature__ = inspect.Signature(_options())  # type: ignore[attr-defined]
serve.__annotations__ = {each.name: each.annotation for each in _options()}
