"""The HTTP parser, with responses cut at every byte."""

from __future__ import annotations

import pytest

from windlass import _wire
from windlass._address import Address
from windlass.errors import AccessDenied, InvalidRequest

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRetry-After: 3\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH


@pytest.mark.parametrize("response", [LENGTH, CHUNKED, CONTINUE], ids=["length", "chunked", "continue"])
def test_a_response_is_complete_with_its_last_byte_however_it_is_cut(response: bytes) -> None:
    for cut in range(1, len(response)):
        parser = _wire.Parser()
        assert parser.feed(response[:cut]) is None
        assert parser.close() is None, "a response that is cut is not complete"
        parsed = parser.feed(response[cut:])
        assert parsed is not None and parsed.body == b"hello" and parsed.status == 200 and parsed.keep_alive


def test_a_body_without_a_length_lasts_until_the_connection_ends() -> None:
    parser = _wire.Parser()
    assert parser.feed(b"HTTP/1.1 502 Bad Gateway\r\n\r\noops") is None
    closed = parser.close()
    assert closed is not None and closed.body == b"oops" and not closed.keep_alive


@pytest.mark.parametrize(
    "garbage",
    [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"x" * 70000],
)
def test_a_response_that_is_not_http_is_an_error(garbage: bytes) -> None:
    with pytest.raises(_wire.BadResponse):
        _wire.Parser().feed(garbage)


def test_a_header_cannot_contain_a_line_break() -> None:
    with pytest.raises(ValueError, match="line break"):
        _wire.request("POST", "/", b"", {"idempotency-key": "a\r\nx: y"}, b"")


def test_a_token_is_sent_without_tls_only_to_this_machine() -> None:
    with pytest.raises(AccessDenied, match="without TLS"):
        Address.parse("http://jobs.example", "t" * 32, insecure=False)
    assert b"Bearer" in Address.parse("http://jobs.example", "t" * 32, insecure=True).headers
    assert b"Bearer" in Address.parse("http://127.0.0.1:1", "t" * 32, insecure=False).headers


@pytest.mark.parametrize("url", ["ftp://x", "localhost:7700", "http://user:secret@host"])
def test_a_url_that_cannot_be_used_is_refused_with_help(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Address.parse(url, None, insecure=False)
    assert caught.value.help
