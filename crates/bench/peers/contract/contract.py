"""The command line of every Python benchmark program, and the line it prints; see the README in `crates/bench/peers`.

Workers are processes that the peer itself starts. Their handlers write to a ledger, a file of fixed records
(the moment in the payload, the moment the handler began), and the program that started them reads it.
"""

import argparse
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

BULK = 100
GAP_S = 0.01
GLANCE_S = 0.001

_LEDGER = "BENCH_LEDGER"
_RECORD = struct.Struct("<QQ")
_ledger = None


def url():
    """The URL of the server, in the program and in the workers."""
    return os.environ["BENCH_URL"]


def note(data):
    """Called at the start of a handler."""
    global _ledger
    if _ledger is None:
        _ledger = os.open(os.environ[_LEDGER], os.O_WRONLY | os.O_APPEND)
    os.write(_ledger, _RECORD.pack(int(data[:20]), time.time_ns()))


def stamped(asked):
    """The payload of a job: text that starts with its creation time."""
    return f"{time.time_ns():020} ".ljust(asked.payload, "x")


def tell(answer):
    print(json.dumps(answer), flush=True)


def tell_rate(jobs, seconds):
    tell({"jobs": jobs, "seconds": seconds, "per_s": jobs / seconds})


class Workers:
    """The processes of a worker, and their ledger."""

    def __init__(self, commands):
        self.file = tempfile.NamedTemporaryFile(prefix="windlass-bench-")
        environment = {**os.environ, _LEDGER: self.file.name}
        # Worker output goes to stderr: stdout has only the result.
        self.processes = [subprocess.Popen(command, env=environment, stdout=sys.stderr) for command in commands]

    def await_jobs(self, count):
        while os.path.getsize(self.file.name) < count * _RECORD.size:
            ended = [process for process in self.processes if process.poll() is not None]
            if ended:
                self.stop()
                sys.exit(f"a worker ended with {ended[0].returncode} before its jobs did")
            time.sleep(GLANCE_S)

    def records(self):
        with open(self.file.name, "rb") as file:
            return list(_RECORD.iter_unpack(file.read()))

    def stop(self):
        """SIGTERM first, then SIGKILL."""
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run(enqueue, workers, enqueue_many=None):
    """Runs the scenario: `enqueue(data)`, `enqueue_many([data])`, `workers(concurrency)` gives command lines."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=["enqueue-one", "enqueue-bulk", "process", "pickup"])
    parser.add_argument("--url", required=True)
    for name in ["--jobs", "--payload", "--concurrency"]:
        parser.add_argument(name, type=int, required=True)
    asked = parser.parse_args()
    globals()["_" + asked.scenario.replace("-", "_")](asked, enqueue, workers, enqueue_many)


def _enqueue_one(asked, enqueue, _workers, _many):
    began = time.perf_counter()
    for _ in range(asked.jobs):
        enqueue(stamped(asked))
    tell_rate(asked.jobs, time.perf_counter() - began)


def _enqueue_bulk(asked, _enqueue, _workers, enqueue_many):
    if enqueue_many is None:
        return tell(None)
    began = time.perf_counter()
    for sent in range(0, asked.jobs, BULK):
        enqueue_many([stamped(asked) for _ in range(min(BULK, asked.jobs - sent))])
    tell_rate(asked.jobs, time.perf_counter() - began)


def _process(asked, _enqueue, workers, _many):
    started = Workers(workers(asked.concurrency))
    started.await_jobs(asked.jobs)
    moments = [began for _, began in started.records()]
    started.stop()
    tell_rate(asked.jobs, (max(moments) - min(moments)) / 1e9)


def _pickup(asked, enqueue, workers, _many):
    started = Workers(workers(asked.concurrency))
    # The first job waits for the worker to boot, so it does not count.
    enqueue(stamped(asked))
    started.await_jobs(1)
    for sent in range(1, asked.jobs + 1):
        time.sleep(GAP_S)
        enqueue(stamped(asked))
        started.await_jobs(sent + 1)
    waited = sorted((began - sent) / 1e6 for sent, began in started.records()[1:])
    started.stop()
    tell({"p50_ms": waited[-(-len(waited) // 2) - 1], "p99_ms": waited[-(-len(waited) * 99 // 100) - 1]})


# A worker imports the module of its peer without a command line: the URL is in the environment by then.
if "--url" in sys.argv and "BENCH_URL" not in os.environ:
    os.environ["BENCH_URL"] = sys.argv[sys.argv.index("--url") + 1]
