"""Which sources of a run failed, whatever else the machine did at that time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def failed_sources(sources: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return source → the message of its last failure. `sources`: those of a diagnosis in JSON.

    Of a source that answers, a poll without an answer in time is no failure: on a busy machine both ends of it may
    have to wait for a processor."""
    return {
        source["name"]: source["last_failure"]
        for source in sources
        if source["failures"] and not (source["last_answer"] and "no answer" in source["last_failure"])
    }
