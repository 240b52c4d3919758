"""Vending machines that ask a service for their prices: a fleet behind `driftwise serve`, a key for each machine.

python examples/fleet/kiosks.py --machines 200 --days 40
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import driftwise as dw
from driftwise.service.fleet_client import RemoteFleet

SPACE = {"price": dw.Float(1, 4), "discount": dw.Float(0, 0.5)}
MODEL = {"window": 24, "kernel": dw.Matern(2.5, 0.4), "noise": 0.02}
DRIFTWISE = [sys.executable, "-c", "from driftwise.cli import main; main()"]


def profit(params: list[dict], day: int) -> np.ndarray:
    """Of every machine: what customers would pay moves in waves, and a discount brings more of them."""
    price, discount = (np.array([each[name] for each in params]) for name in ("price", "discount"))
    pays = 2.5 + 0.6 * np.sin(2 * np.pi * day / 80 + np.arange(len(params)))
    customers = (1 + discount) / (1 + np.exp(4 * (price * (1 - discount) - pays)))
    return (price * (1 - discount) - 0.8) * customers


@contextlib.contextmanager
def serving(port: int) -> Iterator[str]:
    """The address of a service of its own with a new fleet, which ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        fleets = Path(folder, "fleets")
        dw.Fleet("kiosks", SPACE, "sw-gp-ucb", path=fleets, **MODEL).close()
        words = ["serve", "--path", f"{folder}/a.db", "--fleets", str(fleets), "--port", str(port)]
        with subprocess.Popen([*DRIFTWISE, *words, "--log-level", "error"], stdout=subprocess.DEVNULL) as service:
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                service.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=50)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--port", type=int, default=8329)
    given = parser.parse_args()
    keys, rng, earned = [f"kiosk-{i}" for i in range(given.machines)], np.random.default_rng(0), list[float]()
    with serving(given.port) as address:
        fleet = RemoteFleet("kiosks", address, timeout=60)  # which waits until the service answers
        began = time.perf_counter()
        for day in range(given.days):
            batch = fleet.ask(keys)
            found = profit(batch.params, day)
            earned.append(found.mean())
            fleet.tell(batch, found + 0.05 * rng.standard_normal(len(found)))
        rate = given.machines * given.days / (time.perf_counter() - began)
        best = fleet.recommend(keys[:1]).params[0]
    half = given.days // 2
    print(f"{given.machines:,} machines, {given.days} days: {fleet.description['where']}")
    print(f"mean profit: {np.mean(earned[:half]):.3f} in the first half, {np.mean(earned[half:]):.3f} in the second")
    print(f"the best setting of kiosk-0 now: price {best['price']:.2f}, discount {best['discount']:.0%}")
    print(f"{2 * given.days} requests, {rate:,.0f} decisions a second")


if __name__ == "__main__":
    main()
