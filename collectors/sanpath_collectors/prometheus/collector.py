"""The collector: sends a few queries in each poll, and larger ones for a finished test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from sanpath.plugin import (
    Check,
    Collector,
    CollectorError,
    Context,
    Failure,
    HistoryItem,
    Item,
    ServerClock,
    SourceEntity,
    SourceLink,
)
from sanpath_collectors.prometheus.api import Api, TooManySamplesError
from sanpath_collectors.prometheus.config import PrometheusConfig
from sanpath_collectors.prometheus.devices import Devices
from sanpath_collectors.prometheus.parse import Answer, Series
from sanpath_collectors.prometheus.profile import Profile, profiles, selector
from sanpath_collectors.prometheus.samples import Samples
from sanpath_collectors.prometheus.warnings import Remarks

_MAX_DELAY_SECONDS = 60.0
"""Maximum delay of a sample on its way to the server: remote write sends every few seconds, and retries."""
_LOOKBACK_SECONDS = 300.0
"""Maximum age of an exporter's last sample, the same as the lookback of an instant query."""
_MAX_ANSWER_POINTS = 500_000
"""Intended maximum of samples in one answer: about 14 MB of JSON."""
_FIRST_RANGE_SECONDS = 300.0
"""Length of the first range of a history; later ones are adjusted to the density of its samples."""
_MIN_RANGE_SECONDS = 10.0
"""A server that refuses such a short range cannot be read."""


@dataclass(slots=True)
class _Exporter:
    """An exporter on the server. `names`: its series with samples; `metadata_series`: those that describe
    entities."""

    key: str
    profile: Profile
    names: tuple[str, ...]
    metadata_series: tuple[str, ...]
    remarks: Remarks
    devices: Devices
    samples: Samples

    @property
    def title(self) -> str:
        """The name of the exporter, with a note if its profile was never tested with a live one."""
        return self.profile.title + ("" if self.profile.verified else " (not verified on a live one)")

    def series_of(self, answer: Answer) -> list[Series]:
        """Return the series of an answer, and add remarks about its defects."""
        for text in answer.warnings:
            self.remarks.add("partial-answer", f"a part of the answer is missing: {text}")
        if answer.unreadable:
            self.remarks.add("unreadable-series", f"{answer.unreadable} series hold no numbers and are left out")
        return answer.series


class Prometheus(Collector[PrometheusConfig]):
    """A server with the HTTP API of Prometheus, which also has past samples (KeepsHistory)."""

    def __init__(self, config: PrometheusConfig) -> None:
        super().__init__(config)
        self._api: Api | None = None
        self._exporters: list[_Exporter] = []
        self._offset_us = 0
        self._clock = ServerClock()
        self._answered_us: int | None = None

    async def open(self, ctx: Context) -> None:
        """Connect to the server and compare the clocks. Raises MISCONFIGURED for an unknown profile."""
        if unknown := sorted(set(self.config.profiles or ()) - profiles().keys()):
            available = ", ".join(profiles())
            raise CollectorError(
                Failure.MISCONFIGURED, f"no profile is called {unknown[0]!r}; there are: {available}"
            )
        await self.close()
        self._api = Api(ctx, self.config, self.config.budget_seconds)
        async with self.closed_on_failure():
            await self._compare_clocks(ctx)
        self._exporters, self._answered_us = [], None

    async def check(self, ctx: Context) -> Check:
        """Report the server, its clock, its exporters, and the configured exporters that it lacks."""
        async for _ in self.inventory(ctx):
            pass
        titles = {exporter.key: exporter.title for exporter in self._exporters}
        missing = [key for key in self.config.profiles or () if key not in titles]
        unreadable = [f"{key}: the server has no such series; its values are not known" for key in missing]
        if not titles and not missing:
            unreadable.append(f"no exporter that sanpath knows ({', '.join(profiles())}): nothing is known")
        if self.config.sends_secrets_unencrypted:
            unreadable.append("the credentials go over the network unencrypted: use https")
        version = await self._server.version()
        exporters = ", ".join(titles.values()) or "nothing"
        return Check(
            f"Prometheus API {version}: {exporters}".replace("API :", "API:"), self._now(ctx), tuple(unreadable)
        )

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """Yield the entities of all exporters on the server."""
        await self._compare_clocks(ctx)
        now_us = self._now(ctx)
        self._exporters = await self._present_exporters(
            now_us - round(_LOOKBACK_SECONDS * 1e6), now_us, self._exporters
        )
        for exporter in self._exporters:
            await self._learn(exporter, None)
            for _, item in exporter.devices.inventory():
                yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the samples scraped since the last poll."""
        now_us = ctx.clock.now_us()
        since_us = now_us - self._answered_us if self._answered_us is not None else 0
        window = f"[{round(since_us / 1000 + _MAX_DELAY_SECONDS * 1000)}ms]"
        if not self._exporters:
            raise CollectorError(Failure.UNREADABLE, "the server has no series of an exporter that sanpath knows")
        for exporter in self._exporters:
            answer = await self._server.query(selector(exporter.names, self.config.match) + window)
            for _, rows in exporter.samples.rows(exporter.series_of(answer), self._offset_us):
                yield rows
            for _, item in exporter.devices.inventory(only_new=True):
                yield item
            for event in exporter.remarks.events(ctx.clock.now_us()):
                yield event
        self._answered_us = now_us
        if (clock_event := self._clock.event(now_us)) is not None:
            yield clock_event

    async def history(self, ctx: Context, began_us: int, ended_us: int) -> AsyncIterator[HistoryItem]:  # noqa: ARG002 - KeepsHistory
        """Yield the samples of a past time range, each switch and array under its own name."""
        present = await self._present_exporters(began_us, ended_us, ())
        missing = [key for key in self.config.profiles or () if key not in {e.key for e in present}]
        if missing or not present:
            missing_names = ", ".join(missing or profiles())
            raise CollectorError(Failure.MISCONFIGURED, f"the server has no series of {missing_names} in that time")
        for exporter in present:
            await self._learn(exporter, ended_us)
            source = exporter.key
            async for item in self._history_of(exporter, began_us, ended_us):
                source = item.source
                yield item
            for event in exporter.remarks.events(ended_us):
                yield HistoryItem(source, exporter.profile.tables, event)

    async def close(self) -> None:
        """Close the connections."""
        api, self._api = self._api, None
        if api is not None:
            await api.close()

    async def _history_of(self, exporter: _Exporter, began_us: int, ended_us: int) -> AsyncIterator[HistoryItem]:
        tables = exporter.profile.tables
        expression = selector(exporter.names, self.config.match)
        seconds, range_start_us = _FIRST_RANGE_SECONDS, began_us
        while range_start_us < ended_us:
            range_end_us = min(ended_us, range_start_us + round(seconds * 1e6))
            try:
                answer = await self._server.query(
                    f"{expression}[{(range_end_us - range_start_us) // 1000 + 1}ms]", range_end_us
                )
            except TooManySamplesError:
                if seconds <= _MIN_RANGE_SECONDS:
                    raise
                seconds = max(_MIN_RANGE_SECONDS, seconds / 4)
                continue
            for device, rows in exporter.samples.rows(exporter.series_of(answer), 0):
                yield HistoryItem(self._source(exporter, device), tables, rows)
            for device, item in exporter.devices.inventory(only_new=True):
                yield HistoryItem(self._source(exporter, device), tables, item)
            density = answer.points / ((range_end_us - range_start_us) / 1e6)
            seconds = max(_MIN_RANGE_SECONDS, _MAX_ANSWER_POINTS / density if density else seconds * 4)
            range_start_us = range_end_us

    def _source(self, exporter: _Exporter, device: str) -> str:
        """Return the source name of a device: a switch or array is a separate source, hosts share the exporter's."""
        return exporter.key if exporter.profile.device.kind == "host" else device

    async def _present_exporters(
        self, began_us: int, ended_us: int, previous: Iterable[_Exporter]
    ) -> list[_Exporter]:
        """Return the exporters with series in a time range, reusing the `previous` objects."""
        wanted_profiles = {
            key: p for key, p in profiles().items() if self.config.profiles is None or key in self.config.profiles
        }
        names = dict.fromkeys(name for p in wanted_profiles.values() for name in (*p.series, *p.metadata_series))
        titles, warnings = await self._server.names(selector(names, self.config.match), began_us, ended_us)
        available = set(titles)
        request_us = {exporter.key: exporter for exporter in previous}
        present = []
        for key, profile in wanted_profiles.items():
            if available.isdisjoint(profile.present or profile.series):
                continue
            exporter = request_us.get(key) or self._exporter(key, profile)
            exporter.names = tuple(name for name in profile.series if name in available)
            exporter.metadata_series = tuple(name for name in profile.metadata_series if name in available)
            for text in warnings:
                exporter.remarks.add("partial-answer", f"some series may be missing: {text}")
            present.append(exporter)
        return present

    def _exporter(self, key: str, profile: Profile) -> _Exporter:
        remarks = Remarks(profile.title)
        for text in profile.remarks:
            remarks.add("exporter", text)
        if not profile.verified:
            tried = f", only {profile.mocked}" if profile.mocked else ""
            remarks.add("not-verified", f"its profile was never tried on a live one{tried}")
        devices = Devices(profile, remarks)
        samples = Samples(profile, devices, remarks, self.config.step_seconds)
        return _Exporter(key, profile, (), (), remarks, devices, samples)

    async def _learn(self, exporter: _Exporter, at_us: int | None) -> None:
        """Read names and entities as of a time; None: now."""
        names = (*exporter.metadata_series, *exporter.names)
        answer = await self._server.query(selector(dict.fromkeys(names), self.config.match), at_us)
        series = exporter.series_of(answer)
        metadata_series = set(exporter.metadata_series)
        samples = [s for s in series if s.name not in metadata_series]
        exporter.devices.learn([s for s in series if s.name in metadata_series], samples)
        exporter.samples.discover(samples)

    async def _compare_clocks(self, ctx: Context) -> None:
        request_us = ctx.clock.now_us()
        server = await self._server.now_us()
        response_us = ctx.clock.now_us()
        self._offset_us = server - (request_us + response_us) // 2
        self._clock.add_reading(server, request_us, response_us)

    def _now(self, ctx: Context) -> int:
        """Return the server's clock."""
        return ctx.clock.now_us() + self._offset_us

    @property
    def _server(self) -> Api:
        return self.opened(self._api)
