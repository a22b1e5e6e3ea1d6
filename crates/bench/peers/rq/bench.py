"""The benchmark on RQ: its SimpleWorker, which does not fork for every job, one process per slot."""

import sys

from redis import Redis
from rq import Queue, SimpleWorker
from rq.job import Retry

import contract

connection = Redis.from_url(contract.url())
queue = Queue("bench", connection=connection)
# A worker that died leaves its job as failed; with a retry it runs again.
OPTIONS = {"result_ttl": 0, "retry": Retry(max=1)}


def noop(data):
    contract.note(data)


def enqueue_many(many):
    queue.enqueue_many([Queue.prepare_data("bench.noop", args=(data,), **OPTIONS) for data in many])


def workers(concurrency):
    return [[sys.executable, __file__, "worker"]] * concurrency


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        SimpleWorker([queue], connection=connection).work(logging_level="WARNING")
    else:
        contract.run(lambda data: queue.enqueue("bench.noop", data, **OPTIONS), workers, enqueue_many)
