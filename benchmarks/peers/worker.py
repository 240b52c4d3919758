"""In the peers' environment: reads trials as lines of JSON, performs them with one thread, answers in lines of JSON.

.venv-peers/bin/python -m benchmarks.peers.worker
"""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from benchmarks.peers import cases
from benchmarks.peers.contenders import PEERS
from driftwise.lab.trials import Trial


def trial_of(asked: Mapping[str, Any]) -> Trial:
    """The trial that a line asks for."""
    place = asked["suite"], asked["case"]
    return Trial(PEERS[asked["peer"]], place[0], cases.case(*place), asked["horizon"], asked["seed"])


def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What came of it, or why nothing did."""
    try:
        trial = trial_of(asked)
        PEERS[asked["peer"]].load()
        result, timing, _ = trial.perform()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return {"problem": f"{type(error).__name__}: {error!s:.300} ({where.filename}:{where.lineno})"}
    return {"result": asdict(result), "timing": asdict(timing)}


def main() -> None:
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # whatever a peer prints is no answer
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
