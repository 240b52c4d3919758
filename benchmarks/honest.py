"""What a policy pays, and whether what it says is true: `python -m benchmarks.honest --help`.

    python -m benchmarks.honest --policy auto --worlds still,cliff --seeds 41-46 -o results.jsonl --jobs 2
    python -m benchmarks.honest table results.jsonl [base.jsonl]

Each run of a policy on a world of the suites `ops` and `boba` with a seed is one line of JSON; what is there is not run
again. `benchmarks/honest_table.py` has the table, and says what its columns are.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from concurrent.futures import ProcessPoolExecutor, as_completed  # noqa: E402
from dataclasses import dataclass, field  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from scipy.special import log_ndtr, ndtri_exp  # noqa: E402

from benchmarks.honest_table import table  # noqa: E402
from driftwise.auto.changes import Watch  # noqa: E402
from driftwise.cli.parse import policy as contender  # noqa: E402
from driftwise.environments.swept import moments  # noqa: E402
from driftwise.environments.wrong_readings import OneWrong  # noqa: E402
from driftwise.lab.cases import Case  # noqa: E402
from driftwise.lab.ops import FIRST, boba, ops  # noqa: E402
from driftwise.lab.trials import changes_of  # noqa: E402
from driftwise.records import Array, Ask, Observation  # noqa: E402
from driftwise.rng import Stream, generator  # noqa: E402
from driftwise.study.answers import cautious  # noqa: E402

CASES = {**{case.name: case for case in ops.cases}, **{f"boba-{case.name}": case for case in boba.cases}}
QUERIES = 15  # at random, before a run of `boba`
FROM, EVERY = 20, 8  # the steps after which statements are judged
ASKED, TRIED = 16, 5  # settings at random, and the last that were tried, about which statements are made
SURE = 1.959964  # standard deviations within which 95% lie
AFTER, ADVISED = 20, 4  # steps after a wrong reading in which the loss is counted, and the advice
TOLERATED = 1.1  # of the least cost, up to which advice is good
MATCHED = 10  # steps after a change, or between it and its date, up to which an announcement is of that change

Z = Callable[[Array], Array]  # truths to standard normal deviates, by the probability integral transform


# --- what is asked of a policy: these four functions, and nothing else ------------------------------------------------


def interval(policy: Any, state: Any, ask: Ask, X: Array) -> tuple[Array, Array, Array, Z]:
    """What is said about f_t at the rows of X: mean, ends of the 95% interval, and z of a truth.

    A belief that is not Gaussian says so by `interval(X, level)`, two arrays, and `tails(X, values)`, the probabilities
    of less and of more than each value (two arrays); all in its own units, as `predict`.
    """
    belief = policy.belief(state, ask)
    location, scale = belief.units
    mean, std = belief.predict(X)
    if hasattr(belief, "tails"):
        low, high = belief.interval(X, 0.95)
        z: Z = lambda truth: _deviate(*belief.tails(X, (truth - location) / scale))  # noqa: E731
    else:
        low, high = mean - SURE * std, mean + SURE * std
        z = lambda truth: ((truth - location) / scale - mean) / np.maximum(std, 1e-300)  # noqa: E731
    return location + scale * mean, location + scale * low, location + scale * high, z


def _deviate(below: Array, above: Array) -> Array:
    """The standard normal deviate of these tails, from the smaller one: exact far out, too."""
    least = np.log(np.maximum(np.minimum(below, above), 1e-300))
    return np.where(below < above, 1.0, -1.0) * ndtri_exp(np.minimum(least, float(log_ndtr(0.0))))


def recommended(policy: Any, state: Any, ask: Ask) -> Array:
    """The setting that a study would recommend: (d,)."""
    return cautious(policy.space, policy.belief(state, ask), ask)


def alarmed(policy: Any, state: Any, ask: Ask) -> bool:
    """Whether a change is said to have happened just now."""
    return bool(policy.just_changed(state, ask))


@dataclass
class Announced:
    """The changes that `Study.changes` would give, as (number, noticed, taken back); it follows the run's states."""

    policy: Any
    state: Any = None
    watch: Watch | None = None

    def start(self) -> Any:
        return None

    def update(self, _: Any, seen: Observation) -> Any:
        return self.state

    def belief(self, state: Any, ask: Ask) -> Any:
        return self.policy.belief(state, ask)

    def follow(self, state: Any, seen: Observation) -> None:
        self.state = state
        self.watch = (self.watch or Watch.of(self)).update(seen)

    @property
    def changes(self) -> list[tuple[int, int, int | None]]:
        return [(c.number, c.noticed, c.taken_back) for c in self.watch.changes] if self.watch else []


@dataclass(frozen=True)
class Peer:
    """BoTorch with time as an input, where it is installed; it is asked for settings alone."""

    dim: int
    seed: int

    def start(self) -> Any:
        from benchmarks.peers.botorch_peer import BoTorch

        return BoTorch(self.dim, self.seed, time=True)

    def choose(self, state: Any, ask: Ask) -> Array:
        chosen: Array = state.ask(ask.number, ask.at)
        return chosen

    def update(self, state: Any, seen: Observation) -> Any:
        state.tell(seen)
        return state


# --- a run ------------------------------------------------------------------------------------------------------------


@dataclass
class Said:
    """Statements about the function, judged by the truth."""

    z: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)

    def judge(self, policy: Any, state: Any, ask: Ask, X: Array, truth: Array) -> None:
        _, low, high, z = interval(policy, state, ask, X)
        self.held += ((low <= truth) & (truth <= high)).tolist()
        self.z += z(truth).tolist()

    def summary(self) -> dict[str, Any]:
        off = np.abs(np.nan_to_num(self.z, nan=1e300))
        return {"said": len(off), "held": sum(self.held), "off": int((off > 4).sum()), "worst": float(off.max())}


def run(name: str, seed: int, label: str) -> dict[str, Any]:
    """One run, as a line of the results."""
    case = CASES[name]
    world = case.environment(seed)
    policy = Peer(world.space.dim, seed) if label == "botorch" else contender(label).on(world)
    speaks = hasattr(policy, "diagnose")
    state, log, said, announced = policy.start(), list[Observation](), Said(), Announced(policy)
    regret, ms, alarms, advice = list[float](), list[float](), list[int](), list[bool]()
    first = FIRST if name.startswith("boba-") else 0
    for seen in _queries(world, seed) if first else ():
        state = policy.update(state, seen)
        log.append(seen)
    wrong = world.noise if isinstance(world.noise, OneWrong) else None
    log_from = first + 1 - len(log)  # the observation of step t is log[t - log_from]

    def look(t: int, state: Any) -> None:
        """At what is said after step t; once it has chosen again, since what is computed for that is part of a step."""
        announced.follow(state, log[t - log_from])
        after = Ask(log[t - log_from].number + 1, float(t), seed=seed)
        if t >= FROM and (t - FROM) % EVERY == 0:
            tried = [seen.x for seen in log[: t - log_from + 1][-TRIED:]]
            X = _settings(policy, world, state, after, tried)
            said.judge(policy, state, after, X, world.value(t, X))
        if wrong and wrong.at <= t < wrong.at + AFTER and alarmed(policy, state, after):
            alarms.append(t)
        if wrong and wrong.at <= t < wrong.at + ADVISED:
            got = float(world.value(t, recommended(policy, state, after)[None])[0])
            advice.append(got >= TOLERATED * world.best(t))  # rewards are costs below 0 there

    for t in range(first + 1, case.horizon + 1):
        ask = Ask(len(log) + 1, float(t), seed=seed)
        began = time.process_time()
        x = policy.choose(state, ask)
        seconds = time.process_time() - began
        if speaks and t > first + 1:
            look(t - 1, state)
        log.append(Observation(ask.number, float(t), tuple(x.tolist()), world.observe(t, x)))
        began = time.process_time()
        state = policy.update(state, log[-1])
        ms.append(1000 * (seconds + time.process_time() - began))
        regret.append(float(world.best(t) - world.value(t, x[None])[0]))
    if speaks:
        look(case.horizon, state)
    changes = true_changes(world, case)
    half = len(regret) // 2
    return {
        "world": name,
        "seed": seed,
        "policy": label,
        "horizon": case.horizon,
        "regret": float(np.mean(regret)),
        "late": float(np.mean(regret[half:])),
        "unit": moments(name.removeprefix("boba-"))[1] if first else 1.0,
        **(said.summary() if speaks else {}),
        **judged_changes(announced.changes, changes, case.horizon),
        "announced": announced.changes,
        "ms": [float(v) for v in (np.median(ms), np.quantile(ms, 0.99), np.max(ms))],
        **({"after": float(sum(regret[wrong.at : wrong.at + AFTER]))} if wrong else {}),
        **({"alarms": len(alarms), "bad": advice.count(False)} if wrong and speaks else {}),
        "curve": [float(f"{v:.5g}") for v in regret],
    }


def _queries(world: Any, seed: int) -> Iterator[Observation]:
    """The random queries at the beginning of a run of `boba`, in the first three steps of time."""
    X = world.space.sample(generator(seed, 0, Stream.DESIGN), QUERIES)
    each = QUERIES // FIRST
    for i, x in enumerate(X):
        t = 1 + i // each
        eta = world.noise.draw(seed, 1_000_000 + i)  # numbers of their own: several in one step
        yield Observation(i + 1, t + i % each / each, tuple(x.tolist()), float(world.value(t, x[None])[0]) + eta)


def _settings(policy: Any, world: Any, state: Any, ask: Ask, tried: Sequence[Any]) -> Array:
    rng = generator(world.seed, ask.number, Stream.EQUALS)
    points = world.space.points
    at_random = world.space.sample(rng, ASKED) if points is None else points[rng.integers(len(points), size=ASKED)]
    return np.vstack([at_random, np.array(tried), recommended(policy, state, ask)])


def true_changes(world: Any, case: Case) -> list[int]:
    """The last steps before abrupt changes, of the function or of its level."""
    level = getattr(getattr(world, "drift", None), "level", None)
    return [*changes_of(world, case.horizon), *getattr(level, "times", ())]


def judged_changes(announced: Sequence[tuple[int, int, Any]], changes: Sequence[int], horizon: int) -> dict[str, Any]:
    """How many announced changes are none, and after how many more readings each real one was noticed (None: not).

    0 is at the first reading after the change. An announcement is of a change that was up to 10 steps before, or of an
    earlier one if it is dated within 10 steps of it.
    """

    def of(number: int, noticed: int, change: int) -> bool:
        return change < noticed and (noticed <= change + MATCHED or abs(number - change - 1) <= MATCHED)

    false = sum(not any(of(number, noticed, c) for c in changes) for number, noticed, _ in announced)
    delays = [[noticed - c - 1 for number, noticed, _ in announced if of(number, noticed, c)] for c in changes]
    return {"false": false, "delays": [min(each, default=None) for each in delays]}


# --- the command line -------------------------------------------------------------------------------------------------


def main(given: Sequence[str] | None = None) -> None:
    arguments = list(sys.argv[1:] if given is None else given)
    if arguments[:1] == ["table"]:
        print(table([_found(Path(path)) for path in arguments[1:]]))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.honest", description=__doc__.split("\n\n")[0])
    parser.add_argument("--policy", action="append", help="auto (the default), sw-gp-ucb:window=50, random, botorch, …")
    parser.add_argument("--worlds", default="ops", help=f"ops, boba, all, or some of {', '.join(CASES)} (ops)")
    parser.add_argument("--seeds", default="1-8", help="as 41-46 or 1,3 (1-8)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("-o", "--out", type=Path, required=True, help="a file of JSON lines")
    asked = parser.parse_args(arguments)
    done = {(line["world"], line["seed"], line["policy"]) for line in _found(asked.out)}
    specs = asked.policy or ["auto"]
    wanted = [(w, s, p) for s in seeds_of(asked.seeds) for w in worlds_of(asked.worlds) for p in specs]
    refused = []
    with asked.out.open("a", encoding="utf-8") as file, ProcessPoolExecutor(asked.jobs) as pool:
        futures = {pool.submit(run, *key): key for key in wanted if key not in done}
        for future in as_completed(futures):
            if error := future.exception():
                refused.append(f"{futures[future]}: {error}")
            else:
                print(json.dumps(future.result()), file=file, flush=True)
    if refused:
        raise SystemExit("\n".join(refused))


def worlds_of(given: str) -> list[str]:
    """The names of worlds that these words stand for."""
    groups = {"all": list(CASES), "ops": [n for n in CASES if not n.startswith("boba-")]}
    groups["boba"] = [n for n in CASES if n.startswith("boba-")]
    names = [name for word in given.split(",") for name in groups.get(word, [word])]
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise SystemExit(f"no world is called {unknown[0]}; there are ops, boba, all, {', '.join(CASES)}")
    return names


def seeds_of(given: str) -> list[int]:
    """41-43,50 as 41, 42, 43, 50."""
    ends = [[int(end) for end in part.split("-")] for part in given.split(",")]
    return [seed for each in ends for seed in range(each[0], each[-1] + 1)]


def _found(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
