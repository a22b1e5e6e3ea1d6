"""A proxy between client and server that records requests and injects faults, as `clients/protocol` describes."""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import threading
import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Fault:
    """What happens to the next requests that match."""

    on: re.Pattern[str]
    do: str
    times: int
    status: int = 0
    code: str = ""
    retry_after: int | None = None


def pattern(on: str) -> re.Pattern[str]:
    """`POST /v1/queues/*/jobs` as a pattern; `*` is one part of a path."""
    return re.compile("[^/]+".join(re.escape(part) for part in on.split("*")))


class Proxy:
    """Listens on a port of its own."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self.port = 0
        self._lock = threading.Lock()
        self.faults: list[Fault] = []
        self.requests: list[dict[str, Any]] = []
        self._connections: set[socket.socket] = set()
        self._listener: socket.socket
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        """Accepts connections."""
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=100)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Refuses connections, and closes those that are open."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Forgets requests and faults."""
        with self._lock:
            self.faults, self.requests = [], []

    def matching(self, on: str) -> list[dict[str, Any]]:
        """The requests so far that match."""
        with self._lock:
            return [it for it in self.requests if pattern(on).fullmatch(f"{it['method']} {it['path']}")]

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        upstream: socket.socket | None = None
        try:
            while True:
                request = _read_message(client)
                if request is None:
                    return
                action = self._record(request)
                if action is None or action.do == "drop_reply":
                    if upstream is None:
                        upstream = socket.create_connection(("127.0.0.1", self._upstream), 5)
                        upstream.settimeout(None)
                    upstream.sendall(request)
                    reply = _read_message(upstream, give_up=client)
                    if reply is None or action is not None:
                        return
                    client.sendall(reply)
                elif action.do == "reply":
                    client.sendall(_reply(action))
                else:
                    return
        except OSError:
            return
        finally:
            with self._lock:
                self._connections.discard(client)
            for connection in (client, upstream):
                if connection is not None:
                    connection.close()

    def _record(self, request: bytes) -> Fault | None:
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        path = target.split("?")[0]
        record = {"method": method, "path": path, "headers": headers, "at": time.monotonic()}
        record["body"] = json.loads(body) if body else None
        with self._lock:
            self.requests.append(record)
            for fault in self.faults:
                if fault.times > 0 and fault.on.fullmatch(f"{method} {path}"):
                    fault.times -= 1
                    return fault
        return None


def _reply(fault: Fault) -> bytes:
    problem = {"status": fault.status, "detail": "injected", "code": fault.code, "help": "injected by a test"}
    body = json.dumps(problem).encode()
    after = f"retry-after: {fault.retry_after}\r\n" if fault.retry_after is not None else ""
    head = f"HTTP/1.1 {fault.status} X\r\ncontent-type: application/problem+json\r\n{after}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def _read_message(source: socket.socket, give_up: socket.socket | None = None) -> bytes | None:
    """Reads one request or reply; None at the end, or when the other side ends while it waits."""
    data = bytearray()
    while True:
        end = _message_end(data)
        if end is not None:
            return bytes(data[:end])
        watched = [source] + ([give_up] if give_up else [])
        readable, _, _ = select.select(watched, [], [], 70)
        if source not in readable:
            # The client sends nothing while it waits, so what can be read is its end.
            return None
        received = source.recv(262144)
        if not received:
            return None
        data += received


def _message_end(data: bytearray) -> int | None:
    head_end = data.find(b"\r\n\r\n")
    if head_end < 0:
        return None
    head = bytes(data[:head_end]).lower()
    if b"transfer-encoding: chunked" in head:
        end = (
            data.find(b"\r\n0\r\n\r\n", head_end) if data[head_end + 4 : head_end + 9] != b"0\r\n\r\n" else head_end + 2
        )
        return end + 7 if end >= 0 else None
    length = re.search(rb"content-length: *(\d+)", head)
    end = head_end + 4 + (int(length.group(1)) if length else 0)
    return end if len(data) >= end else None
