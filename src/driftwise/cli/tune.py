"""driftwise tune: a study that runs a command by itself."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from driftwise.cli import failure, parse, show
from driftwise.cli.options import (
    DEFAULT,
    Choices,
    File,
    Floats,
    Ints,
    Json,
    Limits,
    Name,
    OnePolicy,
    Rules,
    Timeout,
    Token,
)
from driftwise.cli.ordered import in_order
from driftwise.cli.tune_screen import screen
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.study import Study
from driftwise.tune import Plan, Reader, Template, Tuner
from driftwise.tune.claim import claimed


class Reward(StrEnum):
    """Where the reward is."""

    output = "output"
    time = "time"


class OnBadOutput(StrEnum):
    """What an output without a reward means."""

    fail = "fail"
    stop = "stop"


def tune(
    context: typer.Context,
    name: Name,
    command: Annotated[
        list[str],
        typer.Argument(help="The command, after --. {x} is the value of the parameter x.", show_default=False),
    ],
    floats: Floats = None,
    ints: Ints = None,
    choices: Choices = None,
    rules: Rules = None,
    limits: Limits = None,
    policy: OnePolicy = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Rewards are costs: the lowest is the best.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The seed of the policy's random numbers.", show_default="0")
    ] = None,
    reward: Annotated[
        Reward, typer.Option(help="Take the reward from the last line of the output, or take the run time in seconds.")
    ] = Reward.output,
    reward_field: Annotated[
        str | None, typer.Option(help="The reward is this field of a JSON object in the last line, as score or ms.p99.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="A further field to store, as p99_ms, or p99=ms.p99 under another name.", metavar="FIELD"),
    ] = None,
    on_bad_output: Annotated[
        OnBadOutput, typer.Option(help="An output without a reward: the setting failed, or stop at once.")
    ] = OnBadOutput.fail,
    shell: Annotated[bool, typer.Option("--shell", help="The command is a line for /bin/sh.")] = False,
    env: Annotated[
        bool, typer.Option("--env", help="The command reads DRIFTWISE_x; placeholders may be missing.")
    ] = False,
    steps: Annotated[int | None, typer.Option(min=1, help="Stop after so many settings. By default go on.")] = None,
    until_seconds: Annotated[float | None, typer.Option(help="Start no command after so many seconds.")] = None,
    pause: Annotated[float, typer.Option(help="Seconds between the end of a command and the next.")] = 0.0,
    jobs: Annotated[int, typer.Option(min=1, help="How many commands run at once.")] = 1,
    timeout: Annotated[
        float | None, typer.Option(help="A command that takes more seconds is ended, and its setting failed.")
    ] = None,
    grace: Annotated[float, typer.Option(help="Seconds between SIGTERM and SIGKILL when a command is ended.")] = 5.0,
    stop_after: Annotated[int, typer.Option(min=1, help="Stop after so many failures in a row.")] = 10,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Never stop because of failures.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Give up the settings that an interrupted run left, instead of trying them.")
    ] = False,
    path: File = DEFAULT,
    token: Token = None,
    service_timeout: Timeout = None,
    as_json: Json = False,
) -> None:
    """Tune a command: ask for a setting, run the command with it, read the reward that it prints, and so on.

    The reward is the number in the last line of the output. The parameters are also in the environment, as DRIFTWISE_x
    and as JSON in DRIFTWISE_PARAMS. A command that ends with another exit code than 0, that takes longer than
    --timeout or that prints no reward has failed; the study learns where that happens and keeps away.

    Give the parameters, rules and limits the first time; later the name of the study is enough. Ctrl-C waits for the
    commands under way, and a second one ends them. Nothing is lost then, nor if the program is killed: the next call
    takes up the setting that has no reward yet. What a command leaves running is ended with it.

    [bold]Examples[/bold]

      driftwise tune cache --int size=1:64 --minimize --reward time -- ./replay.sh {size}

      driftwise tune web --float x=0:1 --int n=1:8 --where 'x * n <= 4' --steps 100 -- ./measure.sh {x} {n}

      driftwise tune db --int pages=1:4096:log --limit 'p99_ms<=200' --reward-field tps -- ./bench {pages}
    """
    parameters = list(in_order(context, {"--float": floats, "--int": ints, "--choice": choices}))
    template = Template(tuple(command), shell)
    reader = Reader(reward_field, reward is Reward.time, _fields(measure or ()))
    last = None if keep_going else stop_after
    plan = Plan(steps, until_seconds, pause, jobs, timeout, grace, last, on_bad_output is OnBadOutput.stop)
    settings: dict[str, Any] = {
        "policy": policy,
        "minimize": minimize or None,
        "where": rules,
        "limit": limits,
        "seed": seed,
    }
    service: dict[str, Any] = {"token": token, "timeout": service_timeout}
    if parameters:
        space = parse.space(parameters)
        template.check(list(space), all_of_them=not env)
        _check_direction(reward, minimize)
        study = _created(name, space, path=path, **service, **settings)
    else:
        given = [option for option, value in settings.items() if value is not None]
        study = _opened(name, given, path=path, **service)
        template.check(study.space.names, all_of_them=not env)
    _check_direction(reward, study.description.direction == "minimize")
    tuner = Tuner(study, template, reader, plan)
    with claimed(str(path), name):
        if fresh:
            tuner.abandon_left_over()
        stopped = _run(tuner, as_json)
    if stopped:
        raise typer.Exit(failure.STOPPED)


def _run(tuner: Tuner, as_json: bool) -> bool:
    """Until it is done; whether Ctrl-C ended it."""
    with screen(tuner, as_json) as shown, _interrupts(tuner, shown.say), closing(tuner.steps()) as steps:
        for step in steps:
            shown.step(step)
        shown.end()
    return tuner.stopping


@contextmanager
def _interrupts(tuner: Tuner, say: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C lets the commands under way end; the next one is an interrupt as usual."""

    def first(*_: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        tuner.stop()
        say("Waiting for the commands under way. Ctrl-C again ends them; their settings are tried next time.")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _created(name: str, space: Any, *, path: Any, minimize: Any, policy: str | None, limit: Any, **rest: Any) -> Study:
    chosen = None if policy is None else parse.policy(policy)
    wanted = None if chosen is None else (chosen.name, dict(chosen.options))
    direction = "minimize" if minimize else None
    with show.progress() as progress, parse.making(policy or "auto"):
        progress.add_task("the study", total=None)
        return Study(name, space, wanted, path=path, direction=direction, limits=parse.limits_on(limit), **rest)


def _opened(name: str, given: Sequence[str], **where: Any) -> Study:
    if given:
        raise InvalidInput(f"--{given[0]} belongs to the parameters; give --float, --int or --choice, too")
    try:
        return Study.open(name, **where)
    except NotFoundError as error:
        raise NotFoundError(f"{error}; to create it, give its parameters with --float, --int or --choice") from None


def _check_direction(reward: Reward, minimize: bool) -> None:
    if reward is Reward.time and not minimize:
        raise InvalidInput("a run time is a cost, which this study would raise; give --minimize with its parameters")


def _fields(given: Sequence[str]) -> dict[str, str]:
    """The field of each measure, by name."""
    pairs = [(name, field) if sign else (name, name) for name, sign, field in (each.partition("=") for each in given)]
    for name, field in pairs:
        if not name or not field:
            raise InvalidInput("a measure is written as FIELD or NAME=FIELD, for example p99=ms.p99")
    return dict(pairs)
