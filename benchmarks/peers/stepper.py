"""In the peers' environment: a peer that lives through somebody else's log and says how long its own steps take.

.venv-peers/bin/python -m benchmarks.peers.stepper botorch-window 2

Reads observations as lines of JSON. For each it is asked, where `timed` says so, then told, and it answers with the
seconds of the processor that this took.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import Any

from benchmarks.peers.adapter import Peer
from benchmarks.peers.contenders import PEERS
from driftwise.records import Observation


def step(peer: Peer, line: dict[str, Any]) -> float:
    """Asked, if this step is timed, and told: seconds."""
    seen = Observation(line["number"], line["at"], tuple(line["x"]), line["y"])
    start = time.process_time()
    if line["timed"]:
        peer.ask(seen.number, seen.at)
    peer.tell(seen)
    return time.process_time() - start


def main() -> None:
    name, dim = sys.argv[1:]
    rival, answers = PEERS[name], sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # whatever a peer prints is no answer
        peer = rival.load()(int(dim), 0, **dict(rival.options))
        for line in sys.stdin:
            print(json.dumps(step(peer, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
