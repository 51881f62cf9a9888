"""The checksum of a segment: SHA-256 of its bytes, written into its own Parquet footer.

The footer keeps it under KEY as 64 hex digits; it is computed with zeros in their place. A file of other programs has
none.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import BinaryIO

KEY = "sanpath_sha256"
_UNSEALED = b"0" * 64
# Thrift lays the value right behind its key: a byte for the field and one for the length lie between.
_PLACE = re.compile(KEY.encode() + rb".{2}(.{64})", re.DOTALL)
_TAIL = 8
_PART = 1 << 20
_LONGEST = 16 << 20
"""Of a footer: one of a segment of ours has some kilobytes."""
OPTION = f"KV_METADATA {{{KEY}: '{_UNSEALED.decode()}'}}"
"""What DuckDB is told when it writes a segment that will be sealed."""


def seal(path: Path) -> None:
    """Put the checksum into a file that was written with OPTION. Raises OSError; ValueError when it was not."""
    with path.open("r+b") as file:
        if (place := _place(file)) is None:
            raise ValueError(f"{path}: has no place for a checksum")
        digest = _digest(file, place)
        file.seek(place)
        file.write(digest)


def holds(file: BinaryIO) -> bool | None:
    """Whether the content of a segment is what was written. None: it has no checksum. Raises OSError."""
    if (place := _place(file)) is None:
        return None
    file.seek(place)
    told = file.read(len(_UNSEALED))
    return None if told == _UNSEALED else _digest(file, place) == told


def _digest(file: BinaryIO, place: int) -> bytes:
    file.seek(0)
    digest, at = hashlib.sha256(), 0
    while part := file.read(min(_PART, place - at)):
        digest.update(part)
        at += len(part)
    digest.update(_UNSEALED)
    file.seek(place + len(_UNSEALED))
    while part := file.read(_PART):
        digest.update(part)
    return digest.hexdigest().encode()


def _place(file: BinaryIO) -> int | None:
    """Where the checksum stands in a Parquet file."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    if tail[4:] != b"PAR1":
        return None
    begin = max(0, size - _TAIL - min(int.from_bytes(tail[:4], "little"), _LONGEST))
    file.seek(begin)
    found = _PLACE.search(file.read(size - _TAIL - begin))
    return begin + found.start(1) if found else None
