"""Polls a FlashArray: one-second array samples every poll; volumes, hosts, ports and paths less often."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from math import ceil
from typing import ClassVar

from sanpath.plugin import (
    BusyError,
    Check,
    Collector,
    CollectorError,
    Context,
    DatedHttp,
    Event,
    Failure,
    Http,
    Item,
    LessOften,
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
from sanpath_collectors.flasharray.events import Watch
from sanpath_collectors.flasharray.release import total_includes_queue_time
from sanpath_collectors.flasharray.rest import EndpointClosedError, Rest, Session
from sanpath_collectors.flasharray.tables import ARRAY_PORT, HOST, PERFORMANCE_FIELDS, VOLUME

_FIRST_POLL_MILLISECONDS = 5_000  # period of the first poll
_GAP_MILLISECONDS = 2_000  # a larger distance between samples means that some are missing
_MAX_PERIOD_MILLISECONDS = 3_600_000
"""After a longer break only the last hour is requested. How long REST 2 keeps one-second samples is not documented;
the finest history of REST 1 covers an hour."""
_MAX_AGE_US = 30_000_000  # the time of an older newest sample, or of one in the future, comes from another clock
_KEPT_US = 300_000_000
"""How long the answers of an inventory that the array refused midway are used again: until the next one is due."""


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
        self._total_includes_queue: bool | None = None
        self._ports: set[str] = set()
        self._connected: set[str] = set()
        self._space: dict[str, dict[str, tuple[int | float | None, ...]]] = {}
        self._watch = Watch()
        self._clock = ServerClock()
        self._pending: list[Event] = []
        self._closed: dict[str, str] = {}
        self._newest_ms: int | None = None  # milliseconds on the array's clock
        self._newest_seen_us = 0  # on the recorder's clock
        self._detail = LessOften(config.detail_seconds, config.every_seconds)
        self._busy_until = 0
        self._kept: dict[str, list[parse.Entry]] = {}
        self._kept_since_us = 0

    async def open(self, ctx: Context) -> None:
        """Log in. Leaves nothing open on failure. Sends no request while a busy array has asked to wait."""
        await self.close()
        if (wait_us := self._busy_until - ctx.clock.now_us()) > 0:
            raise CollectorError(Failure.UNREACHABLE, f"the array asked to wait, for another {ceil(wait_us / 1e6)} s")
        config = self.config
        http = ctx.http(f"https://{config.host}", config.ca_file, config.verify_tls, config.request_seconds)
        self._http = DatedHttp(http, ctx.clock, self._clock)
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
        """Metric → field, for the throughput and latency that this release reports."""
        return PERFORMANCE_FIELDS

    async def check(self, ctx: Context) -> Check:
        """Return name, model, version and clock, after a request to every endpoint."""
        unreadable = []
        answers: dict[str, list[parse.Entry]] = {}
        for endpoint, consequence in CONSEQUENCES.items():
            if endpoint == "volume-groups" and not inventory.use_volume_groups(answers.get("volumes", [])):
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
        newest_ms = _newest_time_ms(answers.get("arrays/performance", []))
        labels = [part for part in (parse.name(array) or self.config.name, model, release) if part]
        device_time, within = self._device_time(ctx.clock.now_us(), newest_ms)
        return Check(", ".join(labels), device_time, (*unreadable, *self._unreadable(answers)), within)

    def _device_time(self, now_us: int, newest_ms: int | None) -> tuple[int | None, int]:
        """Return the array's clock, and by how much it may be off, in microseconds: by the dates of its answers where
        its samples have the same clock, else by its newest sample of a second, which ended within the last one."""
        if newest_ms is None:
            return None, 0
        ahead, within = self._clock.offset_us, self._clock.uncertainty_us
        if ahead is None or within is None or not -1e6 <= now_us + ahead - newest_ms * 1000 <= _MAX_AGE_US:
            return newest_ms * 1000 + 500_000, 500_000
        return round(now_us + ahead), round(within)

    def _unreadable(self, answers: Mapping[str, list[parse.Entry]]) -> tuple[str, ...]:
        """What this release does not report, apart from endpoints that are closed."""
        samples = answers.get("arrays/performance", [])
        if not samples or any(parse.reports_service_time(item) for item in samples):
            return ()
        return ("arrays/performance: the service time is not reported: it is taken from the array's total",)

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """Yield array, controllers and ports, hosts with their initiators, volumes, and connections."""
        now_us = ctx.clock.now_us()
        answers, self._kept = self._kept, {}
        if not answers or now_us - self._kept_since_us > _KEPT_US:
            answers, self._kept_since_us = {}, now_us
        array = _first(await self._once(ctx, answers, "arrays"))
        self._array = parse.name(array) or self.config.name
        self._total_includes_queue = total_includes_queue_time(parse.text(array, "version"))
        self._space["array"] = parse.space([array | {"name": self._array}])
        controllers = await self._once(ctx, answers, "controllers")
        yield inventory.array(array | {"name": self._array}, parse.text(_first(controllers), "model"))
        for item in inventory.controllers(controllers, self._array):
            yield item
        self._pending += self._watch.controllers(controllers, ctx.clock.now_us())
        self._pending += self._watch.hardware(await self._once(ctx, answers, "hardware"), ctx.clock.now_us())
        ports = await self._once(ctx, answers, "ports")
        self._ports = {parse.physical_port(port) for port in ports}
        for item in inventory.ports(ports, await self._once(ctx, answers, "network-interfaces"), self._array):
            yield item
        hosts = set()
        for item in inventory.hosts(await self._once(ctx, answers, "hosts")):
            if isinstance(item, SourceEntity) and item.kind == "host":
                hosts.add(item.local_id)
            yield item
        volumes = await self._once(ctx, answers, "volumes")
        self._space["volume"] = parse.space(volumes)
        groups = await self._once(ctx, answers, "volume-groups") if inventory.use_volume_groups(volumes) else []
        for item in inventory.volumes(volumes, self._array, groups):
            yield item
        self._connected = set()
        for link in inventory.connections(await self._once(ctx, answers, "connections"), hosts):
            self._connected |= {link.from_end[1], link.to_end[1]}
            yield link

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the array's samples since the last poll, and when due, the most recent ones of everything else."""
        async for item in self._array_samples(ctx):
            yield item
        now_us = ctx.clock.now_us()
        if self._detail.is_due(now_us):
            self._detail.note(now_us)
            async for item in self._details(ctx):
                yield item
        if (comparison := self._compare_clocks(ctx.clock.now_us())) is not None:
            yield comparison
        pending, self._pending = self._pending, []
        for event in pending:
            yield event

    def _compare_clocks(self, seen_us: int) -> Event | None:
        """Compare the array's clock with the recorder's, using the Date headers of its answers.

        None: unknown, or the samples' times come from a different clock than the headers.
        """
        ahead = self._clock.offset_us
        if (
            self._newest_ms is None
            or ahead is None
            or not -1e6 <= seen_us + ahead - self._newest_ms * 1000 <= _MAX_AGE_US
        ):
            return None
        return self._clock.event(seen_us)

    async def close(self) -> None:
        """Log out."""
        if self._session is not None and self._http is not None:
            session, self._session = self._session, None
            try:
                await session.logout()
            finally:  # the recorder does not wait long for an unresponsive array
                await self._http.close()

    async def _array_samples(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield every one-second sample once. Requests the newest sample's time first, and after an empty answer."""
        rows = None
        if self._newest_ms is not None:
            rows = await self._series(ctx, self._oldest_sample_time(self._newest_ms, ctx.clock.now_us()))
        if rows is None:
            newest_ms = _newest_time_ms(await self._items(ctx, "arrays/performance", ONE_SECOND))
            if newest_ms is None or newest_ms == self._newest_ms:
                return
            if self._newest_ms is not None and newest_ms < self._newest_ms:
                text = f"the array's clock was set back by {(self._newest_ms - newest_ms) / 1000:.0f} s"
                self._pending.append(warning(ctx.clock.now_us(), "device-clock-set-back", text))
                self._newest_ms = None
            since_ms = self._newest_ms or newest_ms - _FIRST_POLL_MILLISECONDS
            rows = await self._series(ctx, max(since_ms, newest_ms - _MAX_PERIOD_MILLISECONDS))
        if rows is not None and rows.device_time is not None:
            self._note_gaps(rows)
            self._newest_ms, self._newest_seen_us = rows.device_time[-1] // 1000, rows.seen[-1]
            yield self._add_space(rows)

    def _oldest_sample_time(self, newest_ms: int, now_us: int) -> int:
        """The time of the newest recorded sample, or of the oldest that the array still has, on its clock."""
        now_ms = newest_ms + (now_us - self._newest_seen_us) // 1000
        return max(newest_ms, now_ms - _MAX_PERIOD_MILLISECONDS)

    async def _series(self, ctx: Context, after: int) -> Rows | None:
        params = {**ONE_SECOND, "start_time": str(after + 1)}
        items = await self._items(ctx, "arrays/performance", params)
        return parse.array_series(items, self._array, after, ctx.clock.now_us(), self._total_includes_queue)

    def _note_gaps(self, rows: Rows) -> None:
        times = [time // 1000 for time in rows.device_time or ()]
        previous = [times[0] if self._newest_ms is None else self._newest_ms, *times]
        missing = sum(
            time - earlier - 1000
            for earlier, time in zip(previous, times, strict=False)
            if time - earlier > _GAP_MILLISECONDS
        )
        if missing:
            text = f"the array has no samples of {missing / 1000:.0f} s"
            self._pending.append(warning(rows.seen[-1], "samples-missing", text))

    async def _details(self, ctx: Context) -> AsyncIterator[Item]:
        now_us = ctx.clock.now_us
        for table, endpoint in ((self.volume_table, "volumes/performance"), (self.host_table, "hosts/performance")):
            items = await self._items(ctx, endpoint)
            rows = parse.performance(
                table, items, self._connected, now_us(), self._total_includes_queue, self._fields()
            )
            if rows:
                yield self._add_space(rows)
        if rows := parse.balance(await self._items(ctx, "hosts/performance/balance"), now_us()):
            yield rows
        ports = await self._items(ctx, "network-interfaces/performance")
        if rows := parse.port_performance(ports, self._ports, now_us(), self.port_table):
            yield rows
        for event in self._watch.controllers(await self._items(ctx, "controllers"), now_us()):
            yield event
        for event in self._watch.alerts(await self._items(ctx, "alerts"), now_us()):
            yield event

    def _add_space(self, rows: Rows) -> Rows:
        """Add the space values of the last inventory, once: the array computes them every five minutes."""
        if space := self._space.pop(rows.table.kind, None):
            parse.add_space(rows, space)
        return rows

    async def _items(self, ctx: Context, endpoint: str, params: Mapping[str, str] | None = None) -> list[parse.Entry]:
        """Return the items of an endpoint; none, without further requests, if it is closed to this account."""
        if endpoint in self._closed:
            return []
        try:
            return await self._ask(ctx, endpoint, params)
        except EndpointClosedError as closed:
            self._closed[endpoint] = str(closed)
            text = f"{closed}: {CONSEQUENCES[endpoint]}"
            self._pending.append(warning(ctx.clock.now_us(), "endpoint-closed", text))
            return []

    async def _once(self, ctx: Context, answers: dict[str, list[parse.Entry]], endpoint: str) -> list[parse.Entry]:
        """Return the items of an endpoint of the inventory: those among its answers so far, else asked now. If the
        array is too busy, the answers are kept for the next attempt: else an array that refuses now and then is never
        read to the end. Those of an inventory that came to its end are not used again."""
        if endpoint not in answers:
            try:
                answers[endpoint] = await self._items(ctx, endpoint)
            except BusyError:
                self._kept = answers
                raise
        return answers[endpoint]

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


def _newest_time_ms(items: list[parse.Entry]) -> int | None:
    """The time of the newest sample on the array's clock, in milliseconds. None: no sample has a time."""
    return max((time for item in items if (time := parse.milliseconds(item)) is not None), default=None)
