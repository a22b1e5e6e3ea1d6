"""Handlers by kind."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

from ..types import Enqueued, EnqueueOptions
from .job import RunningJob

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .worker import Worker

F = TypeVar("F", bound=Callable[..., Any])


class JobFunction(Generic[F]):
    """A decorated handler. Calling it runs the function here; `enqueue` lets a worker run it."""

    def __init__(self, worker: Worker, kind: str, queue: str, function: F) -> None:
        self._worker = worker
        self.kind = kind
        self.queue = queue
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self._arguments = _arguments(function)
        self.__name__ = getattr(function, "__name__", kind)
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def run(self, job: RunningJob) -> Any:
        """Calls the function with the job; returns its result, or a coroutine."""
        if self._arguments == 1:
            return self.function(job.payload)
        if self._arguments == 0:
            return self.function()
        return self.function(job.payload, job)

    def enqueue(self, payload: Any = None, **options: Unpack[EnqueueOptions]) -> Enqueued:
        """Adds a job of this kind to the queue."""
        return self._worker.client.enqueue(options.pop("queue", self.queue), payload, kind=self.kind, **options)  # type: ignore[typeddict-item,misc]


def _arguments(function: Callable[..., Any]) -> int:
    """How many arguments a handler takes: none, the payload, or the payload and the job."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    required = [it for it in parameters if it.kind in kinds and it.default is inspect.Parameter.empty]
    if len(required) > 2:
        raise TypeError(f"a handler takes (payload) or (payload, job), not {len(required)} arguments")
    return len(required)


class Registry:
    """The handlers of a worker."""

    def __init__(self) -> None:
        self.kinds: dict[str, JobFunction[Any]] = {}
        self.fallback: JobFunction[Any] | None = None

    def add(self, handler: JobFunction[Any]) -> None:
        """Adds a handler."""
        if handler.kind in self.kinds:
            raise ValueError(f"kind {handler.kind!r} already has a handler")
        self.kinds[handler.kind] = handler

    def choose(self, kind: str | None) -> JobFunction[Any] | None:
        """Returns the handler of a kind."""
        return self.kinds.get(kind, self.fallback) if kind is not None else self.fallback

    @property
    def has_async(self) -> bool:
        """Whether a handler is a coroutine function."""
        fallback = [self.fallback] if self.fallback else []
        return any(handler.is_async for handler in [*self.kinds.values(), *fallback])

    def unknown(self, kind: str | None) -> str:
        """The error of a job without a handler. It is not permanent: another worker may have one."""
        known = ", ".join(sorted(self.kinds))
        what = "the job has no kind" if kind is None else f"this worker has no handler for kind {kind!r}"
        return f"{what}; known kinds: {known}"
