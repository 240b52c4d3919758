"""Prints the share of lines and branches that tests ran, for each package and in all, from coverage's JSON."""

import json
import sys
from collections import defaultdict
from pathlib import Path, PurePath

KINDS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def per_package(files: dict) -> dict[str, list[int]]:
    """The counts of KINDS, added up by the package or the module right below driftwise."""
    found = defaultdict(lambda: [0] * len(KINDS))
    for path, measured in files.items():
        parts = PurePath(path).parts
        package = parts[parts.index("driftwise") + 1]
        for name in (package if package.endswith(".py") else f"{package}/", "in all"):
            found[name] = [n + measured["summary"][kind] for n, kind in zip(found[name], KINDS, strict=True)]
    return found


def share(covered: int, of: int) -> str:
    return f"{100 * covered / of:.1f}%" if of else "–"


if __name__ == "__main__":
    found = per_package(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"])
    print(f"{'package':20}{'lines':>8}{'branches':>10}")
    for name in sorted(found, key=lambda name: (name == "in all", name)):
        lines, statements, branches, all_branches = found[name]
        print(f"{name:20}{share(lines, statements):>8}{share(branches, all_branches):>10}")
