"""Every case of `clients/protocol`: on SQLite with the sync client and worker, on Redis with those of asyncio."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import protocol
import pytest
from proxy import Proxy
from server import Redis, Server

CASES = protocol.load()


# Each store with one client: the store does not see which client it is.
PAIRS = (("sqlite", "sync"), ("redis", "asyncio"))


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def served(request: pytest.FixtureRequest, redis: Redis) -> Iterator[tuple[str, Server, Proxy, protocol.Loop | None]]:
    """A server of a store with a proxy in front, and the event loop of the asyncio client."""
    store, client = request.param
    server = Server(store, redis)
    proxy = Proxy(server.port)
    yield store, server, proxy, None if client == "sync" else protocol.Loop()
    proxy.close()
    server.remove()


@pytest.mark.parametrize(("subject", "case"), CASES, ids=[f"{file}: {case['name']}" for file, case in CASES])
def test_case(
    subject: str,
    case: dict[str, Any],
    served: tuple[str, Server, Proxy, protocol.Loop | None],
    redis: Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, server, proxy, loop = served
    if "clock" in case:
        shift, wall_clock = protocol.shift(case["clock"]), time.time
        monkeypatch.setattr(time, "time", lambda: wall_clock() + shift)
    if "token" not in case:
        protocol.Runner(case, server, proxy, loop).run()
        return
    guarded = Server(store, redis, token=case["token"])
    guard = Proxy(guarded.port)
    try:
        protocol.Runner(case, guarded, guard, loop).run()
    finally:
        guard.close()
        guarded.remove()
