"""A setting is applied: by a webhook, a file, or flags."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.service.sources.plan import SourcePlan

SECONDS = 30.0  # for a webhook to answer


class NotApplied(DriftwiseError):
    """The setting could not be applied: that is a failure of the setting if the other side says so."""

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


async def apply(client: httpx.AsyncClient, plan: SourcePlan, folder: str | None, setting: Mapping[str, Any]) -> None:
    """Apply a setting. Applied twice, it is as once: the webhook has the id of the suggestion to tell by."""
    if plan.apply == "webhook":
        await _post(client, plan.target, setting)
    elif plan.apply == "file":
        write(folder, plan.target, setting)


async def _post(client: httpx.AsyncClient, target: str, setting: Mapping[str, Any]) -> None:
    try:
        answer = await client.post(target, json=dict(setting), timeout=SECONDS)
    except httpx.HTTPError as error:
        raise NotApplied(f"{target} does not answer: {error!r:.200}", refused=False) from None
    if answer.status_code >= 500:
        raise NotApplied(f"{target} answered {answer.status_code}", refused=False)
    if answer.status_code >= 400:
        raise NotApplied(f"{target} refused the setting with {answer.status_code}", refused=True)


def write(folder: str | None, name: str, setting: Mapping[str, Any]) -> None:
    """Write a setting as JSON. Who reads the file sees the old one or the new one, never a part."""
    if folder is None:
        raise InvalidInput(
            "files are written only into the folder of `driftwise serve --apply-folder`; it was not given"
        )
    place = Path(folder)
    handle, temporary = tempfile.mkstemp(dir=place, prefix=f".{name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(dict(setting), file)
    os.replace(temporary, place / name)
