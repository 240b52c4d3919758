"""The weights of rows and warps: fixed share against a loop that does one thing at a time, and closed forms."""

import numpy as np
import pytest

from driftwise.auto import weights
from driftwise.auto.rows import HAZARD
from driftwise.auto.search import prior_of
from driftwise.auto.weights import MOST_ENTERING, RARE, SHARE, TINY, entries, path
from worlds import TABLE, TIMES, observations, row, sheaf_of

ROWS = (
    row(),
    row(0, TIMES[0]),
    row(1),
    row(1, TIMES[2], bends=(-1, 0)),
    row(1, since=11),
    row(1, TIMES[0], since=11),
    row(0, shift=16),
)
DATA = observations(26, far=(19,))


def slowly(sheaf, prior, start, known):
    """What the module says, weight by weight."""
    R, w = start.shape
    v, out = start / start.sum(), []
    rows, n = sheaf.rows, len(sheaf.window)
    own = np.where(prior.sum(axis=1, keepdims=True) > 0, prior, 1.0)
    alive = [start[r].sum() > 0 for r in range(R)]
    happened = [(part, at) for part in ("since", "shift") for at in sorted({getattr(r, part) for r in rows} - {0})]

    def kin(r):
        one = rows[r]
        return [q for q, e in enumerate(rows) if (e.family, e.since, e.shift) == (one.family, one.since, one.shift)]

    def kind(r):
        return rows[r].kernel, rows[r].bends, rows[r].level

    for i in range(known, n):
        for part, date in happened:
            dates = {at for kind, at in happened if kind == part}
            new = [r for r in range(R) if getattr(rows[r], part) == date and not start[r].sum()]
            if sheaf.window.data.place(date) == i and new:
                share = min(HAZARD * max((n - known) / len(dates), 1.0), MOST_ENTERING)
                parts = np.array(
                    [
                        [sum(v[q, k] for q in range(R) if kind(q) == kind(r)) + TINY * v[:, k].sum() for k in range(w)]
                        for r in new
                    ]
                )
                v = (1 - share) * v
                for r, part in zip(new, parts / parts.sum(), strict=True):
                    v[r], alive[r] = share * part, True
        out.append(v)
        v = np.array([[v[r, k] * np.exp(sheaf.log_density[r, k, i]) * alive[r] for k in range(w)] for r in range(R)])
        v = v / v.sum()
        v = np.array(
            [
                [
                    (1 - SHARE - RARE) * v[r, k]
                    + SHARE * own[r, k] / own[kin(r), k].sum() * v[kin(r), k].sum()
                    + RARE * prior[r, k]
                    for k in range(w)
                ]
                for r in range(R)
            ]
        )
    return np.array([*out, v / v.sum()])


@pytest.mark.parametrize("known", [0, 8])
def test_weights_are_those_of_a_plain_loop(known):
    sheaf = sheaf_of(DATA, ROWS)
    prior = prior_of(ROWS, len(sheaf.window.warps))
    found = path(sheaf, prior, prior, known)
    assert found.shape == (27 - known, len(ROWS), 2)
    np.testing.assert_allclose(found.sum(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(found, slowly(sheaf, prior, prior, known), atol=1e-12)


def test_without_sharing_they_are_prior_times_likelihood(monkeypatch):
    monkeypatch.setattr(weights, "SHARE", 0.0)
    monkeypatch.setattr(weights, "RARE", 0.0)
    sheaf = sheaf_of(DATA, ROWS[:4])
    prior = prior_of(ROWS[:4], 2)
    likelihood = sheaf.log_density.sum(axis=2)
    posterior = prior * np.exp(likelihood - likelihood.max())
    np.testing.assert_allclose(path(sheaf, prior, prior, 0)[-1], posterior / posterior.sum(), rtol=1e-9)


def test_they_can_be_taken_up_where_they_were_left():
    sheaf = sheaf_of(DATA, ROWS[:4])
    prior = prior_of(ROWS[:4], 2)
    whole = path(sheaf, prior, prior, 0)
    np.testing.assert_allclose(path(sheaf, prior, whole[10], 10), whole[10:], rtol=1e-9)


def test_the_prior_prices_what_rows_assume_and_dates_have_none():
    prior = prior_of(ROWS, 2)
    assert prior.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(prior[3], prior[0] * np.exp(-ROWS[3].nats))
    assert (prior[4:] == 0).all()


def test_a_new_function_is_as_likely_as_another_level():
    rows = (row(), *TABLE.dated(row(), 11))
    new = [each.since > 0 for each in rows]
    sheaf = sheaf_of(DATA, rows)
    prior = prior_of(rows, 2)
    entered = path(sheaf, prior, prior, 0)[10].sum(axis=1)
    share = HAZARD * 26
    each = share * (1 - share) / sum(new)  # and the one shift, which enters after them
    np.testing.assert_allclose(entered, [(1 - share) ** 2, *[each] * sum(new), share])


def test_rows_enter_at_their_dates_with_the_hazard_of_all_since_the_last():
    sheaf = sheaf_of(DATA, ROWS)
    prior = prior_of(ROWS, 2)
    found = entries(sheaf, prior, 0)
    assert sorted(found) == [10, 15]
    assert [[share for _, share in found[place]] for place in (10, 15)] == [[HAZARD * 26], [HAZARD * 26]]
    entered = path(sheaf, prior, prior, 0)
    assert (entered[9, 4:] == 0).all()
    assert entered[10, 4:6].sum() == pytest.approx(HAZARD * 26)
    assert (entered[14, 6] == 0).all()
    assert entered[15, 6].sum() == pytest.approx(HAZARD * 26)
