"""A `windlass serve` of its own for tests, on SQLite or Redis, which can be stopped and started again."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

STORES = ("sqlite", "redis")


def binary() -> str:
    """The server's program. A missing one is an error, never a skipped test."""
    path = os.environ.get("WINDLASS_BIN") or shutil.which("windlass")
    assert path, "set WINDLASS_BIN to the windlass binary"
    return path


def free_port() -> int:
    """A port that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Redis:
    """A Redis server without persistence."""

    def __init__(self) -> None:
        self.port = free_port()
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "redis-server does not start"
                assert self._process.poll() is None, "redis-server ended"
                select.select([], [], [], 0.01)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


class Server:
    """A server. `url` stays the same when it is started again."""

    def __init__(self, store: str, redis: Redis | None = None, token: str | None = None) -> None:
        self._folder = tempfile.mkdtemp(prefix="windlass-test-")
        self.store = f"sqlite:{self._folder}/w.db" if store == "sqlite" else f"redis://127.0.0.1:{_port(redis)}/0"
        self._token = token
        self.port = 0
        self.process: subprocess.Popen[str]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        environment = {**os.environ, **({"WINDLASS_HTTP_TOKEN": self._token} if self._token else {})}
        command = [binary(), "--store", self.store, "serve", "--listen", f"127.0.0.1:{self.port}", "--quiet"]
        with Path(self._folder, "stderr").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line.startswith("http://"), Path(self._folder, "stderr").read_text()
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(20)
        if self.process.stdout:
            self.process.stdout.close()

    def restart(self, number: int = signal.SIGTERM) -> None:
        self.stop(number)
        self.start()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)


def _port(redis: Redis | None) -> int:
    assert redis is not None
    return redis.port
