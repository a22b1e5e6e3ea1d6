"""The benchmark on arq: its worker with more jobs at once, and a shorter poll interval than its default of half a second."""

import asyncio
import sys

from arq import Worker, create_pool
from arq.connections import RedisSettings

import contract

SETTINGS = RedisSettings.from_dsn(contract.url())
POLL_S = 0.01


async def noop(_context, data):
    contract.note(data)


def work(concurrency):
    # Results are not used.
    Worker([noop], redis_settings=SETTINGS, max_jobs=concurrency, poll_delay=POLL_S, keep_result=0).run()


if __name__ == "__main__":
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if sys.argv[1] == "worker":
        work(int(sys.argv[2]))
    else:
        pool = loop.run_until_complete(create_pool(SETTINGS))
        contract.run(
            lambda data: loop.run_until_complete(pool.enqueue_job("noop", data)),
            lambda concurrency: [[sys.executable, __file__, "worker", str(concurrency)]],
        )
