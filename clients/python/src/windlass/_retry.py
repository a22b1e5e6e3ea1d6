"""When a request is repeated. Shared by the sync and the asyncio client."""

from __future__ import annotations

import json
import random
import time
from typing import Any, Generic, TypeVar

from . import errors
from ._calls import Call
from ._connection import Unanswered
from ._wire import Response

T = TypeVar("T")

_DELAY_FIRST = 0.05
_DELAY_MAX = 2.0


def backoff(failures: int) -> float:
    """The delay after that many failures in a row: from 50 ms, doubled up to 2 s, half of it random."""
    delay = min(_DELAY_FIRST * 2.0 ** min(failures - 1, 10), _DELAY_MAX)
    return delay * random.uniform(0.5, 1.0)


class Tries(Generic[T]):
    """The tries of one call."""

    def __init__(self, call: Call[T], retry_for: float) -> None:
        self._call = call
        self._ends_at = time.monotonic() + retry_for
        self._failures = 0
        self._was_sent = False
        self.result: T | None = None

    def answered(self, response: Response) -> float | None:
        """Handles a response. Returns None if the call is done, or the delay before the next try."""
        if 200 <= response.status < 300:
            try:
                body: Any = json.loads(response.body) if response.body else None
            except ValueError as bad:
                raise errors.of_response(response.status, b"") from bad
            self.result = self._call.parse(body)
            return None
        error = errors.of_response(response.status, response.body)
        is_known = isinstance(error, errors.ServerAway)
        is_repeatable = isinstance(error, errors.OutcomeUnknown) and self._call.is_repeatable
        if not is_known and not is_repeatable:
            raise error
        self._was_sent = self._was_sent or not is_known
        return self._delay(error, response.headers.get("retry-after"))

    def broken(self, error: Unanswered, url: str) -> float:
        """Handles a request without a response. Returns the delay before the next try."""
        self._was_sent = self._was_sent or (error.was_sent and not self._call.is_read)
        if error.was_sent and not self._call.is_repeatable:
            raise self._unknown(str(error), url) from error
        help = "check that the server is running: windlass serve"
        away = errors.ServerAway(f"no reply from {url}: {error}", "server_away", help)
        try:
            return self._delay(away, None)
        except errors.ServerAway:
            if self._was_sent:
                raise self._unknown(str(error), url) from error
            raise

    def _delay(self, error: errors.WindlassError, retry_after: str | None) -> float:
        self._failures += 1
        delay = backoff(self._failures)
        if retry_after is not None and retry_after.isdigit():
            delay = max(delay, float(retry_after))
        if time.monotonic() + delay > self._ends_at:
            raise error
        return delay

    def _unknown(self, why: str, url: str) -> errors.OutcomeUnknown:
        help = "read the current state, or repeat it with the same id, token or idempotency key"
        what = f"no reply from {url}: {why}; the request may or may not have been executed"
        return errors.OutcomeUnknown(what, "outcome_unknown", help)
