"""schemathesis against a running service: python -m tests.service.schema PATH-OF-SCHEMATHESIS [--examples N]

All checks are on. The stream of events is left out, because it never ends, and so is the import, whose JSON lines
schemathesis cannot write; tests/service has tests of both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from driftwise import Float, Study
from driftwise.service.database import Database
from driftwise.service.settings import ServiceSettings
from driftwise.service.tokens import Tokens
from serving import serving

CONFIG = Path(__file__).with_name("schemathesis.toml")
LEFT_OUT = ["--exclude-path", "/v1/events", "--exclude-operation-id", "import_log_v1_studies__name__observations_post"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.service.schema")
    parser.add_argument("program", help="the path of schemathesis")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "a.db")
        _, token = Tokens(Database(ServiceSettings(store=store))).create("admin", ("admin",))
        with serving(store) as url:
            study = Study("a", {"price": Float(5, 20)}, path=url, token=token)
            study.tell(study.ask(), 1.0)
            words = ["--config-file", str(CONFIG), "run", f"{url}/v1/openapi.json"]
            words += ["--header", f"Authorization: Bearer {token}", "--checks", "all", "--seed", str(given.seed)]
            words += ["--max-examples", str(given.examples), "--phases", "examples,coverage,fuzzing", *LEFT_OUT]
            words += ["--request-timeout", "60", "--max-response-time", "60", "--continue-on-failure"]
            done = subprocess.run([given.program, *words])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
