"""A price that is tuned while demand moves: ask, sell, tell. It can be stopped and resumed at any time."""

import math
import random
import tempfile
from pathlib import Path

import driftwise as dw


def demand(price: float, day: int) -> float:
    """The demand, which the study never sees: the best price moves between 8 and 16."""
    best = 12 + 4 * math.sin(day / 25)
    return 100 * math.exp(-(((price - best) / 4) ** 2)) + random.Random(day).gauss(0, 3)


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "prices.db"
    study = dw.Study("prices", space={"price": dw.Float(5, 20)}, path=file)
    for day in range(1, 61):
        suggestion = study.ask(key=f"day-{day}")  # asked again with this key: the same price
        study.tell(suggestion, demand(suggestion.params["price"], day))

    study = dw.Study.open("prices", path=file)  # tomorrow, in another program
    best = study.recommend()
    print(f"day 60: charge {best.params['price']:.2f}, expect {best.mean:.0f} ± {best.std:.0f}")
    print(f"the best price was {12 + 4 * math.sin(60 / 25):.2f}")
