"""A setting is applied to a system that runs: by a webhook or a file. Flags are handed out by the service itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from driftwise.atomic import replacing
from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.tune.live_plan import LivePlan, origin

SECONDS = 30.0  # for a webhook to answer


class NotApplied(DriftwiseError):
    """The setting could not be applied: that is a failure of the setting if the other side says so."""

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


async def apply(client: httpx.AsyncClient, plan: LivePlan, folder: str | None, setting: Mapping[str, Any]) -> None:
    """Apply a setting. Applied twice, it is as once: the webhook has the id of the suggestion to tell by."""
    if plan.apply == "webhook":
        await _post(client, plan.target, setting)
    elif plan.apply == "file":
        await asyncio.to_thread(write, folder, plan.target, setting)


async def _post(client: httpx.AsyncClient, target: str, setting: Mapping[str, Any]) -> None:
    """Only the status counts: what else the webhook says, and be it endless, is not read."""
    try:
        async with (
            asyncio.timeout(SECONDS),
            client.stream("POST", target, json=dict(setting), timeout=SECONDS) as answer,
        ):
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise NotApplied(f"{origin(target)} does not answer: {error!r:.200}", refused=False) from None
    if 400 <= status < 500:
        raise NotApplied(f"{origin(target)} refused the setting with {status}", refused=True)
    if not 200 <= status < 300:
        raise NotApplied(f"{origin(target)} answered {status}; it must be 200 to 299", refused=False)


def write(folder: str | None, name: str, setting: Mapping[str, Any]) -> None:
    """Write a setting as JSON. Who reads the file sees the old one or the new one, never a part."""
    if folder is None:
        raise InvalidInput(
            "files are written only into the folder of `driftwise serve --apply-folder`; it was not given"
        )
    try:
        with replacing(Path(folder) / name) as file:
            file.write(json.dumps(dict(setting)).encode())
    except OSError as error:
        raise NotApplied(f"the file {name!r:.80} cannot be written: {error.strerror}", refused=False) from None
