"""The address of a server, and the headers that every request to it has."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from .errors import AccessDenied, InvalidRequest

DEFAULT_URL = "http://127.0.0.1:7700"


@dataclass(frozen=True)
class Address:
    """Where a server is, and how to talk to it."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    headers: bytes
    prefix: str
    url: str

    @classmethod
    def parse(cls, url: str | None, token: str | None, insecure: bool, tls: ssl.SSLContext | None = None) -> Address:
        """Reads a URL. What is not set comes from `WINDLASS_URL` and `WINDLASS_HTTP_TOKEN`."""
        url = url or os.environ.get("WINDLASS_URL") or DEFAULT_URL
        token = token or os.environ.get("WINDLASS_HTTP_TOKEN")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidRequest(f"invalid URL {url!r}", "invalid", f"use http://HOST:PORT, for example {DEFAULT_URL}")
        if parts.username or parts.password:
            raise InvalidRequest("the URL contains a password", "invalid", "pass token=…, or set WINDLASS_HTTP_TOKEN")
        is_tls, host = parts.scheme == "https", parts.hostname
        is_local = host == "localhost" or host.startswith("127.") or host == "::1"
        if token and not is_tls and not is_local and not insecure:
            help = "use https://, or pass insecure=True for a network that you trust"
            raise AccessDenied(f"the token would be sent to {host} without TLS", "forbidden", help)
        port = parts.port or (443 if is_tls else 80)
        headers = f"host: {parts.netloc}\r\nuser-agent: windlass-python\r\n"
        if token:
            if not token.isascii() or not token.isprintable():
                raise AccessDenied("the token has characters that no header can carry", "unauthorized")
            headers += f"authorization: Bearer {token}\r\n"
        context = (tls or ssl.create_default_context()) if is_tls else None
        return cls(
            host, port, context, headers.encode("ascii"), parts.path.rstrip("/"), f"{parts.scheme}://{parts.netloc}"
        )
