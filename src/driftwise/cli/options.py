"""The arguments and options that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from driftwise.cli import files

DEFAULT = "driftwise.db"
NEGATIVE = {"ignore_unknown_options": True}  # so that -3.2 is a reward and not an option


def studies(context: typer.Context, incomplete: str) -> list[str]:
    """The names of the studies at --path that begin so, for a shell that completes a word. It never fails or waits."""
    path = context.params.get("path") or os.environ.get("DRIFTWISE_PATH") or DEFAULT
    try:
        from driftwise.study import Study, remote

        service: dict[str, Any] = (
            {"token": context.params.get("token"), "timeout": 1.0} if remote.is_address(path) else {}
        )
        return [name for name in Study.names(path, **service) if name.startswith(incomplete)]
    except Exception:  # whatever is wrong is said when the command is called
        return []


Name = Annotated[str, typer.Argument(help="The name of the study.", show_default=False, autocompletion=studies)]
NewName = Annotated[str, typer.Argument(help="The name of the new study.", show_default=False, metavar="NEW")]
# text, because the address of a server is no path: it would lose a slash
File = Annotated[
    str,
    typer.Option(
        "--path",
        envvar="DRIFTWISE_PATH",
        callback=files.store_at_home,
        metavar="PATH",
        help="The file that holds the study, or the address of a PostgreSQL or of a service.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="Who you are, if PATH is the address of a service. By default the environment variable DRIFTWISE_TOKEN, "
        "which others on this machine cannot see.",
        show_default=False,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="How long a call may take in all if PATH is the address of a service. By default 10 seconds.",
        show_default=False,
    ),
]
ToFile = Annotated[
    str | None,
    typer.Option(
        "--to",
        callback=files.store_at_home,
        metavar="PATH",
        help="The file or the address of the new study. By default it is the same.",
    ),
]
Minimize = Annotated[bool, typer.Option("--minimize", help="Rewards are costs: the lowest is the best.")]
Seed = Annotated[int | None, typer.Option(min=0, help="The seed of the policy's random numbers.", show_default="0")]
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

Dark = Annotated[bool, typer.Option("--dark", help="Write each picture on dark paper, too, as NAME-dark.")]

PARAMETERS, CONTEXT, CONSTRAINTS = "Parameters", "Context", "Constraints"  # panels of the help


def option(name: str, help: str, metavar: str, panel: str) -> Any:
    """An option in one of these panels."""
    return typer.Option(name, help=help, metavar=metavar, rich_help_panel=panel)


# --- what defines a study -------------------------------------------------------------------------------------------

Floats = Annotated[
    list[str] | None,
    option("--float", "A real number, for example price=5:20 or rate=1e-4:1:log.", "NAME=RANGE", PARAMETERS),
]
Ints = Annotated[
    list[str] | None, option("--int", "A whole number, for example n=1:10 or n=1:1000:log.", "NAME=RANGE", PARAMETERS)
]
Choices = Annotated[
    list[str] | None,
    option("--choice", "One of several values, for example mode=slow,fast.", "NAME=VALUES", PARAMETERS),
]
Arms = Annotated[str | None, option("--arms", "Arms by name, for example red,green,blue.", "NAMES", PARAMETERS)]
ArmsFrom = Annotated[
    Path | None,
    typer.Option(
        help="A CSV of arms with headings: a column of names, and any others their coordinates.",
        rich_help_panel=PARAMETERS,
    ),
]
History = Annotated[
    Path | None,
    typer.Option(
        help="A CSV of what all arms gave in the past: a row for each time, a column for each arm.",
        rich_help_panel=PARAMETERS,
    ),
]
OnePolicy = Annotated[
    str | None,
    typer.Option(
        help="NAME or NAME:OPTION=VALUE,… The command `driftwise policies` lists them. NAME may be module:Class.",
        show_default="auto",
    ),
]
ContextFloats = Annotated[
    list[str] | None, option("--context-float", "A real number that is given with each ask.", "NAME=RANGE", CONTEXT)
]
ContextInts = Annotated[
    list[str] | None, option("--context-int", "A whole number that is given with each ask.", "NAME=RANGE", CONTEXT)
]
ContextChoices = Annotated[
    list[str] | None, option("--context-choice", "One of several values, given with each ask.", "NAME=VALUES", CONTEXT)
]
Rules = Annotated[
    list[str] | None,
    option("--where", 'A rule on settings, for example "workers * cache_mb <= 8192".', "RULE", CONSTRAINTS),
]
Limits = Annotated[
    list[str] | None,
    option("--limit", 'A limit on a measure, for example "p99_ms<=200" or "hits>=0.5".', "LIMIT", CONSTRAINTS),
]

Safe = Annotated[
    bool,
    typer.Option(
        "--safe", help="Ask only where every limit holds with probability 1 − delta.", rich_help_panel=CONSTRAINTS
    ),
]
Start = Annotated[
    list[str] | None,
    typer.Option(
        help="A parameter of the setting, known to be safe, with which to begin.",
        metavar="NAME=VALUE",
        rich_help_panel=CONSTRAINTS,
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        help="The probability with which a safe study may err.", show_default="0.05", rich_help_panel=CONSTRAINTS
    ),
]

# --- what an observation has ----------------------------------------------------------------------------------------

Setting = Annotated[
    list[str],
    typer.Argument(help="The setting, for example price=12.5 mode=fast.", show_default=False, metavar="NAME=VALUE..."),
]
InContext = Annotated[
    list[str] | None,
    typer.Option("--context", help="A parameter of the context; give all of them.", metavar="NAME=VALUE"),
]
Pinned = Annotated[
    list[str] | None, typer.Option("--fixed", help="A parameter that must have this value.", metavar="NAME=VALUE")
]
Failed = Annotated[bool, typer.Option("--failed", help="The setting failed: there is no reward.")]
Std = Annotated[float | None, typer.Option(help="The standard deviation of the noise of one reading, if you know it.")]
Repeats = Annotated[int, typer.Option(help="The reward is the mean of so many readings.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", help="What else was measured, for example p99_ms=180.", metavar="NAME=NUMBER"),
]
Key = Annotated[str | None, typer.Option(help="What is sent again with the same key counts once.")]
