"""Durations, times and payloads."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from windlass import _calls, values
from windlass._retry import backoff


@pytest.mark.parametrize(
    ("given", "text", "number"),
    [
        (1.5, "1500ms", 1.5),
        (2, "2000ms", 2.0),
        ("30s", "30s", 30.0),
        ("500ms", "500ms", 0.5),
        (dt.timedelta(minutes=1), "60000ms", 60.0),
        ("5m", "5m", 300.0),
        ("1d", "1d", 86400.0),
    ],
)
def test_a_duration_is_seconds_text_or_a_timedelta(given: Any, text: str, number: float) -> None:
    assert values.duration_text(given) == text
    assert values.seconds(given) == number


def test_a_duration_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        values.seconds("soon")


def test_a_time_needs_a_time_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        values.time_text(dt.datetime(2030, 1, 1))
    assert values.time_text(dt.datetime(2030, 1, 1, tzinfo=dt.timezone.utc)) == "2030-01-01T00:00:00+00:00"


@pytest.mark.parametrize("value", [{"a": [1, None, "ä"]}, 5, True, None, "text", b"\x00\xff"])
def test_content_survives_the_way_to_the_server_and_back(value: Any) -> None:
    fields = values.content("payload", value)
    # The server stores a string as its bytes, and any other JSON as its text.
    is_json = "payload" in fields and not isinstance(value, str)
    stored = {"payload": values.encode(value).decode()} if is_json else fields
    assert values.read_content(stored, "payload", is_json) == value


def test_a_path_cannot_leave_its_folder() -> None:
    assert _calls.path("queues", "a.b", "jobs", "x/../y ä") == "/v1/queues/a%2Eb/jobs/x%2F%2E%2E%2Fy%20%C3%A4"


def test_options_become_the_fields_of_the_api() -> None:
    options = {"delay": 3, "retry": {"first": 0.5, "jitter": False}, "expires": dt.timedelta(hours=1), "group": None}
    job = _calls.new_job({"n": 1}, options)
    retry = {"first": "500ms", "jitter": False}
    assert job == {"delay": "3000ms", "retry": retry, "expires": "3600000ms", "payload": {"n": 1}}


def test_the_backoff_doubles_up_to_two_seconds() -> None:
    for failures, longest in [(1, 0.05), (2, 0.1), (3, 0.2), (20, 2.0)]:
        delays = [backoff(failures) for _ in range(50)]
        assert longest / 2 <= min(delays) and max(delays) <= longest
