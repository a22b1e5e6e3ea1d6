"""Outcomes of attempts, as they are sent."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any, NamedTuple

from ..values import content
from .job import Cancelled, PermanentError, RunningJob, Snooze

_ERROR_CHARS_MAX = 8000


class Outcome(NamedTuple):
    """How an attempt ended: the verb of its route, and its entry in `jobs` as JSON text."""

    job: RunningJob
    verb: str
    entry: str


def completed(job: RunningJob, result: Any) -> Outcome:
    """The handler returned."""
    entry: dict[str, Any] = {"id": job.id, "token": job.token}
    if result is not None:
        entry.update(content("result", result))
    try:
        return Outcome(job, "complete", dumps(entry))
    except (TypeError, ValueError) as error:
        # The work was done: repeating it would not give a result that can be stored.
        return failed(job, f"the result cannot be stored: {error}", is_permanent=True)


def failed(job: RunningJob, error: str, is_permanent: bool = False) -> Outcome:
    """The handler failed."""
    entry: dict[str, Any] = {"id": job.id, "token": job.token, "error": error[:_ERROR_CHARS_MAX]}
    if is_permanent:
        entry["permanent"] = True
    return Outcome(job, "fail", dumps(entry))


def released(job: RunningJob) -> Outcome:
    """The job goes back to the queue; if it was cancelled, it is cancelled now."""
    return Outcome(job, "release", dumps({"id": job.id, "token": job.token}))


def of_error(job: RunningJob, error: BaseException) -> Outcome:
    """The outcome of a handler that raised."""
    if isinstance(error, Snooze):
        entry = {"id": job.id, "token": job.token, "delay": error.delay, "scope": error.scope}
        return Outcome(job, "snooze", dumps(entry))
    if job.stop_reason is not None and isinstance(error, (Cancelled, asyncio.CancelledError)):
        return released(job)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, PermanentError):
        return failed(job, str(error) or text, is_permanent=True)
    # The first line is what lists show; the server keeps the rest with the job.
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return failed(job, f"{text}\n\n{lines[-(_ERROR_CHARS_MAX - 500) :]}")


def dumps(value: Any) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
