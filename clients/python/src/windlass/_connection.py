"""Connections over sockets: one request at a time each, kept open between requests."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections import deque

from . import _wire
from ._address import Address

# The server closes idle connections after 60 s.
IDLE_MAX = 30.0


class Unanswered(Exception):
    """A request has no response. `was_sent` is False if the server cannot have received it."""

    def __init__(self, why: str, was_sent: bool) -> None:
        super().__init__(why)
        self.was_sent = was_sent


class Connection:
    """One connection."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._socket: socket.socket | None = None
        self._used_at = 0.0

    def exchange(self, request: bytes, timeout: float) -> _wire.Response:
        """Sends a request and returns its response. Opens the connection if it is not open, or was closed."""
        deadline = time.monotonic() + timeout
        connection = self._open(timeout)
        parser = _wire.Parser()
        try:
            connection.settimeout(timeout)
            connection.sendall(request)
            response = None
            while response is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"no reply within {timeout:g} s")
                connection.settimeout(left)
                data = connection.recv(262144)
                response = parser.feed(data) if data else parser.close()
                if response is None and not data:
                    raise ConnectionError("the connection was closed before the reply")
        except (OSError, _wire.BadResponse) as error:
            self.close()
            raise Unanswered(str(error) or type(error).__name__, True) from error
        except BaseException:
            self.close()
            raise
        if response.keep_alive:
            self._used_at = time.monotonic()
        else:
            self.close()
        return response

    def close(self) -> None:
        """Closes the connection. A thread that waits for its reply gets an error."""
        connection, self._socket = self._socket, None
        if connection is not None:
            with contextlib.suppress(OSError):  # It may be not connected any more.
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _open(self, timeout: float) -> socket.socket:
        if self._socket is not None and self._is_stale(self._socket):
            self.close()
        if self._socket is None:
            try:
                connection = socket.create_connection((self._address.host, self._address.port), min(timeout, 10.0))
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._address.tls is not None:
                    connection = self._address.tls.wrap_socket(connection, server_hostname=self._address.host)
            except OSError as error:
                raise Unanswered(str(error) or type(error).__name__, False) from error
            self._socket = connection
        return self._socket

    def _is_stale(self, connection: socket.socket) -> bool:
        """Whether the server closed it, or is about to. An idle connection has nothing to read but its end."""
        if time.monotonic() - self._used_at > IDLE_MAX:
            return True
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(0))


class Pool:
    """Connections that threads share; each request has one for itself. Safe to use after a fork."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: deque[Connection] = deque()
        self._pid = os.getpid()

    def exchange(self, request: bytes, timeout: float) -> _wire.Response:
        """Sends a request on an idle connection or a new one."""
        if self._pid != os.getpid():
            # The sockets belong to the parent process.
            self._idle, self._pid = deque(), os.getpid()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = Connection(self._address)
        response = connection.exchange(request, timeout)
        self._idle.append(connection)
        return response

    def close(self) -> None:
        """Closes idle connections."""
        while self._idle:
            self._idle.pop().close()
