"""Every choice of every policy on three worlds: `python -m benchmarks.choices OUT.json [--against OLD.json]`.

Run on two versions of the code, it shows whether a change that should change nothing did change nothing: two digests
are the same if and only if all 200 choices are the same, bit for bit.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
import hashlib  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from rich.progress import track  # noqa: E402

import driftwise as dw  # noqa: E402
from driftwise.errors import DriftwiseError  # noqa: E402
from driftwise.policies import REGISTRY  # noqa: E402

WORLDS = ("deng-abrupt", "deng-slow", "rotating-box")
STEPS, SEED = 200, 3


def digest(policy: str, environment: str) -> str:
    """Of all the points that a policy asks for; or why it asks for none."""
    world = dw.environment(environment)
    try:
        made = dw.policy(policy, world.space)
        chosen = [step.seen.x for step in dw.run(made, world, horizon=STEPS, seed=SEED)]
    except DriftwiseError as error:
        return f"refused: {type(error).__name__}"
    return hashlib.sha256(repr(chosen).encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path, help="digests of another version: which choices differ?")
    given = parser.parse_args()
    pairs = [(policy, world) for policy in sorted(REGISTRY) for world in WORLDS]
    found = {f"{policy} on {world}": digest(policy, world) for policy, world in track(pairs, "choices")}
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.against:
        old = json.loads(given.against.read_text(encoding="utf-8"))
        other = [name for name in found | old if found.get(name) != old.get(name)]
        print(f"{len(found) - len(other)} of {len(found)} the same", *other, sep="\n  ")
        sys.exit(bool(other))


if __name__ == "__main__":
    main()
