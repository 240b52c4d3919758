"""Studies that tune by themselves: the service asks, applies the setting, waits, and takes the reward from Prometheus.

Read `plan` first: where the reward comes from and how a setting is applied. `prometheus` queries, `apply` applies,
`loop` is one study's loop and `runner` runs the loops of all studies. `tables` keeps plans and steps in the store's
database, so that a loop goes on where it was after a crash. `routes` are the door.
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
