"""The checksums of a recording's files: SHA-256 of a file's bytes, written into the file itself.

It is kept as 64 hex digits and computed with zeros in their place: of a segment in its Parquet footer under KEY, of a
JSON document as its first "sha256". A file of other programs has none.
"""

from __future__ import annotations

import hashlib
import operator
import re
from pathlib import Path
from typing import BinaryIO

KEY = "sanpath_sha256"
UNSEALED = "0" * 64
_UNSEALED = UNSEALED.encode()
# Thrift lays the value right behind its key: a byte for the field and one for the length lie between.
_PLACE = re.compile(KEY.encode() + rb".{2}(.{64})", re.DOTALL)
_LIKE_IT = re.compile(rb"(?=(.{%d}).{2}([0-9a-f]{64}))" % len(KEY), re.DOTALL)
_SAME_LETTERS = 8
"""Of the key: one that is damaged itself is no reason to take a segment for one without."""
_IN_DOCUMENT = re.compile(rb'"sha256": *"([^"]{64})"')
_TAIL = 8
_PART = 1 << 20
_LONGEST = 16 << 20
"""Of a footer: one of a segment of ours has some kilobytes."""
OPTION = f"KV_METADATA {{{KEY}: '{UNSEALED}'}}"
"""What DuckDB is told when it writes a segment that will be sealed."""


def seal(path: Path) -> None:
    """Put the checksum into a file that was written with OPTION. Raises OSError; ValueError when it was not."""
    with path.open("r+b") as file:
        if (place := _place(file)) is None:
            raise ValueError(f"{path}: has no place for a checksum")
        digest = _digest(file, place)
        file.seek(place)
        file.write(digest)


def sealed_document(content: bytes) -> bytes:
    """A document with its digest in the place of the zeros that it has under "sha256"."""
    return content.replace(_UNSEALED, hashlib.sha256(content).hexdigest().encode(), 1)


def document_holds(content: bytes) -> bool | None:
    """Whether a document is what was written. None: it has no digest."""
    if (found := _IN_DOCUMENT.search(content)) is None:
        return None
    zeroed = content[: found.start(1)] + _UNSEALED + content[found.end(1) :]
    return hashlib.sha256(zeroed).hexdigest().encode() == found[1]


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
    footer = file.read(size - _TAIL - begin)
    if (exact := _PLACE.search(footer)) is not None:
        return begin + exact.start(1)
    for found in _LIKE_IT.finditer(footer):
        if sum(map(operator.eq, found[1], KEY.encode())) >= _SAME_LETTERS:
            return begin + found.start(2)
    return None
