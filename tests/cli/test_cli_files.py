"""What commands write: never over what they read, nor over a study, and whole or not at all."""

import os
from pathlib import Path

import pytest

from driftwise import Float, Study
from driftwise.cli import files
from driftwise.errors import InvalidInput

WAYS = ("st.json", "./st.json", "link.json", "hard.json", "folder/../st.json")


@pytest.fixture
def study(call):
    """A study in st.json (a name that export takes), with links to it; gives what it holds."""
    made = Study("s", {"x": Float(0, 1)}, "sw-gp-ucb", path="st.json")
    for reward in (1.0, 2.0, 3.0):
        made.tell(made.ask(), reward)
    made.close()
    os.symlink("st.json", "link.json")
    os.link("st.json", "hard.json")
    Path("folder").mkdir()
    return list(made.observations())


def held() -> list:
    study = Study.open("s", path="st.json")
    try:
        return list(study.observations())
    finally:
        study.close()


@pytest.mark.parametrize("target", WAYS)
@pytest.mark.parametrize("command", ["study show s --png", "study show s --over-time --png", "study export s --out"])
def test_a_study_is_never_its_own_target(study, refused, command, target):
    message = refused(f"{command} {target} --path st.json")
    assert Path(target).name in message
    assert held() == study


@pytest.mark.parametrize("side", files.SIDE)
def test_nor_are_the_files_beside_it(study, refused, side):
    assert f"st.json{side}" in refused(f"study show s --path link.json --png st.json{side}")
    assert not Path(f"st.json{side}").exists() or held() == study


def test_a_study_that_the_command_does_not_read_is_safe_too(study, refused):
    message = refused("compare --policy random --horizon 2 --seeds 1 --out st.json")
    assert "never written over" in message
    assert held() == study


def test_a_recording_is_not_overwritten_by_what_is_learned_from_it(refused):
    Path("r.csv").write_text("1,2\n2,1\n1,3\n3,1\n", encoding="utf-8")
    os.symlink("r.csv", "also.csv")
    for target in ("r.csv", "also.csv"):
        message = refused(f"compare --policy random --rewards r.csv --out {target}")
        assert "is what this command reads" in message
    assert Path("r.csv").read_text(encoding="utf-8").startswith("1,2\n")


def test_results_do_not_go_over_a_recording(refused):
    Path("out").mkdir()
    Path("out/results.db").write_text("1,2\n2,1\n1,3\n3,1", encoding="utf-8")
    refused("lab run --policy random --rewards out/results.db --out out --engine serial")
    assert Path("out/results.db").read_text(encoding="utf-8").endswith("3,1")


def test_a_folder_of_other_files_is_not_mended_into_results(refused):
    Path("out").mkdir()
    Path("out/results.db").write_text("mine\nalso mine", encoding="utf-8")
    refused("lab run --policy random --suite deng --seeds 1 --horizon 5 --out out --engine serial")
    assert Path("out/results.db").read_text(encoding="utf-8") == "mine\nalso mine"


def test_a_failure_leaves_the_old_file_whole(tmp_path):
    target = tmp_path / "out.json"
    target.write_text("old", encoding="utf-8")

    def failing():
        with files.opened(target) as file:
            file.write(b"half of the n")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert target.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_link_stays_a_link_and_a_mode_a_mode(tmp_path):
    target, link = tmp_path / "out.json", tmp_path / "link.json"
    target.touch(mode=0o640)
    link.symlink_to(target)
    files.write(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to(tmp_path):
    files.write(Path(os.devnull), "gone")
    assert not Path(os.devnull).is_file()


def test_what_cannot_be_written_is_told(tmp_path):
    (tmp_path / "fixed").touch(mode=0o444)
    for target, why in (("fixed", "read-only"), (".", "is a folder"), ("none/x", "there is no folder")):
        with pytest.raises(InvalidInput, match=why):
            files.check(tmp_path / target)


@pytest.mark.parametrize(
    "path",
    ["~nosuchuser/x", "n" * 300, "loop", "loop/x", "folder", "st.json/x", "'a\0b'", "\ud800", "''"],
)
def test_a_path_that_leads_nowhere_is_one_line(study, call, path):
    os.symlink("loop", "loop")
    for command in ("study list --path", "study show s --path st.json --png", "lab table", "lab report"):
        result = call(f"{command} {path}")
        assert result.exit_code in (1, 2), (command, result.output)
        assert result.stderr.startswith("driftwise: ")
        assert "bug" not in result.stderr
        assert len(result.stderr.splitlines()) <= 2
    assert held() == study


def test_commands_write_through_the_door_alone():
    sources = Path(files.__file__).parent.glob("*.py")
    writers = [p.name for p in sources if any(w in p.read_text("utf-8") for w in (".write_text(", ".write_bytes("))]
    assert writers == []
