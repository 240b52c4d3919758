"""Every command with every option, and whatever a user may type for it.

The commands and options are read off the command line itself, so that a new one is tried without being listed here.
Each try runs in a process of its own, in a fresh copy of a folder with a study, recordings and results, with limits on
its memory and its CPU time. It must end with 0, 1, 2 or 10, without a traceback, a warning, a raw control character or
a word of a bug; it leaves no process behind, and the studies as they were.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, track
from tests.fuzz import values

from driftwise import Choice, Float, Int, Study
from driftwise.cli.app import app
from driftwise.cli.failure import PAGED
from driftwise.feasible import at_most
from driftwise.lab.results import Folder
from driftwise.lab.trials import Result, Timing, checkpoints
from driftwise.plots.style import LIGHT, blank, png

CPU = 5  # seconds of work that a command may do without showing progress
WALL = 60.0
MEMORY = 3 << 30
# tried less often: they take longest
HEAVY = {"demo": 0.1, "fleet bench": 0.2, "lab theory": 0.02, "lab run": 0.3, "lab report": 0.3}
RUNS_WHAT_IS_TYPED = ("tune",)  # random words are no commands to run; tests/tune has hostile values
FOREVER = ("follow",)  # never given: the command would wait for ever
EDITING = ("correct", "retract", "rename", "delete")  # what the study that they name held may be another after them
SIZES = ("seeds", "horizon")  # nearly always given, since their plain values take longer than a try may
BAD = re.compile(r"Traceback|this is a bug|something unexpected|\w+Warning:|Exception ignored")
RAW = re.compile(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069\u2028\u2029]")


@dataclass(frozen=True)
class Command:
    """A command by its words, and its parameters as the parser knows them."""

    words: tuple[str, ...]
    parameters: tuple[Any, ...]


def commands(command: Any = None, words: tuple[str, ...] = ()) -> Iterator[Command]:
    """Every command there is, the groups themselves among them."""
    command = command or typer.main.get_command(app)
    # one that writes into the shell's own files is left alone
    yield Command(words, tuple(p for p in command.params if not str(p.name).endswith("_completion")))
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        if name in RUNS_WHAT_IS_TYPED:
            continue
        yield from commands(command.get_command(None, name), (*words, name))


def line(rng: Random, known: list[Command]) -> list[str]:
    """What is typed after `driftwise`."""
    weights = [HEAVY.get(" ".join(c.words), 0.2 if len(c.parameters) < 3 else 1.0) for c in known]
    command = rng.choices(known, weights)[0]
    typed: list[str] = []
    nasty = rng.choice((0.05, 0.15, 0.5))
    for parameter in command.parameters:
        for _ in range(_times(rng, parameter)):
            typed += _typed(rng, parameter, nasty)
    if rng.random() < 0.03:
        typed.append(rng.choice(values.NAMES))
    return [*command.words, *typed]


def _times(rng: Random, parameter: Any) -> int:
    """How often it is given: nearly always where it must be, and sometimes twice where it may be."""
    given = 0.97 if parameter.required else 0.9 if parameter.name in SIZES else 0.4
    if parameter.param_type_name == "option" and parameter.is_flag and parameter.name == "help":
        given = 0.01
    if parameter.name in FOREVER:
        return 0
    return 0 if rng.random() > given else 2 if parameter.multiple and rng.random() < 0.3 else 1


def _typed(rng: Random, parameter: Any, nasty: float) -> list[str]:
    if parameter.param_type_name == "argument":
        return [values.value(rng, kind(parameter), parameter.name, nasty)]
    option = rng.choice([*parameter.opts, *parameter.secondary_opts])
    return [option] if parameter.is_flag else [option, values.value(rng, kind(parameter), parameter.name, nasty)]


def kind(parameter: Any) -> str:
    """The type of a parameter in a word; versions of the parser keep it in different places."""
    described = getattr(parameter, "type_descriptor", None)
    return parameter.type.name if described is None else str(described.annotation)


# --- where it is tried ----------------------------------------------------------------------------------------------


def furnish(folder: Path) -> None:
    """A folder with studies, recordings, results and a few traps."""
    path = folder / "st.db"
    space = {"price": Float(5, 20), "mode": Choice(["a", "b", "=cmd", "\x1b[31m"]), "n": Int(1, 9)}
    for name, policy, count in (("live", "sw-gp-ucb", 4), ("auto", "auto", 14), ("other", "random", 0)):
        study = Study(name, space, policy, path=path)
        for i in range(count):
            study.tell(study.ask(), float(i % 3))
        study.ask()
        study.close()
    _shop(path, folder)
    (folder / "st.link").symlink_to("st.db")
    (folder / "loop").symlink_to("loop")
    (folder / "folder").mkdir()
    rows = np.random.default_rng(0).normal(size=(12, 3)).tolist()
    for name in ("r.csv", "<!--<script>.csv", "[red].csv", "$\\foo$.csv", "\x1b[31m.csv", "日本.csv"):
        (folder / name).write_text("a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows), "utf-8")
    (folder / "p.csv").write_text("x\n0\n0.5\n1\n", "utf-8")
    (folder / "bad.csv").write_text("a,b\n1e308,-1e308\n\x1b[31m,2\n", "utf-8")
    (folder / "empty").touch()
    (folder / "readonly.csv").write_text("1,2\n", "utf-8")
    (folder / "readonly.csv").chmod(0o444)
    _results(folder / "results")


def _shop(path: Path, folder: Path) -> None:
    """A study with a context, a rule, a limit, failures and corrections, and logs to be imported."""
    space = {"price": Float(5, 20), "n": Int(1, 9)}
    inside = {"traffic": Float(0, 1), "day": Choice(["mon", "=tue"])}
    shop = Study(
        "shop", space, "sw-gp-ucb", context=inside, where="price * n <= 100", limits={"ms": at_most(200)}, path=path
    )
    for i in range(6):
        now = {"traffic": i / 6, "day": ("mon", "=tue")[i % 2]}
        shop.tell(shop.ask(context=now), None if i == 2 else float(i), failed=i == 2, measures={"ms": 180.0 + 5 * i})
    shop.correct(1, 7.0, who="\x1b[31m", why="[red]typo")
    shop.retract(2, why="=cmd")
    shop.ask(context={"traffic": 0.5, "day": "mon"})
    shop.close()
    (folder / "log.csv").write_text("number,price,mode,n,reward\n1,7,a,1,2.5\n2,8,b,2,-1\n", "utf-8")
    (folder / "context.csv").write_text("price,n,traffic,day,reward,failed\n7,1,0.5,mon,2.5,\n8,2,0.1,'=tue,,yes\n")
    line = '{"params": {"price": 7, "mode": "a", "n": 1}, "reward": 2, "measures": {"ms": 3}}'
    (folder / "log.jsonl").write_text(f"{line}\n{line}\n", "utf-8")
    (folder / "log.json").write_text(f'{{"study": "x", "observations": [\n{line}\n]}}\n', "utf-8")


def _results(folder: Path) -> None:
    curve = tuple(float(t) for t in checkpoints(10))
    places = [("deng", "abrupt", p) for p in ("gp-ucb", "sw-gp-ucb")] + [("recording", "$\\foo$<!--@1", "=[/]\x1b")]
    with Folder(folder) as made:
        for suite, case, policy in places:
            for seed in (0, 1):
                key = f"{suite}/{case} T=10 {policy} seed={seed:04d}"
                figures = (10.0 + seed, 9.0, (0.1, 0.2, 0.3), 1.0, (5,), (3,), None, curve)
                made.append(Result(key, suite, case, policy, seed, 10, *figures), Timing(key, 1e-4, 1e-4, 1, 1, 1, 1))


def _log(path: Path) -> dict[str, list[Any]]:
    """All that the studies of the folder hold; opening them is a part of the check."""
    found = {}
    for name in Study.names(path):
        study = Study.open(name, path=path)
        found[name] = list(study.observations())
        study.close()
    return found


def lost(typed: list[str], before: dict[str, list[Any]], after: dict[str, list[Any]]) -> list[str]:
    """The studies that do not hold what they held, but for one that the command was to edit."""
    edited = typed[2:] if typed[:1] == ["study"] and typed[1:2] and typed[1] in EDITING else []
    return [name for name, log in before.items() if name not in edited and after.get(name, [])[: len(log)] != log]


# --- one try --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a call ended: the exit code, or a signal as a negative number; what it printed; and what it left running."""

    code: int
    output: str
    progress: bool
    orphans: bool


def call(typed: list[str], folder: Path) -> Ended:
    """`driftwise …` in a process of its own."""
    told = folder.parent / "told"
    child = os.fork()
    if child == 0:
        _become(typed, folder, told)
    code = _wait(child)
    orphans = not _alone(child)
    output = told.read_bytes().decode("utf-8", "backslashreplace")
    return Ended(code, output.removeprefix(MARK), MARK in output, orphans)


MARK = "\0progress\0"


def _become(typed: list[str], folder: Path, told: Path) -> None:
    """In the child, which never returns."""
    code = 99
    try:
        os.setsid()
        os.chdir(folder)
        handle = os.open(told, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(handle, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        encoded = {"encoding": "utf-8", "errors": "strict"}
        sys.stdout, sys.stderr = open(1, "w", closefd=False, **encoded), open(2, "w", closefd=False, **encoded)  # noqa: SIM115
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name in ("DRIFTWISE_PATH", "DRIFTWISE_DEBUG"):
            os.environ.pop(name, None)
        os.environ["COLUMNS"] = "100"
        sys.argv = ["driftwise", *typed]
        code = _called()
    except BaseException as error:
        os.write(2, f"Traceback of the call itself: {error!r}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(code)


def _called() -> int:
    """The exit code of the real entry point, with all that Python does when it ends."""
    import atexit
    import threading
    import warnings

    from driftwise.cli import main

    start = Progress.start

    def started(progress: Progress) -> None:
        os.write(1, MARK.encode())
        start(progress)

    Progress.start = started  # type: ignore[method-assign]
    warnings.simplefilter("error")
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    sys.stdout.flush()
    sys.stderr.flush()
    threading._shutdown()
    atexit._run_exitfuncs()
    return code


def _wait(child: int) -> int:
    deadline = time.monotonic() + WALL
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _alone(child: int) -> bool:
    """Whether the child's whole group is gone, soon: workers look for their parent every half second."""
    deadline = time.monotonic() + WALL
    while time.monotonic() < deadline:
        try:
            os.killpg(child, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    return False


def problems(ended: Ended) -> list[str]:
    """What is wrong with how a call ended."""
    slow = ended.code in (-signal.SIGXCPU, -signal.SIGKILL)
    found = []
    if slow and not ended.progress:
        found.append(f"no end after {CPU} s, and no progress shown")
    elif not slow and ended.code not in (0, 1, 2, PAGED):
        found.append(f"exit code {ended.code}")
    if bad := BAD.search(ended.output):
        found.append(f"says {bad[0]!r}")
    if raw := RAW.search(ended.output.replace(MARK, "")):
        found.append(f"prints {raw[0]!r} as it is")
    if ended.code in (1, 2) and "driftwise: " not in ended.output:
        found.append("fails without a word")
    if ended.orphans:
        found.append("leaves processes behind")
    return found


def run(tries: int, seed: int, start: int = 0) -> list[str]:
    """The findings of so many tries, each with the command line that shows it."""
    known, found = list(commands()), []
    place = Path(tempfile.mkdtemp())  # a TemporaryDirectory would be removed by the first child that ends
    try:
        model = place / "model"
        model.mkdir()
        furnish(model)
        png(blank(1, 1, LIGHT))  # Matplotlib is loaded once, and not in every try
        before = _log(model / "st.db")
        console = Console(stderr=True)
        numbers = range(start, start + tries)
        for number in track(numbers, "commands", console=console, disable=not console.is_terminal, transient=True):
            typed = line(Random(f"{seed}/{number}"), known)
            wrong, said = _tried(typed, model, place / "try" / "folder", before)
            if wrong:
                found.append(f"try {number} of seed {seed}: {'; '.join(wrong)}\n  {quoted(typed)}\n  {said}")
    finally:
        shutil.rmtree(place)
    return found


def _tried(typed: list[str], model: Path, folder: Path, before: dict[str, list[Any]]) -> tuple[list[str], str]:
    shutil.copytree(model, folder, symlinks=True)
    os.link(folder / "st.db", folder / "st.hard")
    try:
        ended = call(typed, folder)
        wrong = problems(ended)
        try:
            wrong += [f"the study {name} lost observations" for name in lost(typed, before, _log(folder / "st.db"))]
        except Exception as error:
            wrong.append(f"the study is gone: {error!r:.200}")
        said = ascii(ended.output.replace(MARK, "")[-600:])
    finally:
        shutil.rmtree(folder.parent)
    return wrong, said


def quoted(typed: list[str]) -> str:
    """As a shell takes it."""

    def word(text: str) -> str:
        if len(text) > 300:
            return f"$(python -c 'print({text[:2]!r} * {len(text) // 2})')"
        plain = text.isascii() and text.isprintable() and "'" not in text
        escaped = "".join(f"\\x{b:02x}" for b in text.encode("utf-8", "surrogatepass"))
        return (f"'{text}'" if re.search(r"[^\w./:=,-]", text) or not text else text) if plain else f"$'{escaped}'"

    return " ".join(("driftwise", *map(word, typed)))
