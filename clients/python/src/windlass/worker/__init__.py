"""Workers: `Worker`, the job that a handler gets, and the exceptions with which it ends an attempt."""

from .job import Cancelled, PermanentError, RunningJob, Snooze
from .registry import JobFunction
from .worker import Worker

__all__ = ["Cancelled", "JobFunction", "PermanentError", "RunningJob", "Snooze", "Worker"]
