"""The example of docs: its commands, as they stand in its README, in a short form."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from driftwise import Study

EXAMPLE = Path(__file__).parents[2] / "examples" / "tune_real_program"


def commands() -> list[str]:
    """The commands of the README, one string each."""
    blocks = re.findall(r"(?:^    .*\n)+", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    joined = "".join(blocks).replace("\\\n", " ")
    return [" ".join(line.split()) for line in joined.splitlines()]


@pytest.mark.slow
def test_the_commands_of_the_readme_run(call, tmp_path):
    shutil.copy(EXAMPLE / "measure.py", tmp_path)
    first, slow, second, changes, shown = commands()
    for line in (first, second):
        assert "--steps 40" in line
        short = line.replace("--steps 40", "--steps 4").replace("python3", shlex.quote(sys.executable))
        result = call(short.removeprefix("driftwise ").replace("--timeout 2", "--timeout 60"))
        assert result.exit_code == 0, result.output
        assert "Best now: codec = " in result.stdout
        assert slow == "echo 400 > line"
        Path("line").write_text("400")
    for line in (changes, shown):
        assert call(line.removeprefix("driftwise ")).exit_code == 0
    seen = list(Study.open("ship", path="driftwise.db").observations())
    assert [o.number for o in seen] == list(range(1, 9))
    assert all(0 < dict(o.measures)["share"] < 1 for o in seen if not o.failed)
    # the slow line: a tenth of the speed, so that sending what is left costs ten times as much
    assert all(o.reward >= 1000 * 1024 * dict(o.measures)["share"] / 400 for o in seen[4:] if not o.failed)


def test_the_figures_of_the_readme_are_those_of_the_program(call, tmp_path):
    """By what needs no clock: what is sent, of which the README's two settings send least per second of the line."""
    shutil.copy(EXAMPLE / "measure.py", tmp_path)
    line = f"tune s --choice codec=zlib,bz2 --env --steps 6 --json --reward-field share -- {sys.executable} measure.py"
    result = call(f"{line} {{codec}} 9 512")
    shares = {s["params"]["codec"]: s["reward"] for s in map(json.loads, result.stdout.splitlines()) if "params" in s}
    assert shares["bz2"] < shares["zlib"]
