"""Client and worker for the Windlass job queue."""

from .aio import AsyncClient
from .client import Client
from .errors import (
    AccessDenied,
    Conflict,
    InvalidRequest,
    LeaseLost,
    NotFound,
    OutcomeUnknown,
    ServerAway,
    ServerError,
    WaitTimeout,
    WindlassError,
)
from .types import Changed, Enqueued, Explanation, Group, Job, NewJob, Page, Schedule, Stats, WorkerInfo
from .worker import Cancelled, PermanentError, RunningJob, Snooze, Worker

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "AsyncClient",
    "Cancelled",
    "Changed",
    "Client",
    "Conflict",
    "Enqueued",
    "Explanation",
    "Group",
    "InvalidRequest",
    "Job",
    "LeaseLost",
    "NewJob",
    "NotFound",
    "OutcomeUnknown",
    "Page",
    "PermanentError",
    "RunningJob",
    "Schedule",
    "ServerAway",
    "ServerError",
    "Snooze",
    "Stats",
    "WaitTimeout",
    "WindlassError",
    "Worker",
    "WorkerInfo",
]
