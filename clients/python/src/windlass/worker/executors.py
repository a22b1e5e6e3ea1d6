"""Where handlers run: in threads, or on an event loop with threads for the handlers that block."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, Protocol

from .. import tracing
from . import outcome
from .job import RunningJob, now
from .outcome import Outcome
from .registry import JobFunction, Registry

Finish = Callable[[Outcome, float], None]
Start = Callable[[RunningJob], bool]


class Executor(Protocol):
    """Runs jobs. `start(job)` is asked before each handler, `finish(outcome, seconds)` is called after it."""

    def submit(self, jobs: Iterable[RunningJob]) -> None:
        """Adds jobs, which start in this order."""

    def take_back(self) -> list[RunningJob]:
        """Returns the jobs that have not started."""

    def close(self) -> None:
        """Ends the threads as soon as their handlers have returned."""


def call(handler: JobFunction[Any], job: RunningJob) -> Any:
    """Calls a handler within the trace of its job."""
    with tracing.attempt(job):
        return handler.run(job)


class ThreadExecutor:
    """Runs handlers in threads."""

    def __init__(self, registry: Registry, concurrency: int, name: str, start: Start, finish: Finish) -> None:
        self._registry, self._start, self._finish = registry, start, finish
        self._jobs: queue.SimpleQueue[RunningJob | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True) for number in range(concurrency)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, jobs: Iterable[RunningJob]) -> None:
        for job in jobs:
            self._jobs.put(job)

    def take_back(self) -> list[RunningJob]:
        jobs = []
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    jobs.append(job)
        return jobs

    def close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            if not self._start(job):
                continue
            began = now()
            handler = self._registry.choose(job.kind)
            if handler is None:
                ended = outcome.failed(job, self._registry.unknown(job.kind))
            else:
                try:
                    ended = outcome.completed(job, call(handler, job))
                except BaseException as error:  # A handler must not end its thread, not even with SystemExit.
                    ended = outcome.of_error(job, error)
            self._finish(ended, now() - began)


class AsyncExecutor:
    """Runs handlers on an event loop of its own. Handlers that are not async run in threads."""

    def __init__(self, registry: Registry, concurrency: int, name: str, start: Start, finish: Finish) -> None:
        self._registry, self._concurrency, self._start, self._finish = registry, concurrency, start, finish
        self._waiting: deque[RunningJob] = deque()
        self._tasks: dict[asyncio.Task[None], RunningJob] = {}
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix=name)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name=f"{name}-loop", daemon=True).start()

    def submit(self, jobs: Iterable[RunningJob]) -> None:
        self._waiting.extend(jobs)
        self._loop.call_soon_threadsafe(self._fill)

    def take_back(self) -> list[RunningJob]:
        jobs = []
        with contextlib.suppress(IndexError):
            while True:
                jobs.append(self._waiting.popleft())
        return jobs

    def close(self) -> None:
        self._threads.shutdown(wait=False)
        self._loop.call_soon_threadsafe(self._stop_when_idle)

    def _stop_when_idle(self) -> None:
        if self._tasks:
            self._loop.call_later(0.01, self._stop_when_idle)
        else:
            self._loop.stop()

    def _fill(self) -> None:
        while self._waiting and len(self._tasks) < self._concurrency:
            try:
                job = self._waiting.popleft()
            except IndexError:
                return
            if self._start(job):
                task = self._loop.create_task(self._run(job))
                self._tasks[task] = job
                task.add_done_callback(self._end)
                handler = self._registry.choose(job.kind)
                if handler is not None and handler.is_async:
                    job.on_cancel(partial(self._loop.call_soon_threadsafe, task.cancel))

    def _end(self, task: asyncio.Task[None]) -> None:
        job = self._tasks.pop(task)
        if task.cancelled():
            # It was asked to stop before its first instruction.
            self._finish(outcome.released(job), 0.0)
        self._fill()

    async def _run(self, job: RunningJob) -> None:
        began = now()
        handler = self._registry.choose(job.kind)
        if handler is None:
            ended = outcome.failed(job, self._registry.unknown(job.kind))
        else:
            try:
                if handler.is_async:
                    with tracing.attempt(job):
                        result = await handler.run(job)
                else:
                    result = await self._loop.run_in_executor(self._threads, call, handler, job)
                ended = outcome.completed(job, result)
            except BaseException as error:  # A handler must not end the loop, not even with SystemExit.
                ended = outcome.of_error(job, error)
        self._finish(ended, now() - began)
