"""A setting whose optimum follows a daily cycle, minimised: `auto` finds the period and forecasts with it."""

import math

import driftwise as dw

DAY = 24


def best_share(hour: int) -> float:
    """The optimum, which the study never sees."""
    return 0.5 + 0.3 * math.sin(2 * math.pi * hour / DAY)


study = dw.Study("latency", space={"share": dw.Float(0, 1)}, direction="minimize")
for hour in range(1, 4 * DAY + 1):
    suggestion = study.ask()
    study.tell(suggestion, 10 + 20 * (suggestion.params["share"] - best_share(hour)) ** 2)

cycle = study.drift().cycle
print(f"period: {cycle.period:.1f} hours" if cycle else "no period was found")
for hour in (4 * DAY + 6, 4 * DAY + 18):
    forecast = study.recommend(at=hour)
    print(f"hour {hour}: choose {forecast.params['share']:.2f}, the optimum is {best_share(hour):.2f}")
