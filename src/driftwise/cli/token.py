"""driftwise token: who may use a service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from driftwise.cli import show
from driftwise.cli.failure import EXIT_CODES
from driftwise.cli.options import Json
from driftwise.cli.serve import Store

app = typer.Typer(
    invoke_without_command=True,
    epilog=EXIT_CODES,
    help="""Tokens of a service: who may read, tell, ask or change studies.

    A token is shown once, when it is made: only its digest is stored.

    [bold]Examples[/bold]

      driftwise token create laptop --scope admin

      driftwise token create checkout --scope ask --scope tell --project shop/ --days 90

      driftwise token rotate ID --grace-hours 24
    """,
)

Id = Annotated[str, typer.Argument(help="The ID of the token, as `token list` shows it.", show_default=False)]


@app.callback()
def root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Who or what the token is for.", show_default=False)],
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, tell, ask or admin, which includes the others; give it once for each."),
    ] = None,
    project: Annotated[str | None, typer.Option(help="Only studies whose names begin so, for example shop/.")] = None,
    study: Annotated[str | None, typer.Option(help="Only the study of this name.")] = None,
    days: Annotated[float | None, typer.Option(help="So many days it holds. By default it does not expire.")] = None,
    path: Store = "driftwise.db",
    as_json: Json = False,
) -> None:
    """Make a token and print it. It cannot be printed again."""
    token, text = _tokens(path).create(name, tuple(scopes or ("read",)), project=project, study=study, days=days)
    if as_json:
        show.as_json(_row(token) | {"token": text})
        return
    show.say(text)
    show.say(f"This is token {token.id} ({_what(token)}). Keep it: it is shown this once.")


@app.command("list")
def list_tokens(path: Store = "driftwise.db", as_json: Json = False) -> None:
    """List the tokens, without their secrets."""
    tokens = _tokens(path).list()
    if as_json:
        show.as_json({"tokens": [_row(token) for token in tokens]})
        return
    if not tokens:
        show.say("There are no tokens. Whoever reaches the service on this machine may do everything.")
    for token in tokens:
        show.say(f"{token.id}  {token.name}: {_what(token)}")


@app.command()
def rotate(
    id: Id,
    grace_hours: Annotated[float, typer.Option(help="So many hours the old text still holds.")] = 0.0,
    path: Store = "driftwise.db",
    as_json: Json = False,
) -> None:
    """Give a token a new text, with the same ID and rights."""
    text = _tokens(path).rotate(id, grace_hours=grace_hours)
    if as_json:
        show.as_json({"id": id, "token": text})
    else:
        show.say(text)


@app.command()
def revoke(id: Id, path: Store = "driftwise.db", as_json: Json = False) -> None:
    """Declare that a token no longer holds. A running service refuses it within two seconds."""
    _tokens(path).revoke(id)
    if as_json:
        show.as_json({"id": id, "revoked": True})
    else:
        show.say("The token is revoked.")


def _tokens(path: str) -> Any:
    from driftwise.service.database import Database
    from driftwise.service.settings import ServiceSettings
    from driftwise.service.tokens import Tokens

    return Tokens(Database(ServiceSettings(store=path)))


def _row(token: Any) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": list(token.scopes),
        "project": token.project,
        "study": token.study,
        "made": _date(token.made),
        "expires": _date(token.expires),
        "revoked": _date(token.revoked),
    }


def _what(token: Any) -> str:
    where = f"study {token.study}" if token.study else f"studies {token.project}…" if token.project else "all studies"
    ends = [f"until {_date(token.expires)}"] if token.expires else []
    ends += [f"revoked {_date(token.revoked)}"] if token.revoked else []
    return ", ".join([" ".join(token.scopes), where, *ends])


def _date(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
