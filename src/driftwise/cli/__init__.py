"""The command line: parse, one library call, print. One file a command."""

from __future__ import annotations


def main() -> None:
    """The `driftwise` command."""
    import os
    import sys

    from driftwise.cli.app import app

    for stream in (sys.stdout, sys.stderr):  # what a terminal's encoding has not is escaped
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if "_DRIFTWISE_COMPLETE" in os.environ:  # a shell asks how a word may end, and needs an answer at once
        app(prog_name="driftwise")
    import driftwise.gp.linalg  # noqa: F401  # so that the BLAS is there which is to have one thread
    from driftwise.concurrency.threads import one_thread

    if not sys.flags.safe_path:  # modules of one's own are found in the current folder, behind all that is installed
        sys.path.append(os.getcwd())
    one_thread(app)(prog_name="driftwise")
