"""Trace context in the header `traceparent` of a job: from OpenTelemetry if it is installed, otherwise passed on."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

try:
    from opentelemetry import propagate as _propagate
    from opentelemetry import trace as _trace
except ImportError:
    _propagate = _trace = None

_NAMES = ("traceparent", "tracestate")
_current: contextvars.ContextVar[dict[str, str]] = contextvars.ContextVar("windlass_trace", default={})  # noqa: B039


def inject(headers: dict[str, str] | None) -> dict[str, str]:
    """Returns the headers of a new job with the current trace, unless they name one."""
    if headers and "traceparent" in headers:
        return headers
    carrier: dict[str, str] = {}
    if _propagate is not None:
        _propagate.inject(carrier)
    carrier = {name: carrier[name] for name in _NAMES if name in carrier} or _current.get()
    return {**carrier, **(headers or {})}


@contextlib.contextmanager
def attempt(job: Any) -> Iterator[None]:
    """Runs a handler as a part of the trace of its job. Jobs that it enqueues belong to the same trace."""
    token = _current.set({name: job.headers[name] for name in _NAMES if name in job.headers})
    try:
        if _trace is None or _propagate is None:
            yield
            return
        names = {"queue": job.queue, "id": job.id, "kind": job.kind or "", "attempt": job.attempt}
        attributes = {f"windlass.{name}": value for name, value in names.items()}
        tracer, context = _trace.get_tracer("windlass"), _propagate.extract(job.headers)
        kind = _trace.SpanKind.CONSUMER
        with tracer.start_as_current_span(job.kind or "job", context=context, kind=kind, attributes=attributes):
            yield
    finally:
        _current.reset(token)
