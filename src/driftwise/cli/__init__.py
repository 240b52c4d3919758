"""The command line: parse, one library call, print. One file a command."""

from __future__ import annotations


def main() -> None:
    """The `driftwise` command."""
    from driftwise.cli.app import app
    from driftwise.threads import one_thread

    one_thread(app)(prog_name="driftwise")
