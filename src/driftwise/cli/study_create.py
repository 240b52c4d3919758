"""driftwise study create and fork: what defines a study."""

from __future__ import annotations

from typing import Any

import typer

from driftwise.cli import arms, options, parse, show
from driftwise.cli.command import Answer, answered
from driftwise.cli.ordered import in_order
from driftwise.cli.study_words import for_service, next_command, summary_for_scripts
from driftwise.errors import ConflictError, InvalidInput
from driftwise.log import is_there, without_password
from driftwise.spaces import Box, as_space
from driftwise.study import Study, remote
from driftwise.text import counted, did_you_mean, visible


@answered
def create(
    context: typer.Context,
    name: options.Name,
    floats: options.Floats = None,
    ints: options.Ints = None,
    choices: options.Choices = None,
    arms_listed: options.Arms = None,
    arms_from: options.ArmsFrom = None,
    history: options.History = None,
    context_floats: options.ContextFloats = None,
    context_ints: options.ContextInts = None,
    context_choices: options.ContextChoices = None,
    rules: options.Rules = None,
    limits: options.Limits = None,
    safe: options.Safe = False,
    start: options.Start = None,
    delta: options.Delta = None,
    policy: options.OnePolicy = None,
    minimize: options.Minimize = False,
    seed: options.Seed = None,
    path: options.File = options.DEFAULT,
    token: options.Token = None,
    timeout: options.Timeout = None,
) -> Answer:
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
    inside = {"--context-float": context_floats, "--context-int": context_ints, "--context-choice": context_choices}
    settings: dict[str, Any] = {
        "seed": seed,
        "direction": "minimize" if minimize else None,
        "context": parse.parameters(in_order(context, inside)) or None,
        "where": rules,
        "limits": parse.limits_on(limits),
        "safe": safe or None,
        "start": parse.some_params(start, as_space(space)),
        "delta": delta,
    }
    if history is not None:
        settings["history"] = arms.history(history, space)
    with show.waiting("a new study"), parse.making(policy or "auto"):
        made = Study(name, space, parse.chosen(policy), path=path, token=token, timeout=timeout, **settings)
    asked = made.description.context
    given = [word for each in (asked.names if asked else ()) for word in ("--context", f"{each}=VALUE")]
    return summary_for_scripts(made.describe()), [
        ["The study ", (name, "bold"), f" is in {visible(str(path))}."],
        f"Next: {next_command('ask', name, *given, path=path)}",
    ]


@answered
def fork(
    context: typer.Context,
    name: options.Name,
    new: options.NewName,
    floats: options.Floats = None,
    ints: options.Ints = None,
    choices: options.Choices = None,
    rules: options.Rules = None,
    limits: options.Limits = None,
    policy: options.OnePolicy = None,
    to: options.ToFile = None,
    path: options.File = options.DEFAULT,
    token: options.Token = None,
    timeout: options.Timeout = None,
) -> Answer:
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
    further: dict[str, Any] = {}
    if rules:
        further["where"] = [*study.description.where, *rules]
    if limits:
        further["limits"] = dict(study.description.limits) | (parse.limits_on(limits) or {})
    _check_new(new, target, service)
    with show.waiting("a new study"), parse.making(policy or "auto"):
        made = study.fork(new, _replaced(study, given), parse.chosen(policy), path=target, **service, **further)
    taken, had = made.describe().counts, study.describe().counts
    left = had.told - had.retracted - taken.told
    left_out = f"; {left} outside of its ranges and rules left out" if left else ""
    return summary_for_scripts(made.describe()) | {"taken": taken.told, "left_out": left}, [
        ["The study ", (new, "bold"), f" is in {visible(without_password(target))}."],
        f"It begins with {counted(taken.told, 'observation')} of {visible(name)}{left_out}.",
    ]


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
