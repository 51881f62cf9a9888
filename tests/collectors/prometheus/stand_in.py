"""A small stand-in for a Prometheus server: counters that grow evenly, on 127.0.0.1, over TLS where it is wanted."""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Value = Callable[[float], float]


@dataclass
class StandIn:
    """`series`: labels with their name, and the value at a time. `every`: seconds between two scrapes. `most`:
    samples that one query may load. `headers`: what a request has to carry. Usable as a context manager."""

    series: Sequence[tuple[Mapping[str, str], Value]]
    every: float = 15.0
    most: int = 50_000_000
    headers: Mapping[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    now: float = 1_700_000_000.0
    partial: str = ""
    queries: list[str] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> StandIn:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        port = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        self.url = f"{'http' if self.tls is None else 'https'}://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> int:
        app = web.Application()
        app.router.add_get("/api/v1/query", self._query)
        app.router.add_get("/api/v1/label/__name__/values", self._names)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self.tls)
        await site.start()
        address: tuple[str, int] = self._runner.addresses[0]
        return address[1]

    def _refuses(self, request: web.Request) -> bool:
        return not self.headers.items() <= dict(request.headers).items()

    async def _names(self, request: web.Request) -> web.Response:
        if self._refuses(request):
            return web.Response(status=401)
        chosen = _chosen(request.query["match[]"])
        return _ok(sorted({labels["__name__"] for labels, _ in self.series if chosen(labels)}))

    async def _query(self, request: web.Request) -> web.Response:
        if self._refuses(request):
            return web.Response(status=401)
        expression, at = request.query["query"], float(request.query.get("time", self.now))
        if expression == "time()":
            return _ok({"resultType": "scalar", "result": [at, str(at)]})
        self.queries.append(expression)
        chosen = _chosen(expression)
        wanted = [(labels, value) for labels, value in self.series if chosen(labels)]
        window = re.search(r"\[(\d+)ms\]$", expression)
        if window is None:
            found: list[dict[str, Any]] = [{"metric": labels, "value": [at, str(v(at))]} for labels, v in wanted]
            return _ok({"resultType": "vector", "result": found})
        first = int((at - int(window[1]) / 1000) // self.every) + 1
        times = [number * self.every for number in range(first, int(at // self.every) + 1)]
        if len(times) * len(wanted) > self.most:
            error = "query processing would load too many samples into memory in query execution"
            return web.json_response({"status": "error", "errorType": "execution", "error": error}, status=422)
        found = [{"metric": labels, "values": [[t, str(value(t))] for t in times]} for labels, value in wanted]
        reported = {"warnings": [self.partial]} if self.partial else {}
        return _ok({"resultType": "matrix", "result": found}, reported)


def _chosen(selector: str) -> Callable[[Mapping[str, str]], bool]:
    """Whether labels match a selector of matchers `=` and `=~`."""
    pairs = re.findall(r'(\w+)(=~?)"([^"]*)"', selector)

    def match(labels: Mapping[str, str]) -> bool:
        return all(
            re.fullmatch(value, labels.get(label, "")) is not None if how == "=~" else labels.get(label) == value
            for label, how, value in pairs
        )

    return match


def _ok(data: object, more: Mapping[str, object] | None = None) -> web.Response:
    return web.json_response({"status": "success", "data": data, **(more or {})})


def disks(instance: str, count: int, job: str = "node") -> list[tuple[Mapping[str, str], Value]]:
    """Disks of a host, each with 2,000 reads of 8 KiB a second that take 0.4 ms: five series a disk."""
    rates = {
        "node_disk_reads_completed_total": 2_000.0,
        "node_disk_writes_completed_total": 0.0,
        "node_disk_read_bytes_total": 2_000.0 * 8192,
        "node_disk_read_time_seconds_total": 2_000.0 * 0.4e-3,
        "node_disk_io_now": 0.0,
    }

    def grows(rate: float) -> Value:
        return lambda at: round(rate * (at - 1_600_000_000), 3)

    found: list[tuple[Mapping[str, str], Value]] = []
    for number in range(count):
        labels = {"instance": instance, "job": job, "device": f"nvme{number}n1"}
        found += [({"__name__": name, **labels}, grows(rate)) for name, rate in rates.items()]
    return found
