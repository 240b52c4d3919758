"""What a wheel holds: `python .ci/wheel.py dist/*.whl` says what is missing or should not be there."""

import sys
from pathlib import PurePosixPath
from zipfile import ZipFile

NEEDED = ("driftwise/py.typed", "driftwise/service/dashboard/static/index.html", "driftwise/report/page.css")
OURS = ("driftwise", ".dist-info")  # the package, and what pip needs to know of it


def faults(names: list[str]) -> list[str]:
    """What is wrong with a wheel of these files, a line each.

    >>> faults([*NEEDED, "driftwise-0.1.0.dist-info/METADATA"])
    []
    >>> faults([*NEEDED[1:], "tests/test_own.py"])
    ['driftwise/py.typed is missing', 'tests/test_own.py should not be there']
    """
    missing = [f"{name} is missing" for name in NEEDED if name not in names]
    return missing + [f"{name} should not be there" for name in names if not belongs(PurePosixPath(name))]


def belongs(file: PurePosixPath) -> bool:
    ours = file.parts[0] == OURS[0] or file.parts[0].endswith(OURS[1])
    return ours and not any(part in ("tests", "benchmarks", "__pycache__") for part in file.parts)


if __name__ == "__main__":
    found = faults(ZipFile(sys.argv[1]).namelist())
    print(*found or [f"{sys.argv[1]} holds what it should"], sep="\n")
    sys.exit(bool(found))
