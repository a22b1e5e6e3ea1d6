"""The bench's work on huey: its consumer with worker processes, one per core."""

import os
import sys

from huey import RedisHuey

import contract

huey = RedisHuey("bench", url=contract.url(), results=False)


@huey.task()
def noop(data):
    contract.note(data)


def workers(concurrency):
    # Neither periodic tasks nor the health of workers are watched: there is nothing to gain here.
    program = os.path.join(os.path.dirname(sys.executable), "huey_consumer")
    return [[program, "bench.huey", "--workers", str(concurrency), "--worker-type", "process",
             "--no-periodic", "--disable-health-check", "--quiet"]]


if __name__ == "__main__":
    # By the name that the consumer imports it by.
    import bench

    contract.run(bench.noop, workers)
