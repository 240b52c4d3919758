"""A study behind a service: the same class for its user, with the same promises and the same errors."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NoReturn, Self

import numpy as np

from driftwise import checks
from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import Moment
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.gp.belief import Belief
from driftwise.log import Correction, Counts, Loaded, Outcome
from driftwise.records import Array, Params, Prediction, Receipt, Recommendation, Suggestion
from driftwise.service import wire
from driftwise.service.connection import Connection
from driftwise.study import Description, Reading, Study, Summary, inputs
from driftwise.study.opening import Path
from driftwise.text import did_you_mean

ROWS = 1000  # settings of one request that predicts


class RemoteStudy(Study):
    """A study that a service keeps. Made by `Study(name, path="https://...", token=...)`.

    What is given is checked here first, with the study's own description, so that errors are those of a study in a
    file. Every call that stores something carries a key, so that it may be repeated whenever an answer is lost.
    """

    def _make(self, name: str, given: Description, path: Path | None, **service: Any) -> None:
        self._attach(Connection.to(path, **service), name, given)
        body = {"name": name, "description": json.loads(given.to_json())}
        found = self._connection.call("POST", "/studies", body)
        self.description = Description.from_json(json.dumps(found["description"]))

    def __getattr__(self, name: str) -> NoReturn:
        if name == "_log":
            raise InvalidInput("the log of a study is where its policy runs, and this one is behind a service")
        raise AttributeError(f"a study behind a service has no {name}")

    @classmethod
    def open(cls, name: str, *, path: Path, token: str | None = None, timeout: float | None = None) -> Self:
        connection = Connection.to(path, token, timeout)
        checks.name("a study's name", name)
        try:
            found = connection.call("GET", f"/studies/{wire.segment(name)}")
        except NotFoundError:
            names = cls.names(path, token, timeout)
            question, known = did_you_mean(name, names), ", ".join(map(repr, names[:10])) or "none"
            raise NotFoundError(f"{connection.address} has no study {name!r:.80}; {question}it has {known}") from None
        return cls._of(connection, name, Description.from_json(json.dumps(found["description"])))

    @classmethod
    def names(cls, path: Path, token: str | None = None, timeout: float | None = None) -> list[str]:
        connection, names, after = Connection.to(path, token, timeout), list[str](), ""
        while True:
            page = connection.call("GET", "/studies", query={"limit": 1000, "after": after})
            names += page["studies"]
            if page["next"] is None:
                return names
            after = page["next"]

    @classmethod
    def _of(cls, connection: Connection, name: str, description: Description) -> Self:
        made = cls.__new__(cls)
        made._attach(connection, name, description)
        return made

    def _attach(self, connection: Connection, name: str, description: Description) -> None:
        self.name, self.path, self.description = name, connection.address, description
        self._connection = connection

    def _call(self, method: str, what: str = "", body: Any = None, **options: Any) -> Any:
        return self._connection.call(method, f"/studies/{wire.segment(self.name)}{what}", body, **options)

    # --- ask and tell -------------------------------------------------------------------------------------------

    def _asked(
        self, key: str | None, at: float | None, context: Params | None, fixed: Params | None, n: int | None
    ) -> list[Suggestion]:
        self.description.pins(context, fixed)
        body = {"key": key or _made_key(), "at": at, "context": context, "fixed": fixed, "far": True}
        found = self._call("POST", "/ask", body if n is None else body | {"n": n})
        return [wire.read(Suggestion, each) for each in found["suggestions"]]

    def _told(self, id: str, outcome: Outcome, at: float | None, key: str | None) -> Receipt:
        body = {"suggestion": id, "at": at, "key": key, "far": True}
        return wire.read(Receipt, self._call("POST", "/tell", body | wire.told_outcome(outcome)))

    def _observed(
        self, params: Params, context: Params | None, outcome: Outcome, at: float | None, key: str | None
    ) -> Receipt:
        self.description.point(params, context)
        body = {"params": params, "context": context, "at": at, "key": key or _made_key(), "far": True}
        return wire.read(Receipt, self._call("POST", "/observe", body | wire.told_outcome(outcome)))

    def _abandoned(self, id: str) -> None:
        self._call("POST", "/abandon", {"suggestion": id})

    def _corrected(
        self, which: int | Suggestion | str, outcome: Outcome | None, who: str, why: str, *, keep: bool = False
    ) -> Receipt:
        meant = inputs.suggestion_id(which) if isinstance(which, Suggestion | str) else checks.count("number", which)
        body: dict[str, Any] = {"which": meant, "who": who, "why": why}
        if outcome is None:
            return wire.read(Receipt, self._call("POST", "/retract", body))
        body |= wire.told_outcome(outcome) | ({"measures": None} if keep else {})
        return wire.read(Receipt, self._call("POST", "/correct", body))

    def corrections(self) -> list[Correction]:
        return [wire.correction(each) for each in self._call("GET", "/corrections")]

    def pending(self) -> list[Suggestion]:
        return [wire.read(Suggestion, each) for each in self._call("GET", "/pending")]

    def describe(self) -> Summary:
        found = self._call("GET")
        return Summary(self.name, self.path, self.description, wire.read(Counts, found["counts"]), found["awaited"])

    # --- what it says -------------------------------------------------------------------------------------------

    def recommend(
        self, at: float | None = None, *, context: Params | None = None, fixed: Params | None = None
    ) -> Recommendation:
        self.description.pins(context, fixed)
        body = {"at": inputs.time(at), "context": context, "fixed": fixed}
        return wire.read(Recommendation, self._call("POST", "/recommend", body))

    def predict(self, params: Params, at: float | None = None, *, context: Params | None = None) -> Prediction:
        self.description.point(params, context)
        body = {"params": params, "at": inputs.time(at), "context": context}
        return wire.read(Prediction, self._call("POST", "/predict", body))

    def predict_many(
        self, settings: Sequence[Params], at: float | None = None, *, context: Params | None = None
    ) -> tuple[Array, Array]:
        self.description.pins(context, None)
        body = {"at": inputs.time(at), "context": context}
        parts = [settings[i : i + ROWS] for i in range(0, len(settings), ROWS)]
        found = [self._call("POST", "/predict-many", body | {"settings": part}) for part in parts]
        mean, std = (np.concatenate([np.array(each[what], float) for each in found]) for what in ("mean", "std"))
        return mean, std

    def belief(self, at: float | None = None) -> Belief:
        raise InvalidInput(
            "the belief of a study is where its policy runs, and this one is behind a service; use predict_many"
        )

    def drift(self, at: float | None = None) -> Diagnosis:
        self._explainer()
        return wire.read(Diagnosis, self._call("GET", "/drift", query={"at": inputs.time(at)}))

    def drift_history(self, points: int = 40) -> list[Moment]:
        self._explainer()
        query = {"points": checks.count("points", points)}
        return [wire.read(Moment, each) for each in self._call("GET", "/drift-history", query=query)]

    def changes(self, since: int | None = None) -> list[NoticedChange]:
        self._explainer()
        query = {"since": None if since is None else checks.count("since", since, least=0)}
        return [wire.read(NoticedChange, each) for each in self._call("GET", "/changes", query=query)]

    # --- the log ------------------------------------------------------------------------------------------------

    def observations(self) -> Iterator[Reading]:
        path = f"/studies/{wire.segment(self.name)}/observations"
        return (wire.read(Reading, json.loads(line)) for line in self._connection.lines(path))

    def latest(self, count: int) -> list[Reading]:
        return self._some(latest=checks.count("count", count))

    def page(self, after: int = 0, count: int = 1000) -> list[Reading]:
        return self._some(after=checks.count("after", after, least=0), count=checks.count("count", count))

    def sampled(self, most: int, *, first: int = 1, last: int | None = None) -> list[Reading]:
        end = None if last is None else checks.count("last", last, least=0)
        return self._some(sample=checks.count("most", most), first=checks.count("first", first), last=end)

    def _some(self, **query: int | None) -> list[Reading]:
        lines = self._connection.lines(f"/studies/{wire.segment(self.name)}/observations", query=query)
        return [wire.read(Reading, json.loads(line)) for line in lines]

    def load_batch(self, batch: Sequence[Mapping[str, Any]], *, first: int = 1) -> Loaded:
        made, numbers = _made_key(), count()
        rows = [
            {"key": f"{made}-{next(numbers)}"} | {part: value for part, value in row.items() if value is not None}
            if isinstance(row, Mapping)
            else row
            for row in batch
        ]
        return wire.read(Loaded, self._call("POST", "/observations", rows, query={"first": first}, lines=True))

    # --- the study itself ---------------------------------------------------------------------------------------

    def copy(self, name: str, *, path: Path | None = None) -> Study:
        if path is not None:
            raise InvalidInput(f"a copy stays in its service, got {path!r:.80}; fork the study there, or load its log")
        body = {"to": checks.name("a study's name", name)}
        found = self._call("POST", "/copy", body, repeatable=False)
        return self._of(self._connection, found["name"], self.description)

    def rename(self, name: str) -> None:
        self._call("POST", "/rename", {"to": checks.name("a study's name", name)}, repeatable=False)
        self.name = name

    def delete(self) -> None:
        self._call("DELETE", repeatable=False)

    def close(self) -> None:
        self._connection.close()

    def __reduce__(self) -> Any:
        way = self._connection
        return _reopened, (self.name, way.address, way.given_token, way.timeout)


def _reopened(name: str, path: str, token: str | None, timeout: float) -> RemoteStudy:
    return RemoteStudy.open(name, path=path, token=token, timeout=timeout)


def _made_key() -> str:
    return f"made-{secrets.token_hex(12)}"
