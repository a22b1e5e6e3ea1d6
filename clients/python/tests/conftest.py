"""Servers that tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from server import Redis, Server


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    """A Redis server for the whole run."""
    server = Redis()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sqlite_server() -> Iterator[Server]:
    """A server on SQLite for tests that do not stop it."""
    server = Server("sqlite")
    yield server
    server.remove()
