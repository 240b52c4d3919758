"""driftwise store: whole stores, in files and on servers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from driftwise.cli import files, show
from driftwise.cli.command import Answer, answered
from driftwise.cli.failure import group
from driftwise.cli.ordered import Ordered
from driftwise.errors import NotFoundError
from driftwise.text import counted, did_you_mean, visible

app = group(
    """Move studies between files and PostgreSQL servers.

    [bold]Example[/bold]

      driftwise store copy driftwise.db postgresql://me@host/tuning
    """
)


From, To = (
    typer.Argument(metavar=word, callback=files.store_at_home, help="A file, or an address.", show_default=False)
    for word in ("FROM", "TO")
)


@answered
def copy(
    source: Annotated[str, From],
    target: Annotated[str, To],
    study: Annotated[
        list[str] | None, typer.Option("--study", help="Only this study; give it once for each.", metavar="NAME")
    ] = None,
) -> Answer:
    """Copy studies with their suggestions, keys and corrections from one store into another.

    A store is a file, or an address such as postgresql://me@host/tuning. Each study is copied as a whole, read back and
    compared. If the command is interrupted, call it again: a study that is already there is compared and left alone,
    and one that differs is refused.

    [bold]Examples[/bold]

      driftwise store copy driftwise.db postgresql://me@host/tuning

      driftwise store copy postgresql://me@host/tuning backup.db --study prices
    """
    from driftwise.log import open_store, without_password
    from driftwise.log.transfer import transfer
    from driftwise.study import remote

    for place in (source, target):
        remote.no_address(place, "`store copy`, which takes suggestions and keys along,")
    giver = open_store(source, create=False)
    wanted = study or giver.names()
    unknown = sorted(set(wanted) - set(giver.names()))
    if unknown:
        question = did_you_mean(unknown[0], giver.names())
        raise NotFoundError(
            f"{giver.where} has no study {unknown[0]!r:.80}; {question}list them with: driftwise study list"
        )
    done = []
    with show.progress("studies") as shown:
        task = shown.add_task("studies", total=len(wanted))
        for each in transfer(giver, open_store(target), wanted):
            done.append(each)
            shown.advance(task)
    lines = [
        f"{visible(each.study)}: {'copied' if each.new else 'was there already'} and is the same "
        f"({counted(each.observations, 'observation')}, {counted(each.suggestions, 'suggestion')})."
        for each in done
    ]
    return {"studies": [asdict(each) for each in done]}, [
        *lines,
        f"All of it is in {visible(without_password(target))}.",
    ]


app.command("copy", cls=Ordered)(copy)
