"""A worker's connection: repeats a request until it is answered, or until the worker no longer needs it."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any, Callable

from .. import _wire, errors
from .._address import Address
from .._connection import Connection, Unanswered
from .._retry import backoff
from .job import now

log = logging.getLogger("windlass.worker")


class GivenUp(Exception):
    """The reply is no longer needed."""


class Link:
    """One connection. Every request on it must be repeatable."""

    def __init__(self, address: Address, is_needed: Callable[[], bool]) -> None:
        self._address = address
        self._connection = Connection(address)
        self._is_needed = is_needed
        self._wake = threading.Event()
        self._lost_at: float | None = None

    def post(
        self, path: str, body: Callable[[], bytes], timeout: float, on_lost: Callable[[], None] | None = None
    ) -> Any:
        """Sends the body and returns the reply. `on_lost` is called when it was sent and may have been executed."""
        failures = 0
        while True:
            if not self._is_needed():
                raise GivenUp
            try:
                return self.once(path, body(), timeout)
            except Unanswered as error:
                failures += 1
                if error.was_sent and on_lost:
                    on_lost()
                self._log_lost("server_away", str(error))
            except errors.WindlassError as error:
                if isinstance(error, (errors.AccessDenied, errors.InvalidRequest)):
                    raise
                failures += 1
                if isinstance(error, errors.OutcomeUnknown) and on_lost:
                    on_lost()
                self._log_lost(error.code, error.message)
            self._wake.wait(backoff(failures))
            self._wake.clear()

    def once(self, path: str, body: bytes, timeout: float) -> Any:
        """Sends a request once."""
        address = self._address
        request = _wire.request("POST", address.prefix + path, address.headers, {}, body)
        response = self._connection.exchange(request, timeout)
        if response.status >= 300:
            raise errors.of_response(response.status, response.body)
        self._log_back()
        return json.loads(response.body)

    def close(self) -> None:
        """Ends a request in flight and every delay. The link stays usable while it is needed."""
        self._wake.set()
        self._connection.close()

    def _log_lost(self, code: str, error: str) -> None:
        if self._lost_at is None and self._is_needed():
            self._lost_at = now()
            fields = {"event": "store_lost", "store": self._address.url, "code": code}
            log.warning("the server is away, retrying: %s", error, extra=fields)

    def _log_back(self) -> None:
        if self._lost_at is not None:
            away_ms = round((now() - self._lost_at) * 1000)
            self._lost_at = None
            fields = {"event": "store_back", "store": self._address.url, "away_ms": away_ms}
            log.info("the server is back", extra=fields)
