"""The command line: parse, one library call, print. One file a command."""

from __future__ import annotations


def main() -> None:
    """The `driftwise` command."""
    import sys

    from driftwise.cli.app import app
    from driftwise.concurrency.threads import one_thread

    for stream in (sys.stdout, sys.stderr):  # what a terminal's encoding has not is escaped
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    one_thread(app)(prog_name="driftwise")
