"""The benchmark on Dramatiq with its Redis broker: its own command, one process per core and eight threads each."""

import os
import sys

import dramatiq
from dramatiq.brokers.redis import RedisBroker

import contract

broker = RedisBroker(url=contract.url())
dramatiq.set_broker(broker)


@dramatiq.actor
def noop(data):
    contract.note(data)


def workers(concurrency):
    processes = os.cpu_count() or 1
    threads = max(1, concurrency // processes)
    return [[sys.executable, "-m", "dramatiq", "bench", "--processes", str(processes), "--threads", str(threads),
             "--path", os.path.dirname(os.path.abspath(__file__))]]


if __name__ == "__main__":
    contract.run(noop.send, workers)
