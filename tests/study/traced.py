"""A writer to be watched by strace: `traced.py FILE FULL|OFF`. It acknowledges every call that has returned."""

from __future__ import annotations

import os
import sys

from driftwise import Candidates, Study
from driftwise.log import Choice, Chosen, NewObservation, Outcome, View, sqlite


def three(view: View) -> Choice:
    return lambda: (Chosen((0.0,), 1.0),) * 3


def main(path: str, synchronous: str) -> None:
    sqlite.SYNCHRONOUS = synchronous
    study = Study("s", Candidates([[0.0], [0.5], [1.0]], names=["x"]), policy="sw-gp-ucb", path=path, window=4)
    os.write(1, b"ack create\n")
    for i in range(12):
        s = study.ask(key=f"k{i}")
        os.write(1, b"ack ask\n")
        if i % 4 == 3:
            study.abandon(s)
            os.write(1, b"ack abandon\n")
        else:
            study.tell(s, float(i))
            os.write(1, b"ack tell\n")
        study.observe({"x": 0.5}, float(i))
        os.write(1, b"ack observe\n")
        if i % 4 == 0:
            study._log.correct(s.number, Outcome(-1.0))
            os.write(1, b"ack correct\n")
            study._log.ask_many(f"b{i}", three, 2, 3)
            os.write(1, b"ack ask for three\n")
            study._log.load([NewObservation((0.5,), Outcome(1.0), key=f"row {i} {j}") for j in range(50)])
            os.write(1, b"ack load\n")
    study._store.rename("s", "t")
    os.write(1, b"ack rename\n")
    study._store.copy("t", study._store, "u")
    os.write(1, b"ack copy\n")
    study._store.delete("u")
    os.write(1, b"ack delete\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
