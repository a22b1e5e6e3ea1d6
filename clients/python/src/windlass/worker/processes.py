"""Several processes for one worker: a supervisor that starts and stops them, and replaces each one that dies."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
from multiprocessing.context import ForkProcess
from typing import TYPE_CHECKING

from .worker import _Signals

if TYPE_CHECKING:
    from .worker import Worker

log = logging.getLogger("windlass.worker")


def run_processes(worker: Worker) -> None:
    """Runs the worker in `worker.processes` processes until a signal."""
    context = multiprocessing.get_context("fork")
    stop = threading.Event()
    signals = 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        stop.set()
        for process in processes:
            if process.pid is not None and process.is_alive():
                process.terminate()

    def start() -> ForkProcess:
        process = context.Process(target=_child, args=(worker,))
        process.start()
        return process

    processes: list[ForkProcess] = []
    with _Signals(on_signal):
        processes += [start() for _ in range(worker.processes)]
        while not stop.wait(0.5):
            for at, process in enumerate(processes):
                if not process.is_alive():
                    process.join()
                    fields = {"event": "process_died", "exit": process.exitcode}
                    log.error("a worker process ended with %s", process.exitcode, extra=fields)
                    processes[at] = start()
        for process in processes:
            process.join(worker.grace + 10.0)
            if process.is_alive():
                process.kill()
                process.join()


def _child(worker: Worker) -> None:
    # The handlers of the supervisor are not those of its children.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker.processes = 1
    worker.run()
