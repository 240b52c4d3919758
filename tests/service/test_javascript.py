"""The service from JavaScript: OpenFeature's official client, and the very lines that the documents show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from driftwise import Choice, Float, Int, Study

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "node"
NODE = shutil.which("node")
SPACE = {"workers": Int(1, 16), "share": Float(0, 1), "codec": Choice(["none", "zstd"]), "fast": Choice([True, False])}

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="there is no node on this machine"),
    pytest.mark.skipif(not (FOLDER / "ready").exists(), reason="there is no OpenFeature client: make build/node/ready"),
]


def shown(page: str) -> str:
    """The JavaScript of a page of ours."""
    return "\n".join(re.findall(r"```js\n(.*?)```", (ROOT / "docs" / page).read_text(), flags=re.DOTALL))


@pytest.fixture
def script(served, good, tmp_path):
    """Runs JavaScript that uses the service at the address of the documents, and returns what `said` is at its end."""
    token = json.loads(good(f"token create js --scope admin --path {tmp_path / 'a.db'} --json"))["token"]
    url = served(tmp_path / "a.db")

    def run(code: str, said: str) -> object:
        there = code.replace("http://127.0.0.1:8321", url) + f"\nconsole.log(JSON.stringify({said}));\n"
        environment = {**os.environ, "DRIFTWISE_TOKEN": token}
        words = [NODE, "--input-type=module"]
        done = subprocess.run(words, input=there, cwd=FOLDER, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)

    run.url, run.headers = url, {"Authorization": f"Bearer {token}"}
    return run


def flagged(script, **plan) -> None:
    answer = httpx.put(f"{script.url}/v1/studies/web/flags", json=plan, headers=script.headers)
    answer.raise_for_status()


@pytest.mark.slow
def test_the_lines_for_flags_get_a_setting_and_track_its_reward(script, tmp_path):
    study = Study("web", SPACE, "sw-gp-ucb", path=tmp_path / "a.db", window=20)
    flagged(script, event="checkout")
    workers = script(shown("flags.md"), "workers")
    [told] = study.observations()
    assert (told.params["workers"], told.reward) == (workers, 12.5)


@pytest.mark.slow
def test_the_official_client_gets_typed_flags_that_agree(script, tmp_path):
    study = Study("web", SPACE, "sw-gp-ucb", path=tmp_path / "a.db", window=20)
    flagged(script)
    asked = """[
        await client.getNumberDetails("web.workers", -1, who), await client.getNumberDetails("web.share", -1, who),
        await client.getStringDetails("web.codec", "?", who), await client.getBooleanDetails("web.fast", false, who),
        await client.getStringDetails("web.unknown", "mine", who),
        await client.getStringDetails("web.fast", "mine", who), await client.getNumberDetails("web.share", -1, {}),
    ]"""
    *found, unknown, wrong, nobody = script(shown("flags.md"), asked)
    [suggestion] = study.pending()
    assert [each["value"] for each in found] == list(suggestion.params.values())
    assert {each["variant"] for each in found} == {suggestion.id}
    assert {each["flagMetadata"]["suggestion"] for each in found} == {suggestion.id}
    assert (unknown["value"], unknown["errorCode"]) == ("mine", "FLAG_NOT_FOUND")
    assert (wrong["value"], wrong["errorCode"]) == ("mine", "TYPE_MISMATCH")
    assert (nobody["value"], nobody["errorCode"]) == (-1, "TARGETING_KEY_MISSING")


def test_the_lines_for_the_api_ask_and_tell(script, tmp_path):
    study = Study("prices", {"price": Float(5, 20)}, "sw-gp-ucb", path=tmp_path / "a.db", window=20)
    asked = script("const tryIt = async (params) => 2 * params.price;\n" + shown("service.md"), "s.params")
    [told] = study.observations()
    assert (told.params, told.reward) == (asked, 2 * asked["price"])
