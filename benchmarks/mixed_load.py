"""Does one study keep another waiting? A large ask of `auto`, twelve readers of a page, and a third study beside them.

Quiet and loaded spells take turns, so that both see the same noise of the machine. DRIFTWISE_BENCH_STORE chooses the
store, as for `serve`. The third study is asked and told by one client, with a pause after each step.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks import http_load as load
from benchmarks.measure import Result

N = int(os.environ.get("DRIFTWISE_BENCH_N", "300"))  # suggestions of the large ask
ROWS, READERS, SPELLS, SECONDS, PAUSE = 600, 12, 3, 15.0, 0.02
BOX = {name: {"type": "Float", "low": 0, "high": 1} for name in ("x", "y")}
PAGE = "/dashboard/studies/shown/over-time"
SLOWER = 3.0

Seconds = dict[str, list[float]]


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        store = os.environ.get("DRIFTWISE_BENCH_STORE", f"{folder}/bench.db")
        kind = "PostgreSQL" if store.startswith("postgresql") else "SQLite"
        quiet, loaded, others = asyncio.run(_measured(store))
    for call in quiet:
        before, after = (1e3 * load.quantile(each[call], 0.99) for each in (quiet, loaded))
        if call == "/readyz":
            said = f"{others[call]} answers, {others['not ready']} of them not 200"
            yield Result(f"/readyz, {kind}", ours=said, target="always 200", met=not others["not ready"])
        else:
            what, theirs = f"p99 of a third study's {call}, {kind}", f"{before:.0f} ms quiet"
            said, ratio = f"{after:.0f} ms of {len(loaded[call])}", after / before
            yield Result(what, ours=said, theirs=theirs, ratio=ratio, target=f"≤ {SLOWER}×", met=ratio <= SLOWER)
    yield Result(f"… beside asks with n={N}", ours=f"{others['asked']} answered, {others['refused']} refused")
    yield Result("… and pages", ours=f"{others['pages']} read")


async def _measured(store: str) -> tuple[Seconds, Seconds, dict[str, int]]:
    quiet: Seconds = {"ask": [], "tell": [], "/readyz": []}
    loaded: Seconds = {call: [] for call in quiet}
    others = dict.fromkeys(("asked", "refused", "pages", "/readyz", "not ready"), 0)
    async with load.service(store) as (port, _):
        wire = await load.Wire.to(port)
        for name, policy in (("large", "auto"), ("shown", "auto"), ("third", "sw-gp-ucb")):
            body: dict[str, Any] = {"name": name, "space": BOX, "policy": policy}
            status, answer = await wire.call("POST", "/v1/studies", body | _options(policy))
            assert status in (200, 201), answer
            for i in range(ROWS if name == "shown" else 50):
                await _observe(wire, name, i)
        wire.close()
        for _ in range(SPELLS):
            await _steps(port, quiet, others)
            async with _load(port, others):
                await asyncio.sleep(1.0)
                await _steps(port, loaded, others)
    return quiet, loaded, others


def _options(policy: str) -> dict[str, Any]:
    return {"options": {"window": 50, "kernel": {"type": "RBF", "lengthscale": 0.2}}} if policy == "sw-gp-ucb" else {}


async def _observe(wire: load.Wire, name: str, i: int) -> None:
    params = {"x": i * 37 % 101 / 100, "y": i * 53 % 97 / 96}
    status, answer = await wire.call("POST", f"/v1/studies/{name}/observe", {"params": params, "reward": i % 7})
    assert status == 200, answer


async def _steps(port: int, seconds: Seconds, others: dict[str, int]) -> None:
    """Ask and tell the third study for a while."""
    wire, end = await load.Wire.to(port), time.monotonic() + SECONDS
    while time.monotonic() < end:
        errors = list[Any]()
        answer = await load.timed(lambda: wire.call("POST", "/v1/studies/third/ask", {}), seconds["ask"], errors)
        body = {"suggestion": answer["suggestions"][0]["id"], "reward": 1.0}
        tell = lambda body=body: wire.call("POST", "/v1/studies/third/tell", body)  # noqa: E731
        await load.timed(tell, seconds["tell"], errors)
        assert not errors, errors
        await load.timed(lambda: wire.call("GET", "/readyz"), seconds["/readyz"], errors)
        others["/readyz"], others["not ready"] = others["/readyz"] + 1, others["not ready"] + len(errors)
        await asyncio.sleep(PAUSE)
    wire.close()


@asynccontextmanager
async def _load(port: int, others: dict[str, int]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(each) for each in (_ask(port, others), _change(port))]
    tasks += [asyncio.create_task(_read(port, others)) for _ in range(READERS)]
    yield
    for task in tasks:
        task.cancel()
    for found in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(found, asyncio.CancelledError) and found is not None:
            raise found
    await asyncio.sleep(1.0)


async def _ask(port: int, others: dict[str, int]) -> None:
    while True:
        wire = await load.Wire.to(port)
        status, _ = await wire.call("POST", "/v1/studies/large/ask", {"n": N})
        others["asked" if status == 200 else "refused"] += 1
        wire.close()
        await asyncio.sleep(0.0 if status == 200 else 1.0)


async def _change(port: int) -> None:
    """The study of the page goes on, so that the page is another one each second."""
    wire, i = await load.Wire.to(port), ROWS
    while True:
        await _observe(wire, "shown", i := i + 1)
        await asyncio.sleep(1.0)


async def _read(port: int, others: dict[str, int]) -> None:
    while True:
        wire = await load.Wire.to(port)
        status, _ = await wire.call("GET", PAGE)
        assert status in (200, 429, 504), status
        others["pages"] += 1
        wire.close()
        await asyncio.sleep(1.0)
