"""A worker process for the crash tests: its handlers append the id of each job to a ledger outside of the store."""

from __future__ import annotations

import os
import sys
import time

import windlass

url, queue, ledger, lease = sys.argv[1:5]
worker = windlass.Worker(url, queue, concurrency=4, lease=lease, grace="5s")
file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@worker.job("note")
def note(payload: int, job: windlass.RunningJob) -> None:
    time.sleep(0.005)
    os.write(file, f"{payload} {job.attempt} {time.monotonic()}\n".encode())


worker.run()
