"""Connections over asyncio streams: one request at a time each, kept open between requests."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque

from . import _wire
from ._address import Address
from ._connection import IDLE_MAX, Unanswered

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncPool:
    """Connections that tasks of one event loop share; each request has one for itself."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: deque[tuple[_Streams, float]] = deque()

    async def exchange(self, request: bytes, timeout: float) -> _wire.Response:
        """Sends a request on an idle connection or a new one."""
        streams = self._take()
        if streams is None:
            streams = await self._connect(min(timeout, 10.0))
        try:
            response = await asyncio.wait_for(self._send(streams, request), timeout)
        except asyncio.TimeoutError as error:
            streams[1].close()
            raise Unanswered(f"no reply within {timeout:g} s", True) from error
        except (OSError, _wire.BadResponse) as error:
            streams[1].close()
            raise Unanswered(str(error) or type(error).__name__, True) from error
        except BaseException:
            streams[1].close()
            raise
        if response.keep_alive:
            self._idle.append((streams, time.monotonic()))
        else:
            streams[1].close()
        return response

    def _take(self) -> _Streams | None:
        while self._idle:
            streams, used_at = self._idle.pop()
            if not streams[0].at_eof() and time.monotonic() - used_at < IDLE_MAX:
                return streams
            streams[1].close()
        return None

    async def _connect(self, timeout: float) -> _Streams:
        address = self._address
        try:
            opening = asyncio.open_connection(address.host, address.port, ssl=address.tls)
            reader, writer = await asyncio.wait_for(opening, timeout)
        except (OSError, asyncio.TimeoutError) as error:
            raise Unanswered(str(error) or type(error).__name__, False) from error
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return reader, writer

    async def _send(self, streams: _Streams, request: bytes) -> _wire.Response:
        reader, writer = streams
        writer.write(request)
        await writer.drain()
        parser = _wire.Parser()
        while True:
            data = await reader.read(262144)
            response = parser.feed(data) if data else parser.close()
            if response is not None:
                return response
            if not data:
                raise ConnectionError("the connection was closed before the reply")

    async def close(self) -> None:
        """Closes idle connections."""
        while self._idle:
            (_, writer), _ = self._idle.pop()
            writer.close()
