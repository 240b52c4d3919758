"""The door to studies behind a service: an address is recognised here, and all else is in `driftwise.service.client`.

The core never imports the service. The client is loaded by its name, when an address is given.
"""

from __future__ import annotations

import importlib
from typing import Any

from driftwise.errors import InvalidInput, missing_extra

CLIENT = "driftwise.service.client"


def is_address(path: Any) -> bool:
    """Whether a path is the address of a service.

    >>> is_address("https://tuning.example.org"), is_address("study.db"), is_address(None)
    (True, False, False)
    """
    return isinstance(path, str) and path.startswith(("http://", "https://"))


def study_class(cls: Any) -> Any:
    """The class of studies behind a service: `cls` itself, if it is one."""
    found = _client().RemoteStudy
    return cls if issubclass(cls, found) else found


def _client() -> Any:
    try:
        return importlib.import_module(CLIENT)
    except ModuleNotFoundError as error:
        if error.name == CLIENT or (error.name or "").startswith("driftwise"):
            raise
        raise missing_extra("serve", error.name or "httpx") from None


def no_address(path: Any, what: str) -> None:
    """Refuse the address of a service for what needs the store itself."""
    if is_address(path):
        raise InvalidInput(
            f"{what} needs the store itself, got the address of a service; "
            "run it where the service runs, with the path of its `driftwise serve`"
        )


def no_service(**given: Any) -> None:
    """Refuse what only a service needs, such as a token, for a study that is in a file or in memory."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(f"{name} goes with the address of a service, https://host:port; leave it out for a file")
