"""Buffers that states share: however they are grown and dropped, each state keeps its own rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftwise.gp.buffers import SharedRows


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=40))
def test_every_state_keeps_its_rows(steps):
    """Any state may be grown or shortened at any time; plain lists say what each must hold."""
    states = [(SharedRows.of(np.zeros(0, dtype=int), np.zeros((0, 70)), room=3), [])]
    for i, (which, dropping) in enumerate(steps):
        rows, held = states[which % len(states)]
        if dropping and held:
            states.append((rows.drop(1), held[1:]))
        else:
            states.append((rows.append(i, np.full(70, float(i))), [*held, i]))
    for rows, held in states:
        numbers, wide = rows.views
        assert len(rows) == len(held)
        assert numbers.tolist() == held
        assert (wide == np.array(held, dtype=float).reshape(-1, 1)).all()
        assert wide.shape == (len(held), 70)
