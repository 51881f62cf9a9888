"""Which segments of a recording are not as they were written, by their checksums."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.recording.store import Store

_KEPT = 100_000
_intact: dict[tuple[str, object], bool] = {}
"""(file, its state) → what was found. A live view asks every second, of a day's segments."""


def not_as_written(store: Store, names: Sequence[str]) -> set[str]:
    """Those of some segments whose checksum does not fit. One without a checksum passes; one that cannot be opened,
    too: whoever reads it finds out why. What was looked at in this process is looked at again when it has changed.
    """
    return {name for name in names if not _holds(store, name)}


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
