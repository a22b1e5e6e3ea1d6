"""Options of requests, and their replies. Every reply has `raw`, the JSON object of the server."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypedDict

from .values import Duration, Time, is_json, parse_time, read_content

Raw = dict[str, Any]


class RetryDelays(TypedDict, total=False):
    """The delays between attempts."""

    first: Duration
    max: Duration
    jitter: bool
    until: Time | Duration


class EnqueueOptions(TypedDict, total=False):
    """What a job can have in addition to its queue and payload."""

    id: str
    kind: str
    priority: int
    group: str
    delay: Duration
    at: Time
    unique_key: str
    unique_until: str
    unique_for: Duration
    on_duplicate: str
    postpone_max: Duration
    max_attempts: int
    timeout: Duration
    expires: Time | Duration
    headers: dict[str, str]
    retry: RetryDelays
    keep_outcome: bool


class NewJob(EnqueueOptions, total=False):
    """A job of `enqueue_many`."""

    payload: Any


class Filter(TypedDict, total=False):
    """Selects jobs of a list; see docs/operate.md."""

    state: str
    kind: str
    group: str
    limit: int
    cursor: str


@dataclass(frozen=True)
class Enqueued:
    """The reply to an enqueue. For a duplicate, `id` is that of the existing job."""

    id: str
    queue: str
    state: str
    is_duplicate: bool
    is_replaced: bool
    is_postponed: bool
    durability: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Enqueued:
        """Reads a reply."""
        duplicate, replaced, postponed = (bool(raw.get(name)) for name in ("duplicate", "replaced", "postponed"))
        return cls(raw["id"], raw["queue"], raw["state"], duplicate, replaced, postponed, raw["durability"], raw)


@dataclass(frozen=True)
class Job:
    """A job as it is stored. `payload` and `result` are None in lists."""

    id: str
    queue: str
    state: str
    kind: str | None
    attempt: int
    max_attempts: int
    priority: int
    group: str | None
    payload: Any
    result: Any
    error: str | None
    reason: str | None
    progress: float | None
    progress_message: str | None
    headers: dict[str, str]
    created_at: dt.datetime | None
    due_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    is_cancel_requested: bool
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Job:
        """Reads a reply. A job that ended and was not kept has only its id, queue and state."""
        headers = raw.get("headers", {})
        return cls(
            id=raw["id"],
            queue=raw["queue"],
            state=raw["state"],
            kind=raw.get("kind"),
            attempt=raw.get("attempt", 0),
            max_attempts=raw.get("max_attempts", 0),
            priority=raw.get("priority", 5),
            group=raw.get("group"),
            payload=read_content(raw, "payload", is_json(headers)),
            result=_result(raw),
            error=raw.get("error"),
            reason=raw.get("reason"),
            progress=raw.get("progress"),
            progress_message=raw.get("progress_message"),
            headers=headers,
            created_at=parse_time(raw.get("created_at")),
            due_at=parse_time(raw.get("due_at")),
            started_at=parse_time(raw.get("started_at")),
            finished_at=parse_time(raw.get("finished_at")),
            is_cancel_requested=bool(raw.get("cancel_requested")),
            raw=raw,
        )

    @property
    def has_ended(self) -> bool:
        """Whether the job succeeded, is dead, or was cancelled."""
        return self.state in ("succeeded", "dead", "cancelled")


def _fields(raw: Raw, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: raw[name] for name in names}


def _result(raw: Raw) -> Any:
    """Results carry no content type: what reads as JSON was most likely written as JSON."""
    value = read_content(raw, "result", False)
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


@dataclass(frozen=True)
class Page:
    """A page of jobs. `next` is the cursor of the next one, None on the last."""

    jobs: list[Job]
    next: str | None
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Page:
        """Reads a reply."""
        return cls([Job.read(job) for job in raw["jobs"]], raw["next"], raw)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)


@dataclass(frozen=True)
class Changed:
    """What a cancel, retry, delete or promote did."""

    id: str
    queue: str
    outcome: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Changed:
        """Reads a reply."""
        return cls(raw["id"], raw["queue"], raw["outcome"], raw)


@dataclass(frozen=True)
class Stats:
    """The stats of a queue; `raw` has all of them."""

    queue: str
    ready: int
    scheduled: int
    running: int
    succeeded: int
    dead: int
    cancelled: int
    is_paused: bool
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Stats:
        """Reads a reply."""
        names = ("queue", "ready", "scheduled", "running", "succeeded", "dead", "cancelled")
        return cls(**_fields(raw, names), is_paused=raw["paused"], raw=raw)


@dataclass(frozen=True)
class Explanation:
    """Why a job waits, and when it probably starts."""

    state: str
    reasons: list[str]
    eta_ms: int | None
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Explanation:
        """Reads a reply."""
        return cls(raw["state"], [reason["reason"] for reason in raw["reasons"]], raw["eta_ms"], raw)


@dataclass(frozen=True)
class Group:
    """A group of jobs and its limits."""

    queue: str
    group: str
    ready: int
    running: int
    max_running: int | None
    is_paused: bool
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Group:
        """Reads a reply."""
        names = ("queue", "group", "ready", "running", "max_running")
        return cls(**_fields(raw, names), is_paused=raw["paused"], raw=raw)


@dataclass(frozen=True)
class Schedule:
    """A schedule; `raw` has its definition, its next instants and its history."""

    queue: str
    name: str
    is_paused: bool
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> Schedule:
        """Reads a reply."""
        return cls(raw["queue"], raw["name"], bool(raw.get("paused")), raw)


@dataclass(frozen=True)
class WorkerInfo:
    """A worker seen in the last 24 hours."""

    id: str
    name: str
    host: str
    pid: int
    queues: list[str]
    state: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Raw) -> WorkerInfo:
        """Reads a reply."""
        return cls(**_fields(raw, ("id", "name", "host", "pid", "queues", "state")), raw=raw)
