"""Payloads, results, durations and times, as the HTTP API writes them."""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import Any, Union

Duration = Union[str, int, float, dt.timedelta]
"""A duration: seconds, a `timedelta`, or text such as `"30s"` or `"1h"`."""

Time = Union[str, int, float, dt.datetime]
"""A time: a `datetime`, RFC 3339, or unix seconds."""


def duration_text(value: Duration) -> str:
    """Returns a duration as the server reads it."""
    if isinstance(value, str):
        return value
    seconds = value.total_seconds() if isinstance(value, dt.timedelta) else value
    return f"{round(seconds * 1000)}ms"


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: Duration) -> float:
    """Returns a duration in seconds."""
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)):
        return float(value)
    number = value.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = value[len(number) :]
    try:
        return float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        raise ValueError(f"invalid duration {value!r}: use seconds, or text such as 30s, 500ms, 5m or 1h") from None


def time_text(value: Time) -> str | int | float:
    """Returns a time as the server reads it."""
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            raise ValueError("the datetime has no time zone; use datetime.now(timezone.utc)")
        return value.isoformat()
    return value


def parse_time(text: str | None) -> dt.datetime | None:
    """Reads a time of a reply."""
    return None if text is None else dt.datetime.fromisoformat(text.replace("Z", "+00:00"))


def content(name: str, value: Any) -> dict[str, Any]:
    """Returns the fields of a payload or result: bytes as base64, everything else as JSON."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {f"{name}_base64": base64.b64encode(value).decode("ascii")}
    return {name: value}


def read_content(fields: dict[str, Any], name: str, is_json: bool) -> Any:
    """Returns a payload or result of a reply: a value if it is JSON, otherwise text, or bytes if it is not UTF-8."""
    text = fields.get(name)
    if text is None:
        encoded = fields.get(f"{name}_base64")
        return None if encoded is None else base64.b64decode(encoded)
    return json.loads(text) if is_json else text


def is_json(headers: dict[str, str]) -> bool:
    """Whether a payload is JSON, by the headers of its job."""
    return headers.get("content-type") == "application/json"


def encode(fields: dict[str, Any]) -> bytes:
    """Returns the body of a request."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
