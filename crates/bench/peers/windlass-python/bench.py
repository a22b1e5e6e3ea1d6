"""The benchmark on the Python client of Windlass: one process with threads, through a `windlass serve` on the same Redis.

The server is started here for each scenario, from WINDLASS_BIN or target/release. Its CPU is not part of what the
benchmark reads from Redis, so it is printed to stderr, with that of the workers, as microseconds per job.
"""

import os
import pathlib
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "clients/python/src"))

import windlass  # noqa: E402

import contract  # noqa: E402

KIND, QUEUE = "noop", "bench"


def worker(concurrency):
    this = windlass.Worker(contract.url(), QUEUE, concurrency=concurrency, grace="1s")
    this.job(KIND)(contract.note)
    this.run()


def workers(concurrency):
    return [[sys.executable, __file__, "worker", str(concurrency)]]


def enqueue_many(many):
    client.enqueue_many(QUEUE, [{"payload": data, "kind": KIND} for data in many])


def cpu_us(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(int(sys.argv[2]))
        sys.exit()
    binary = os.environ.get("WINDLASS_BIN", str(ROOT / "target/release/windlass"))
    serve = [binary, "--store", contract.url(), "serve", "--listen", "127.0.0.1:0", "--quiet"]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    os.environ["BENCH_URL"] = server.stdout.readline().strip()
    client = windlass.Client(contract.url())
    began = cpu_us(server.pid)
    try:
        contract.run(lambda data: client.enqueue(QUEUE, data, kind=KIND), workers, enqueue_many)
        jobs = int(sys.argv[sys.argv.index("--jobs") + 1])
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        worker_us = (children.ru_utime + children.ru_stime) * 1e6
        print(f"CPU per job: server {(cpu_us(server.pid) - began) / jobs:.0f} us, workers {worker_us / jobs:.0f} us, "
              f"this process {sum(os.times()[:2]) * 1e6 / jobs:.0f} us", file=sys.stderr)
    finally:
        server.terminate()
        server.wait()
