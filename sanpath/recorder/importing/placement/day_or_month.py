"""Decides whether the day or the month comes first in ambiguous dates, by comparing with the rest of the
recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.errors import CollectorError
from sanpath.plugin import ResultReader
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recorder.importing.placement.placement import Placement
from sanpath.recorder.importing.placement.placement_remarks import time_range_of_other_tools
from sanpath.recording.reading.recording import Recording

DAY_FIRST_REMARK = (
    "its dates may have the month or the day first: the day is taken, as only so others were at work that day"
)
_DAY_US = 86_400_000_000
"""The zone of local times may be wrong by most of a day."""


def has_day_first(
    placement: Placement,
    files: Sequence[ImportedFile],
    reader: type[ResultReader],
    recording: Recording | None,
    collector: str,
) -> bool:
    """Return whether the dates of a file have to be read with the day first.

    That is so if only then the file lies on a day on which other tools than `collector` recorded something.
    """
    if recording is None or placement.marks or not reader.has_ambiguous_dates(files[0].head()):
        return False
    if (limits := time_range_of_other_tools(recording, collector)) is None:
        return False
    began, ended = limits
    time_spans = [_time_span(replace(placement), files, reader, day_first=day_first) for day_first in (False, True)]
    month_is_near, day_is_near = (
        span is not None and span[0] - _DAY_US <= ended and began <= span[1] + _DAY_US for span in time_spans
    )
    return day_is_near and not month_is_near


def _time_span(
    placement: Placement, files: Sequence[ImportedFile], reader: type[ResultReader], *, day_first: bool
) -> tuple[int, int] | None:
    """Return the first and last time of a file, in microseconds, if its dates are read in this order. None: it has no
    times."""
    trial = reader("trial")
    trial.day_first = day_first
    try:
        for item in trial.read_parts(files):
            placement.item(item, trial.clock)
    except CollectorError:
        pass  # The actual import reports it.
    finally:
        for file in files:
            file.read_bytes = 0
    if placement.first is None or placement.last is None:
        return None
    return placement.first, placement.last
