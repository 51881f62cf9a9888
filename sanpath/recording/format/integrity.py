"""Finds the files of a recording that were changed since they were written, and the segments that are missing."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.recording.format import layout
from sanpath.recording.format.documents import Manifest
from sanpath.recording.format.recorder_starts import Start
from sanpath.recording.storage.store import Store

_CACHE_ENTRIES = 100_000
"""Segments whose state is kept in memory; a run of weeks has fewer."""
_MAX_REPORTED = 3
"""At most this many missing flushes of a writer and table are reported."""
_intact: dict[tuple[str, object, bool], bool] = {}
"""(URL, file state, whether a checksum is expected) → whether it is intact. A live view checks all every second."""


def find_changed_segments(store: Store, segments: Sequence[layout.Segment], starts: Sequence[Start]) -> set[str]:
    """Return the segments whose checksum does not match, or is missing although their writer's header has a digest.

    Other segments without a checksum pass, and so does one that cannot be opened: reading it will report the reason.
    Results are cached per process until the file changes.
    """
    sealing = {start.writer for start in starts if start.header.intact is not None}
    return {segment.name for segment in segments if not _is_intact(store, segment.name, segment.writer in sealing)}


def altered(manifest: Manifest, starts: Sequence[Start]) -> set[str]:
    """Return the documents that were changed after they were written.

    Their digest does not match, or is missing although documents written together with them have one.
    """
    intact_by_name = {} if manifest.intact is None else {"manifest.json": manifest.intact}
    # The writer of the manifest is one of the writers below.
    if manifest.intact is None and starts and all(start.header.intact is not None for start in starts):
        intact_by_name["manifest.json"] = False
    for start in starts:
        digests = {f"writers/{start.writer}.json": start.header.intact}
        if start.ending is not None:
            digests[f"writers/{start.writer}.end.json"] = start.ending.intact
        if set(digests.values()) != {None}:
            intact_by_name |= {name: bool(intact) for name, intact in digests.items()}
    return {name for name, intact in intact_by_name.items() if not intact}


def find_missing_flushes(store: Store, starts: Sequence[Start]) -> set[str]:
    """Return the flushes of ended writers that are in no segment, as names of segments of one flush.

    If there are many, only the first are returned. If a recorder has a retention, the oldest flushes may be missing.
    """
    names: set[str] = set()
    endings = [(start.writer, start.ending) for start in starts if start.ending is not None]
    expires = any(ending.keep_seconds is not None for _, ending in endings)
    for table in {table for _, ending in endings for table in ending.written if layout.is_table(table)}:
        by_writer: dict[str, list[layout.Segment]] = {}
        for segment in layout.segments(store, table):
            by_writer.setdefault(segment.writer, []).append(segment)
        for writer, ending in endings:
            missing = _missing(by_writer.get(writer, []), ending.written.get(table, 0), expires)
            names |= {layout.Segment(table, writer, number, number).name for number in missing}
    return names


def _missing(segments: Sequence[layout.Segment], last: int, expires: bool) -> list[int]:
    """Return the flush numbers up to `last` that are in no segment.

    With `expires`, numbers before the first segment do not count as missing.
    """
    missing: list[int] = []
    ranges = sorted((segment.first, segment.last) for segment in segments)
    next_number = 1 if not expires else ranges[0][0] if ranges else last + 1
    for first, end in [*ranges, (last + 1, last + 1)]:
        missing += range(next_number, min(first, last + 1, next_number + _MAX_REPORTED))
        next_number = max(next_number, end + 1)
    return missing[:_MAX_REPORTED]


def _is_intact(store: Store, name: str, is_expected: bool) -> bool:
    key = (store.url(name), store.state(name), is_expected)
    if key not in _intact:
        try:
            intact = store.intact(name, is_expected)
        except OSError:
            return True
        if len(_intact) >= _CACHE_ENTRIES:
            _intact.clear()
        _intact[key] = intact is not False
    return _intact[key]
