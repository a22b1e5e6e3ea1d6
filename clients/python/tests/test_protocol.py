"""Every case of `clients/protocol`, on SQLite and Redis, with the sync and the asyncio client and worker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import protocol
import pytest
from proxy import Proxy
from server import STORES, Redis, Server

CASES = protocol.load()


@pytest.fixture(scope="module", params=STORES)
def served(request: pytest.FixtureRequest, redis: Redis) -> Iterator[tuple[str, Server, Proxy]]:
    """A server of a store, with a proxy in front."""
    server = Server(request.param, redis)
    proxy = Proxy(server.port)
    yield request.param, server, proxy
    proxy.close()
    server.remove()


@pytest.fixture(scope="module", params=["sync", "asyncio"])
def loop(request: pytest.FixtureRequest) -> protocol.Loop | None:
    """The event loop of the asyncio client; None for the sync client."""
    return None if request.param == "sync" else protocol.Loop()


@pytest.mark.parametrize(("subject", "case"), CASES, ids=[f"{file}: {case['name']}" for file, case in CASES])
def test_case(
    subject: str,
    case: dict[str, Any],
    served: tuple[str, Server, Proxy],
    loop: protocol.Loop | None,
    redis: Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, server, proxy = served
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
