"""Renews leases, sends heartbeats and ends attempts that time out, in a thread and on a connection of its own.

A handler that blocks every other thread cannot lose its lease.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
from typing import TYPE_CHECKING

from .. import _calls, errors
from .._connection import Unanswered
from ..values import duration_text
from .job import RunningJob, now
from .link import Link
from .outcome import dumps

if TYPE_CHECKING:
    from .queue_loop import QueueLoop
    from .worker import Worker

log = logging.getLogger("windlass.worker")

HEARTBEAT = 2.0
# How soon a cancelled job is asked to stop.
RENEW = 1.0
_RETRY = 0.1
_CALL_MAX = 5.0


class LeaseThread:
    """The thread."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._tick = min(worker.lease / 3, RENEW)
        self._link = Link(worker.address, lambda: not self._is_ended)
        self._condition = threading.Condition()
        self._timeouts: list[tuple[float, int, QueueLoop, RunningJob, float]] = []
        self._number = itertools.count()
        self._is_ended = False
        self._is_hurried = False
        self._thread = threading.Thread(target=self._run, name="windlass-leases", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def renew_now(self) -> None:
        """Renews at once: a claim may have been lost, and its jobs return with the renewal."""
        with self._condition:
            self._is_hurried = True
            self._condition.notify()

    def watch_timeout(self, loop: QueueLoop, job: RunningJob, limit: float) -> None:
        """Ends the attempt of a job after that long."""
        with self._condition:
            heapq.heappush(self._timeouts, (now() + limit, next(self._number), loop, job, limit))
            self._condition.notify()

    def end(self) -> None:
        """Ends the thread."""
        with self._condition:
            self._is_ended = True
            self._condition.notify()
        self._link.close()
        self._thread.join(1.0)

    def _run(self) -> None:
        renew_at = beat_at = now()
        while True:
            with self._condition:
                due = min(renew_at, beat_at, self._timeouts[0][0] if self._timeouts else renew_at)
                if not self._is_hurried and not self._is_ended and due > now():
                    self._condition.wait(due - now())
                if self._is_ended:
                    return
                is_hurried, self._is_hurried = self._is_hurried, False
                late = []
                while self._timeouts and self._timeouts[0][0] <= now():
                    late.append(heapq.heappop(self._timeouts))
            for _, _, loop, job, limit in late:
                loop.time_out(job, limit)
            if is_hurried or now() >= renew_at:
                renew_at = now() + (self._tick if self._renew() else _RETRY)
                for loop in self._worker.loops:
                    loop.give_up_expired()
                    loop.release_stuck(HEARTBEAT)
            if now() >= beat_at:
                beat_at = now() + (HEARTBEAT if self._beat() else _RETRY)

    def _renew(self) -> bool:
        """Renews the leases of every queue. Returns False if that has to be repeated soon."""
        is_done = True
        for loop in self._worker.loops:
            for renewal in loop.renewals():
                sent_at = now()
                first_end = loop.first_end()
                left = _CALL_MAX if first_end is None else first_end - sent_at
                lease = duration_text(self._worker.lease)
                body = {"worker": renewal.boot.id, "tokens": renewal.tokens, "settled": renewal.settled, "lease": lease}
                path = _calls.path("queues", loop.queue, "renew_leases")
                try:
                    # Not longer than the leases last, so that they can be given up in time.
                    reply = self._link.once(path, dumps(body).encode(), min(max(left, 0.05), _CALL_MAX))
                except (Unanswered, errors.WindlassError) as error:
                    is_done = False
                    self._log(error)
                else:
                    loop.renewed(renewal, sent_at, reply)
        return is_done

    def _beat(self) -> bool:
        """Sends a heartbeat and obeys its command. Returns False if it has to be repeated soon."""
        worker = self._worker
        running = [job for loop in worker.loops for job in loop.running()]
        try:
            path = _calls.path("workers", worker.id, "heartbeat")
            command = self._link.once(path, dumps({"running": running}).encode(), HEARTBEAT)["command"]
            if command == "reregister":
                worker.register_again(self._link)
            else:
                worker.obey(command)
        except (Unanswered, errors.WindlassError) as error:
            self._log(error)
            return False
        return True

    def _log(self, error: Exception) -> None:
        if not self._is_ended:
            log.debug("renewal or heartbeat failed: %s", error, extra={"event": "renewal_failed"})
