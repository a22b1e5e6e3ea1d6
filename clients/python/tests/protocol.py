"""Runs the cases of `clients/protocol` with the sync or the asyncio client, and a worker of threads or coroutines."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proxy import Fault, Proxy, pattern
from server import Server

import windlass
from windlass import errors
from windlass.values import seconds

CASES = Path(__file__).parents[2] / "protocol" / "cases"

TYPES = {
    "access_denied": errors.AccessDenied,
    "invalid": errors.InvalidRequest,
    "not_found": errors.NotFound,
    "conflict": errors.Conflict,
    "lease_lost": errors.LeaseLost,
    "wait_timeout": errors.WaitTimeout,
    "server_away": errors.ServerAway,
    "outcome_unknown": errors.OutcomeUnknown,
    "server_error": errors.ServerError,
}
EVENTUALLY = 10.0
PAUSE = 0.02
_numbers = itertools.count(1)


def load() -> list[tuple[str, dict[str, Any]]]:
    """All cases, with the name of their file."""
    files = sorted(CASES.glob("*.json"))
    assert files, f"no cases in {CASES}"
    return [(file.stem, case) for file in files for case in json.loads(file.read_text("utf-8"))["cases"]]


class Loop:
    """An event loop in a thread, to call the asyncio client from here."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)


class Handlers:
    """The handlers of a case: what they did, and what holds them."""

    def __init__(self) -> None:
        self.started: dict[str, int] = {}
        self.cancelled: dict[str, int] = {}
        self._unblocked: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def unblocked(self, kind: str) -> threading.Event:
        with self._lock:
            return self._unblocked.setdefault(kind, threading.Event())

    def begin(self, kind: str, actions: Any) -> dict[str, Any]:
        with self._lock:
            run = self.started[kind] = self.started.get(kind, 0) + 1
        listed = actions if isinstance(actions, list) else [actions]
        action: dict[str, Any] = listed[min(run, len(listed)) - 1]
        return action

    def note_cancelled(self, kind: str) -> None:
        with self._lock:
            self.cancelled[kind] = self.cancelled.get(kind, 0) + 1

    def end(self, action: dict[str, Any], payload: Any) -> Any:
        do = action["do"]
        if do == "fail":
            raise RuntimeError(action["error"])
        if do == "fail_permanently":
            raise windlass.PermanentError(action["error"])
        if do == "snooze":
            raise windlass.Snooze(action["delay"], action.get("scope", "job"))
        return payload if do == "echo" else action.get("result")

    def sync(self, kind: str, actions: Any) -> Callable[[Any, windlass.RunningJob], Any]:
        def handler(payload: Any, job: windlass.RunningJob) -> Any:
            action = self.begin(kind, actions)
            if action["do"] == "wait_for_cancel":
                try:
                    job.sleep(30)
                except windlass.Cancelled:
                    self.note_cancelled(kind)
                    raise
            if action["do"] == "progress":
                job.progress(action["fraction"], action["message"])
            if action["do"] in ("block", "progress"):
                assert self.unblocked(kind).wait(12)
            return self.end(action, payload)

        return handler

    def coroutine(self, kind: str, actions: Any) -> Callable[[Any, windlass.RunningJob], Any]:
        async def handler(payload: Any, job: windlass.RunningJob) -> Any:
            action = self.begin(kind, actions)
            if action["do"] == "wait_for_cancel":
                try:
                    await asyncio.sleep(30)
                except asyncio.CancelledError:
                    self.note_cancelled(kind)
                    raise
            if action["do"] == "progress":
                await job.aprogress(action["fraction"], action["message"])
            while action["do"] in ("block", "progress") and not self.unblocked(kind).is_set():
                try:
                    await asyncio.sleep(PAUSE)
                except asyncio.CancelledError:
                    continue
            return self.end(action, payload)

        return handler


class Runner:
    """Runs one case."""

    def __init__(self, case: dict[str, Any], server: Server, proxy: Proxy, loop: Loop | None) -> None:
        self._case, self._server, self._proxy, self._loop = case, server, proxy, loop
        options = {"retry_for": "5s", **case.get("client", {})}
        kind = windlass.Client if loop is None else windlass.AsyncClient
        self._client: Any = kind(proxy.url, **options)
        self._token = options.get("token")
        self._saved: dict[str, Any] = {"queue": f"case-{next(_numbers)}"}
        self._handlers = Handlers()
        self._workers: dict[str, tuple[windlass.Worker, threading.Thread]] = {}

    def run(self) -> None:
        self._proxy.reset()
        try:
            for step in self._case["steps"]:
                self._step(step)
        finally:
            for kind in list(self._handlers.started):
                self._handlers.unblocked(kind).set()
            for worker, _ in self._workers.values():
                worker.grace = 0.0
                worker.stop()
            for _, thread in self._workers.values():
                thread.join(10)
            closed = self._client.close()
            if self._loop is not None:
                self._loop.run(closed)

    def _step(self, step: dict[str, Any]) -> None:
        name = next(iter(step))
        getattr(self, f"_step_{name}")(self._fill(step[name]), step)

    def _step_eventually(self, inner: dict[str, Any], _: Any) -> None:
        ends_at = time.monotonic() + EVENTUALLY
        while True:
            try:
                self._step(inner)
                return
            except (AssertionError, errors.NotFound):
                if time.monotonic() > ends_at:
                    raise
                time.sleep(PAUSE)

    def _step_call(self, op: str, step: dict[str, Any]) -> None:
        arguments = self._fill(step.get("args", {}))
        self._expect(step, lambda: getattr(self._client, op)(**arguments), op)

    def _step_request(self, request: dict[str, Any], step: dict[str, Any]) -> None:
        repeatable = request.get("repeatable", False)

        def send() -> Any:
            return self._client.request(request["method"], request["path"], request.get("body"), repeatable=repeatable)

        self._expect(step, send, request["path"])

    def _expect(self, step: dict[str, Any], send: Callable[[], Any], op: str) -> None:
        expected_error = self._fill(step.get("expect_error"))
        try:
            result = send()
            if self._loop is not None:
                result = self._loop.run(result)
        except errors.WindlassError as error:
            if expected_error is None:
                raise
            expected_type = TYPES[expected_error.pop("type")]
            assert type(error) is expected_type, f"expected {expected_type.__name__}, got {error!r}"
            match(expected_error, vars(error), "error")
            return
        assert expected_error is None, f"{op} did not fail: {result}"
        raw = _raw(op, result)
        if "expect" in step:
            match(self._fill(step["expect"]), raw, op)
        for name, path in step.get("save", {}).items():
            self._saved[name] = _at(raw, path)

    def _step_fault(self, fault: dict[str, Any], _: Any) -> None:
        self._proxy.faults.append(Fault(**{"times": 1, **fault, "on": pattern(fault["on"])}))

    def _step_requests(self, wanted: dict[str, Any], _: Any) -> None:
        found = self._proxy.matching(wanted["on"])
        if "expect" in wanted:
            match(wanted["expect"], found, wanted["on"])
        assert len(found) >= wanted.get("at_least", 0), f"only {len(found)} requests {wanted['on']}"
        for path in wanted.get("same", []):
            assert len({json.dumps(_at(request, path)) for request in found}) == 1, f"{path} differs"
        for before, after in itertools.pairwise(found):
            gap_ms = (after["at"] - before["at"]) * 1000
            assert gap_ms >= wanted.get("gap_ms_min", 0), f"only {gap_ms:.0f} ms between requests"

    def _step_start_worker(self, options: dict[str, Any], _: Any) -> None:
        name = options.get("name", "w")
        worker = windlass.Worker(
            self._proxy.url,
            self._saved["queue"],
            name=name,
            concurrency=options.get("concurrency", 1),
            lease=options.get("lease", "30s"),
            grace=options.get("grace", "1s"),
            token=self._token,
        )
        for kind, actions in options["handlers"].items():
            make = self._handlers.sync if self._loop is None else self._handlers.coroutine
            worker.job(kind)(make(kind, actions))
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self._workers[name] = (worker, thread)

    def _step_stop_worker(self, name: str, _: Any) -> None:
        worker, thread = self._workers[name]
        worker.stop()
        thread.join(10)
        assert not thread.is_alive(), "the worker does not stop"

    def _step_handled(self, expected: dict[str, Any], _: Any) -> None:
        ends_at = time.monotonic() + EVENTUALLY
        while True:
            handlers = self._handlers
            found = {
                kind: {"started": handlers.started.get(kind, 0), "cancelled": handlers.cancelled.get(kind, 0)}
                for kind in expected
            }
            if all(found[kind] == {**found[kind], **counts} for kind, counts in expected.items()):
                return
            assert time.monotonic() < ends_at, f"expected {expected}, handled {found}"
            time.sleep(PAUSE)

    def _step_unblock(self, kind: str, _: Any) -> None:
        self._handlers.unblocked(kind).set()

    def _step_server(self, action: str, _: Any) -> None:
        if action in ("stop", "restart"):
            self._proxy.close()
            self._server.stop()
        if action in ("start", "restart"):
            self._server.start()
            self._proxy.open()

    def _fill(self, value: Any) -> Any:
        """Replaces saved values and byte values."""
        if isinstance(value, str):
            for name in sorted(self._saved, key=len, reverse=True):
                if value == f"${name}":
                    return self._saved[name]
                value = value.replace(f"${name}", str(self._saved[name]))
            return value
        if isinstance(value, dict):
            if set(value) == {"$base64"}:
                return base64.b64decode(value["$base64"])
            return {key: self._fill(item) for key, item in value.items()}
        return [self._fill(item) for item in value] if isinstance(value, list) else value


def match(expected: Any, found: Any, where: str) -> None:
    """Checks a value against what a case expects."""
    if expected == "$any":
        assert found is not None, f"{where} is missing"
    elif isinstance(expected, dict) and "$contains" in expected:
        assert isinstance(found, str) and expected["$contains"] in found, f"{where}: {found!r} lacks {expected}"
    elif isinstance(expected, dict) and "$length" in expected:
        assert len(found) == expected["$length"], f"{where} has {len(found)} items, not {expected['$length']}"
    elif isinstance(expected, dict):
        assert isinstance(found, dict), f"{where} is no object: {found!r}"
        for name, value in expected.items():
            match(value, found.get(name), f"{where}.{name}")
    elif isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), f"{where}: {found!r} is not {expected!r}"
        for number, (value, item) in enumerate(zip(expected, found)):
            match(value, item, f"{where}.{number}")
    else:
        assert found == expected and type(found) is type(expected), f"{where} is {found!r}, not {expected!r}"


def _raw(op: str, result: Any) -> Any:
    """The JSON of a result."""
    if isinstance(result, list):
        items = [_raw(op, item) for item in result]
        return {op: items} if op in ("groups", "schedules") else items
    if op in ("settings", "set"):
        return {"settings": result}
    return getattr(result, "raw", result)


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def shift(clock: str) -> float:
    """The seconds by which a case shifts the wall clock."""
    return -seconds(clock[1:]) if clock.startswith("-") else seconds(clock)
