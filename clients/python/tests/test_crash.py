"""Workers and servers that die: nothing is lost, and nothing is completed twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from server import STORES, Redis, Server

import windlass

JOBS = 1000
LEASE = 2.0
HERE = Path(__file__).parent


def start(server: Server, queue: str, ledger: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / "crash_worker.py"), server.url, queue, str(ledger), f"{LEASE}s"]
    return subprocess.Popen(command)


def lines(ledger: Path) -> list[tuple[int, float]]:
    """The jobs in the ledger, and when each was run."""
    if not ledger.exists():
        return []
    complete = ledger.read_text().rpartition("\n")[0].splitlines()
    return [(int(line.split()[0]), float(line.split()[2])) for line in complete]


def await_lines(ledger: Path, count: int, limit: float = 20.0) -> None:
    ends_at = time.monotonic() + limit
    while len({job for job, _ in lines(ledger)}) < count:
        assert time.monotonic() < ends_at, f"only {len(lines(ledger))} of {count} jobs ran"
        time.sleep(0.01)


def await_idle(client: windlass.Client, queue: str, succeeded: int) -> None:
    ends_at = time.monotonic() + 20
    while (total := client.stats(queue).raw["total"])["succeeded"] < succeeded:
        assert time.monotonic() < ends_at, total
        time.sleep(0.02)


@pytest.mark.parametrize("store", STORES)
def test_jobs_of_a_killed_worker_are_rescued_within_its_lease_and_a_second(
    store: str, redis: Redis, tmp_path: Path
) -> None:
    server = Server(store, redis)
    client = windlass.Client(server.url)
    queue, ledger = tmp_path.name, tmp_path / "ledger"
    client.enqueue_many(queue, [{"payload": n, "kind": "note", "id": f"kill-{n}"} for n in range(JOBS)])
    victim, other = start(server, queue, ledger), None
    try:
        await_lines(ledger, JOBS // 4)
        victim.kill()
        victim.wait()
        killed_at = time.monotonic()
        left = JOBS - len({job for job, _ in lines(ledger)})
        assert left > 0, "the worker was killed too late"
        other = start(server, queue, ledger)
        await_lines(ledger, JOBS)
        await_idle(client, queue, JOBS)
        stats = client.stats(queue)
        assert (stats.ready, stats.running, stats.dead) == (0, 0, 0)
        assert stats.raw["total"]["succeeded"] == JOBS
        rescued = stats.raw["total"]["rescued"]
        assert 0 < rescued <= 4 + 200, rescued
        last = max(at for _, at in lines(ledger))
        # The 1000 jobs need less than a second: only the lease of the dead worker can delay the last.
        assert last - killed_at < LEASE + 1.0, f"the last job ran {last - killed_at:.2f} s after the kill"
    finally:
        stop(victim, other)
        server.remove()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["term", "kill"])
def test_workers_go_on_when_the_server_restarts_under_load(
    store: str, number: int, redis: Redis, tmp_path: Path
) -> None:
    server = Server(store, redis)
    client = windlass.Client(server.url)
    queue, ledger = tmp_path.name, tmp_path / "ledger"
    client.enqueue_many(queue, [{"payload": n, "kind": "note"} for n in range(JOBS)])
    workers = [start(server, queue, ledger), start(server, queue, ledger)]
    try:
        for part in (1, 2, 3):
            await_lines(ledger, JOBS * part // 5)
            server.restart(number)
        await_lines(ledger, JOBS)
        await_idle(client, queue, JOBS)
        total = client.stats(queue).raw["total"]
        assert total["succeeded"] == JOBS and total["enqueued"] == JOBS, total
        assert [worker.poll() for worker in workers] == [None, None], "a worker ended"
        runs = Counter(job for job, _ in lines(ledger))
        assert set(runs) == set(range(JOBS))
        twice = {job: count for job, count in runs.items() if count > 1}
        assert not twice, f"jobs ran twice although every lease was kept: {twice}"
    finally:
        stop(*workers)
        server.remove()


def stop(*workers: subprocess.Popen[bytes] | None) -> None:
    for worker in workers:
        if worker is not None and worker.poll() is None:
            worker.terminate()
    for worker in workers:
        if worker is not None:
            worker.wait(15)
