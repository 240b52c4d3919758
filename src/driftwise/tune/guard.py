"""Runs one command and ends it when its time is up, or when the tuner that started it is gone, however it went.

This file is a program of its own and uses the standard library alone, so that it starts at once. One line of JSON on
its standard input says what to run. The input then stays open as long as the tuner lives: the system closes it even if
the tuner is killed, and no command is left behind. One line of JSON on the standard output says what came of it.

The command is in a process group of its own. The whole group is ended, first with SIGTERM and, if that is not enough,
with SIGKILL; what the command itself leaves running is ended, too. A program that is to stay needs setsid.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time


def main() -> None:
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return  # the tuner is gone already
    asked = json.loads(line)
    try:
        report = run(asked)
    except (OSError, ValueError) as error:
        report = {"error": getattr(error, "strerror", None) or str(error)}
    try:
        os.write(1, (json.dumps(report) + "\n").encode())
    except OSError:
        return  # nobody listens any more


def run(asked: dict) -> dict:  # type: ignore[type-arg]
    begun = time.perf_counter()
    command = subprocess.Popen(
        asked["arguments"],
        stdin=subprocess.DEVNULL,
        stdout=asked["out"],
        stderr=asked["err"],
        env=asked["environment"],
        process_group=0,
    )
    os.close(asked["out"])
    os.close(asked["err"])
    ended = threading.Event()
    expired: list[bool] = []
    threading.Thread(target=watch, args=(command.pid, asked, ended, expired), daemon=True).start()
    code = command.wait()
    seconds = time.perf_counter() - begun
    ended.set()
    end_group(command.pid, 0.0, ended)
    return {"code": code, "seconds": seconds, "timed_out": bool(expired)}


def watch(group: int, asked: dict, ended: threading.Event, expired: list) -> None:  # type: ignore[type-arg]
    """Waits until the time is up or the tuner is gone, whichever is first, and ends the group."""
    readable, _, _ = select.select([0], [], [], asked["timeout"])
    if ended.is_set():
        return
    if not readable:
        expired.append(True)
    end_group(group, asked["grace"], ended)


def end_group(group: int, grace: float, ended: threading.Event) -> None:
    """SIGTERM, and SIGKILL if the command has not ended after `grace` seconds."""
    for signal_, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 0.0)):
        try:
            os.killpg(group, signal_)
        except (ProcessLookupError, PermissionError):
            return
        if ended.wait(patience) and grace:
            return  # the main thread ends what is left of the group


if __name__ == "__main__":
    main()
