"""How the command line is called: from an empty folder, and what a good call and a refusal look like."""

import pytest
from typer.testing import CliRunner

from driftwise.cli import failure
from driftwise.cli.app import app


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs `driftwise …` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("DRIFTWISE_PATH", raising=False)
    monkeypatch.delenv(failure.DEBUG, raising=False)

    def invoke(line: str):
        return CliRunner().invoke(app, line, prog_name="driftwise")

    return invoke


@pytest.fixture
def good(call):
    """A call that must succeed, and says nothing on stderr."""

    def invoke(line: str) -> str:
        result = call(line)
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
        return result.stdout

    return invoke


@pytest.fixture
def refused(call):
    """A call that must fail in one to three lines on stderr."""

    def invoke(line: str, code: int = 2) -> str:
        result = call(line)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        lines = result.stderr.splitlines()
        assert 1 <= len(lines) <= 3
        assert lines[0].startswith("driftwise: ")
        return result.stderr

    return invoke
