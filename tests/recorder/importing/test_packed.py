"""Packed result files: whatever one contains, importing it takes no more memory than a log needs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from pathlib import Path

import pytest

from sanpath.plugin import CollectorError
from sanpath.recorder.importing.files.imported_file import ImportedFile

CONTENT = b"".join(b"%d, %d, 0, 4096, 0\n" % (at, 1000 * at % 7919) for at in range(20_000))


def unpacked(path: Path, packed: bytes) -> bytes:
    path.write_bytes(packed)
    return b"".join(ImportedFile(path).chunks())


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_a_packed_file_is_read_like_its_content(tmp_path: Path, suffix: str) -> None:
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[suffix]
    assert unpacked(tmp_path / f"a.log.{suffix}", pack(CONTENT)) == CONTENT
    assert unpacked(tmp_path / f"b.log.{suffix}", pack(CONTENT) + pack(CONTENT)) == 2 * CONTENT
    with pytest.raises(CollectorError, match=rf"^c\.log\.{suffix}: is damaged"):
        unpacked(tmp_path / f"c.log.{suffix}", pack(CONTENT)[:-40])


def test_streams_may_be_padded_with_zeros(tmp_path: Path) -> None:
    packed = lzma.compress(CONTENT) + bytes(8) + lzma.compress(CONTENT) + bytes(4)
    assert unpacked(tmp_path / "a.log.xz", packed) == 2 * CONTENT


def test_xz_that_asks_for_gigabytes_of_memory_is_refused(tmp_path: Path) -> None:
    packed = bytearray(lzma.compress(CONTENT))
    header = packed[12 : 12 + 4 * (packed[12] + 1)]
    header[header.index(b"\x21\x01") + 2] = 38  # a dictionary of 2 GiB
    header[-4:] = struct.pack("<I", zlib.crc32(bytes(header[:-4])))
    packed[12 : 12 + len(header)] = header
    with pytest.raises(CollectorError, match=r"[Mm]emory"):
        unpacked(tmp_path / "a.log.xz", bytes(packed))


@pytest.mark.slow
def test_a_small_file_of_gigabytes_is_not_read_to_its_end(tmp_path: Path) -> None:
    packed = bz2.compress(bytes(200 << 20))
    with pytest.raises(CollectorError, match="unpacks to more than 1,000 times its size"):
        unpacked(tmp_path / "a.log.bz2", packed)
