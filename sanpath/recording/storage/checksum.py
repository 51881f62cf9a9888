"""Checksums of a recording's files: the SHA-256 of a file's bytes, written into the file itself.

It is stored as 64 hex digits and computed with zeros in their place. A segment has it in its Parquet footer under
KEY, a JSON document as its first "sha256". Files of other programs have none.
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
# Thrift stores the value right after its key, separated by a byte for the field and one for the length.
_PLACE = re.compile(KEY.encode() + rb".{2}(.{64})", re.DOTALL)
_SIMILAR_PLACE = re.compile(rb"(?=(.{%d}).{2}([0-9a-f]{64}))" % len(KEY), re.DOTALL)
_MATCHING_CHARACTERS = 8
"""Number of correct characters from which a key still counts: a damaged key must not hide the checksum."""
_IN_DOCUMENT = re.compile(rb'"sha256": *"([^"]{64})"')
_TAIL_BYTES = 8
"""The end of a Parquet file: the length of its footer, and PAR1."""
_CHUNK_BYTES = 1 << 20
_MAX_FOOTER_BYTES = 16 << 20
"""Maximum footer that is searched: a segment's footer has some kilobytes."""
OPTION = f"KV_METADATA {{{KEY}: '{UNSEALED}'}}"
"""The option with which DuckDB writes a segment that will be sealed."""


def seal(path: Path) -> None:
    """Write the checksum into a file that was written with OPTION. Raises OSError; ValueError without OPTION."""
    with path.open("r+b") as file:
        if (offset := _digest_offset(file)) is None:
            raise ValueError(f"{path}: has no place for a checksum")
        digest = _digest(file, offset)
        file.seek(offset)
        file.write(digest)


def sealed_document(content: bytes) -> bytes:
    """Return a document with its digest in place of the zeros under "sha256"."""
    return content.replace(_UNSEALED, hashlib.sha256(content).hexdigest().encode(), 1)


def document_is_intact(content: bytes) -> bool | None:
    """Return whether a document is unchanged since it was written. None: it has no digest."""
    if (match := _IN_DOCUMENT.search(content)) is None:
        return None
    zeroed = content[: match.start(1)] + _UNSEALED + content[match.end(1) :]
    return hashlib.sha256(zeroed).hexdigest().encode() == match[1]


def is_intact(file: BinaryIO, is_expected: bool) -> bool | None:
    """Return whether a segment is unchanged since it was written. None: it has no checksum. Raises OSError.

    `is_expected`: its writer leaves space for a checksum in every segment, so a segment without one was changed.
    """
    if (offset := _digest_offset(file)) is None:
        return False if is_expected else None
    file.seek(offset)
    stored = file.read(len(_UNSEALED))
    return None if stored == _UNSEALED else _digest(file, offset) == stored


def _digest(file: BinaryIO, offset: int) -> bytes:
    file.seek(0)
    digest, position = hashlib.sha256(), 0
    while chunk := file.read(min(_CHUNK_BYTES, offset - position)):
        digest.update(chunk)
        position += len(chunk)
    digest.update(_UNSEALED)
    file.seek(offset + len(_UNSEALED))
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest().encode()


def _digest_offset(file: BinaryIO) -> int | None:
    """Return the offset of the checksum in a Parquet file. None: it has none."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    if tail[4:] != b"PAR1":
        return None
    begin = max(0, size - _TAIL_BYTES - min(int.from_bytes(tail[:4], "little"), _MAX_FOOTER_BYTES))
    file.seek(begin)
    footer = file.read(size - _TAIL_BYTES - begin)
    if (exact := _PLACE.search(footer)) is not None:
        return begin + exact.start(1)
    for match in _SIMILAR_PLACE.finditer(footer):
        if sum(map(operator.eq, match[1], KEY.encode())) >= _MATCHING_CHARACTERS:
            return begin + match.start(2)
    return None
