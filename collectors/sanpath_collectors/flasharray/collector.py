"""Asks a FlashArray: one-second array samples every poll, volumes, hosts, ports and paths less often."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType

from sanpath.plugin import (
    Check,
    Collector,
    CollectorError,
    Context,
    Event,
    Failure,
    Http,
    Item,
    Rows,
    Thing,
    Tie,
)
from sanpath_collectors.flasharray import inventory, parse
from sanpath_collectors.flasharray.config import FlashArrayConfig
from sanpath_collectors.flasharray.rest import EndpointClosedError, Rest
from sanpath_collectors.flasharray.tables import HOST, VOLUME

_ENDPOINTS: Mapping[str, str] = MappingProxyType(
    {
        "arrays": "the array has no name",
        "arrays/performance": "the array's latency and throughput are unknown",
        "controllers": "model and failover state are unknown",
        "ports": "target ports cannot be joined to the fabric",
        "network-interfaces": "the speed of the target ports is unknown",
        "network-interfaces/performance": "whether a target port is full is unknown",
        "hosts": "initiators cannot be joined to the array",
        "hosts/performance": "a host's share of the array's work is unknown",
        "hosts/performance/balance": "whether all paths are used is unknown",
        "volumes": "LUNs cannot be joined to volumes",
        "volumes/performance": "a volume's latency is unknown",
        "connections": "which volume belongs to which host is unknown",
    }
)
"""What is read, and what stays unknown without it."""

_RESOLUTION = MappingProxyType({"resolution": "1000"})  # milliseconds; the finest, and only the array has it
_FIRST_MILLISECONDS = 5_000  # how far the first poll reaches back


class FlashArray(Collector[FlashArrayConfig]):
    """A FlashArray over REST 2.4 or newer, in one session."""

    def __init__(self, config: FlashArrayConfig) -> None:
        super().__init__(config)
        self._http: Http | None = None
        self._array = config.name
        self._ports: set[str] = set()
        self._connected: set[str] = set()
        self._closed: dict[str, str] = {}
        self._reported: set[str] = set()
        self._newest: int | None = None  # milliseconds on the array's clock
        self._in_step = False
        self._detail_due = 0

    async def open(self, ctx: Context) -> None:
        """Log in. Leaves nothing open when that fails."""
        config = self.config
        await self.close()
        self._http = ctx.http(f"https://{config.host}", config.ca_file, config.verify_tls)
        self._rest = Rest(self._http, config.api_token)
        try:
            await self._rest.login()
        except BaseException:
            await self.close()
            raise

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the session was lent at open
        """Name, model, version and clock; every endpoint is tried."""
        unreadable = []
        answers: dict[str, list[parse.Entry]] = {}
        for endpoint, consequence in _ENDPOINTS.items():
            try:
                answers[endpoint] = await self._rest.items(endpoint)
            except CollectorError as error:
                if not isinstance(error, EndpointClosedError) and error.failure is not Failure.UNREADABLE:
                    raise
                unreadable.append(f"{error}: {consequence}")
        array = _first(answers.get("arrays", []))
        model = parse.text(_first(answers.get("controllers", [])), "model")
        version = f"{parse.text(array, 'os')} {parse.text(array, 'version')}".strip()
        time = parse.milliseconds(_first(answers.get("arrays/performance", [])))
        known = [part for part in (parse.name(array) or self.config.name, model, version) if part]
        return Check(", ".join(known), None if time is None else time * 1000, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[Thing | Tie]:  # noqa: ARG002 - as above
        """The array, its controllers and ports, hosts with their initiators, volumes, and what is presented."""
        array = _first(await self._items("arrays"))
        self._array = parse.name(array) or self.config.name
        controllers = await self._items("controllers")
        model = parse.text(_first(controllers), "model")
        yield inventory.array(array | {"name": self._array}, model)
        for item in inventory.controllers(controllers, self._array):
            yield item
        ports = await self._items("ports")
        self._ports = {parse.name(port).upper() for port in ports}
        for item in inventory.ports(ports, await self._items("network-interfaces"), self._array):
            yield item
        hosts = set()
        for item in inventory.hosts(await self._items("hosts")):
            if isinstance(item, Thing) and item.kind == "host":
                hosts.add(item.local_id)
            yield item
        for item in inventory.volumes(await self._items("volumes"), self._array):
            yield item
        self._connected = set()
        for tie in inventory.connections(await self._items("connections"), hosts):
            self._connected |= {tie.from_end[1], tie.to_end[1]}
            yield tie

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """The array's samples since the last poll; when due, the most recent ones of everything else."""
        if rows := await self._array_samples(ctx):
            yield rows
        now = ctx.clock.now_us()
        if now >= self._detail_due:
            # half a poll early rather than a whole one late: the grid of polls has jitter
            wait = self.config.detail_every_seconds - self.config.every_seconds / 2
            self._detail_due = now + int(max(0.0, wait) * 1e6)
            for endpoint, rows_of in self._details().items():
                items = await self._items(endpoint)
                if rows := rows_of(items, ctx.clock.now_us()):
                    yield rows
        for endpoint in sorted(self._closed.keys() - self._reported):
            self._reported.add(endpoint)
            detail = {
                "endpoint": endpoint,
                "why": self._closed[endpoint],
                "consequence": _ENDPOINTS[endpoint],
            }
            yield Event(ctx.clock.now_us(), "endpoint-closed", detail)

    async def close(self) -> None:
        """Log out."""
        if self._http is not None:
            await self._rest.logout()
            await self._http.close()
            self._http = None

    async def _array_samples(self, ctx: Context) -> Rows | None:
        """Every one-second sample once. The first poll, and one after an empty answer, asks for the array's clock."""
        newest = self._newest
        if newest is None or not self._in_step:
            clock = parse.milliseconds(_first(await self._items("arrays/performance", _RESOLUTION)))
            if clock is None:
                return None
            if newest is None or clock < newest:  # the first poll, or the array's clock was set back
                newest = clock - _FIRST_MILLISECONDS
        items = await self._items("arrays/performance", {**_RESOLUTION, "start_time": str(newest + 1)})
        rows = parse.array_series(items, self._array, newest, ctx.clock.now_us())
        self._in_step = rows is not None
        self._newest = rows.device_time[-1] // 1000 if rows and rows.device_time else newest
        return rows

    def _details(self) -> Mapping[str, Callable[[list[parse.Entry], int], Rows | None]]:
        return {
            "volumes/performance": lambda items, seen: parse.performance(VOLUME, items, self._connected, seen),
            "hosts/performance": lambda items, seen: parse.performance(HOST, items, self._connected, seen),
            "hosts/performance/balance": parse.balance,
            "network-interfaces/performance": lambda items, seen: parse.port_performance(items, self._ports, seen),
        }

    async def _items(self, endpoint: str, params: Mapping[str, str] | None = None) -> list[parse.Entry]:
        """Items of an endpoint; none, and not asked again, where it is closed to this account."""
        if endpoint in self._closed:
            return []
        try:
            return await self._rest.items(endpoint, params)
        except EndpointClosedError as closed:
            self._closed[endpoint] = str(closed)
            return []


def _first(items: list[parse.Entry]) -> dict[str, object]:
    return dict(items[0]) if items else {}
