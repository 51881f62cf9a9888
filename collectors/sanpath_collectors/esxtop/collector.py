"""Follows a batch that resxtop writes, or esxtop over a share or a pipe."""

from __future__ import annotations

from sanpath_collectors.esxtop.reader import EsxtopLog
from sanpath_collectors.perfmon.collector import FollowedCounterLog


class EsxtopFile(FollowedCounterLog):
    """Follows one growing batch of esxtop."""

    reader = EsxtopLog
