"""Follows a log of counters that something is writing."""

from __future__ import annotations

from dataclasses import replace

from sanpath.plugin import Check, Context, FollowedFile
from sanpath_collectors.perfmon.reader import CounterLog, PerfMonLog


class FollowedCounterLog(FollowedFile):
    """One log of counters that grows. What is wrong with it is known before the run, from its header."""

    async def check(self, ctx: Context) -> Check:
        """Whether the file is there, and what is missing in it."""
        found = await super().check(ctx)
        assert isinstance(self._reader, CounterLog)  # noqa: S101 - for the type checker
        said = [text for code, text in self._reader.said.items() if code != "unknown-zone"]
        return replace(found, unreadable=(*found.unreadable, *said))


class PerfMonFile(FollowedCounterLog):
    """A log of typeperf, logman or Get-Counter."""

    reader = PerfMonLog

    def _new_reader(self) -> PerfMonLog:
        return PerfMonLog(self.config.name, self.config.host)
