"""Follows a batch that resxtop, or esxtop over a share or a pipe, is writing."""

from __future__ import annotations

from sanpath_collectors.esxtop.reader import EsxtopLog
from sanpath_collectors.perfmon.collector import FollowedCounterLog


class EsxtopFile(FollowedCounterLog):
    """One batch of esxtop that grows."""

    reader = EsxtopLog

    def _new_reader(self) -> EsxtopLog:
        return EsxtopLog(self.config.name, self.config.host)
