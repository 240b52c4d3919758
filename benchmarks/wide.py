"""Many coordinates of which a few matter, and choices, for long: `python -m benchmarks.wide OUT CONTENDER...`.

A contender is `auto`, `random` or one of benchmarks/peers, which needs .venv-peers. Each run is one line of JSON in OUT
with the regret after every 20 steps; what is there is not run again, and a run that takes longer than `--minutes` is
stored as far as it came. Without a contender it prints the regret of `auto` relative to each of the others, up to the
step that both reached.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from concurrent.futures import ProcessPoolExecutor, as_completed  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from functools import cached_property  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

import driftwise as dw  # noqa: E402
from benchmarks.peers.contenders import peers  # noqa: E402
from driftwise.environments.catalogue import on_box  # noqa: E402
from driftwise.environments.drift import Abrupt, Chain, Drift, Still  # noqa: E402
from driftwise.environments.world import World  # noqa: E402
from driftwise.records import Array  # noqa: E402
from driftwise.rng import generator  # noqa: E402

HORIZON, EVERY = 1000, 20
VALUES = 3  # of each choice
DRIFTS: dict[str, Drift] = {"still": Still(), "slow": Chain(0.003), "abrupt": Abrupt((HORIZON // 2,))}
SHAPES = {"10d": (10, 2, 0), "20d": (20, 4, 0), "mixed": (6, 2, 2)}  # coordinates, those that matter, choices
CASES = tuple(f"{shape}/{drift}" for shape in SHAPES for drift in DRIFTS)


@dataclass(frozen=True)
class Wide:
    """A world of the lab in a few of many coordinates, and choices each of which adds a constant to it.

    Points are rows of [0, 1]^d; the last coordinates are choices, in VALUES equal parts.
    """

    case: str
    seed: int

    @property
    def _parts(self) -> tuple[int, int, int, Drift]:
        shape, drift = self.case.split("/")
        return *SHAPES[shape], DRIFTS[drift]

    @property
    def dim(self) -> int:
        return self._parts[0] + self._parts[2]

    @cached_property
    def _world(self) -> World:
        return on_box(self._parts[3], seed=self.seed, dim=self._parts[1], horizon=HORIZON)

    @cached_property
    def _matter(self) -> tuple[Array, Array]:
        """The coordinates that matter, and what each value of each choice adds: (m,), (choices, VALUES)."""
        rng, (floats, matter, choices, _) = np.random.default_rng(self.seed), self._parts
        return rng.choice(floats, matter, replace=False), 0.5 * rng.standard_normal((choices, VALUES))

    @property
    def space(self) -> dict[str, object]:
        floats, _, choices, _ = self._parts
        some: dict[str, object] = {f"x{j}": dw.Float(0, 1) for j in range(floats)}
        return some | {f"c{j}": dw.Choice(list(range(VALUES))) for j in range(choices)}

    def point(self, params: dict[str, float]) -> Array:
        floats, _, choices, _ = self._parts
        chosen = [(params[f"c{j}"] + 0.5) / VALUES for j in range(choices)]
        return np.array([params[f"x{j}"] for j in range(floats)] + chosen)

    def value(self, t: int, x: Array) -> float:
        columns, added = self._matter
        chosen = np.minimum((x[self._parts[0] :] * VALUES).astype(int), VALUES - 1)
        return float(self._world.value(t, x[None, columns])[0]) + float(added[np.arange(len(chosen)), chosen].sum())

    def best(self, t: int) -> float:
        return self._world.best(t) + float(self._matter[1].max(axis=1, initial=-np.inf).sum() if self._parts[2] else 0)

    def reward(self, t: int, x: Array) -> float:
        return self.value(t, x) + 0.1 * float(generator(self.seed, t).standard_normal())


Step = Callable[[int], Array]  # from the number of a step to its point
Told = Callable[[int, Array, float], None]


def contender(name: str, world: Wide) -> tuple[Step, Told]:
    """How one of them is asked and told."""
    if name == "auto":
        study = dw.Study("wide", space=world.space, seed=world.seed)
        asked: list[dw.Suggestion] = []

        def ask(t: int) -> Array:
            asked[:] = [study.ask()]
            return world.point(asked[0].params)

        return ask, lambda t, x, y: study.tell(asked[0], y) and None
    if name == "random":
        return lambda t: generator(world.seed, 10**6 + t).random(world.dim), lambda t, x, y: None
    (rival,) = peers([name])
    peer = rival.load()(world.dim, world.seed, **dict(rival.options))
    return (
        lambda t: np.clip(np.asarray(peer.ask(t, float(t)), dtype=float), 0, 1),
        lambda t, x, y: peer.tell(dw.Observation(t, float(t), tuple(x.tolist()), y)),
    )


def run(name: str, case: str, seed: int, minutes: float) -> dict[str, object]:
    """One run: the regret after every EVERY steps, and the seconds that it took."""
    world, until = Wide(case, seed), time.monotonic() + 60 * minutes
    ask, tell = contender(name, world)
    regret, curve = 0.0, list[float]()
    for t in range(1, HORIZON + 1):
        x = ask(t)
        regret += world.best(t) - world.value(t, x)
        tell(t, x, world.reward(t, x))
        if t % EVERY == 0:
            curve.append(round(regret, 6))
        if time.monotonic() > until:
            break
    return {"contender": name, "case": case, "seed": seed, "curve": curve, "seconds": round(time.process_time(), 1)}


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(found: Sequence[dict[str, object]]) -> Iterator[str]:
    """The regret of auto relative to that of each of the others, where both came."""
    curves = {(each["contender"], each["case"], each["seed"]): each["curve"] for each in found}
    ours = {key[1:]: curve for key, curve in curves.items() if key[0] == "auto"}
    for (name, *place), curve in sorted(curves.items()):
        own = ours.get(tuple(place))
        if name == "auto" or not own or not curve:
            continue
        last = min(len(own), len(curve))
        ratio = own[last - 1] / curve[last - 1]
        yield f"{place[0]:<14} seed {place[1]}  {name:<16} {ratio:6.2f}  to step {last * EVERY}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("contenders", nargs="*")
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1000, help="the first seed (1000)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--minutes", type=float, default=60, help="after which a run ends (60)")
    asked = parser.parse_args()
    done = {(each["contender"], each["case"], each["seed"]) for each in lines(asked.out)}
    seeds = range(asked.first, asked.first + asked.seeds)
    wanted = [(name, case, seed) for seed in seeds for case in asked.cases for name in asked.contenders]
    with asked.out.open("a", encoding="utf-8") as file, ProcessPoolExecutor(asked.jobs, max_tasks_per_child=1) as pool:
        jobs = [pool.submit(run, *key, asked.minutes) for key in wanted if key not in done]
        for job in as_completed(jobs):
            print(json.dumps(job.result()), file=file, flush=True)
    print("\n".join(table(lines(asked.out))))


if __name__ == "__main__":
    main()
