"""Structured logs: the events of a worker as one JSON object per line, with the names that `windlass worker` uses."""

from __future__ import annotations

import datetime as dt
import json
import logging
from typing import Any

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Formats a record with `time`, `level`, `event`, `message` and its fields. Payloads are never logged."""

    def format(self, record: logging.LogRecord) -> str:
        time = dt.datetime.fromtimestamp(record.created, dt.timezone.utc)
        fields: dict[str, Any] = {"time": time.isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        fields["event"] = extra.pop("event", record.name)
        fields["message"] = record.getMessage()
        job = extra.pop("job", None)
        if job is not None:
            fields.update(queue=job.queue, id=job.id, attempt=job.attempt, max_attempts=job.max_attempts)
            if job.kind is not None:
                fields["kind"] = job.kind
        fields.update(extra)
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)


def setup(format: str = "text", level: int = logging.INFO) -> None:
    """Logs to stderr, as text or JSON."""
    handler = logging.StreamHandler()
    is_json = format == "json"
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if is_json else text)
    logging.basicConfig(level=level, handlers=[handler])
