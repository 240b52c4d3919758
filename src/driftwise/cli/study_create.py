"""driftwise study create and fork: what defines a study."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from driftwise.cli import arms, parse, show, study_status
from driftwise.cli.options import (
    DEFAULT,
    Arms,
    ArmsFrom,
    Choices,
    ContextChoices,
    ContextFloats,
    ContextInts,
    Delta,
    File,
    Floats,
    History,
    Ints,
    Json,
    Limits,
    Name,
    NewName,
    OnePolicy,
    Rules,
    Safe,
    Start,
    Timeout,
    ToFile,
    Token,
)
from driftwise.cli.ordered import in_order
from driftwise.cli.study_words import for_service, next_command
from driftwise.errors import ConflictError, InvalidInput
from driftwise.log import is_there, without_password
from driftwise.spaces import Box, as_space
from driftwise.study import Study, remote
from driftwise.text import counted, did_you_mean, visible


def create(
    context: typer.Context,
    name: Name,
    floats: Floats = None,
    ints: Ints = None,
    choices: Choices = None,
    arms_listed: Arms = None,
    arms_from: ArmsFrom = None,
    history: History = None,
    context_floats: ContextFloats = None,
    context_ints: ContextInts = None,
    context_choices: ContextChoices = None,
    rules: Rules = None,
    limits: Limits = None,
    safe: Safe = False,
    start: Start = None,
    delta: Delta = None,
    policy: OnePolicy = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Rewards are costs: the lowest is the best.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The seed of the policy's random numbers.", show_default="0")
    ] = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Create a study.

    Give each parameter with --float, --int or --choice. The study keeps them in the order in which you give them.
    Things that have a name and no order are arms: give them with --arms or --arms-from, and their past with --history.
    Rewards are centred and scaled over the observations that the policy remembers, so their units do not matter.

    A rule after --where is about parameters, and no setting that breaks it is ever suggested. A limit after --limit is
    about what you measure beside the reward and tell with --measure. Parameters of the context are known and not
    chosen: give them with each ask.

    [bold]Examples[/bold]

      driftwise study create ads --float bid=0.1:5:log --choice site=a,b

      driftwise study create cache --int size=1:64 --minimize --policy sw-gp-ucb:window=80

      driftwise study create web --int workers=1:32 --int cache_mb=16:1024:log --where "workers * cache_mb <= 8192"

      driftwise study create api --int workers=1:32 --limit "p99_ms<=200" --safe --start workers=4

      driftwise study create banner --arms red,green,blue --history last-year.csv

      driftwise study create shop --float price=5:20 --context-float traffic=0:1 --context-choice day=mon,tue
    """
    parameters = tuple(in_order(context, {"--float": floats, "--int": ints, "--choice": choices}))
    named = arms_listed is not None or arms_from is not None
    space = arms.space(None if named and not parameters else parse.space(parameters), arms_listed, arms_from)
    given = {"--context-float": context_floats, "--context-int": context_ints, "--context-choice": context_choices}
    settings: dict[str, Any] = {
        "seed": seed,
        "direction": "minimize" if minimize else None,
        "context": parse.parameters(in_order(context, given)) or None,
        "where": rules,
        "limits": parse.limits_on(limits),
        "safe": safe or None,
        "start": parse.some_params(start, as_space(space)),
        "delta": delta,
    }
    if history is not None:
        settings["history"] = arms.history(history, space)
    with show.progress() as progress, parse.making(policy or "auto"):
        progress.add_task("a new study", total=None)
        made = Study(name, space, parse.chosen(policy), path=path, token=token, timeout=timeout, **settings)
    if as_json:
        show.as_json(study_status.summary_for_scripts(made.describe()))
    else:
        show.say("The study ", (name, "bold"), f" is in {visible(str(path))}.")
        inside = made.description.context
        options = [word for each in (inside.names if inside else ()) for word in ("--context", f"{each}=VALUE")]
        show.say(f"Next: {next_command('ask', name, *options, path=path)}")


def fork(
    context: typer.Context,
    name: Name,
    new: NewName,
    floats: Floats = None,
    ints: Ints = None,
    choices: Choices = None,
    rules: Rules = None,
    limits: Limits = None,
    policy: OnePolicy = None,
    to: ToFile = None,
    path: File = DEFAULT,
    token: Token = None,
    timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Create a study with another range, rule, limit or policy from the observations of this one.

    A parameter that you give with --float, --int or --choice replaces the one of its name. Rules and limits are added
    to those of the study. What you do not give stays as it is. Observations outside of the new ranges and rules are
    left out; the others count as if you had told them to the new study.

    [bold]Example[/bold]

      driftwise study fork prices wider --float price=5:40
    """
    study = Study.open(name, path=path, **for_service(path, token=token, timeout=timeout))
    target = path if to is None else to
    service = for_service(target, token=token, timeout=timeout)
    given = parse.parameters(in_order(context, {"--float": floats, "--int": ints, "--choice": choices}))
    options: dict[str, Any] = {}
    if rules:
        options["where"] = [*study.description.where, *rules]
    if limits:
        options["limits"] = dict(study.description.limits) | (parse.limits_on(limits) or {})
    _check_new(new, target, service)
    with show.progress() as progress, parse.making(policy or "auto"):
        progress.add_task("a new study", total=None)
        made = study.fork(new, _replaced(study, given), parse.chosen(policy), path=target, **service, **options)
    taken, had = made.describe().counts, study.describe().counts
    counts = {"taken": taken.told, "left_out": had.told - had.retracted - taken.told}
    if as_json:
        show.as_json(study_status.summary_for_scripts(made.describe()) | counts)
        return
    left_out = f"; {counts['left_out']} outside of its ranges and rules left out" if counts["left_out"] else ""
    show.say("The study ", (new, "bold"), f" is in {visible(without_password(target))}.")
    show.say(f"It begins with {counted(taken.told, 'observation')} of {visible(name)}{left_out}.")


def _check_new(name: str, path: str, service: dict[str, Any]) -> None:
    """A fork never adds to a study that is there."""
    if (remote.is_address(path) or is_there(path)) and name in Study.names(path, **service):
        raise ConflictError(
            f"study {name!r} already exists in {without_password(path)}; give another name, or delete it first"
        )


def _replaced(study: Study, given: dict[str, Any]) -> dict[str, Any] | None:
    """The study's parameters with some replaced; None if all stay as they are."""
    if not given:
        return None
    if not isinstance(study.space, Box):
        raise InvalidInput("the study has candidates and no ranges; leave out --float, --int and --choice")
    unknown = [name for name in given if name not in study.space.names]
    if unknown:
        question, names = did_you_mean(unknown[0], study.space.names), ", ".join(study.space.names)
        raise InvalidInput(
            f"no parameter is called {unknown[0]!r:.80}; {question}a fork has those of its study: {names}"
        )
    return dict(study.space.parameters) | given
