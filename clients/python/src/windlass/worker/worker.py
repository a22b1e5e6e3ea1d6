"""The worker: decorated handlers, and what runs them."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import ssl
import threading
from collections.abc import Sequence
from typing import Any, Callable, TypeVar

from .. import _calls, errors
from .._address import Address
from ..client import Client
from ..values import Duration, seconds
from .held import Boot
from .job import now
from .lease_thread import LeaseThread
from .link import GivenUp, Link
from .outcome import dumps
from .queue_loop import QueueLoop
from .registry import JobFunction, Registry

log = logging.getLogger("windlass.worker")

F = TypeVar("F", bound=Callable[..., Any])

# How long outcomes are still sent after the grace period, if the server is slow.
_FLUSH = 5.0


class Worker:
    """Claims jobs and runs handlers.

    `concurrency` jobs run at once per queue: in threads, or on an event loop if a handler is async. `processes` starts
    that many processes, each with its own slots. `lease` is how soon other workers get the jobs if this process dies,
    `grace` how long running jobs may continue after a stop. `prefetch` jobs are claimed in advance; by default as many
    as run in about 50 ms.
    """

    def __init__(
        self,
        url: str | None = None,
        queue: str | Sequence[str] = "default",
        *,
        concurrency: int = 8,
        processes: int = 1,
        lease: Duration = 30.0,
        grace: Duration = 25.0,
        prefetch: int | None = None,
        name: str | None = None,
        token: str | None = None,
        insecure: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if concurrency < 1 or processes < 1:
            raise ValueError("concurrency and processes must be at least 1")
        self.client = Client(url, token=token, insecure=insecure, tls=tls)
        self.address: Address = self.client.address
        self.queues = [queue] if isinstance(queue, str) else list(queue)
        self.concurrency, self.processes, self.prefetch = concurrency, processes, prefetch
        self.lease, self.grace = seconds(lease), seconds(grace)
        self.name = name or "windlass-python"
        self.registry = Registry()
        self.id = ""
        self.loops: list[QueueLoop] = []
        self.leases = LeaseThread(self)
        self._stop = threading.Event()
        self._is_hurried = threading.Event()
        self._error: errors.WindlassError | None = None

    # Handlers.

    def job(self, kind: str, *, queue: str | None = None) -> Callable[[F], JobFunction[F]]:
        """Registers a handler: `@worker.job("email")`. It takes the payload, or the payload and the job."""

        def register(function: F) -> JobFunction[F]:
            handler = JobFunction(self, kind, queue or self.queues[0], function)
            self.registry.add(handler)
            return handler

        return register

    def fallback(self, function: F) -> JobFunction[F]:
        """Registers the handler of jobs without a kind, or whose kind has no handler: `@worker.fallback`."""
        handler = JobFunction(self, "", self.queues[0], function)
        self.registry.fallback = handler
        return handler

    # Life.

    def run(self) -> None:
        """Runs jobs until SIGTERM, SIGINT, a command or `stop`. A second signal stops without the grace period."""
        if self.processes > 1:
            from .processes import run_processes  # noqa: PLC0415

            run_processes(self)
            return
        if threading.current_thread() is threading.main_thread():
            with _Signals(self._on_signal):
                self._run()
        else:
            self._run()

    def stop(self) -> None:
        """Stops gracefully: no more claims, then the grace period, then running jobs are released."""
        self._stop.set()

    def fail(self, error: errors.WindlassError) -> None:
        """Ends the worker with an error that retrying does not fix."""
        self._error = self._error or error
        self._stop.set()

    def _on_signal(self) -> None:
        if self._stop.is_set():
            self._is_hurried.set()
        self._stop.set()

    def _run(self) -> None:
        if not self.registry.kinds and self.registry.fallback is None:
            raise ValueError('the worker has no handler; add one with @worker.job("KIND")')
        self._stop.clear()
        self._is_hurried.clear()
        self._error = None
        self.leases = LeaseThread(self)
        link = Link(self.address, lambda: not self._stop.is_set())
        try:
            self.id = self._register(link)
        except GivenUp:
            return
        self.loops = [QueueLoop(self, queue, Boot(self.id)) for queue in self.queues]
        self.leases.start()
        for loop in self.loops:
            loop.start()
        fields = {"event": "worker_started", "store": self.address.url, "queues": self.queues}
        log.info("worker started: %s", self.id, extra={**fields, "concurrency": self.concurrency})
        # With a timeout, so that signals are handled on every platform.
        while not self._stop.wait(1.0):
            pass
        self._drain(link)
        if self._error is not None:
            fields = {"event": "worker_failed", "code": self._error.code, "help": self._error.help}
            log.error("the worker ended with an error: %s", self._error, extra=fields)
            raise self._error

    def _drain(self, link: Link) -> None:
        fields = {"event": "worker_draining", "grace_ms": round(self.grace * 1000)}
        log.info("worker draining", extra=fields)
        ends_at = now() + self.grace
        for loop in self.loops:
            loop.stop_claiming()
        while now() < ends_at and not self._is_hurried.is_set():
            if all(loop.wait_finished(min(ends_at, now() + 0.2)) for loop in self.loops):
                break
        for loop in self.loops:
            loop.release_running()
        is_flushed = all([loop.flush(now() + _FLUSH) for loop in self.loops])
        self.leases.end()
        try:
            link.once(_calls.path("workers", self.id, "leave"), b"{}", 5.0)
        except Exception as error:
            log.warning("not deregistered: %s", error, extra={"event": "worker_not_deregistered"})
        link.close()
        counts: dict[str, int] = {}
        for loop in self.loops:
            for status, count in loop.counts.items():
                counts[status] = counts.get(status, 0) + count
        fields = {"event": "worker_stopped", "is_flushed": is_flushed, **counts}
        log.info("worker stopped: %s", counts, extra=fields)

    # Registration and commands; called by the lease thread.

    def _register(self, link: Link) -> str:
        # The id is chosen here, so that a repeated request registers one worker.
        worker = secrets.token_hex(8)
        body = {
            "worker": worker,
            "name": self.name,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": "python-0.1.0",
            "queues": self.queues,
        }
        return str(link.post(_calls.path("workers"), lambda: dumps(body).encode(), 10.0)["worker"])

    def register_again(self, link: Link) -> None:
        """The server no longer knows this worker: its jobs are lost, and it needs a new id."""
        self.id = self._register(link)
        for loop in self.loops:
            loop.set_boot(Boot(self.id))
        log.warning("registered again: %s", self.id, extra={"event": "worker_reregistered", "boot": self.id})

    def obey(self, command: str) -> None:
        """Obeys the command of a heartbeat."""
        if command == "stop":
            self.stop()
        for loop in self.loops:
            loop.pause(command == "pause")


class _Signals:
    """SIGTERM and SIGINT call a function, and do what they did before afterwards."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, lambda *_: self._function())

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
