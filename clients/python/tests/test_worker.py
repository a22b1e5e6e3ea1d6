"""Workers beyond the protocol cases: decorators, processes, the command, logs, traces and the inline mode."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from server import Server

import windlass
from windlass import tracing
from windlass.logs import JsonFormatter
from windlass.testing import inline

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Running:
    """A worker in a thread."""

    def __init__(self, worker: windlass.Worker) -> None:
        self._worker = worker
        self._thread = threading.Thread(target=worker.run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._worker.stop()
        self._thread.join(20)
        assert not self._thread.is_alive()


def test_a_decorated_function_can_be_called_and_enqueued(sqlite_server: Server) -> None:
    worker = windlass.Worker(sqlite_server.url, "decorated")

    @worker.job("add")
    def add(payload: dict[str, int]) -> int:
        return payload["a"] + payload["b"]

    assert add({"a": 1, "b": 2}) == 3
    with Running(worker):
        job = add.enqueue({"a": 2, "b": 3}, keep_outcome=True)
        assert worker.client.wait("decorated", job.id, timeout=10).result == 5


def test_a_handler_takes_nothing_the_payload_or_the_payload_and_the_job(sqlite_server: Server) -> None:
    worker = windlass.Worker(sqlite_server.url, "arguments")
    worker.job("none")(lambda: "none")
    worker.job("both")(lambda payload, job: [payload, job.id, job.attempt])
    worker.fallback(lambda payload: f"fallback {payload}")
    with pytest.raises(TypeError, match="payload, job"):
        worker.job("three")(lambda a, b, c: None)
    with pytest.raises(ValueError, match="already has a handler"):
        worker.job("none")(lambda: None)
    with Running(worker):
        results = []
        for kind in ("none", "both", "other"):
            job = worker.client.enqueue("arguments", "p", kind=kind, id=kind)
            results.append(worker.client.wait("arguments", job.id, timeout=10).result)
    assert results == ["none", ["p", "both", 1], "fallback p"]


def test_a_result_that_cannot_be_stored_is_a_permanent_failure(sqlite_server: Server) -> None:
    worker = windlass.Worker(sqlite_server.url, "results")
    worker.job("object")(object)
    worker.job("large")(lambda: "x" * (2 << 20))
    with Running(worker):
        for kind in ("object", "large"):
            job = worker.client.enqueue("results", kind=kind)
            ended = worker.client.wait("results", job.id, timeout=10)
            assert (ended.state, ended.reason) == ("dead", "permanent")
            assert "cannot be stored" in (ended.error or "")


def test_a_handler_that_ends_its_thread_does_not_end_the_worker(sqlite_server: Server) -> None:
    worker = windlass.Worker(sqlite_server.url, "exits", concurrency=1)
    worker.job("exit")(lambda: sys.exit(3))
    worker.job("fine")(lambda: "fine")
    with Running(worker):
        exits = worker.client.enqueue("exits", kind="exit", max_attempts=1)
        fine = worker.client.enqueue("exits", kind="fine")
        assert worker.client.wait("exits", fine.id, timeout=10).result == "fine"
        assert "SystemExit" in (worker.client.wait("exits", exits.id, timeout=10).error or "")


def test_jobs_claimed_in_advance_are_released_when_a_slow_job_blocks_every_slot(sqlite_server: Server) -> None:
    unblock = threading.Event()
    slow = windlass.Worker(sqlite_server.url, "advance", concurrency=1, prefetch=10, grace="1s")
    slow.job("k")(lambda: unblock.wait(15))
    fast = windlass.Worker(sqlite_server.url, "advance", concurrency=1)
    fast.job("k")(lambda: None)
    client = windlass.Client(sqlite_server.url)
    jobs = client.enqueue_many("advance", [{"kind": "k", "keep_outcome": True} for _ in range(5)])
    with Running(slow):
        while client.get("advance", jobs[4].id).state != "running":
            time.sleep(0.01)
        with Running(fast):
            for job in jobs[1:]:
                assert client.wait("advance", job.id, timeout=8).state == "succeeded"
        unblock.set()


def test_a_worker_with_a_wrong_token_ends_with_an_error() -> None:
    server = Server("sqlite", token="correct-horse-battery-staple-0123456789")
    try:
        worker = windlass.Worker(server.url, "q", token="wrong-horse-battery-staple-0123456789xx")
        worker.job("k")(lambda: None)
        with pytest.raises(windlass.AccessDenied) as caught:
            worker.run()
        assert caught.value.code == "unauthorized" and caught.value.help
    finally:
        server.remove()


def test_one_worker_serves_several_queues(sqlite_server: Server) -> None:
    worker = windlass.Worker(sqlite_server.url, ["first", "second"], concurrency=2)
    worker.job("k")(lambda payload, job: job.queue)
    with Running(worker):
        for queue in ("first", "second"):
            job = worker.client.enqueue(queue, 1, kind="k")
            assert worker.client.wait(queue, job.id, timeout=10).result == queue


APP = """
import os, windlass
worker = windlass.Worker({url!r}, "command", grace="5s")

@worker.job("pid")
def pid():
    return os.getpid()
"""


def test_the_command_runs_processes_replaces_a_dead_one_and_stops_on_sigterm(
    sqlite_server: Server, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP.format(url=sqlite_server.url))
    command = [sys.executable, "-m", "windlass.cli", "app:worker", "--processes", "2", "--log", "json"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        client = windlass.Client(sqlite_server.url)

        def pids(wanted: int, without: int = 0) -> set[int]:
            found: set[int] = set()
            ends_at = time.monotonic() + 15
            while len(found) < wanted:
                assert time.monotonic() < ends_at, found
                jobs = client.enqueue_many("command", [{"kind": "pid"} for _ in range(20)])
                found |= {client.wait("command", job.id, timeout=10).result for job in jobs} - {without}
            return found

        first = pids(2)
        victim = min(first)
        os.kill(victim, signal.SIGKILL)
        assert len(pids(2, without=victim) - first) == 1
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=15)
        assert process.returncode == 0
        events = [json.loads(line)["event"] for line in log.splitlines()]
        assert events.count("worker_stopped") == 2 and "process_died" in events
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", ["missing:worker", "json:dumps", "json:none"])
def test_the_command_explains_what_it_cannot_load(name: str) -> None:
    command = [sys.executable, "-m", "windlass.cli", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and name in done.stderr


def test_an_event_is_one_json_object_with_the_job_and_without_its_payload() -> None:
    raw = {"id": "1", "queue": "q", "token": "t", "kind": "k", "attempt": 2, "max_attempts": 3, "payload": "secret"}
    record = logging.makeLogRecord({"msg": "attempt failed: %s", "args": ("x",), "levelname": "WARNING"})
    vars(record).update(event="attempt_failed", job=windlass.RunningJob(raw))
    line = json.loads(JsonFormatter().format(record))
    assert line.pop("time")
    fields = {"queue": "q", "id": "1", "attempt": 2, "max_attempts": 3, "kind": "k"}
    assert line == {"level": "warning", "event": "attempt_failed", "message": "attempt failed: x", **fields}


def test_a_trace_goes_from_job_to_job(sqlite_server: Server) -> None:
    worker = windlass.Worker(sqlite_server.url, "traces")

    @worker.job("parent")
    def parent() -> None:
        child.enqueue(id="child")

    @worker.job("child")
    def child(_: Any, job: windlass.RunningJob) -> str:
        return job.headers["traceparent"]

    with Running(worker):
        parent.enqueue(headers={"traceparent": TRACE})
        while True:
            try:
                assert worker.client.wait("traces", "child", timeout=10).result == TRACE
                break
            except windlass.NotFound:
                time.sleep(0.01)
    assert tracing.inject(None) == {}


def test_jobs_run_inline_in_tests() -> None:
    worker = windlass.Worker(queue="mail")

    @worker.job("greet")
    def greet(payload: dict[str, str]) -> str:
        shout.enqueue(payload["name"], delay="1h")
        return f"hello {payload['name']}"

    @worker.job("shout")
    async def shout(payload: str) -> str:
        if payload == "bob":
            raise windlass.PermanentError("no bob")
        return payload.upper()

    with inline(worker) as jobs:
        assert greet.enqueue({"name": "ann"}).state == "succeeded"
        assert [job.result for job in jobs] == ["hello ann", "ANN"]
        assert jobs.of_kind("shout")[0].options == {"delay": "1h"}
        with pytest.raises(windlass.PermanentError):
            shout.enqueue("bob")
        with pytest.raises(TypeError):
            greet.enqueue({"name": object()})
    with inline(worker, raise_errors=False, run=True) as jobs:
        worker.client.enqueue_many("mail", [{"kind": "shout", "payload": "bob"}, {"kind": "none"}])
        assert [job.state for job in jobs] == ["dead", "dead"] and "none" in str(jobs[1].error)
    with inline(worker, run=False) as jobs:
        greet.enqueue({"name": "ann"})
        assert [job.state for job in jobs] == ["ready"]
