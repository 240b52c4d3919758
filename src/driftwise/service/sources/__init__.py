"""Studies that tune by themselves: the service asks, applies the setting, waits, and takes the reward from Prometheus.

`driftwise.tune.live` is what such a loop does; `driftwise tune --apply` does the same. Here `loop` is where one study's
loop stands, and `runner` runs the loops of all studies. `tables` keeps plans and steps in the store's database, so that
a loop goes on where it was after a crash. `routes` are the door.
"""

from __future__ import annotations

from fastapi import FastAPI

from driftwise.service.service import Service
from driftwise.service.sources import routes, tables
from driftwise.service.sources.runner import Runner


def install(app: FastAPI, service: Service) -> Runner:
    """Add the sources to an app. What is returned runs while the app does."""
    service.database.create(tables.metadata)
    app.include_router(routes.router, prefix="/v1")
    return Runner(service)
