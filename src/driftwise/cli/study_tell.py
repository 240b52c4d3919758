"""driftwise study ask, tell, fail, observe and abandon: the loop itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from driftwise.cli import parse, show
from driftwise.cli.options import (
    DEFAULT,
    At,
    Failed,
    File,
    InContext,
    Json,
    Key,
    Measures,
    Name,
    Pinned,
    Repeats,
    Setting,
    Std,
    Timeout,
    Token,
)
from driftwise.cli.study_words import in_context, next_command, receipt, setting, suggestion_for_scripts
from driftwise.study import Study

Id = Annotated[str, typer.Argument(help="The ID of the suggestion, as `study ask` printed it.", show_default=False)]


def ask(
    name: Name,
    n: Annotated[
        int | None, typer.Option("--count", "-n", help="So many suggestions at once, which spread out.")
    ] = None,
    context: InContext = None,
    fixed: Pinned = None,
    key: Annotated[str | None, typer.Option(help="Asking again with the same key returns the same suggestion.")] = None,
    at: At = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Ask for the next setting to try, or for several.

    With -n all of the suggestions are stored, or none. With --json one suggestion is an object, and those of -n are a
    list in "suggestions".

    [bold]Examples[/bold]

      driftwise study ask prices

      driftwise study ask web -n 8 --fixed compression=zstd

      driftwise study ask shop --context traffic=0.4 --context day=mon
    """
    study = Study.open(name, path=path, token=token, timeout=timeout)
    now = in_context(study, context)
    pins = parse.some_params(fixed, study.space)
    if n is None:
        s = study.ask(key=key, at=at, context=now, fixed=pins)
        if as_json:
            show.as_json(suggestion_for_scripts(s))
        else:
            show.say("Try ", (setting(s.params), "bold"))
            show.say(f"Then: {next_command('tell', name, s.id, 'REWARD', path=path)}")
        return
    with show.progress("suggestions") as progress:
        progress.add_task("suggestions", total=None)
        several = study.ask(key=key, at=at, n=n, context=now, fixed=pins)
    if as_json:
        show.as_json({"suggestions": [suggestion_for_scripts(s) for s in several]})
        return
    show.say(f"Try {'this setting' if n == 1 else f'these {n} settings'}, each with its ID:")
    for s in several:
        show.say(f"  {s.id}  ", (setting(s.params), "bold"))
    show.say(f"Then, for each ID: {next_command('tell', name, 'ID', 'REWARD', path=path)}")


def tell(
    name: Name,
    id: Id,
    reward: Annotated[
        float | None, typer.Argument(help="The reward, or the cost if the study minimises.", show_default=False)
    ] = None,
    failed: Failed = False,
    std: Std = None,
    repeats: Repeats = 1,
    measures: Measures = None,
    key: Key = None,
    at: At = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Tell the reward of a suggestion, or with --failed that the setting failed.

    The same reward told again changes nothing. A different reward for the same suggestion is refused; `study correct`
    changes it.

    [bold]Example[/bold]

      driftwise study tell web ID 310.5 --measure p99_ms=180
    """
    study = Study.open(name, path=path, token=token, timeout=timeout)
    details: dict[str, Any] = {"failed": failed, "std": std, "repeats": repeats, "measures": parse.measures(measures)}
    receipt(study.tell(id, reward, at=at, key=key, **details), as_json, what=_what(failed))


def fail(
    name: Name,
    id: Id,
    measures: Measures = None,
    key: Key = None,
    at: At = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Tell that the setting of a suggestion failed: it crashed, or could not be tried.

    There is no reward. The study learns where settings fail, and asks elsewhere until the world changes.
    """
    study = Study.open(name, path=path, token=token, timeout=timeout)
    told = study.tell(id, failed=True, at=at, key=key, measures=parse.measures(measures))
    receipt(told, as_json, what=_what(True))


def observe(
    name: Name,
    setting: Setting,
    reward: Annotated[
        float | None, typer.Option(help="The reward, or the cost if the study minimises.", show_default=False)
    ] = None,
    context: InContext = None,
    failed: Failed = False,
    std: Std = None,
    repeats: Repeats = 1,
    measures: Measures = None,
    at: At = None,
    key: Annotated[str | None, typer.Option(help="An observation sent again with the same key counts once.")] = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Add an observation at a setting of your own choice, without asking first."""
    study = Study.open(name, path=path, token=token, timeout=timeout)
    params = parse.params(setting, study.space)
    now = in_context(study, context)
    details: dict[str, Any] = {"failed": failed, "std": std, "repeats": repeats, "measures": parse.measures(measures)}
    receipt(study.observe(params, reward, at=at, key=key, context=now, **details), as_json, what=_what(failed))


def abandon(
    name: Name,
    id: Annotated[str, typer.Argument(help="The ID of the suggestion.", show_default=False)],
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Give up a suggestion that will not be tried. It counts as no observation."""
    Study.open(name, path=path, token=token, timeout=timeout).abandon(id)
    if as_json:
        show.as_json({"id": id, "abandoned": True})
    else:
        show.say("The suggestion is abandoned. If a reward arrives later, tell it and it will count.")


def _what(failed: bool) -> str:
    return "failure" if failed else "reward"
