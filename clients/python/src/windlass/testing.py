"""Tests without a server: `with inline(worker) as jobs:` runs every enqueued job at once, in this thread."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import _calls
from .worker import RunningJob, Snooze, Worker


@dataclass
class InlineJob:
    """A job that was enqueued: what ran, and how it ended."""

    id: str
    queue: str
    kind: str | None
    payload: Any
    options: dict[str, Any]
    state: str = "ready"
    result: Any = None
    error: BaseException | None = None


class InlineJobs(list[InlineJob]):
    """The jobs so far, oldest first."""

    def of_kind(self, kind: str) -> list[InlineJob]:
        """The jobs of one kind."""
        return [job for job in self if job.kind == kind]


@contextlib.contextmanager
def inline(worker: Worker, *, raise_errors: bool = True, run: bool = True) -> Iterator[InlineJobs]:
    """Runs jobs that are enqueued through `worker.client` and the handlers of the worker inline.

    The payload goes through JSON as it would on the way to a server. A delay is ignored. An error of a handler is
    raised from `enqueue`, or kept in `job.error` if `raise_errors` is False. With `run=False` jobs are only recorded.
    """
    jobs, client = InlineJobs(), worker.client
    numbers = itertools.count(1)

    def send(call: _calls.Call[Any]) -> Any:
        parts = call.target.split("/")
        if call.method != "POST" or parts[4:5] != ["jobs"] or len(parts) not in (5, 6):
            raise NotImplementedError(f"{call.method} {call.target} is not available in the inline mode")
        body = json.loads(call.body)
        new = body["jobs"] if parts[5:] == ["batch"] else [body]
        replies = []
        for fields in new:
            running, job = _create(parts[3], fields, f"inline-{next(numbers)}")
            jobs.append(job)
            if run:
                _run(worker, running, job)
                if raise_errors and job.error is not None:
                    raise job.error
            reply = {"id": job.id, "queue": job.queue, "state": job.state, "duplicate": False, "durability": "memory"}
            replies.append(reply)
        return call.parse({"jobs": replies} if parts[5:] == ["batch"] else replies[0])

    client.send = send  # type: ignore[method-assign]
    try:
        yield jobs
    finally:
        del client.send


def _create(queue: str, fields: dict[str, Any], id: str) -> tuple[RunningJob, InlineJob]:
    id = fields.pop("id", id)
    raw: dict[str, Any] = {"id": id, "queue": queue, "token": "inline", "kind": fields.pop("kind", None), "attempt": 1}
    raw.update(max_attempts=fields.get("max_attempts", 20), priority=fields.get("priority", 5))
    raw["headers"] = dict(fields.get("headers", {}))
    if "payload_base64" in fields:
        raw["payload_base64"] = fields.pop("payload_base64")
    else:
        payload = fields.pop("payload", None)
        raw["payload"] = payload if isinstance(payload, str) else json.dumps(payload)
        if not isinstance(payload, str):
            raw["headers"]["content-type"] = "application/json"
    running = RunningJob(raw)
    return running, InlineJob(id, queue, running.kind, running.payload, fields)


def _run(worker: Worker, running: RunningJob, job: InlineJob) -> None:
    handler = worker.registry.choose(running.kind)
    if handler is None:
        job.state, job.error = "dead", LookupError(worker.registry.unknown(running.kind))
        return
    try:
        result = handler.run(running)
        job.result = asyncio.run(result) if handler.is_async else result
        job.state = "succeeded"
    except Snooze:
        job.state = "scheduled"
    except Exception as error:
        job.state, job.error = "dead", error


__all__ = ["InlineJob", "InlineJobs", "inline"]
