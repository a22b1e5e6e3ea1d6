"""The benchmark on Celery with Redis as its broker: the settings of its optimizing guide, acknowledged late."""

import sys

from celery import Celery

import contract

app = Celery("bench", broker=contract.url())
app.conf.update(
    # Results are not used.
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    # A job is acknowledged when it is done, so it survives a crash.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    # Short tasks: prefetch many.
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
)


@app.task(name="noop")
def noop(data):
    contract.note(data)


def workers(concurrency):
    options = ["--loglevel", "ERROR", "--concurrency", str(concurrency), "--without-gossip", "--without-mingle",
               "--without-heartbeat"]
    return [[sys.executable, "-m", "celery", "--app", "bench", "worker", *options]]


if __name__ == "__main__":
    contract.run(noop.delay, workers)
