"""Parameters as flags: by OFREP's own schema, by the official client, and events that become rewards."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from driftwise import Choice, Float, Int, Study
from driftwise.errors import InvalidInput
from driftwise.service.flags.assign import slot_of
from driftwise.service.flags.plan import FlagPlan
from serving import wait

SCHEMA = Path(__file__).parents[3] / "shared" / "third-party" / "ofrep-openapi.yaml"
SPACE = {"workers": Int(1, 16), "share": Float(0, 1), "codec": Choice(["none", "zstd"]), "fast": Choice([True, False])}


@pytest.fixture
def url(served, tmp_path) -> str:
    address = served(tmp_path / "a.db")
    Study("web", SPACE, "sw-gp-ucb", path=address, window=20)
    return address


def plan(url: str, **options) -> None:
    httpx.put(f"{url}/v1/studies/web/flags", json=options).raise_for_status()


def flags(url: str, key: str, **context) -> dict:
    body = {"context": {"targetingKey": key, **context}}
    found = httpx.post(f"{url}/ofrep/v1/evaluate/flags", json=body).raise_for_status().json()["flags"]
    return {each["key"]: each for each in found}


def test_all_flags_of_a_study_agree_and_one_key_keeps_its_setting(url, tmp_path):
    plan(url)
    study = Study.open("web", path=tmp_path / "a.db")
    found = flags(url, "host-1")
    assert list(found) == ["web.workers", "web.share", "web.codec", "web.fast"]
    assert {each["variant"] for each in found.values()} == {study.pending()[0].id}
    assert {key: each["value"] for key, each in found.items()} == {
        f"web.{name}": value for name, value in study.pending()[0].params.items()
    }
    single = httpx.post(f"{url}/ofrep/v1/evaluate/flags/web.share", json={"context": {"targetingKey": "host-1"}}).json()
    assert single == found["web.share"]
    assert flags(url, "host-2")["web.share"]["variant"] != single["variant"]
    assert len(study.pending()) == 2


def test_the_bulk_answer_has_a_tag_and_is_sent_once(url):
    plan(url)
    body = {"context": {"targetingKey": "a"}}
    first = httpx.post(f"{url}/ofrep/v1/evaluate/flags", json=body)
    again = httpx.post(f"{url}/ofrep/v1/evaluate/flags", json=body, headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/web.nothing", {"context": {"targetingKey": "a"}}, 404, "FLAG_NOT_FOUND"),
        ("/nobody.x", {"context": {"targetingKey": "a"}}, 404, "FLAG_NOT_FOUND"),
        ("/web.share", {"context": {}}, 400, "TARGETING_KEY_MISSING"),
        ("/web.share", {"context": {"targetingKey": 7}}, 400, "INVALID_CONTEXT"),
        ("/web.share", [1], 400, "INVALID_CONTEXT"),
        ("", {"context": {}}, 400, "TARGETING_KEY_MISSING"),
    ],
)
def test_errors_are_those_of_openfeature(url, path, body, status, code):
    plan(url)
    answer = httpx.post(f"{url}/ofrep/v1/evaluate/flags{path}", json=body)
    assert (answer.status_code, answer.json()["errorCode"]) == (status, code)


def test_a_body_that_is_not_json_is_a_parse_error(url):
    answer = httpx.post(f"{url}/ofrep/v1/evaluate/flags/web.share", content=b"{")
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "PARSE_ERROR")


@pytest.mark.skipif(not SCHEMA.exists(), reason="the schema of OFREP is not beside this checkout")
def test_answers_fit_ofreps_own_schema(url):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    # The flag without a value fits every value, and an integer is a number: one of them is always more than one.
    schema = yaml.safe_load(SCHEMA.read_text().replace("oneOf:", "anyOf:"))
    plan(url)

    def check(path: str, body: dict, template: str) -> None:
        answer = httpx.post(f"{url}{path}", json=body)
        said = schema["paths"][template]["post"]["responses"][str(answer.status_code)]
        named = said["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        whole = {"$ref": f"#/components/schemas/{named}", "components": schema["components"]}
        jsonschema.Draft202012Validator(whole).validate(answer.json())

    one, all_ = "/ofrep/v1/evaluate/flags/{key}", "/ofrep/v1/evaluate/flags"
    good = {"context": {"targetingKey": "a", "plan": "free", "nested": {"x": [1]}}}
    for parameter in SPACE:
        check(f"{all_}/web.{parameter}", good, one)
    check(all_, good, all_)
    check(f"{all_}/web.none", good, one)
    check(f"{all_}/web.share", {"context": {}}, one)
    check(all_, {"context": {}}, all_)


def test_the_official_client_gets_typed_flags_and_tracks(url, tmp_path):
    pytest.importorskip("openfeature.contrib.provider.ofrep", reason="driftwise[openfeature] is not installed")
    from openfeature import api
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.track import TrackingEventDetails

    from driftwise.service.flags.provider import DriftwiseProvider

    plan(url, event="checkout", enough=3)
    api.set_provider(DriftwiseProvider(url))
    client, study = api.get_client(), Study.open("web", path=tmp_path / "a.db")
    who = EvaluationContext("host-1")
    assert client.get_integer_value("web.workers", -1, who) == flags(url, "host-1")["web.workers"]["value"]
    assert isinstance(client.get_float_value("web.share", -1.0, who), float)
    assert client.get_string_value("web.codec", "?", who) in ("none", "zstd")
    assert client.get_boolean_value("web.fast", None, who) in (True, False)
    assert client.get_string_value("web.unknown", "the default", who) == "the default"
    for value in (1.0, 2.0, 6.0):
        client.track("checkout", who, TrackingEventDetails(value=value))
    client.track("something else", who)
    client.track("checkout")  # without a key it is logged, and nothing else
    told = list(study.observations())
    assert [(seen.reward, seen.repeats) for seen in told] == [(3.0, 3)]
    api.shutdown()


@pytest.mark.parametrize(("aggregate", "reward"), [("mean", 1.5), ("rate", 0.5), ("sum", 6.0)])
def test_events_add_up(url, tmp_path, aggregate, reward):
    plan(url, event="e", aggregate=aggregate, enough=4)
    flags(url, "a")
    for i, value in enumerate((0.0, 2.0, 4.0, 0.0)):
        for _ in range(2):  # sent twice, counted once
            body = {"event": "e", "targeting_key": "a", "value": value, "key": f"event {i}"}
            assert httpx.post(f"{url}/v1/track", json=body).json() == {"studies": ["web"]}
    httpx.post(f"{url}/v1/track", json={"event": "e", "targeting_key": "a", "value": 100.0})  # too late
    assert httpx.post(f"{url}/v1/track", json={"event": "e", "targeting_key": "nobody"}).json() == {"studies": []}
    assert [seen.reward for seen in Study.open("web", path=tmp_path / "a.db").observations()] == [reward]


def test_a_key_that_cannot_be_stored_everywhere_is_refused(url):
    plan(url, event="e")
    flags(url, "a")
    body = {"event": "e", "targeting_key": "a", "key": "NUL \0"}
    assert httpx.post(f"{url}/v1/track", json=body).status_code == 422


def test_after_a_time_few_events_are_told_too(url, tmp_path):
    plan(url, event="e", enough=100, within_seconds=0.2)
    flags(url, "a")
    httpx.post(f"{url}/v1/track", json={"event": "e", "targeting_key": "a", "value": 7.0})
    study = Study.open("web", path=tmp_path / "a.db")
    wait(lambda: study.describe().counts.told)
    assert [seen.reward for seen in study.observations()] == [7.0]


def test_who_does_not_explore_has_the_recommended_setting(url, tmp_path):
    study = Study.open("web", path=tmp_path / "a.db")
    for _ in range(6):
        s = study.ask()
        study.tell(s, -((s.params["share"] - 0.3) ** 2))
    plan(url, explore=0.0, event="e")
    best = study.recommend().params
    for key in ("a", "b", "c"):
        found = flags(url, key)
        assert {name: found[f"web.{name}"]["value"] for name in SPACE} == dict(best)
        assert found["web.share"]["metadata"]["explores"] is False
    assert len(study.pending()) == 1  # one suggestion for all of them, so that their events count
    httpx.post(f"{url}/v1/track", json={"event": "e", "targeting_key": "b", "value": 0.5})
    assert list(study.observations())[-1].params == best


def test_a_context_comes_from_the_evaluation_context(served, tmp_path):
    address = served(tmp_path / "c.db")
    study = Study("web", SPACE, "sw-gp-ucb", path=tmp_path / "c.db", window=20, context={"traffic": Float(0, 1)})
    plan(address)
    missing = flags(address, "a")
    assert missing["web."]["errorCode"] == "INVALID_CONTEXT"
    flags(address, "a", traffic=0.25)
    assert study.pending()[0].context == {"traffic": 0.25}


def test_slots_are_kept_shared_and_nested():
    plan = FlagPlan(explore=0.3, keep_seconds=100.0)
    slots = {key: slot_of("web", plan, key, 1e9) for key in map(str, range(4000))}
    explore = {key for key, slot in slots.items() if slot.explores}
    assert abs(len(explore) / 4000 - 0.3) < 4 * (0.3 * 0.7 / 4000) ** 0.5  # four standard deviations
    more = {key for key in slots if slot_of("web", FlagPlan(explore=0.6), key, 1e9).explores}
    assert explore < more
    assert len({slot.key for slot in slots.values() if not slot.explores}) == 1
    assert len({slots[key].key for key in explore}) == len(explore)
    changes = [sum(slot_of("web", plan, key, 1e9 + t).key != slots[key].key for key in explore) for t in (50, 100)]
    assert abs(changes[0] / len(explore) - 0.5) < 0.08  # not everybody at once
    assert changes[1] == len(explore)
    assert "Bonn" not in slot_of("web", plan, "person 17 of Bonn", 0.0).key


@pytest.mark.parametrize(
    "bad", [{"explore": 1.5}, {"keep_seconds": 0}, {"aggregate": "median"}, {"enough": 0}, {"within_seconds": 1e12}]
)
def test_a_plan_that_makes_no_sense_is_refused(bad, url):
    with pytest.raises(InvalidInput):
        FlagPlan(**bad)
    assert httpx.put(f"{url}/v1/studies/web/flags", json=bad).status_code == 400
    assert httpx.put(f"{url}/v1/studies/nobody/flags", json={}).status_code == 404
