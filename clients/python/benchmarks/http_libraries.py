"""Compares HTTP libraries on the request that matters most: one enqueue after the other on one connection.

Usage: python benchmarks/http_libraries.py URL. Libraries that are not installed are named and left out.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import secrets
import statistics
import sys
import time
from typing import Callable
from urllib.parse import urlsplit

import windlass

COUNT, RUNS = 2000, 5
PATH = "/v1/queues/libraries/jobs"


def body() -> bytes:
    return json.dumps({"payload": {"n": 1}, "kind": "noop"}).encode()


def headers() -> dict[str, str]:
    return {"content-type": "application/json", "idempotency-key": secrets.token_hex(16)}


def senders(url: str) -> dict[str, Callable[[], object]]:
    client = windlass.Client(url)
    plain = http.client.HTTPConnection(urlsplit(url).netloc)

    def with_http_client() -> object:
        plain.request("POST", PATH, body(), headers())
        return json.loads(plain.getresponse().read())

    found: dict[str, Callable[[], object]] = {
        "windlass": lambda: client.enqueue("libraries", {"n": 1}, kind="noop"),
        "http.client": with_http_client,
    }
    if importlib.util.find_spec("urllib3"):
        import urllib3  # noqa: PLC0415

        pool = urllib3.PoolManager()
        found["urllib3"] = lambda: pool.request("POST", url + PATH, body=body(), headers=headers()).json()
    if importlib.util.find_spec("httpx"):
        import httpx  # noqa: PLC0415

        session = httpx.Client()
        found["httpx"] = lambda: session.post(url + PATH, content=body(), headers=headers()).json()
    return found


def main() -> None:
    found = senders(sys.argv[1])
    rates: dict[str, list[float]] = {name: [] for name in found}
    cpu: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(RUNS):
        for name, send in found.items():
            began, cpu_began = time.perf_counter(), time.process_time()
            for _ in range(COUNT):
                send()
            rates[name].append(COUNT / (time.perf_counter() - began))
            cpu[name].append((time.process_time() - cpu_began) / COUNT * 1e6)
    for name, measured in rates.items():
        print(
            f"{name}: {statistics.median(measured):.0f} per second, {statistics.median(cpu[name]):.0f} µs of CPU each"
        )
    for name in {"urllib3", "httpx"} - set(found):
        print(f"{name}: not installed")


main()
