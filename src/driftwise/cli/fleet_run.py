"""driftwise fleet run: a fleet that answers a stream of lines."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from driftwise.cli import show
from driftwise.cli.fleet_create import HOME, FleetName, FleetPath
from driftwise.errors import InvalidInput
from driftwise.fleet import Fleet
from driftwise.fleet.stream import Conversation, Reply, batches
from driftwise.text import visible

REPORTED = 20  # lines that are wrong and named on stderr; all of them are answered on stdout


def run(
    name: FleetName,
    path: FleetPath = HOME,
    batch: Annotated[int, typer.Option(min=1, help="The most lines that are answered together.")] = 4096,
    processes: Annotated[int, typer.Option(min=0, help="Processes that the shards run in; 0 is this one.")] = 0,
) -> None:
    """Answer a stream: JSON lines or CSV with headings on standard input, JSON lines on standard output.

    A line with a key asks, and is answered with an id and the setting to try. A line with an id and a reward tells it,
    and is answered when it is on the disk. Each answer has the number of its line. A reward may be sent again: it
    counts once, and another value is refused. Lines that arrive together are one batch, and none waits for more.

    A line that is wrong is answered with an error and reported; the others count. The exit code is then 2.

    [bold]Examples[/bold]

      echo '{"key": "apples"}' | driftwise fleet run prices

      driftwise fleet run prices --path postgresql://me@host/fleets < events.csv > answers.jsonl
    """
    with Fleet.open(name, path=path, processes=processes) as fleet, show.progress("lines") as progress:
        task, talk = progress.add_task(f"fleet {visible(name)}", total=None), Conversation(fleet)
        for lines in batches(sys.stdin.buffer, batch):  # type: ignore[arg-type]
            earlier = talk.refused
            replies = talk.answer(lines)
            sys.stdout.write("".join(json.dumps(reply, separators=(",", ":")) + "\n" for reply in replies))
            sys.stdout.flush()
            _report([reply for reply in replies if "error" in reply][: max(REPORTED - earlier, 0)])
            progress.update(task, completed=talk.lines)
    done = talk.outcomes
    show.aside().print(
        f"{talk.lines:,} lines: {talk.asked:,} suggestions, {done.new:,} new rewards, {done.known:,} known before, "
        f"{done.expired:,} too late.",
        soft_wrap=True,
    )
    if talk.refused:
        raise InvalidInput(f"{talk.refused:,} of {talk.lines:,} lines were refused; mend them and send them again")


def _report(refused: list[Reply]) -> None:
    for reply in refused:
        show.aside().print(f"line {reply['line']}: {reply['error']}", soft_wrap=True)
