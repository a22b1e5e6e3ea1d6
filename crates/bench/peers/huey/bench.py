"""The benchmark on huey: its consumer with worker processes, one per core."""

import os
import sys

from huey import RedisHuey

import contract

huey = RedisHuey("bench", url=contract.url(), results=False)


@huey.task()
def noop(data):
    contract.note(data)


def workers(concurrency):
    # No periodic tasks and no worker health checks: they are not needed here.
    program = os.path.join(os.path.dirname(sys.executable), "huey_consumer")
    return [[program, "bench.huey", "--workers", str(concurrency), "--worker-type", "process",
             "--no-periodic", "--disable-health-check", "--quiet"]]


if __name__ == "__main__":
    # The module name under which the consumer imports it.
    import bench

    contract.run(bench.noop, workers)
