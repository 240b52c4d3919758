"""Fleets behind HTTP: batches of asks and tells for the fleets of one folder or database.

A fleet is made by `driftwise fleet create` or in Python, and opened here when it is first asked for. One process at a
time has it open, so that a service with several replicas serves its fleets from one of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import numpy as np
from fastapi import APIRouter, FastAPI, Request
from pydantic import Field, field_validator

from driftwise import checks
from driftwise.errors import NotFoundError
from driftwise.fleet import Fleet, Outcomes
from driftwise.service.access import Caller, needs, plain
from driftwise.service.api.bodies import Body, Whole
from driftwise.service.api.strict import StrictRoute
from driftwise.service.choosing import Turns
from driftwise.service.problems import answers
from driftwise.service.service import Service, service_of
from driftwise.service.wire import FLEET_KEYS

router = APIRouter(prefix="/fleets/{fleet}", tags=["fleets"], route_class=StrictRoute)
Result = TypeVar("Result")
ALIKE = 100  # equal keys of a request
Keys = Annotated[list[Annotated[str, Field(max_length=1000)] | Whole], Field(min_length=1, max_length=FLEET_KEYS)]
Reads = Annotated[Caller, needs("read")]
Asks = Annotated[Caller, needs("ask")]
Tells = Annotated[Caller, needs("tell")]


class KeysBody(Body):
    """Keys of a fleet, in the order in which they are answered. What one key is asked many times at once is slow."""

    keys: Keys

    @field_validator("keys")
    @classmethod
    def _few_alike(cls, keys: list[str | int]) -> list[str | int]:
        most = max(Counter(keys).values())
        if most > ALIKE:
            raise ValueError(f"a key must be there at most {ALIKE} times in a request, got one {most} times")
        return keys


class FleetTellBody(Body):
    """Rewards of suggestions by their ids; null where there is none yet."""

    ids: Annotated[list[Annotated[Whole, Field(ge=0, lt=2**63)]], Field(min_length=1, max_length=FLEET_KEYS)]
    rewards: Annotated[list[float | None], Field(min_length=1, max_length=FLEET_KEYS)]


class FleetReply(Body):
    """A fleet: what it chooses from, and how many keys it has."""

    name: str
    policy: str
    engine: str
    where: str
    keys: int


class FleetAskReply(Body):
    """A suggestion for each key: its id, and the setting to try."""

    ids: list[int]
    params: list[dict[str, Any]]


class FleetAdviceReply(Body):
    """The best setting of each key as far as it knows, the reward that is expected there and its deviation."""

    params: list[dict[str, Any]]
    mean: list[float]
    std: list[float]


class FleetDriftReply(Body):
    """How the worlds of keys move, as of `Fleet.drift`."""

    asked: list[int]
    told: list[int]
    spread: list[float]
    alarms: list[int]
    last_alarm: list[int]


class Fleets:
    """The fleets that are open. Calls of one fleet wait for each other, and never run on the event loop."""

    def __init__(self, service: Service) -> None:
        self._service, self._open, self._turns = service, dict[str, Fleet](), Turns()

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        for fleet in self._open.values():
            await asyncio.to_thread(fleet.close)
        self._open.clear()

    async def call(self, name: str, who: Caller, work: Callable[[Fleet], Result]) -> Result:
        """What `work` returns for the fleet of this name, if the token is for it."""
        if who.token.project or not who.token.covers(name) or {"/", "\\"} & set(name):  # a name is no path
            raise _nowhere(name)
        async with self._turns.of(name), asyncio.timeout(self._service.settings.seconds):
            return await self._service.studies.run(lambda: work(self._opened(name)))

    def _opened(self, name: str) -> Fleet:
        if name not in self._open:
            path = self._service.settings.fleets
            if path is None:
                raise NotFoundError("this service has no fleets; start it with --fleets PATH")
            try:
                self._open[name] = Fleet.open(checks.name("a fleet's name", name), path=path)
            except NotFoundError:
                raise _nowhere(name) from None
        return self._open[name]


def _nowhere(name: str) -> NotFoundError:
    return NotFoundError(f"there is no fleet {name!r:.80}; make it with `driftwise fleet create`, or give another name")


def install(app: FastAPI, service: Service) -> Fleets:
    """Add the fleets to an app. What is returned closes them when the app stops."""
    app.state.fleets = fleets = Fleets(service)
    app.include_router(router, prefix="/v1")
    return fleets


async def _call(request: Request, fleet: str, who: Caller, work: Callable[[Fleet], Result]) -> Result:
    fleets: Fleets = request.app.state.fleets
    return await fleets.call(plain(fleet), who, work)


@router.get("", responses=answers(404))
async def show_fleet(request: Request, fleet: str, who: Reads) -> FleetReply:
    """A fleet, and how many keys it has."""

    def shown(opened: Fleet) -> FleetReply:
        made = opened.definition
        return FleetReply(
            name=made.name, policy=made.policy.name, engine=made.engine, where=made.where, keys=len(opened)
        )

    return await _call(request, fleet, who, shown)


@router.post("/ask", responses=answers(404))
async def ask_fleet(request: Request, fleet: str, body: KeysBody, who: Asks) -> FleetAskReply:
    """A suggestion for each key; new keys as they come. Asked again, each key gets another one."""

    def asked(opened: Fleet) -> FleetAskReply:
        batch = opened.ask(body.keys)
        return FleetAskReply(ids=batch.ids.tolist(), params=[dict(params) for params in batch.params])

    found = await _call(request, fleet, who, asked)
    service_of(request).audit.note(who.id, "ask fleet", plain(fleet), f"{len(body.keys)} keys")
    return found


@router.post("/tell", responses=answers(404, 409))
async def tell_fleet(request: Request, fleet: str, body: FleetTellBody, who: Tells) -> Outcomes:
    """Store the rewards of suggestions, once each. The same again changes nothing; a different one is refused."""
    rewards = [np.nan if reward is None else reward for reward in body.rewards]
    found = await _call(request, fleet, who, lambda opened: opened.tell(np.array(body.ids), rewards))
    if found.new:
        service_of(request).audit.note(who.id, "tell fleet", plain(fleet), f"{found.new} rewards")
    return found


@router.post("/recommend", responses=answers(404))
async def recommend_fleet(request: Request, fleet: str, body: KeysBody, who: Reads) -> FleetAdviceReply:
    """The best setting of each key, as far as it knows."""

    def advised(opened: Fleet) -> FleetAdviceReply:
        advice = opened.recommend(body.keys)
        params = [dict(each) for each in advice.params]
        return FleetAdviceReply(params=params, mean=advice.mean.tolist(), std=advice.std.tolist())

    return await _call(request, fleet, who, advised)


@router.post("/drift", responses=answers(404))
async def drift_of_fleet(request: Request, fleet: str, body: KeysBody, who: Reads) -> FleetDriftReply:
    """How the worlds of these keys move."""
    moved = await _call(request, fleet, who, lambda opened: opened.drift(body.keys))
    return FleetDriftReply(**{name: getattr(moved, name).tolist() for name in FleetDriftReply.model_fields})
