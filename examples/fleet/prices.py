"""A price for each of 100,000 products whose demand moves: what a fleet earns, and what it costs to run.

python examples/fleet/prices.py --products 100000 --days 60 --path build/prices --picture prices.png
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np

import driftwise as dw
from driftwise.plots.style import LIGHT, png, single

PRICES = np.arange(5.0, 20.5, 0.5)


class Market:
    """Products whose customers would pay about so much, which moves in waves, and for some jumps one day."""

    def __init__(self, products: int, days: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.visitors = np.random.default_rng(seed + 1), rng.uniform(10, 100, products)
        self.level, self.cost = rng.uniform(9, 16, products), rng.uniform(2, 4, products)
        self.period, self.phase = rng.uniform(150, 400, products), rng.uniform(0, 2 * np.pi, products)
        self.jumps = np.where(rng.random(products) < 0.1, rng.integers(1, days, products), days)

    def profit(self, day: int) -> np.ndarray:
        """Of every product at every price, in all: (products, prices)."""
        pays = self.level + 3 * np.sin(2 * np.pi * day / self.period + self.phase) - 4 * (day >= self.jumps)
        buyers = self.visitors[:, None] / (1 + np.exp(PRICES - pays[:, None]))
        return (PRICES - self.cost[:, None]) * buyers

    def reward(self, profit: np.ndarray) -> np.ndarray:
        """What is told: the profit from a visitor, in units of 5, as the day brought it."""
        return profit / self.visitors / 5 + 0.1 * self.rng.standard_normal(len(profit))


def shares(fleet: dw.Fleet, market: Market, days: int) -> np.ndarray:
    """What is earned of what could be, day by day: by the fleet, and by the prices that were best on the first day."""
    keys, rows = list(range(len(market.visitors))), np.arange(len(market.visitors))
    first, found = market.profit(0).argmax(axis=1), np.empty((days, 2))
    for day in range(days):
        profit = market.profit(day)
        batch = fleet.ask(keys)
        earned = profit[rows, batch.where]
        fleet.tell(batch, market.reward(earned))
        best = profit.max(axis=1).sum()
        found[day] = earned.sum() / best, profit[rows, first].sum() / best
    return found


def drawn(found: np.ndarray) -> bytes:
    figure, axes = single((6.4, 3.0), LIGHT, x="day", y="share of the best profit, %", grid="y")
    for i, (name, share) in enumerate(zip(("fleet", "the best price of the first day"), found.T, strict=True)):
        axes.plot(np.arange(1, len(found) + 1), 100 * share, color=LIGHT.colour(i), label=name, linewidth=1.8)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=LIGHT.ink)
    return png(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--products", type=int, default=150)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--path", type=Path, help="a folder, which makes the fleet durable")
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    model = {"kernel": dw.Matern(2.5, 5.0), "noise": 0.02, "window": 24, "standardise": False, "width": 1.0}
    space = dw.Candidates(PRICES[:, None], names=["price"])
    layout = {"path": given.path, "shards": given.shards, "processes": given.processes}
    market, began = Market(given.products, given.days), time.perf_counter()
    with dw.Fleet("products", space, "sw-gp-ucb", **model, **layout) as fleet:
        found = shares(fleet, market, given.days)
        seconds, moved = time.perf_counter() - began, fleet.drift()
    late = found[given.days // 2 :].mean(axis=0)
    jumped = market.jumps < given.days - 5
    print(f"{given.products:,} products, {given.days} days, engine {fleet.engine}")
    print(f"second half: fleet {late[0]:.1%} of the best profit, the first day's best prices {late[1]:.1%}")
    print(f"alarms: {(moved.alarms[jumped] > 0).mean():.1%} of those that jumped", end=", ")
    print(f"{(moved.alarms[~jumped] > 0).mean():.1%} of the others")
    decisions, processor = given.products * given.days, time.process_time()
    print(f"{seconds:.0f} s, {processor:.0f} s of them on the processor, {decisions:,} decisions", end=", ")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB of memory", end="")
    if given.path is not None:
        written = sum(file.stat().st_size for file in given.path.rglob("*") if file.is_file())
        print(f", {written / 1e6:,.0f} MB on the disk", end="")
    print()
    if given.picture is not None:
        given.picture.write_bytes(drawn(found))


if __name__ == "__main__":
    main()
