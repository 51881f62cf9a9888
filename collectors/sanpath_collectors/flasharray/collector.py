"""Asks a FlashArray: one-second array samples every poll, volumes, hosts, ports and paths less often."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import ClassVar

from sanpath.plugin import (
    Check,
    Collector,
    CollectorError,
    Context,
    DatedHttp,
    Event,
    Failure,
    Http,
    Item,
    Rows,
    ServerClock,
    SourceEntity,
    SourceLink,
    Table,
    warning,
)
from sanpath_collectors.flasharray import inventory, parse
from sanpath_collectors.flasharray.config import FlashArrayConfig
from sanpath_collectors.flasharray.endpoints import CONSEQUENCES, ONE_SECOND, PARAMETERS
from sanpath_collectors.flasharray.release import total_holds_queue
from sanpath_collectors.flasharray.rest import BusyError, EndpointClosedError, Rest, Session
from sanpath_collectors.flasharray.tables import ARRAY_PORT, HOST, PERFORMANCE_FIELDS, VOLUME
from sanpath_collectors.flasharray.watch import Watch

_FIRST_MILLISECONDS = 5_000  # how far the first poll reaches back
_GAP_MILLISECONDS = 2_000  # samples further apart than this have one missing between them
_OLDEST_US = 30_000_000  # a newest sample that is older than this, or of the future, is dated by another clock


class FlashArray(Collector[FlashArrayConfig]):
    """A FlashArray over REST 2.2 or newer, in one session."""

    volume_table: ClassVar[Table] = VOLUME
    host_table: ClassVar[Table] = HOST
    port_table: ClassVar[Table] = ARRAY_PORT

    def __init__(self, config: FlashArrayConfig) -> None:
        super().__init__(config)
        self._http: Http | None = None
        self._session: Session | None = None
        self._array = config.name
        self._holds_queue: bool | None = None
        self._ports: set[str] = set()
        self._connected: set[str] = set()
        self._space: dict[str, dict[str, tuple[int | float | None, ...]]] = {}
        self._watch = Watch()
        self._clock = ServerClock()
        self._pending: list[Event] = []
        self._closed: dict[str, str] = {}
        self._newest: int | None = None  # milliseconds on the array's clock
        self._detail_due = 0
        self._busy_until = 0

    async def open(self, ctx: Context) -> None:
        """Log in. Leaves nothing open when that fails; does not even ask while the array wants to be left alone."""
        await self.close()
        if (wait := self._busy_until - ctx.clock.now_us()) > 0:
            raise CollectorError(Failure.UNREACHABLE, f"the array asked to wait, for another {wait / 1e6:.0f} s")
        plain = ctx.http(f"https://{self.config.host}", self.config.ca_file, self.config.verify_tls)
        self._http = DatedHttp(plain, ctx.clock, self._clock)
        self._session = self._new_session(self._http)
        try:
            await self._session.login()
        except BaseException as error:
            self._note_wait(ctx, error)
            await self.close()
            raise

    def _new_session(self, http: Http) -> Session:
        return Rest(http, self.config.api_token)

    def _fields(self) -> Mapping[str, str]:
        """Metric → field of what this release tells of throughput and latency."""
        return PERFORMANCE_FIELDS

    async def check(self, ctx: Context) -> Check:
        """Name, model, version and clock; every endpoint is tried."""
        unreadable = []
        answers: dict[str, list[parse.Entry]] = {}
        for endpoint, consequence in CONSEQUENCES.items():
            if endpoint == "volume-groups" and not inventory.in_groups(answers.get("volumes", [])):
                continue
            try:
                answers[endpoint] = await self._ask(ctx, endpoint)
            except CollectorError as error:
                if not isinstance(error, EndpointClosedError) and error.failure is not Failure.UNREADABLE:
                    raise
                unreadable.append(f"{error}: {consequence}")
        array = _first(answers.get("arrays", []))
        model = parse.text(_first(answers.get("controllers", [])), "model")
        release = f"{parse.text(array, 'os')} {parse.text(array, 'version')}".strip()
        time = _newest(answers.get("arrays/performance", []))
        known = [part for part in (parse.name(array) or self.config.name, model, release) if part]
        return Check(
            ", ".join(known), None if time is None else time * 1000, (*unreadable, *self._unreadable(answers))
        )

    def _unreadable(self, answers: Mapping[str, list[parse.Entry]]) -> tuple[str, ...]:
        """What this release does not tell, beside endpoints that are closed."""
        samples = answers.get("arrays/performance", [])
        if not samples or any(parse.service_is_told(item) for item in samples):
            return ()
        return ("arrays/performance: the service time is not told apart: it is taken from the array's total",)

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """The array, its controllers and ports, hosts with their initiators, volumes, and what is presented."""
        array = _first(await self._items(ctx, "arrays"))
        self._array = parse.name(array) or self.config.name
        self._holds_queue = total_holds_queue(parse.text(array, "version"))
        self._space["array"] = parse.space([array | {"name": self._array}])
        controllers = await self._items(ctx, "controllers")
        yield inventory.array(array | {"name": self._array}, parse.text(_first(controllers), "model"))
        for item in inventory.controllers(controllers, self._array):
            yield item
        self._pending += self._watch.controllers(controllers, ctx.clock.now_us())
        self._pending += self._watch.hardware(await self._items(ctx, "hardware"), ctx.clock.now_us())
        ports = await self._items(ctx, "ports")
        self._ports = {parse.name(port).upper() for port in ports}
        for item in inventory.ports(ports, await self._items(ctx, "network-interfaces"), self._array):
            yield item
        hosts = set()
        for item in inventory.hosts(await self._items(ctx, "hosts")):
            if isinstance(item, SourceEntity) and item.kind == "host":
                hosts.add(item.local_id)
            yield item
        volumes = await self._items(ctx, "volumes")
        self._space["volume"] = parse.space(volumes)
        groups = await self._items(ctx, "volume-groups") if inventory.in_groups(volumes) else []
        for item in inventory.volumes(volumes, self._array, groups):
            yield item
        self._connected = set()
        for tie in inventory.connections(await self._items(ctx, "connections"), hosts):
            self._connected |= {tie.from_end[1], tie.to_end[1]}
            yield tie

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """The array's samples since the last poll; when due, the most recent ones of everything else."""
        async for item in self._array_samples(ctx):
            yield item
        now = ctx.clock.now_us()
        if now >= self._detail_due:
            # half a poll early rather than a whole one late: the grid of polls has jitter
            wait = self.config.detail_seconds - self.config.every_seconds / 2
            self._detail_due = now + int(max(0.0, wait) * 1e6)
            async for item in self._details(ctx):
                yield item
        if (compared := self._compared(ctx.clock.now_us())) is not None:
            yield compared
        pending, self._pending = self._pending, []
        for event in pending:
            yield event

    def _compared(self, seen: int) -> Event | None:
        """The array's clock beside ours, by the dates of its answers, where its samples are dated by the same one."""
        ahead = self._clock.offset_us
        if self._newest is None or ahead is None or not -1e6 <= seen + ahead - self._newest * 1000 <= _OLDEST_US:
            return None
        return self._clock.event(seen)

    async def close(self) -> None:
        """Log out."""
        if self._session is not None and self._http is not None:
            session, self._session = self._session, None
            try:
                await session.logout()
            finally:  # the recorder does not wait long for an array that is silent
                await self._http.close()

    async def _array_samples(self, ctx: Context) -> AsyncIterator[Item]:
        """Every one-second sample once. The first poll, and an empty answer, make it ask for the array's clock."""
        rows = None
        if self._newest is not None:
            rows = await self._series(ctx, self._newest)
        if rows is None:
            clock = _newest(await self._items(ctx, "arrays/performance", ONE_SECOND))
            if clock is None or clock == self._newest:
                return
            if self._newest is not None and clock < self._newest:
                said = f"the array's clock was set back by {(self._newest - clock) / 1000:.0f} s"
                self._pending.append(warning(ctx.clock.now_us(), "device-clock-set-back", said))
                self._newest = None
            rows = await self._series(ctx, self._newest or clock - _FIRST_MILLISECONDS)
        if rows is not None and rows.device_time is not None:
            self._note_gaps(rows)
            self._newest = rows.device_time[-1] // 1000
            yield self._with_space(rows)

    async def _series(self, ctx: Context, after: int) -> Rows | None:
        asked = {**ONE_SECOND, "start_time": str(after + 1)}
        items = await self._items(ctx, "arrays/performance", asked)
        return parse.array_series(items, self._array, after, ctx.clock.now_us(), self._holds_queue)

    def _note_gaps(self, rows: Rows) -> None:
        times = [time // 1000 for time in rows.device_time or ()]
        before = [times[0] if self._newest is None else self._newest, *times]
        missing = sum(
            now - last - 1000 for last, now in zip(before, times, strict=False) if now - last > _GAP_MILLISECONDS
        )
        if missing:
            said = f"the array has no samples of {missing / 1000:.0f} s"
            self._pending.append(warning(rows.seen[-1], "samples-missing", said))

    async def _details(self, ctx: Context) -> AsyncIterator[Item]:
        seen = ctx.clock.now_us
        for table, endpoint in ((self.volume_table, "volumes/performance"), (self.host_table, "hosts/performance")):
            items = await self._items(ctx, endpoint)
            rows = parse.performance(table, items, self._connected, seen(), self._holds_queue, self._fields())
            if rows:
                yield self._with_space(rows)
        if rows := parse.balance(await self._items(ctx, "hosts/performance/balance"), seen()):
            yield rows
        ports = await self._items(ctx, "network-interfaces/performance")
        if rows := parse.port_performance(ports, self._ports, seen(), self.port_table):
            yield rows
        for event in self._watch.controllers(await self._items(ctx, "controllers"), seen()):
            yield event
        for event in self._watch.alerts(await self._items(ctx, "alerts"), seen()):
            yield event

    def _with_space(self, rows: Rows) -> Rows:
        """What the inventory told of space, once: the array computes it every five minutes."""
        if told := self._space.pop(rows.table.kind, None):
            parse.add_space(rows, told)
        return rows

    async def _items(self, ctx: Context, endpoint: str, params: Mapping[str, str] | None = None) -> list[parse.Entry]:
        """Items of an endpoint; none, and not asked again, where it is closed to this account."""
        if endpoint in self._closed:
            return []
        try:
            return await self._ask(ctx, endpoint, params)
        except EndpointClosedError as closed:
            self._closed[endpoint] = str(closed)
            said = f"{closed}: {CONSEQUENCES[endpoint]}"
            self._pending.append(warning(ctx.clock.now_us(), "endpoint-closed", said))
            return []

    async def _ask(self, ctx: Context, endpoint: str, params: Mapping[str, str] | None = None) -> list[parse.Entry]:
        if self._session is None:
            raise CollectorError(Failure.UNREACHABLE, "there is no session with the array")
        try:
            return await self._session.items(endpoint, params or PARAMETERS.get(endpoint))
        except BusyError as busy:
            self._note_wait(ctx, busy)
            raise

    def _note_wait(self, ctx: Context, error: BaseException) -> None:
        if isinstance(error, BusyError):
            self._busy_until = ctx.clock.now_us() + int(error.wait_seconds * 1e6)


def _first(items: list[parse.Entry]) -> dict[str, object]:
    return dict(items[0]) if items else {}


def _newest(items: list[parse.Entry]) -> int | None:
    """The array's clock in milliseconds, as of its newest sample."""
    return max((time for item in items if (time := parse.milliseconds(item)) is not None), default=None)
