"""Follows a log of counters that another program is writing."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from sanpath.plugin import Check, Context, FollowedFile
from sanpath_collectors.perfmon.reader import CounterLog, PerfMonLog


class FollowedCounterLog(FollowedFile):
    """One log of counters that grows. `check` reports the defects that its header shows."""

    reader: ClassVar[type[CounterLog]]

    def _new_reader(self) -> CounterLog:
        return self.reader(self.config.name, self.config.host)

    async def check(self, ctx: Context) -> Check:
        """Report whether the file exists, and which counters are missing in it."""
        check = await super().check(ctx)
        assert isinstance(self._reader, CounterLog)  # noqa: S101 - for the type checker
        messages = [text for code, text in self._reader.messages.items() if code != "unknown-zone"]
        return replace(check, unreadable=(*check.unreadable, *messages))


class PerfMonFile(FollowedCounterLog):
    """A log of typeperf, logman or Get-Counter."""

    reader = PerfMonLog
