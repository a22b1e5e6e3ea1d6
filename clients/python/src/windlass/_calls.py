"""One description per operation: its route, its body, how to read its reply, and whether it may be repeated."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, TypeVar
from urllib.parse import quote, urlencode

from . import tracing, types
from .values import content, duration_text, encode, time_text

T = TypeVar("T")


@dataclass
class Call(Generic[T]):
    """A request before it is sent."""

    method: str
    target: str
    body: bytes
    parse: Callable[[Any], T]
    is_repeatable: bool
    headers: dict[str, str] = field(default_factory=dict)
    # How long the request itself waits on the server.
    waits: float = 0.0

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.method == "GET"


def path(*parts: str) -> str:
    """Returns a path of the API. Dots are encoded as well, so that no part is `..`."""
    return "/v1/" + "/".join(quote(part, safe="").replace(".", "%2E") for part in parts)


def same(raw: Any) -> Any:
    """Returns a reply as it is."""
    return raw


def get(target: str, parse: Callable[[Any], T], query: Mapping[str, Any] | None = None) -> Call[T]:
    """A read."""
    if query:
        target += "?" + urlencode({name: _query(value) for name, value in query.items()})
    return Call("GET", target, b"", parse, True)


def _query(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def send(
    method: str, target: str, body: Mapping[str, Any], parse: Callable[[Any], T], is_repeatable: bool = False
) -> Call[T]:
    """A change."""
    return Call(method, target, encode(dict(body)), parse, is_repeatable)


_DURATIONS = ("delay", "unique_for", "postpone_max", "timeout")


def new_job(payload: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON form of a new job."""
    job = {name: value for name, value in options.items() if value is not None}
    for name in _DURATIONS:
        if name in job:
            job[name] = duration_text(job[name])
    if "at" in job:
        job["at"] = time_text(job["at"])
    if "expires" in job:
        job["expires"] = _expiry(job["expires"])
    if "retry" in job:
        job["retry"] = _retry(job["retry"])
    headers = tracing.inject(job.get("headers"))
    if headers:
        job["headers"] = headers
    job.update(content("payload", payload))
    return job


def _expiry(value: Any) -> Any:
    # The server reads a number as a time; seconds from now are sent as text.
    return time_text(value) if hasattr(value, "tzinfo") else duration_text(value)


def _retry(delays: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: duration_text(delays[name]) for name in ("first", "max") if name in delays}
    retry: dict[str, Any] = {**delays, **texts}
    if "until" in retry:
        retry["until"] = _expiry(retry["until"])
    return retry


def enqueue(queue: str, payload: Any, key: str | None, options: Mapping[str, Any]) -> Call[types.Enqueued]:
    """Adds a job. The key makes it repeatable."""
    call = send("POST", path("queues", queue, "jobs"), new_job(payload, options), types.Enqueued.read, True)
    call.headers["idempotency-key"] = key or secrets.token_hex(16)
    return call


def enqueue_many(queue: str, jobs: Iterable[Any], key: str | None) -> Call[list[types.Enqueued]]:
    """Adds jobs. An item is a payload, or a dict with `payload` and options made by `NewJob`."""
    body = {"jobs": [_item(job) for job in jobs]}

    def parse(raw: Any) -> list[types.Enqueued]:
        return [types.Enqueued.read(job) for job in raw["jobs"]]

    call = send("POST", path("queues", queue, "jobs", "batch"), body, parse, True)
    call.headers["idempotency-key"] = key or secrets.token_hex(16)
    return call


def _item(job: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(job)
    return new_job(options.pop("payload", None), options)


def get_job(queue: str, id: str) -> Call[types.Job]:
    """Reads a job."""
    return get(path("queues", queue, "jobs", id), types.Job.read)


def wait(queue: str, id: str, timeout: float) -> Call[types.Job]:
    """Waits for the end of a job, for at most a minute."""
    timeout = max(0.0, min(timeout, 60.0))
    call = get(path("queues", queue, "jobs", id, "wait"), types.Job.read, {"timeout": duration_text(timeout)})
    call.waits = timeout
    return call


def explain(queue: str, id: str) -> Call[types.Explanation]:
    """Reads why a job waits."""
    return get(path("queues", queue, "jobs", id, "why"), types.Explanation.read)


def list_jobs(queue: str, filter: Mapping[str, Any]) -> Call[types.Page]:
    """Reads a page of jobs."""
    return get(path("queues", queue, "jobs"), types.Page.read, filter)


def change(queue: str, id: str, verb: str) -> Call[types.Changed]:
    """Cancels, retries or promotes a job."""
    return send("POST", path("queues", queue, "jobs", id, verb), {}, types.Changed.read)


def delete(queue: str, id: str) -> Call[types.Changed]:
    """Deletes a finished job."""
    return Call("DELETE", path("queues", queue, "jobs", id), b"", types.Changed.read, False)


def queues() -> Call[list[types.Stats]]:
    """Reads the stats of all queues."""
    return get(path("queues"), lambda raw: [types.Stats.read(stats) for stats in raw])


def stats(queue: str) -> Call[types.Stats]:
    """Reads the stats of a queue."""
    return get(path("queues", queue), types.Stats.read)


def set_paused(queue: str, verb: str) -> Call[types.Stats]:
    """Pauses or resumes a queue."""
    return send("POST", path("queues", queue, verb), {}, types.Stats.read, True)


def _settings(raw: Any) -> dict[str, str]:
    return dict(raw["settings"])


def settings(queue: str) -> Call[dict[str, str]]:
    """Reads the settings of a queue."""
    return get(path("queues", queue, "settings"), _settings)


def set_settings(queue: str, values: Mapping[str, Any]) -> Call[dict[str, str]]:
    """Changes settings of a queue."""
    body = {"settings": {name: str(value) for name, value in values.items()}}
    return send("PUT", path("queues", queue, "settings"), body, _settings, True)


def groups(queue: str, query: Mapping[str, Any]) -> Call[list[types.Group]]:
    """Reads a page of groups."""
    return get(path("queues", queue, "groups"), lambda raw: [types.Group.read(group) for group in raw["groups"]], query)


def group(queue: str, name: str) -> Call[types.Group]:
    """Reads a group."""
    return get(path("queues", queue, "groups", name), types.Group.read)


def set_group(queue: str, name: str, limits: Mapping[str, Any]) -> Call[types.Group]:
    """Changes the limits of a group."""
    body = {name: str(value) if not isinstance(value, bool) else value for name, value in limits.items()}
    return send("PUT", path("queues", queue, "groups", name), body, types.Group.read, True)


def set_group_paused(queue: str, name: str, verb: str) -> Call[types.Group]:
    """Pauses or resumes a group."""
    return send("POST", path("queues", queue, "groups", name, verb), {}, types.Group.read, True)


def schedules(queue: str, query: Mapping[str, Any]) -> Call[list[types.Schedule]]:
    """Reads a page of schedules."""
    target = path("queues", queue, "schedules")
    return get(target, lambda raw: [types.Schedule.read(schedule) for schedule in raw["schedules"]], query)


def schedule(queue: str, name: str) -> Call[types.Schedule]:
    """Reads a schedule."""
    return get(path("queues", queue, "schedules", name), types.Schedule.read)


def put_schedule(queue: str, name: str, definition: Mapping[str, Any]) -> Call[types.Schedule]:
    """Creates or changes a schedule."""
    return send("PUT", path("queues", queue, "schedules", name), definition, types.Schedule.read, True)


def run_schedule(queue: str, name: str, force: bool) -> Call[types.Enqueued]:
    """Enqueues a job of a schedule now."""
    return send("POST", path("queues", queue, "schedules", name, "run"), {"force": force}, types.Enqueued.read)


def delete_schedule(queue: str, name: str) -> Call[bool]:
    """Deletes a schedule."""
    return Call("DELETE", path("queues", queue, "schedules", name), b"", lambda raw: bool(raw["deleted"]), False)


def workers() -> Call[list[types.WorkerInfo]]:
    """Reads the workers seen recently."""
    return get(path("workers"), lambda raw: [types.WorkerInfo.read(worker) for worker in raw])


def request(method: str, target: str, body: Mapping[str, Any] | None, is_repeatable: bool) -> Call[Any]:
    """Any other route."""
    is_repeatable = is_repeatable or method in ("GET", "PUT")
    return Call(method, target, b"" if body is None else encode(dict(body)), same, is_repeatable)
