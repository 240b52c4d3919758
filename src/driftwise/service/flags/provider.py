"""A provider for OpenFeature's Python client: the official one for OFREP, which can also track.

>>> from openfeature import api                                            # doctest: +SKIP
>>> api.set_provider(DriftwiseProvider("http://127.0.0.1:8321", token="…"))  # doctest: +SKIP
>>> client = api.get_client()                                              # doctest: +SKIP
>>> client.get_integer_value("web.workers", 4, EvaluationContext("host-7"))  # doctest: +SKIP
>>> client.track("checkout", EvaluationContext("host-7"), TrackingEventDetails(value=12.5))  # doctest: +SKIP
"""

from __future__ import annotations

import logging
import uuid
from typing import Any

from driftwise import checks
from driftwise.errors import missing_extra
from driftwise.service.connection import TIMEOUT

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext
except ImportError:
    raise missing_extra("openfeature", "openfeature-provider-ofrep") from None

logger = logging.getLogger("driftwise")


class DriftwiseProvider(OFREPProvider):  # type: ignore[misc, unused-ignore]
    """Flags from a driftwise service at `base_url`. Events that are tracked become rewards of its studies.

    After `timeout` seconds without an answer a flag has the default value that the program gives.
    """

    def __init__(self, base_url: str, *, token: str | None = None, timeout: float = TIMEOUT) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(base_url, headers_factory=lambda: headers)
        self._headers = headers
        half = checks.positive("timeout", timeout) / 2
        self.timeout: Any = half, half  # to connect, and to be answered: `requests` gives each all of a single number

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: Any = None,
    ) -> None:
        """Send an event. Without a targeting key there is nothing that it could count for.

        As OpenFeature demands, an error is logged and not raised: an application does not fail because of its metrics.
        """
        who = None if evaluation_context is None else evaluation_context.targeting_key
        if not who:
            logger.warning("track(%r) needs an evaluation context with a targeting key", tracking_event_name)
            return
        value = getattr(tracking_event_details, "value", None)
        body: dict[str, Any] = {"event": tracking_event_name, "targeting_key": who, "key": uuid.uuid4().hex}
        if value is not None:
            body["value"] = float(value)
        try:
            answer = self.session.post(
                f"{self.base_url.rstrip('/')}/v1/track",
                json=body,
                headers=self._headers,
                timeout=self.timeout,
            )
            answer.raise_for_status()
        except OSError as error:  # what requests raises
            logger.warning("track(%r) was not sent: %s", tracking_event_name, error)
