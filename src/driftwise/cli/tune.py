"""driftwise tune: a study that runs a command by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from driftwise.cli import failure, options, parse, show
from driftwise.cli.ordered import in_order
from driftwise.cli.tune_screen import screen
from driftwise.errors import InvalidInput, NotFoundError, missing_extra
from driftwise.study import Study
from driftwise.tune import Command, Plan, Reader, Template, Tuner
from driftwise.tune.claim import claimed
from driftwise.tune.live_plan import LivePlan
from driftwise.tune.loop import Way

SYSTEM = "A system that runs"  # a panel of the help


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
    name: options.Name,
    command: Annotated[
        list[str] | None,
        typer.Argument(help="The command, after --. {x} is the value of the parameter x.", show_default=False),
    ] = None,
    floats: options.Floats = None,
    ints: options.Ints = None,
    choices: options.Choices = None,
    rules: options.Rules = None,
    limits: options.Limits = None,
    policy: options.OnePolicy = None,
    minimize: options.Minimize = False,
    seed: options.Seed = None,
    reward: Annotated[
        Reward, typer.Option(help="Take the reward from the last line of the output, or take the run time in seconds.")
    ] = Reward.output,
    reward_field: Annotated[
        str | None, typer.Option(help="The reward is this field of a JSON object in the last line, as score or ms.p99.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="A further field to store, as p99_ms, or p99=ms.p99 under another name. With --apply, where the "
            "reward is: prometheus:ADDRESS.",
            metavar="FIELD",
        ),
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option(
            help="Tune a system that runs, without a command: send each setting to webhook:ADDRESS, or write it into "
            "file:PATH.",
            metavar="WAY",
            rich_help_panel=SYSTEM,
        ),
    ] = None,
    query: Annotated[
        str, typer.Option(help="The reward: PromQL that gives one number.", metavar="PROMQL", rich_help_panel=SYSTEM)
    ] = "",
    settle: Annotated[
        float, typer.Option(help="Seconds to wait after a setting was applied.", rich_help_panel=SYSTEM)
    ] = 30.0,
    average: Annotated[
        float, typer.Option(help="Seconds over which the query is then averaged.", rich_help_panel=SYSTEM)
    ] = 60.0,
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
    path: options.File = options.DEFAULT,
    token: options.Token = None,
    service_timeout: options.Timeout = None,
    as_json: options.Json = False,
) -> None:
    """Tune a command: ask for a setting, run the command with it, read the reward that it prints, and so on.

    The reward is the number in the last line of the output. The parameters are also in the environment, as DRIFTWISE_x
    and as JSON in DRIFTWISE_PARAMS. A command that ends with another exit code than 0, that takes longer than
    --timeout or that prints no reward has failed; the study learns where that happens and keeps away.

    With --apply there is no command: each setting is applied to a system that runs, and after a while the reward is
    taken from Prometheus. What does not answer is waited for.

    Give the parameters, rules and limits the first time; later the name of the study is enough. Ctrl-C waits for the
    commands under way, and a second one ends them. Nothing is lost then, nor if the program is killed: the next call
    takes up the setting that has no reward yet. What a command leaves running is ended with it.

    [bold]Examples[/bold]

      driftwise tune cache --int size=1:64 --minimize --reward time -- ./replay.sh {size}

      driftwise tune web --float x=0:1 --int n=1:8 --where 'x * n <= 4' --steps 100 -- ./measure.sh {x} {n}

      driftwise tune db --int pages=1:4096:log --limit 'p99_ms<=200' --reward-field tps -- ./bench {pages}

      driftwise tune shop --int workers=1:32 --apply webhook:http://127.0.0.1:8000/settings \\
        --measure prometheus:http://127.0.0.1:9090 --query 'sum(rate(orders_total[1m]))'
    """
    plan = Plan(steps, until_seconds, pause, jobs, None if keep_going else stop_after)
    way: Way
    if apply is not None:
        if command or jobs > 1:
            raise InvalidInput("a system that runs has one setting at a time, and no command; leave out --jobs and --")
        way = _live(name, apply, measure or [], query, settle, average)
    else:
        template = Template(tuple(command or ()), shell)
        reader = Reader(reward_field, reward is Reward.time, _fields(measure or ()))
        way = Command(template, reader, timeout, grace, on_bad_output is OnBadOutput.stop)
    parameters = list(in_order(context, {"--float": floats, "--int": ints, "--choice": choices}))
    given = {"policy": policy, "minimize": minimize or None, "where": rules, "limit": limits, "seed": seed}
    space = parse.space(parameters) if parameters else None
    if space:
        way.check(list(space), all_of_them=not env)
        _check_direction(reward, minimize)
    study = _study(name, space, given, path=path, token=token, timeout=service_timeout)
    way.check(study.space.names, all_of_them=not env)
    _check_direction(reward, study.description.direction == "minimize")
    tuner = Tuner(study, way.measuring([name for name, _ in study.description.limits]), plan)
    with claimed(str(path), name):
        if fresh:
            tuner.abandon_left_over()
        stopped = _run(tuner, as_json)
    if stopped:
        raise typer.Exit(failure.STOPPED)


def _run(tuner: Tuner, as_json: bool) -> bool:
    """Until it is done; whether Ctrl-C ended it."""
    with screen(tuner, as_json) as shown, _interrupts(tuner, shown.say), closing(tuner.steps()) as steps:
        tuner.say = shown.say
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


def _study(name: str, space: Any, given: dict[str, Any], **where: Any) -> Study:
    """A new study if there are parameters, or else the one of this name."""
    if space:
        policy, minimize, rules, limits, seed = given.values()
        direction = "minimize" if minimize else None
        limited = {"where": rules, "limits": parse.limits_on(limits)}
        with show.waiting("the study"), parse.making(policy or "auto"):
            return Study(name, space, parse.chosen(policy), direction=direction, seed=seed, **limited, **where)
    for option, value in given.items():
        if value is not None:
            raise InvalidInput(f"--{option} belongs to the parameters; give --float, --int or --choice, too")
    try:
        return Study.open(name, **where)
    except NotFoundError as error:
        raise NotFoundError(f"{error}; to create it, give its parameters with --float, --int or --choice") from None


def _live(name: str, apply: str, measures: Sequence[str], query: str, settle: float, average: float) -> Way:
    """A system that runs, as --apply and --measure say."""
    try:
        from driftwise.tune.live import System
        from driftwise.tune.live_attempt import LiveSystem
    except ImportError:
        raise missing_extra("serve", "httpx (for --apply)") from None
    kind, _, target = apply.partition(":")
    source, _, address = (measures[0] if len(measures) == 1 else "").partition(":")
    if kind not in ("webhook", "file"):
        raise InvalidInput(f"--apply is written webhook:ADDRESS or file:PATH, got {apply!r:.80}")
    if source != "prometheus":
        raise InvalidInput("--apply needs --measure prometheus:ADDRESS, and --query with what it is asked")
    folder, target = os.path.split(os.path.abspath(target)) if kind == "file" else (None, target)
    if folder is not None and not os.path.isdir(folder):
        raise InvalidInput(f"there is no folder {folder} for the file of --apply; make it first")
    return LiveSystem(System(name, LivePlan(address, query, kind, target, settle, average), folder))


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
