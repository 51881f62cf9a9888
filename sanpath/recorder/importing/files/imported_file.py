"""A result file on this machine: its decompressed content in chunks, or as a table that DuckDB reads."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import duckdb

from sanpath.errors import CollectorError, Failure, UsageError
from sanpath.recorder.importing.files.line_cleaner import LineCleaner
from sanpath.recording.storage.duck import connect_separately, literal

_CHUNK_BYTES = 1 << 20
_HEAD_BYTES = 1 << 16
_FETCH_ROWS = 10_000
"""Rows of a query that are fetched together."""
_CSV_BUFFER_BYTES = 4 << 20
"""DuckDB's default of 32 MB for each thread takes 30 MB more memory and is not faster (measured, log of 200 MB)."""
_QUERY_MEMORY_BYTES = 100 << 20
"""Memory of DuckDB for a query over a file of any size."""
_XZ_MEMORY_BYTES = 128 << 20
"""Largest memory for the decompression of .xz: twice that of the highest level of `xz`."""
_MAX_UNPACKED_RATIO = 1000
"""Logs compress to a tenth or a hundredth of their size. A file that expands by more than this is not a log, and
would take hours."""
_DAMAGE_ERRORS = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)


class _XzReader(io.RawIOBase):
    """The content of an .xz file of one or several streams. Raises LZMAError if it needs more memory than usual."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._packed = b""
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY_BYTES)

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack into a buffer and return the number of bytes; 0 at the end."""
        view = memoryview(buffer)
        while not self._stream.eof or self._next_stream():
            if self._stream.needs_input and not self._packed:
                self._packed = self._file.read(_HEAD_BYTES)
                if not self._packed:
                    raise EOFError("the packed file is cut off")
            content = self._stream.decompress(self._packed, len(view))
            self._packed = b""
            if content:
                view[: len(content)] = content
                return len(content)
        return 0

    def _next_stream(self) -> bool:
        """Whether another stream follows, after zeros as padding."""
        packed = (self._stream.unused_data or self._file.read(_HEAD_BYTES)).lstrip(b"\0")
        if not packed:
            return False
        self._packed, self._stream = packed, lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY_BYTES)
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _open_zip(path: Path) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise UsageError(f"{path.name}: holds {len(names)} files; unpack it and import those you want")
    try:
        return archive.open(names[0])
    except (RuntimeError, NotImplementedError) as error:  # A password, or a method that Python does not know.
        raise UsageError(f"{path.name}: cannot be unpacked: {error}; unpack it first") from error


_ZIP_MAGIC = b"PK\x03\x04"
_OPENER_BY_MAGIC: Mapping[bytes, Callable[[Path], object]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lambda path: io.BufferedReader(_XzReader(path), _HEAD_BYTES),
    _ZIP_MAGIC: _open_zip,
}


class ImportedFile:
    """Implements `plugin.ResultFile`.

    `read_bytes`: bytes returned so far, after decompression. `allow_archive`: the file may be a tar archive of
    several files, which is then returned as it is.

    Raises UsageError if it cannot be opened, CollectorError(UNREADABLE) if a compressed file is damaged.
    """

    def __init__(self, path: Path, allow_archive: bool = False) -> None:
        self.path = path
        self.read_bytes = 0
        self._allow_archive = allow_archive
        self._cleaner: LineCleaner | None = None

    @property
    def is_archive(self) -> bool:
        """Whether it is a tar archive, compressed or not, or a zip archive of several files."""
        if is_zip(self.path):
            with zipfile.ZipFile(self.path) as archive:
                return sum(not name.endswith("/") for name in archive.namelist()) > 1
        return _is_tar(self.head()[: tarfile.BLOCKSIZE])

    @property
    def name(self) -> str:
        """Its name without the folder, and without the suffix of a compressed file."""
        return self.path.stem if self.path.suffix in (".gz", ".bz2", ".xz", ".zip") else self.path.name

    @property
    def removed_prefix(self) -> str:
        """The text that was removed in front of its lines; "": none, or the file has not been opened yet."""
        return self._cleaner.removed_prefix if self._cleaner is not None else ""

    @property
    def modified_us(self) -> int:
        """Modification time, in microseconds since the epoch."""
        return self.path.stat().st_mtime_ns // 1000

    def head(self) -> bytes:
        """Return its first 64 KiB."""
        with self._open() as file:
            return self._read_chunk(file, _HEAD_BYTES)

    def chunks(self) -> Iterator[bytes]:
        """Yield its whole content in chunks."""
        max_bytes = _MAX_UNPACKED_RATIO * max(_HEAD_BYTES, self.path.stat().st_size)
        with self._open() as file:
            while chunk := self._read_chunk(file, _CHUNK_BYTES):
                self.read_bytes += len(chunk)
                if self.read_bytes > max_bytes:
                    raise CollectorError(
                        Failure.UNREADABLE,
                        f"{self.path.name}: unpacks to more than {_MAX_UNPACKED_RATIO:,} times its size",
                    )
                yield chunk

    def query(self, columns: Mapping[str, str], sql: str) -> Iterator[tuple[int | float | str | None, ...]]:
        """Yield the rows of a SELECT over the table `csv`."""
        setup = f"SET memory_limit = '{_QUERY_MEMORY_BYTES >> 20}MB'; SET preserve_insertion_order = false"
        path = self.path.absolute()
        connection = connect_separately(folders=(str(path.parent),), setup=setup)
        try:
            connection.execute(
                "CREATE TEMP VIEW csv AS SELECT * FROM read_csv("  # noqa: S608 - our own columns, the path quoted
                f"{literal(str(path))}, buffer_size = {_CSV_BUFFER_BYTES}, header = false, auto_detect = false, "
                "delim = ',', null_padding = true, ignore_errors = true, strict_mode = false, columns = {"
                + ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in columns.items())
                + "})"
            )
            cursor = connection.execute(sql)
            while rows := cursor.fetchmany(_FETCH_ROWS):
                yield from rows
            self.read_bytes = self.path.stat().st_size
        except duckdb.Error as error:
            raise CollectorError(Failure.UNREADABLE, f"{self.path.name}: {str(error).splitlines()[0]}") from error
        finally:
            connection.close()

    def _open(self) -> IO[bytes]:
        if not self.path.is_file() and not self.path.is_dir() and self.path.exists():
            raise UsageError(f"{self.path}: is a pipe or a device; write its content to a file")
        try:
            with self.path.open("rb") as file:
                start = file.read(8)
            unpack = next((unpack for magic, unpack in _OPENER_BY_MAGIC.items() if start.startswith(magic)), None)
            if unpack is not None:
                with cast(IO[bytes], unpack(self.path)) as content:
                    head = content.read(_HEAD_BYTES)
                content = cast(IO[bytes], unpack(self.path))
            else:
                content = self.path.open("rb")
                head = content.read(_HEAD_BYTES)
                content.seek(0)
            self._refuse_tar(head[: tarfile.BLOCKSIZE])
            return self._cleaner_for(head).wrap(content)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        except _DAMAGE_ERRORS as error:
            raise CollectorError(Failure.UNREADABLE, f"{self.path.name}: is damaged: {error}") from error

    def _cleaner_for(self, head: bytes) -> LineCleaner:
        if self._cleaner is None:
            self._cleaner = LineCleaner(head)
        return self._cleaner

    def _refuse_tar(self, block: bytes) -> None:
        """Raise UsageError if this first block is that of a tar archive: a reader would find a report somewhere in
        it."""
        if self._allow_archive or not _is_tar(block):
            return
        raise UsageError(f"{self.path.name}: is a tar archive; unpack it and import the files you want")

    def _read_chunk(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except _DAMAGE_ERRORS as error:
            raise CollectorError(Failure.UNREADABLE, f"{self.path.name}: is damaged: {error}") from error


def is_zip(path: Path) -> bool:
    """Whether a file begins like a zip archive."""
    with path.open("rb") as file:
        return file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC


def _is_tar(block: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True
