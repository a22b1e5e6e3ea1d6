"""The asyncio client."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import _calls, _wire, types
from ._aconnection import AsyncPool
from ._address import Address
from ._connection import Unanswered
from ._retry import Tries
from .errors import WaitTimeout
from .values import Duration, seconds

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class AsyncClient:
    """A client of a Windlass server for asyncio: the methods of `Client`, to await.

    `url` and `token` default to `WINDLASS_URL` and `WINDLASS_HTTP_TOKEN`. `timeout` is how long a reply may take,
    `retry_for` how long a request is repeated while the server is away or busy.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: Duration = 30.0,
        retry_for: Duration = 30.0,
        insecure: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.address = Address.parse(url, token, insecure, tls)
        self._timeout = seconds(timeout)
        self._retry_for = seconds(retry_for)
        self._pool = AsyncPool(self.address)

    async def send(self, call: _calls.Call[T]) -> T:
        """Sends a call, and repeats it while that is safe and may help."""
        address, tries = self.address, Tries(call, self._retry_for)
        request = _wire.request(call.method, address.prefix + call.target, address.headers, call.headers, call.body)
        while True:
            try:
                response = await self._pool.exchange(request, self._timeout + call.waits)
            except Unanswered as error:
                delay: float | None = tries.broken(error, address.url)
            else:
                delay = tries.answered(response)
            if delay is None:
                return tries.result  # type: ignore[return-value]
            await asyncio.sleep(delay)

    async def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, repeatable: bool = False
    ) -> Any:
        """Sends any request of the HTTP API and returns its JSON. Set `repeatable` if repeating it has no effect."""
        return await self.send(_calls.request(method, path, body, repeatable))

    async def enqueue(
        self,
        queue: str,
        payload: Any = None,
        *,
        idempotency_key: str | None = None,
        **options: Unpack[types.EnqueueOptions],
    ) -> types.Enqueued:
        """Adds a job. A lost reply creates no second one; with an `idempotency_key`, neither does a second call."""
        return await self.send(_calls.enqueue(queue, payload, idempotency_key, options))

    async def enqueue_many(
        self, queue: str, jobs: Iterable[types.NewJob], *, idempotency_key: str | None = None
    ) -> list[types.Enqueued]:
        """Adds up to 10000 jobs in one request. Each is a dict with `payload` and the options of `enqueue`."""
        return await self.send(_calls.enqueue_many(queue, jobs, idempotency_key))

    async def wait(self, queue: str, id: str, timeout: Duration | None = None) -> types.Job:
        """Waits until a job has ended. Raises `WaitTimeout` if that takes longer than `timeout`."""
        ends_at = None if timeout is None else time.monotonic() + seconds(timeout)
        while True:
            left = 60.0 if ends_at is None else ends_at - time.monotonic()
            try:
                return await self.send(_calls.wait(queue, id, left))
            except WaitTimeout:
                if ends_at is not None and time.monotonic() >= ends_at:
                    raise

    async def iter_jobs(self, queue: str, **filter: Unpack[types.Filter]) -> AsyncIterator[types.Job]:
        """Yields all jobs of a list, page by page."""
        while True:
            page = await self.list(queue, **filter)
            for job in page:
                yield job
            if page.next is None:
                return
            filter["cursor"] = page.next

    async def get(self, queue: str, id: str) -> types.Job:
        """Returns everything known about a job."""
        return await self.send(_calls.get_job(queue, id))

    async def cancel(self, queue: str, id: str) -> types.Changed:
        """Cancels a waiting job, or asks a running one to stop."""
        return await self.send(_calls.change(queue, id, "cancel"))

    async def retry(self, queue: str, id: str) -> types.Changed:
        """Makes a dead job ready again."""
        return await self.send(_calls.change(queue, id, "retry"))

    async def promote(self, queue: str, id: str) -> types.Changed:
        """Makes a scheduled job ready now."""
        return await self.send(_calls.change(queue, id, "promote"))

    async def delete(self, queue: str, id: str) -> types.Changed:
        """Deletes a finished job."""
        return await self.send(_calls.delete(queue, id))

    async def explain(self, queue: str, id: str) -> types.Explanation:
        """Explains why a job waits, and when it probably starts."""
        return await self.send(_calls.explain(queue, id))

    async def stats(self, queue: str) -> types.Stats:
        """Returns the stats of a queue."""
        return await self.send(_calls.stats(queue))

    async def queues(self) -> list[types.Stats]:
        """Returns the stats of all queues."""
        return await self.send(_calls.queues())

    async def pause(self, queue: str) -> types.Stats:
        """Pauses a queue: claims return no jobs."""
        return await self.send(_calls.set_paused(queue, "pause"))

    async def resume(self, queue: str) -> types.Stats:
        """Resumes a paused or resting queue."""
        return await self.send(_calls.set_paused(queue, "resume"))

    async def settings(self, queue: str) -> dict[str, str]:
        """Returns the settings of a queue."""
        return await self.send(_calls.settings(queue))

    async def set(self, queue: str, settings: Mapping[str, Any]) -> dict[str, str]:
        """Changes settings of a queue."""
        return await self.send(_calls.set_settings(queue, settings))

    async def groups(self, queue: str, **query: Any) -> list[types.Group]:
        """Returns a page of groups (`limit`, `cursor`)."""
        return await self.send(_calls.groups(queue, query))

    async def group(self, queue: str, group: str) -> types.Group:
        """Returns a group."""
        return await self.send(_calls.group(queue, group))

    async def set_group(self, queue: str, group: str, **limits: Any) -> types.Group:
        """Changes the limits of a group: `max_running`, `rate`, `burst`."""
        return await self.send(_calls.set_group(queue, group, limits))

    async def pause_group(self, queue: str, group: str) -> types.Group:
        """Pauses a group: claims return none of its jobs."""
        return await self.send(_calls.set_group_paused(queue, group, "pause"))

    async def resume_group(self, queue: str, group: str) -> types.Group:
        """Resumes a paused or resting group."""
        return await self.send(_calls.set_group_paused(queue, group, "resume"))

    async def schedules(self, queue: str, **query: Any) -> list[types.Schedule]:
        """Returns a page of schedules (`limit`, `cursor`)."""
        return await self.send(_calls.schedules(queue, query))

    async def schedule(self, queue: str, name: str) -> types.Schedule:
        """Returns a schedule with its next instants and its history."""
        return await self.send(_calls.schedule(queue, name))

    async def put_schedule(self, queue: str, name: str, definition: Mapping[str, Any]) -> types.Schedule:
        """Creates or changes a schedule; an identical one changes nothing."""
        return await self.send(_calls.put_schedule(queue, name, definition))

    async def run_schedule(self, queue: str, name: str, *, force: bool = False) -> types.Enqueued:
        """Enqueues a job of a schedule now."""
        return await self.send(_calls.run_schedule(queue, name, force))

    async def delete_schedule(self, queue: str, name: str) -> bool:
        """Deletes a schedule, but not its jobs."""
        return await self.send(_calls.delete_schedule(queue, name))

    async def workers(self) -> list[types.WorkerInfo]:
        """Returns the workers seen recently."""
        return await self.send(_calls.workers())

    async def list(self, queue: str, **filter: Unpack[types.Filter]) -> types.Page:
        """Returns a page of jobs, without payloads and results."""
        return await self.send(_calls.list_jobs(queue, filter))

    async def close(self) -> None:
        """Closes idle connections. The client can still be used, and opens new ones."""
        await self._pool.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
