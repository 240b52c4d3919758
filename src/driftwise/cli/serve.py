"""driftwise serve: studies behind HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwise.cli import show
from driftwise.errors import missing_extra

Store = Annotated[
    str,
    typer.Option(
        "--path", envvar="DRIFTWISE_PATH", help="The file of the studies, or postgresql://USER@HOST/DATABASE."
    ),
]


def serve(
    path: Store = "driftwise.db",
    host: Annotated[str, typer.Option(help="The address to listen on. Beyond this machine, tokens are needed.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8321,
    certificate: Annotated[str | None, typer.Option(help="A PEM file with the certificate, for HTTPS.")] = None,
    certificate_key: Annotated[str | None, typer.Option(help="A PEM file with its key.")] = None,
    hosts: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A further name of this machine, while there is no token.")
    ] = None,
    proxies: Annotated[
        str, typer.Option(help="Addresses of proxies whose X-Forwarded headers are believed, with commas between.")
    ] = "",
    allow_imports: Annotated[
        list[str] | None, typer.Option("--allow-import", help="A package of which studies may import policies.")
    ] = None,
    apply_folder: Annotated[
        str | None, typer.Option(help="The folder into which the loops of studies may write their settings.")
    ] = None,
    fleets: Annotated[
        str | None, typer.Option(help="A folder with fleets, or postgresql://USER@HOST/DATABASE, to be served, too.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes in which policies choose; 0 chooses in threads.")] = 0,
    requests_per_second: Annotated[float, typer.Option(help="What one caller may send on average.")] = 500.0,
    level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve the studies of a file or of a PostgreSQL database over HTTP.

    Programs of any language ask and tell, and `Study("prices", path="http://127.0.0.1:8321")` is a study as any other.
    Logs are JSON lines on standard error. SIGTERM and Ctrl-C finish what was begun, and then stop.

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
    from driftwise import checks
    from driftwise.service.settings import ServiceSettings

    checks.one_of("--log-level", level, ("debug", "info", "warning", "error"))
    settings = ServiceSettings(
        store=path,
        host=host,
        port=port,
        certificate=certificate,
        certificate_key=certificate_key,
        hosts=tuple(hosts or ()),
        proxies=proxies,
        allow_imports=tuple(allow_imports or ()),
        apply_folder=apply_folder,
        fleets=fleets,
        workers=workers,
        requests_per_second=requests_per_second,
    )
    scheme = "https" if certificate else "http"
    said = f"Serving {settings.shown} at {scheme}://{host}:{port}. Ctrl-C stops."
    run.serve(settings, level=level, begins=lambda: show.say(said))
