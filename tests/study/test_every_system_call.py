"""A kill between any two system calls of a call leaves all of it or nothing.

One call is watched by strace, which records the bytes of every write. What a kill after the n-th write leaves behind is
then built from the first n of them, for every n, and opened.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import one_call
import pytest
from test_durability import can_trace

from driftwise.log import open_store, verify

WRITE = re.compile(r'(?:\d+ +)?pwrite64\(\d+<([^>]*)>, "([^"]*)", (\d+), (\d+)\) = \3$')

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_trace(), reason="strace is not installed, or tracing is not permitted here"),
]


def everything(path: Path) -> dict:
    """All that a file says, but for ids and wall-clock times."""
    store, said = open_store(path), {}
    for name in store.names():
        log = store.open(name)
        asked = log.read(lambda view: [(each.number, each.x, each.key.split("-")[0]) for each in view.pending(99)])
        made = [(each.number, each.before, each.after, each.who, each.why) for each in log.corrections()]
        said[name] = (log.read(lambda view: view.counts), asked, made, list(log.observations()))
    store.close()
    return said


def writes(path: Path, call: str, trace: Path) -> list[tuple[str, bytes, int]]:
    """What the call writes, in order: the part of the file, the bytes and their place."""
    watch = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-e", "trace=pwrite64", "-o", str(trace)]
    command = [*watch, sys.executable, one_call.__file__, str(path), call]
    subprocess.run(command, check=True, timeout=300)
    found = []
    for line in trace.read_text().splitlines():
        written = WRITE.match(line)
        if written is None:
            continue
        file, data, _, offset = written.groups()
        name = bytes.fromhex(file.replace("\\x", "")).decode() if "\\x" in file else file
        part = name.removeprefix(str(path))
        if name.startswith(str(path)) and part in ("", "-wal"):
            found.append((part, bytes.fromhex(data.replace("\\x", "")), int(offset)))
    return found


@pytest.mark.parametrize("call", sorted(one_call.CALLS))
def test_all_or_nothing(tmp_path, call):
    path, before = tmp_path / "a.db", tmp_path / "before.db"
    store = open_store(path)
    one_call.make(store)
    store.close()
    shutil.copy(path, before)
    written = writes(path, call, tmp_path / "trace")
    assert len(written) > 3  # it was watched
    none, done = everything(before), everything(path)
    assert none != done
    seen = []
    for killed in left_behind(before, written):
        seen.append(everything(killed))
        assert seen[-1] in (none, done), f"half of it: {killed.name} of {len(written)} writes"
        assert verify.check(killed) == []
    assert (seen[0], seen[-1]) == (none, done)
    assert seen == sorted(seen, key=lambda each: each == done)  # what is there stays there


def left_behind(before: Path, written: list[tuple[str, bytes, int]]) -> Iterator[Path]:
    """The file as a kill after none, one, two, … of the writes leaves it."""
    parts = {"": bytearray(before.read_bytes()), "-wal": bytearray()}
    for n in range(len(written) + 1):
        killed = before.parent / f"killed-{n}.db"
        for part, content in parts.items():
            Path(f"{killed}{part}").write_bytes(content)
        yield killed
        for part, data, offset in written[n : n + 1]:
            content = parts[part]
            content.extend(bytes(max(0, offset + len(data) - len(content))))
            content[offset : offset + len(data)] = data
