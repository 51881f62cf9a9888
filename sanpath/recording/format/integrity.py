"""Which files of a recording are not as they were written, by their checksums, and which are gone."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.recording.format import layout
from sanpath.recording.format.documents import Manifest
from sanpath.recording.format.writers import Start
from sanpath.recording.storage.store import Store

_KEPT = 100_000
_NAMED = 3
"""Of many that are gone these are named."""
_intact: dict[tuple[str, object], bool] = {}
"""(file, its state) → what was found. A live view asks every second, of a day's segments."""


def not_as_written(store: Store, names: Sequence[str]) -> set[str]:
    """Those of some segments whose checksum does not fit. One without a checksum passes; one that cannot be opened,
    too: whoever reads it finds out why. What was looked at in this process is looked at again when it has changed.
    """
    return {name for name in names if not _holds(store, name)}


def altered(manifest: Manifest, starts: Sequence[Start]) -> set[str]:
    """Documents that were changed after they were written: their digest does not fit, or has gone while others that
    were written with them have one."""
    found = {} if manifest.intact is None else {"manifest.json": manifest.intact}
    # Who made the recording is one of its writers.
    if manifest.intact is None and starts and all(start.header.intact is not None for start in starts):
        found["manifest.json"] = False
    for start in starts:
        both = {f"writers/{start.writer}.json": start.header.intact}
        if start.ending is not None:
            both[f"writers/{start.writer}.end.json"] = start.ending.intact
        if set(both.values()) != {None}:
            found |= {name: bool(intact) for name, intact in both.items()}
    return {name for name, intact in found.items() if not intact}


def gone(store: Store, starts: Sequence[Start]) -> set[str]:
    """Flushes that writers which have ended had written and that no segment holds, by the names that segments of one
    flush have; of many the first. Where a recorder deletes what is old, the oldest may be gone.
    """
    found: set[str] = set()
    ages = any(start.ending.keep_seconds is not None for start in starts if start.ending is not None)
    for start in starts:
        for table, last in (start.ending.written if start.ending is not None else {}).items():
            if not layout.is_table(table):
                continue
            there = [segment for segment in layout.segments(store, table) if segment.writer == start.writer]
            missing = _missing(there, last, ages)
            found |= {layout.Segment(table, start.writer, number, number).name for number in missing}
    return found


def _missing(there: Sequence[layout.Segment], last: int, ages: bool) -> list[int]:
    """Numbers up to `last` that no segment holds; with `ages`, those after the first that one does."""
    missing: list[int] = []
    held = sorted((segment.first, segment.last) for segment in there)
    at = 1 if not ages else held[0][0] if held else last + 1
    for first, end in [*held, (last + 1, last + 1)]:
        missing += range(at, min(first, last + 1, at + _NAMED))
        at = max(at, end + 1)
    return missing[:_NAMED]


def _holds(store: Store, name: str) -> bool:
    key = (store.url(name), store.state(name))
    if key not in _intact:
        try:
            found = store.intact(name)
        except OSError:
            return True
        if len(_intact) >= _KEPT:
            _intact.clear()
        _intact[key] = found is not False
    return _intact[key]
