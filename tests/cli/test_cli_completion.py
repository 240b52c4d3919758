"""Shells complete the names of commands and options, and do not wait for NumPy."""

import os
import subprocess
import sys

import pytest

from driftwise import Float, Study
from driftwise.cli.app import FILES

MAIN = "import driftwise.cli; driftwise.cli.main()"


def completed(words: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """What bash gets for the last of the words."""
    asked = {"_DRIFTWISE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, *flags, "-c", MAIN]
    return subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)


FURTHER = [
    ("driftwise ", list(FILES)),
    ("driftwise sto", ["store"]),
    ("driftwise --ver", ["--version"]),
    ("driftwise study ask --k", ["--key"]),
    ("driftwise study co", ["correct", "corrections", "copy"]),
    ("driftwise lab r", ["run", "report"]),
    ("driftwise nothing", []),
]


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("driftwise stu", ["study"]),
        ("driftwise study a", ["ask", "abandon"]),
        ("driftwise study create --context", ["--context-float", "--context-int", "--context-choice"]),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in FURTHER),
    ],
)
def test_words_are_completed(words, answers):
    assert completed(words).stdout.split() == answers


def test_the_name_of_a_command_is_completed_without_numpy():
    loaded = completed("driftwise stu", "-X", "importtime").stderr
    assert "typer" in loaded
    assert "numpy" not in loaded


@pytest.mark.parametrize("words", ["driftwise study show pr", "driftwise study show --path other.db pr"])
def test_the_names_of_studies_are_completed(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DRIFTWISE_PATH", raising=False)
    for path, names in (("driftwise.db", ("prices", "web")), ("other.db", ("profits", "queue"))):
        for name in names:
            Study(name, {"x": Float(0, 1)}, "random", path=path)
    assert completed(words).stdout.split() == (["profits"] if "other" in words else ["prices"])


@pytest.mark.slow
def test_where_there_is_no_study_none_is_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("none.db", "http://127.0.0.1:9", "postgresql://127.0.0.1:9/none"):
        done = completed(f"driftwise study show --path {path} p")
        assert (done.stdout.split(), done.stderr) == ([], "")
    assert list(tmp_path.iterdir()) == []


def test_the_shells_are_told_how_to_ask(call, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: ("bash", "/bin/bash"))
    shown = call("--show-completion bash")
    assert shown.exit_code == 0
    assert "_DRIFTWISE_COMPLETE=complete_bash" in shown.stdout
