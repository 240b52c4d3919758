"""Parameters as feature flags, by the OpenFeature Remote Evaluation Protocol (OFREP), and rewards from tracked events.

Read `plan` first: what a study's flags are to do. `assign` decides, purely, who gets which suggestion and for how long;
`assigned` asks the study for it. `tracking` adds up events to rewards, `tables` keeps both in the store's database.
`ofrep` and `routes` are the doors; `provider` is a provider for OpenFeature's Python client that can track.
"""

from __future__ import annotations

from fastapi import FastAPI

from driftwise.service.flags import ofrep, routes, tables
from driftwise.service.flags.tracking import Sweeper
from driftwise.service.forever import Forever
from driftwise.service.service import Service

PAUSE = 1.0  # seconds between two looks for what is due


def install(app: FastAPI, service: Service) -> Forever:
    """Add the flags to an app. What is returned runs while the app does."""
    service.database.create(tables.metadata)
    app.include_router(ofrep.router)
    app.include_router(routes.router, prefix="/v1")
    return Forever("flags", Sweeper(service).sweep, PAUSE)
