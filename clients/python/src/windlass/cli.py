"""The command `windlass-worker MODULE:NAME`."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys

from . import logs
from .errors import WindlassError
from .worker import Worker


def main(arguments: list[str] | None = None) -> int:
    """Runs the worker that a module defines, until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(prog="windlass-worker", description="Runs the worker that a module defines.")
    parser.add_argument("worker", metavar="MODULE:NAME", help="where the worker is, for example app:worker")
    parser.add_argument("-j", "--concurrency", type=int, help="jobs at once, per queue and process")
    parser.add_argument("-p", "--processes", type=int, help="number of processes")
    parser.add_argument("--log", choices=["text", "json"], default="text", help="format of the log on stderr")
    parser.add_argument("-v", "--verbose", action="store_true", help="also log every job")
    asked = parser.parse_args(arguments)
    logs.setup(asked.log, logging.DEBUG if asked.verbose else logging.INFO)
    sys.path.insert(0, os.getcwd())
    module, _, name = asked.worker.partition(":")
    try:
        worker = getattr(importlib.import_module(module), name or "worker")
    except (ImportError, AttributeError) as error:
        parser.error(f"cannot load {asked.worker}: {error}")
    if not isinstance(worker, Worker):
        parser.error(f"{asked.worker} is not a windlass.Worker")
    worker.concurrency = asked.concurrency or worker.concurrency
    worker.processes = asked.processes or worker.processes
    try:
        worker.run()
    except (WindlassError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
