"""The service under load, on this machine alone: tells, asks, many studies, many streams.

With the environment variable DRIFTWISE_BENCH_STORE, for example postgresql://..., the store is that one; otherwise it
is a SQLite file. Both cores are shared by the clients, the service and the store.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import http_load as load
from benchmarks.measure import Result
from driftwise import RBF, Candidates, Study

CLIENTS, STUDIES = 32, 64
TELLS = int(os.environ.get("DRIFTWISE_BENCH_TELLS", "6400"))
ASKS = 100
MANY = int(os.environ.get("DRIFTWISE_BENCH_STUDIES", "10000"))
STREAMS = 1000
GRID = {"type": "Candidates", "coordinates": [[i / 199] for i in range(200)], "names": ["x"]}


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        store = os.environ.get("DRIFTWISE_BENCH_STORE", f"{folder}/bench.db")
        kind = "PostgreSQL" if store.startswith("postgresql") else "SQLite"
        yield from asyncio.run(_tells(store, kind))
        yield from asyncio.run(_asks(store, kind))
        yield from asyncio.run(_many(store, kind))


async def _tells(store: str, kind: str) -> list[Result]:
    """32 clients tell what 64 studies asked. Every answer is checked, and the log afterwards."""
    async with load.service(store) as (port, pid):
        wires = [await load.Wire.to(port) for _ in range(CLIENTS)]
        todo = await _asked(wires, TELLS)
        seconds, errors = list[float](), list[Any]()

        async def client(number: int) -> None:
            for study, id in todo[number::CLIENTS]:
                body = {"suggestion": id, "reward": 1.0}
                path = f"/v1/studies/{study}/tell"
                await load.timed(lambda path=path, body=body: wires[number].call("POST", path, body), seconds, errors)

        used, own, began = load.cpu_seconds(pid), time.process_time(), time.perf_counter()
        await asyncio.gather(*(client(i) for i in range(CLIENTS)))
        wall, used, own = time.perf_counter() - began, load.cpu_seconds(pid) - used, time.process_time() - own
        told = [await wires[0].call("GET", f"/v1/studies/bench-{i}") for i in range(STUDIES)]
        lost = abs(len(todo) - sum(answer["counts"]["told"] for _, answer in told))
        for wire in wires:
            wire.close()
    rate, worst = len(todo) / wall, load.quantile(seconds, 0.99)
    target = "≥ 1,500/s, p99 ≤ 150 ms" if kind == "PostgreSQL" else ""
    met = rate >= 1500 and worst <= 0.15 and not errors and not lost if target else None
    what = f"tells, {CLIENTS} clients, {STUDIES} studies, {kind}, synced"
    said = f"{rate:,.0f}/s, p99 {1e3 * worst:.0f} ms, {len(errors)} errors, {lost} lost or doubled"
    each = f"{1e3 * used / len(todo):.2f} ms a tell, of the clients {1e3 * own / len(todo):.2f} ms"
    return [
        Result(what, ours=said, target=target, met=met),
        Result(f"… processor time of the service, {kind}", ours=each),
    ]


async def _asked(wires: list[load.Wire], count: int) -> list[tuple[str, str]]:
    """Suggestions to be told, of every study in turn."""
    found: list[tuple[str, str]] = []
    for i in range(STUDIES):
        body = {"name": f"bench-{i}", "space": GRID, "policy": "random", "patience": 4}
        status, answer = await wires[0].call("POST", "/v1/studies", body)
        assert status in (200, 201), answer

    async def ask(number: int) -> None:
        for i in range(number, STUDIES, CLIENTS):
            for size in _batches(count // STUDIES):
                status, answer = await wires[number].call("POST", f"/v1/studies/bench-{i}/ask", {"n": size})
                assert status == 200, answer
                found.extend((f"bench-{i}", s["id"]) for s in answer["suggestions"])

    await asyncio.gather(*(ask(i) for i in range(len(wires))))
    half = count // STUDIES
    return [found[j * half + i] for i in range(half) for j in range(STUDIES)]


def _batches(count: int) -> list[int]:
    return [1000] * (count // 1000) + ([count % 1000] if count % 1000 else [])


async def _asks(store: str, kind: str) -> list[Result]:
    """What HTTP and the store add to an ask, over the policy's own time, both measured in turn."""
    options: dict[str, Any] = {"window": 100, "kernel": RBF(0.2)}
    space = Candidates(np.linspace(0, 1, 200)[:, None], names=["x"])
    memory = Study("here", space, "sw-gp-ucb", **options)
    async with load.service(store) as (port, pid):
        wire = await load.Wire.to(port)
        kernel = {"type": "RBF", "lengthscale": 0.2}
        body = {"name": "asked", "space": GRID, "policy": "sw-gp-ucb", "options": {"window": 100, "kernel": kernel}}
        await wire.call("POST", "/v1/studies", body)
        there, here = list[float](), list[float]()
        used = own = 0.0
        for i in range(ASKS + 120):
            used -= load.cpu_seconds(pid) if i >= 120 else 0.0
            began = time.perf_counter()
            _, answer = await wire.call("POST", "/v1/studies/asked/ask", {})
            there.append(time.perf_counter() - began)
            used += load.cpu_seconds(pid) if i >= 120 else 0.0
            s = answer["suggestions"][0]
            reward = float(np.sin(9 * s["params"]["x"]) + i % 7)
            await wire.call("POST", "/v1/studies/asked/tell", {"suggestion": s["id"], "reward": reward})
            began, own = time.perf_counter(), own - (time.process_time() if i >= 120 else 0.0)
            asked = memory.ask()
            here.append(time.perf_counter() - began)
            own += time.process_time() if i >= 120 else 0.0
            memory.tell(asked, reward)
        wire.close()
    over = 1e3 * (float(np.median(there[-ASKS:])) - float(np.median(here[-ASKS:])))
    what = f"an ask of sw-gp-ucb (window 100, 200 candidates), over the policy's own time, {kind}"
    theirs = f"{1e3 * float(np.median(here[-ASKS:])):.1f} ms in memory"
    cpu = f"{1e3 * (used - own) / ASKS:.1f} ms more"
    return [
        Result(what, ours=f"{over:.1f} ms more", theirs=theirs, target="≤ 6 ms", met=over <= 6),
        Result("… in processor time", ours=cpu, theirs=f"{1e3 * own / ASKS:.1f} ms in memory"),
    ]


async def _many(store: str, kind: str) -> list[Result]:
    """Ten thousand studies, then a thousand streams of events while one study is told."""
    async with load.service(store) as (port, pid):
        wires = [await load.Wire.to(port) for _ in range(8)]
        before = load.memory_mb(pid)

        async def create(number: int) -> None:
            for i in range(number, MANY, len(wires)):
                body = {"name": f"many-{i:05d}", "space": GRID, "policy": "random"}
                status, answer = await wires[number].call("POST", "/v1/studies", body)
                assert status in (200, 201), answer

        began = time.perf_counter()
        await asyncio.gather(*(create(i) for i in range(len(wires))))
        made, after = time.perf_counter() - began, load.memory_mb(pid)
        streams = [await _stream(port) for _ in range(STREAMS)]
        wires.append(await load.Wire.to(port))  # the others were idle for too long
        open_, used = load.memory_mb(pid), load.cpu_seconds(pid)
        await asyncio.sleep(5)
        idle = (load.cpu_seconds(pid) - used) / 5
        used, began = load.cpu_seconds(pid), time.perf_counter()
        for i in range(10):
            await wires[-1].call("POST", "/v1/studies/many-00000/observe", {"params": {"x": 0.0}, "reward": float(i)})
            await asyncio.gather(*(_event(wire) for wire in streams))
        wall, used = time.perf_counter() - began, load.cpu_seconds(pid) - used
        for wire in (*wires, *streams):
            wire.close()
    return [
        Result(f"{MANY:,} studies made, {kind}", ours=f"{MANY / made:,.0f}/s, memory {before:.0f} → {after:.0f} MB"),
        Result(f"{STREAMS:,} streams of events, {kind}", ours=f"+{open_ - after:.0f} MB, {100 * idle:.0f}% CPU idle"),
        Result("… an event to all of them", ours=f"{100 * wall:.0f} ms, of which CPU {100 * used:.0f} ms"),
    ]


async def _stream(port: int) -> load.Wire:
    wire = await load.Wire.to(port)
    wire.writer.write(b"GET /v1/events?study=many-00000 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
    status, _ = await wire.head()
    assert status == 200
    await wire.reader.readuntil(b"\n\n")
    return wire


async def _event(wire: load.Wire) -> None:
    while b"event: change" not in await wire.reader.readuntil(b"\n\n"):
        pass
