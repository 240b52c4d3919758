"""python -m tests.fuzz NAME --tries N --seed S: random calls, and each finding with what shows it."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys

KNOWN = ("commands", "api")


def main() -> int:
    there = [name for name in KNOWN if importlib.util.find_spec(f"tests.fuzz.{name}")]
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", choices=there)
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first try, to see one again")
    given = parser.parse_args()
    begin = {"start": given.start} if given.start else {}
    findings = importlib.import_module(f"tests.fuzz.{given.name}").run(given.tries, given.seed, **begin)
    for finding in findings:
        print(finding)
    print(f"{given.name}: {given.tries} tries of seed {given.seed}, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
