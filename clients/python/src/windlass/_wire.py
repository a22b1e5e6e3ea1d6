"""HTTP/1.1 without I/O: builds requests and parses responses, for the sync and the asyncio connections."""

from __future__ import annotations

from dataclasses import dataclass

_HEAD_MAX = 64 * 1024


class BadResponse(Exception):
    """The response is not HTTP."""


@dataclass
class Response:
    """A complete response. Header names are lowercase."""

    status: int
    headers: dict[str, str]
    body: bytes
    keep_alive: bool


def request(method: str, target: str, fixed_headers: bytes, extra: dict[str, str], body: bytes) -> bytes:
    """Returns a request. `fixed_headers` are those of the connection, each ending with CRLF."""
    lines = [f"{method} {target} HTTP/1.1\r\n".encode("ascii"), fixed_headers]
    for name, value in extra.items():
        if "\r" in value or "\n" in value:
            raise ValueError(f"the header {name} contains a line break")
        lines.append(f"{name}: {value}\r\n".encode("latin-1"))
    if body:
        lines.append(b"content-type: application/json\r\n")
    if body or method not in ("GET", "DELETE"):
        lines.append(b"content-length: %d\r\n" % len(body))
    lines.append(b"\r\n")
    lines.append(body)
    return b"".join(lines)


class Parser:
    """Parses one response from the bytes of a connection."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._head: Response | None = None
        self._length: int | None = None
        self._chunks: list[bytes] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing has arrived yet."""
        return self._head is None and not self._data

    def feed(self, data: bytes) -> Response | None:
        """Adds bytes. Returns the response once it is complete."""
        self._data += data
        if self._head is None and not self._parse_head():
            return None
        assert self._head is not None
        if self._chunks is not None:
            return self._parse_chunks(self._chunks)
        if self._length is not None and len(self._data) >= self._length:
            return self._end(bytes(self._data[: self._length]))
        return None

    def close(self) -> Response | None:
        """The connection ended. Returns the response if its body lasts until then."""
        if self._head is None or self._length is not None or self._chunks is not None:
            return None
        self._head.keep_alive = False
        return self._end(bytes(self._data))

    def _parse_head(self) -> bool:
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            if len(self._data) > _HEAD_MAX:
                raise BadResponse("the headers of the response are too long")
            return False
        first, *lines = self._data[:end].decode("latin-1").split("\r\n")
        del self._data[: end + 4]
        parts = first.split(" ", 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
            raise BadResponse(f"the response is not HTTP: {first[:60]!r}")
        status = int(parts[1])
        if status == 100:
            return self._parse_head()
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        keep_alive = headers.get("connection", "").lower() != "close" and parts[0] == "HTTP/1.1"
        self._head = Response(status, headers, b"", keep_alive)
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._chunks = []
        elif "content-length" in headers:
            try:
                self._length = int(headers["content-length"])
            except ValueError:
                raise BadResponse("the length of the response is not a number") from None
        elif status in (204, 304):
            self._length = 0
        return True

    def _parse_chunks(self, chunks: list[bytes]) -> Response | None:
        at = 0
        while True:
            line_end = self._data.find(b"\r\n", at)
            if line_end < 0:
                break
            try:
                size = int(bytes(self._data[at:line_end]).split(b";")[0], 16)
            except ValueError:
                raise BadResponse("a chunk of the response has no size") from None
            if size == 0:
                # Trailers are not used by the server: only the empty line follows.
                if self._data.find(b"\r\n\r\n", line_end) < 0:
                    break
                return self._end(b"".join(chunks))
            if len(self._data) < line_end + 2 + size + 2:
                break
            chunks.append(bytes(self._data[line_end + 2 : line_end + 2 + size]))
            at = line_end + 2 + size + 2
        del self._data[:at]
        return None

    def _end(self, body: bytes) -> Response:
        assert self._head is not None
        self._head.body = body
        return self._head
