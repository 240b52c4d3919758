"""driftwise study on a study behind a service: the same commands print the same, and what cannot be done says so."""

from __future__ import annotations

import json
import re

import pytest

from driftwise import Study

COMMANDS = [
    "study create prices --float price=5:20 --choice mode=a,b --minimize --policy sw-gp-ucb:window=30",
    "study ask prices --key one --json",
    "study tell prices {id} 3.5 --json",
    "study tell prices {id} 3.5",
    "study ask prices -n 2 --fixed mode=a --json",
    "study fail prices {id}",
    "study observe prices price=12.5 mode=b --reward 1 --key two",
    "study observe prices price=9 mode=a --reward 2",
    "study recommend prices",
    "study predict prices price=11 mode=b --json",
    "study show prices",
    "study show prices --json",
    "study correct prices 5 1.5 --who me --why typing",
    "study retract prices 4 --who me",
    "study export prices --jsonl",
    "study export prices",
    "study list --json",
    "study copy prices twin",
    "study fork prices wider --float price=5:40",
    "study rename twin other",
    "study delete other --yes",
    "study ask prices --key three --json",
    "study abandon prices {id}",
    "tune timed --int n=1:3 --steps 2 --json -- /bin/echo {n}",
]


def played(good, path: str) -> list[str]:
    """What the commands print, each with the id that was printed last; ids and paths have no names of their own."""
    printed, id = list[str](), ""
    for command in COMMANDS:
        options, dashes, rest = command.replace("{id}", id).partition(" -- ")
        text = good(f"{options} --path {path}{dashes}{rest}")
        id = [id, *re.findall(r'"id": *"([^"]+)"', text)][-1]
        text = re.sub(r"\b(\d+)-[0-9a-f]{6,}", r"\1-ID", text.replace(path, "PATH"))
        text = re.sub(r'"seconds": ?[\d.]+|"key": ?"[^"]*"|─+|┄+', "…", text)
        printed.append(" ".join(text.split()))
    return printed


def test_the_same_commands_print_the_same(good, served, tmp_path):
    here = played(good, str(tmp_path / "here.db"))
    there = played(good, served(tmp_path / "there.db"))
    for command, one, other in zip(COMMANDS, here, there, strict=True):
        assert other == one, command


def test_what_was_exported_there_is_imported_here_and_a_fork_goes_either_way(good, served, tmp_path):
    url = served(tmp_path / "there.db")
    good(f"study create prices --float price=5:20 --path {url}")
    for price in (6, 9, 14):
        good(f"study observe prices price={price} --reward {-price} --path {url}")
    (tmp_path / "log.jsonl").write_text(good(f"study export prices --jsonl --path {url}"))
    good(f"study create again --float price=5:20 --path {tmp_path / 'here.db'}")
    good(f"study import again {tmp_path / 'log.jsonl'} --path {tmp_path / 'here.db'}")
    good(f"study fork prices here --path {url} --to {tmp_path / 'here.db'}")
    good(f"study fork here there --path {tmp_path / 'here.db'} --to {url}")
    wanted = [(seen.params, seen.reward) for seen in Study.open("prices", path=url).observations()]
    for name, path in (("again", tmp_path / "here.db"), ("here", tmp_path / "here.db"), ("there", url)):
        assert [(seen.params, seen.reward) for seen in Study.open(name, path=path).observations()] == wanted


def test_a_token_is_given_or_in_the_environment(good, refused, served, tmp_path, monkeypatch):
    store = tmp_path / "a.db"
    token = json.loads(good(f"token create me --scope admin --path {store} --json"))["token"]
    url = served(store)
    create = f"study create prices --float price=5:20 --path {url}"
    assert "token" in refused(create, code=1)
    assert token not in good(f"{create} --token {token}")
    monkeypatch.setenv("DRIFTWISE_TOKEN", token)
    good(f"study ask prices --path {url}")
    good(f"study create prices --float price=5:20 --path {tmp_path / 'here.db'}")  # a file needs none
    assert "leave it out" in refused(f"study ask prices --path {tmp_path / 'here.db'} --token {token}")


@pytest.mark.parametrize(
    "command",
    ["study check --path URL", "store copy URL there.db", "store copy here.db URL", "token list --path URL"],
)
def test_what_needs_the_store_itself_says_where_to_run_it(command, refused):
    assert "where the service runs" in refused(command.replace("URL", "http://127.0.0.1:9"))


def test_a_copy_stays_where_it_is(good, refused, served, tmp_path):
    url = served(tmp_path / "there.db")
    good(f"study create prices --float price=5:20 --path {url}")
    assert "fork" in refused(f"study copy prices twin --path {url} --to {tmp_path / 'here.db'}")
    good(f"study fork prices twin --path {url} --to {tmp_path / 'here.db'}")
    assert "fork" in refused(f"study copy twin prices2 --path {tmp_path / 'here.db'} --to {url}")
