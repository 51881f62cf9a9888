"""Asks a Prometheus server: a few queries a poll, and a handful of larger ones for a test that is over."""

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
from sanpath_collectors.prometheus.doubts import Doubts
from sanpath_collectors.prometheus.parse import Answer, Series
from sanpath_collectors.prometheus.profile import Profile, profiles, selector
from sanpath_collectors.prometheus.samples import Samples

_LATE_SECONDS = 60.0
"""How long a sample may take to the server and still be read: remote write sends every few seconds, and retries."""
_RECENT_SECONDS = 300.0
"""How far back an exporter may have been seen last: what an instant query looks back, too."""
_ANSWER_POINTS = 500_000
"""Samples that one answer should hold at most: about 14 MB of JSON."""
_FIRST_SECONDS = 300.0
_SHORTEST_SECONDS = 10.0


@dataclass(slots=True)
class _Exporter:
    """An exporter that the server knows. `names`: those of its series that there are; `told_by`: of those that say
    what things are."""

    key: str
    profile: Profile
    names: tuple[str, ...]
    told_by: tuple[str, ...]
    doubts: Doubts
    devices: Devices
    samples: Samples

    @property
    def title(self) -> str:
        """What it is called, with a mark where its profile was never tried on a live one."""
        return self.profile.title + ("" if self.profile.verified else " (not verified on a live one)")

    def answered(self, answer: Answer) -> list[Series]:
        """The series of an answer, and what to know of it."""
        for text in answer.warnings:
            self.doubts.say("partial-answer", f"a part of the answer is missing: {text}")
        if answer.unreadable:
            self.doubts.say("unreadable-series", f"{answer.unreadable} series are none of numbers and are left out")
        return answer.series


class Prometheus(Collector[PrometheusConfig]):
    """A server with the HTTP API of Prometheus. It is also asked for the past (KeepsHistory)."""

    def __init__(self, config: PrometheusConfig) -> None:
        super().__init__(config)
        self._api: Api | None = None
        self._exporters: list[_Exporter] = []
        self._ahead_us = 0
        self._clock = ServerClock()
        self._answered_us: int | None = None

    async def open(self, ctx: Context) -> None:
        """Reach the server and compare the clocks. Raises MISCONFIGURED for a profile that there is not."""
        if unknown := sorted(set(self.config.profiles or ()) - profiles().keys()):
            there = ", ".join(profiles())
            raise CollectorError(Failure.MISCONFIGURED, f"no profile is called {unknown[0]!r}; there are: {there}")
        await self.close()
        self._api = Api(ctx, self.config, self.config.budget_seconds)
        try:
            await self._compare_clocks(ctx)
        except BaseException:
            await self.close()
            raise
        self._exporters, self._answered_us = [], None

    async def check(self, ctx: Context) -> Check:
        """The server, its clock, which exporters it has, and which of them are asked for in vain."""
        async for _ in self.inventory(ctx):
            pass
        found = {exporter.key: exporter.title for exporter in self._exporters}
        missing = [key for key in self.config.profiles or () if key not in found]
        unreadable = [f"{key}: the server has no such series; nothing is known of what it tells" for key in missing]
        if not found and not missing:
            unreadable.append(f"no exporter that sanpath knows ({', '.join(profiles())}): nothing is known")
        if self.config.in_the_clear:
            unreadable.append("the credentials go over the network unencrypted: use https")
        version = await self._server.version()
        says = ", ".join(found.values()) or "nothing"
        return Check(f"Prometheus API {version}: {says}".replace("API :", "API:"), self._now(ctx), tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """Which exporters there are, and what they tell of."""
        await self._compare_clocks(ctx)
        now = self._now(ctx)
        self._exporters = await self._present(now - round(_RECENT_SECONDS * 1e6), now, self._exporters)
        for exporter in self._exporters:
            await self._learn(exporter, None)
            for _, item in exporter.devices.things():
                yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """What was scraped since the last poll."""
        now = ctx.clock.now_us()
        since = now - self._answered_us if self._answered_us is not None else 0
        window = f"[{round(since / 1000 + _LATE_SECONDS * 1000)}ms]"
        if not self._exporters:
            raise CollectorError(Failure.UNREADABLE, "the server has no series of an exporter that sanpath knows")
        for exporter in self._exporters:
            answer = await self._server.query(selector(exporter.names, self.config.match) + window)
            for _, rows in exporter.samples.rows(exporter.answered(answer), self._ahead_us):
                yield rows
            for _, item in exporter.devices.things(only_new=True):
                yield item
            for event in exporter.doubts.events(ctx.clock.now_us()):
                yield event
        self._answered_us = now
        if (compared := self._clock.event(now)) is not None:
            yield compared

    async def history(self, ctx: Context, began_us: int, ended_us: int) -> AsyncIterator[HistoryItem]:  # noqa: ARG002 - KeepsHistory
        """What the server keeps of a time; each switch and array under its own name."""
        present = await self._present(began_us, ended_us, (), apart=True)
        missing = [key for key in self.config.profiles or () if key not in {e.key for e in present}]
        if missing or not present:
            what = ", ".join(missing or profiles())
            raise CollectorError(Failure.MISCONFIGURED, f"the server has no series of {what} in that time")
        for exporter in present:
            await self._learn(exporter, ended_us)
            source = exporter.key
            async for kept in self._all_of(exporter, began_us, ended_us):
                source = kept.source
                yield kept
            for event in exporter.doubts.events(ended_us):
                yield HistoryItem(source, exporter.profile.tables, event)

    async def close(self) -> None:
        """Close the connections."""
        api, self._api = self._api, None
        if api is not None:
            await api.close()

    async def _all_of(self, exporter: _Exporter, began_us: int, ended_us: int) -> AsyncIterator[HistoryItem]:
        tables = exporter.profile.tables
        expression = selector(exporter.names, self.config.match)
        seconds, at = _FIRST_SECONDS, began_us
        while at < ended_us:
            until = min(ended_us, at + round(seconds * 1e6))
            try:
                answer = await self._server.query(f"{expression}[{(until - at) // 1000 + 1}ms]", until)
            except TooManySamplesError:
                if seconds <= _SHORTEST_SECONDS:
                    raise
                seconds = max(_SHORTEST_SECONDS, seconds / 4)
                continue
            for device, rows in exporter.samples.rows(exporter.answered(answer), 0):
                yield HistoryItem(self._source(exporter, device), tables, rows)
            for device, item in exporter.devices.things(only_new=True):
                yield HistoryItem(self._source(exporter, device), tables, item)
            density = answer.points / ((until - at) / 1e6)
            seconds = max(_SHORTEST_SECONDS, _ANSWER_POINTS / density if density else seconds * 4)
            at = until

    def _source(self, exporter: _Exporter, device: str) -> str:
        """Hosts are told apart by name wherever they are read; a switch and an array are called as their source."""
        return exporter.key if exporter.profile.device.kind == "host" else device

    async def _present(
        self, began_us: int, ended_us: int, known: Iterable[_Exporter], apart: bool = False
    ) -> list[_Exporter]:
        """The exporters that the server has series of in a time; those known already as they are."""
        wanted = {
            key: p for key, p in profiles().items() if self.config.profiles is None or key in self.config.profiles
        }
        names = dict.fromkeys(name for p in wanted.values() for name in (*p.series, *p.told_by))
        found, warnings = await self._server.names(selector(names, self.config.match), began_us, ended_us)
        there = set(found)
        before = {exporter.key: exporter for exporter in known}
        present = []
        for key, profile in wanted.items():
            if there.isdisjoint(profile.present or profile.series):
                continue
            exporter = before.get(key) or self._exporter(key, profile, apart)
            exporter.names = tuple(name for name in profile.series if name in there)
            exporter.told_by = tuple(name for name in profile.told_by if name in there)
            for text in warnings:
                exporter.doubts.say("partial-answer", f"some series may be missing: {text}")
            present.append(exporter)
        return present

    def _exporter(self, key: str, profile: Profile, apart: bool) -> _Exporter:
        doubts = Doubts(profile.title)
        for text in profile.doubts:
            doubts.say("exporter", text)
        if not profile.verified:
            doubts.say("not-verified", "its profile was never tried on a live one")
        devices = Devices(profile, doubts, apart)
        samples = Samples(profile, devices, doubts, self.config.step_seconds)
        return _Exporter(key, profile, (), (), doubts, devices, samples)

    async def _learn(self, exporter: _Exporter, at_us: int | None) -> None:
        """What things are called, and which there are, at a time."""
        names = (*exporter.told_by, *exporter.names)
        answer = await self._server.query(selector(dict.fromkeys(names), self.config.match), at_us)
        series = exporter.answered(answer)
        told_by = set(exporter.told_by)
        samples = [one for one in series if one.name not in told_by]
        exporter.devices.learn([one for one in series if one.name in told_by], samples)
        exporter.samples.look(samples)

    async def _compare_clocks(self, ctx: Context) -> None:
        before = ctx.clock.now_us()
        server = await self._server.now_us()
        after = ctx.clock.now_us()
        self._ahead_us = server - (before + after) // 2
        self._clock.add_reading(server, before, after)

    def _now(self, ctx: Context) -> int:
        """The server's clock now."""
        return ctx.clock.now_us() + self._ahead_us

    @property
    def _server(self) -> Api:
        if self._api is None:
            raise CollectorError(Failure.UNREACHABLE, f"{self.config.name} is not open")
        return self._api
