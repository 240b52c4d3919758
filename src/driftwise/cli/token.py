"""driftwise token: who may use a service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from driftwise.cli.command import Answer, answered
from driftwise.cli.failure import group

app = group(
    """Tokens of a service: who may read, tell, ask or change studies.

    A token is shown once, when it is made: only its digest is stored.

    [bold]Examples[/bold]

      driftwise token create laptop --scope admin

      driftwise token create checkout --scope ask --scope tell --project shop/ --days 90

      driftwise token rotate ID --grace-hours 24
    """
)

Store = Annotated[
    str,
    typer.Option(
        "--path", envvar="DRIFTWISE_PATH", help="The file of the studies, or postgresql://USER@HOST/DATABASE."
    ),
]
Id = Annotated[str, typer.Argument(help="The ID of the token, as `token list` shows it.", show_default=False)]


@app.command()
@answered
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
) -> Answer:
    """Make a token and print it. It cannot be printed again."""
    token, text = _tokens(path).create(name, tuple(scopes or ("read",)), project=project, study=study, days=days)
    said = f"This is token {token.id} ({_what(token)}). Keep it: it is shown this once."
    return _row(token) | {"token": text}, [text, said]


@app.command("list")
@answered
def list_tokens(path: Store = "driftwise.db") -> Answer:
    """List the tokens, without their secrets."""
    tokens = _tokens(path).list()
    none = "There are no tokens. Whoever reaches the service on this machine may do everything."
    listed = [f"{token.id}  {token.name}: {_what(token)}" for token in tokens]
    return {"tokens": [_row(token) for token in tokens]}, listed or [none]


@app.command()
@answered
def rotate(
    id: Id,
    grace_hours: Annotated[float, typer.Option(help="So many hours the old text still holds.")] = 0.0,
    path: Store = "driftwise.db",
) -> Answer:
    """Give a token a new text, with the same ID and rights."""
    text = _tokens(path).rotate(id, grace_hours=grace_hours)
    return {"id": id, "token": text}, [text]


@app.command()
@answered
def revoke(id: Id, path: Store = "driftwise.db") -> Answer:
    """Declare that a token no longer holds. A running service refuses it within two seconds."""
    _tokens(path).revoke(id)
    return {"id": id, "revoked": True}, ["The token is revoked."]


def _tokens(path: str) -> Any:
    from driftwise.service.database import Database
    from driftwise.service.settings import ServiceSettings
    from driftwise.service.tokens import Tokens

    return Tokens(Database(ServiceSettings(store=path)))


def _row(token: Any) -> dict[str, Any]:
    kept = {each: getattr(token, each) for each in ("id", "name", "project", "study")}
    dates = {each: _date(getattr(token, each)) for each in ("made", "expires", "revoked")}
    return kept | {"scopes": list(token.scopes)} | dates


def _what(token: Any) -> str:
    where = f"study {token.study}" if token.study else f"studies {token.project}…" if token.project else "all studies"
    ends = [f"until {_date(token.expires)}"] if token.expires else []
    ends += [f"revoked {_date(token.revoked)}"] if token.revoked else []
    return ", ".join([" ".join(token.scopes), where, *ends])


def _date(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
