"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftwise.cli import files

DEFAULT = Path("driftwise.db")

Name = Annotated[str, typer.Argument(help="The name of the study.", show_default=False)]
File = Annotated[
    Path,
    typer.Option("--path", envvar="DRIFTWISE_PATH", callback=files.at_home, help="The file that holds the study."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
At = Annotated[
    float | None,
    typer.Option(
        help="The time on your own clock, as a number. By default the newest time that you gave, or else the number."
    ),
]
Policies = Annotated[
    list[str],
    typer.Option(
        help="NAME or NAME:KEY=VALUE,KEY=VALUE, where NAME may be module:Class; give it once for each policy. "
        "See: driftwise policies"
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes, at most four a core; all cores if not given.")]
