"""The job that a handler runs, and the exceptions with which a handler ends an attempt."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

from .. import _calls
from ..values import Duration, duration_text, is_json, read_content, seconds

if TYPE_CHECKING:
    from ..client import Client


class PermanentError(Exception):
    """Raise it to fail the job for good: it is dead, and not retried."""


class Snooze(Exception):
    """Raise it to run the job later. The attempt is not counted.

    `scope="group"` or `scope="queue"` lets the whole group or queue rest, for example after a 429 of a service.
    """

    def __init__(self, delay: Duration, scope: str = "job") -> None:
        super().__init__(f"snoozed for {duration_text(delay)}")
        self.delay = duration_text(delay)
        self.scope = scope


class Cancelled(BaseException):
    """Raised in a handler that was asked to stop, by `RunningJob.check` and `RunningJob.sleep`.

    Not an `Exception`, so that a handler which catches errors does not catch it by accident.
    """


class RunningJob:
    """A claimed job. Handlers get it as their second argument."""

    __slots__ = (
        "_client",
        "_event",
        "_lock",
        "_on_cancel",
        "_payload",
        "_raw",
        "attempt",
        "headers",
        "id",
        "is_settled",
        "kind",
        "queue",
        "stop_reason",
        "token",
    )

    def __init__(self, raw: dict[str, Any], client: Client | None = None) -> None:
        self._raw = raw
        self._client = client
        self._payload: Any = _UNREAD
        self._event: threading.Event | None = None
        self._lock = _LOCK
        self._on_cancel: Any = None
        self.id: str = raw["id"]
        self.queue: str = raw["queue"]
        self.token: str = raw["token"]
        self.kind: str | None = raw["kind"]
        self.attempt: int = raw["attempt"]
        self.headers: dict[str, str] = raw.get("headers") or {}
        # Why the handler is asked to stop: cancelled, lost, timed_out or stopping.
        self.stop_reason: str | None = None
        # Whether its outcome is decided, so that what the handler returns is ignored.
        self.is_settled = False

    @property
    def payload(self) -> Any:
        """The payload: a value if it is JSON, otherwise text, or bytes if it is not UTF-8."""
        if self._payload is _UNREAD:
            self._payload = read_content(self._raw, "payload", is_json(self.headers))
        return self._payload

    @property
    def max_attempts(self) -> int:
        """How many attempts the job has."""
        return int(self._raw["max_attempts"])

    @property
    def priority(self) -> int:
        """The priority, from 0 (first) to 9 (last)."""
        return int(self._raw["priority"])

    @property
    def group(self) -> str | None:
        """The group, whose jobs share limits."""
        return self._raw.get("group")

    @property
    def timeout(self) -> float | None:
        """The time limit of the attempt in seconds."""
        milliseconds = self._raw.get("timeout_ms")
        return None if milliseconds is None else milliseconds / 1000

    @property
    def cancelled(self) -> bool:
        """Whether the handler is asked to stop. Stop soon: the job was cancelled or lost, or the worker stops."""
        return self.stop_reason is not None

    def check(self) -> None:
        """Raises `Cancelled` if the handler is asked to stop."""
        if self.stop_reason is not None:
            raise Cancelled(self.stop_reason)

    def sleep(self, duration: Duration) -> None:
        """Sleeps, and raises `Cancelled` as soon as the handler is asked to stop."""
        with self._lock:
            if self._event is None:
                self._event = threading.Event()
            if self.stop_reason is not None:
                self._event.set()
        self._event.wait(seconds(duration))
        self.check()

    def progress(self, fraction: float, message: str | None = None) -> None:
        """Reports progress, from 0 to 1. Raises `LeaseLost` if another worker has the job."""
        if self._client is None:
            return
        path = _calls.path("queues", self.queue, "jobs", self.id, "progress")
        body: dict[str, Any] = {"token": self.token, "fraction": fraction}
        if message is not None:
            body["message"] = message
        self._client.send(_calls.send("POST", path, body, _calls.same, True))

    async def aprogress(self, fraction: float, message: str | None = None) -> None:
        """Reports progress from an async handler."""
        await asyncio.get_running_loop().run_in_executor(None, self.progress, fraction, message)

    def ask_to_stop(self, reason: str) -> None:
        """Called by the worker: asks the handler to stop."""
        with self._lock:
            if self.stop_reason is None:
                self.stop_reason = reason
            event, on_cancel = self._event, self._on_cancel
        if event is not None:
            event.set()
        if on_cancel is not None:
            on_cancel()

    def on_cancel(self, function: Any) -> None:
        """Called by the worker: what else to do when the handler is asked to stop."""
        with self._lock:
            self._on_cancel = function
            is_late = self.stop_reason is not None
        if is_late:
            function()

    def __repr__(self) -> str:
        return f"<job {self.id} of queue {self.queue}, kind {self.kind}, attempt {self.attempt}>"


_UNREAD = object()
# Shared by all jobs: it is held for a few instructions, and a lock per job would cost more.
_LOCK = threading.Lock()


def now() -> float:
    """The clock for leases and timeouts. Never the wall clock."""
    return time.monotonic()
