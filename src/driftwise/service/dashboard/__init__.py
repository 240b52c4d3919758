"""The dashboard: what a person sees of the studies, live, in a browser.

Read `views` first: it turns a study into small JSON documents, whose size does not depend on the study's length.
`maps` computes the belief over two parameters and `spans` compares two spans of the log. `pages` computes and keeps
these documents. `routes` serves all of it and the static files: plain ES modules
without a build step, drawn as SVG by `static/chart.js`.
"""

from __future__ import annotations

from fastapi import FastAPI

from driftwise.service.dashboard.pages import Pages
from driftwise.service.dashboard.routes import router
from driftwise.service.service import Service


def install(app: FastAPI, service: Service) -> Pages:
    """Add the dashboard to an app. What is returned ends with the app."""
    app.state.pages = Pages(service.settings, service.studies.kept)
    app.include_router(router)
    return app.state.pages
