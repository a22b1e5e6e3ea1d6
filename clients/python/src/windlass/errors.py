"""Errors: one type per reason, each with the code and the help of the server's problem document."""

from __future__ import annotations

import json
from typing import Any


class WindlassError(Exception):
    """The base of all errors. `code` is stable; the text of the message may change."""

    def __init__(
        self, message: str, code: str = "internal", help: str = "", status: int | None = None, request_id: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.help = help
        self.status = status
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]" + (f"; {self.help}" if self.help else "")


class AccessDenied(WindlassError):
    """The token is missing, wrong, or does not allow this."""


class InvalidRequest(WindlassError):
    """The server refused the request or its payload. Repeating it fails again."""


class NotFound(WindlassError):
    """The queue, job, worker or schedule does not exist, or is no longer stored."""


class Conflict(WindlassError):
    """The state of the job, or another job, does not allow this."""


class LeaseLost(WindlassError):
    """The token is no longer valid for the job. Nothing changed."""


class WaitTimeout(WindlassError, TimeoutError):
    """The job has not ended in the given time. It continues."""


class ServerAway(WindlassError):
    """The server could not be reached, or stayed busy, until the retries ended. Nothing was done."""


class OutcomeUnknown(WindlassError):
    """The request was sent, but no reply arrived. It may or may not have been executed."""


class ServerError(WindlassError):
    """The server cannot do this: its store cannot be used as it is, or it is not a Windlass server."""


_TYPES: dict[str, type[WindlassError]] = {
    **dict.fromkeys(("unauthorized", "forbidden", "wrong_host"), AccessDenied),
    **dict.fromkeys(("invalid", "too_large", "url_too_long", "wrong_media_type", "method_not_allowed"), InvalidRequest),
    **dict.fromkeys(("not_found", "gone"), NotFound),
    **dict.fromkeys(("conflict", "wrong_state"), Conflict),
    "lease_lost": LeaseLost,
    "timed_out": WaitTimeout,
    **dict.fromkeys(("store_busy", "store_full", "store_unreachable", "overloaded", "not_ready"), ServerAway),
    **dict.fromkeys(("too_many_requests", "too_slow", "server_away"), ServerAway),
    "outcome_unknown": OutcomeUnknown,
}


def of_code(code: str, message: str, help: str = "", status: int | None = None, request_id: str = "") -> WindlassError:
    """Returns the error of a code."""
    return _TYPES.get(code, ServerError)(message, code, help, status, request_id)


def of_response(status: int, body: bytes) -> WindlassError:
    """Returns the error of a response that is no success."""
    try:
        problem: Any = json.loads(body)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        if status in (502, 504):
            return of_code("outcome_unknown", f"a proxy reports that the server does not answer (HTTP {status})")
        if status in (429, 503):
            return of_code("server_away", f"the server or a proxy accepts no requests (HTTP {status})", status=status)
        help = "check the address; start a server with `windlass serve`"
        return ServerError(f"the reply is not from a Windlass server (HTTP {status})", "store_foreign", help, status)
    return of_code(code, detail, str(problem.get("help", "")), status, str(problem.get("request_id", "")))
