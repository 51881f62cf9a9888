"""Unpacks a zip or tar archive of several result files, whoever made it, into a folder that is deleted afterwards.

An archive may lie about sizes and name any place: what is written is counted, and lies below that folder. Only plain
files are taken. An archive within an archive is not unpacked.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

from sanpath.errors import CollectorError, UsageError
from sanpath.recorder.importing.file import ImportedFile, is_zip

_MOST_FILES = 1000
"""More results than one import can place: sanpath's own choice."""
_MOST_MEMBERS = 100 * _MOST_FILES
"""With folders and links, all of which are in memory."""
_MOST_BYTES = 8 << 30
"""Unpacked, all files together: logs of days. Sanpath's own choice."""
_MOST_HEADER_BYTES = 1 << 20
"""What a tar archive may say about one file, such as its long name. It is read into memory."""
_CHUNK_BYTES = 1 << 20
_BROKEN = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError),
    *(RuntimeError, NotImplementedError, ValueError, OverflowError),
)
"""What Python raises for a damaged archive, one with a password, and one with impossible times."""
_OF_MACOS = "__MACOSX"
"""Folder of what macOS adds to each file; in a tar archive these are files that begin with "._"."""
_NAME = re.compile(r"[^\x00-\x1f\x7f/\\:]{1,200}")
"""A name of a file or folder that is the same everywhere."""


class Bundle:
    """The files of an archive below a folder. Raises UsageError for one that is damaged, or too large."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder
        self._files: list[Path] = []
        self._written = 0

    def unpack(self) -> list[Path]:
        """Write the files of the archive and return them, in the order of their names."""
        try:
            if is_zip(self._path):
                self._unzip()
            else:
                self._untar()
        except _BROKEN as error:
            raise UsageError(f"{self._path.name}: cannot be unpacked: {error}; unpack it first") from error
        except CollectorError as error:
            raise UsageError(f"{self._path.name}: {error}") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(f"{self._path.name}: cannot be unpacked into {self._folder.parent}: {reason}") from error
        if not self._files:
            raise UsageError(f"{self._path.name}: holds no file that can be unpacked")
        return sorted(self._files)

    def _unzip(self) -> None:
        with zipfile.ZipFile(self._path) as archive:
            for member in archive.infolist():
                # The upper bits are the type of the file where the archive was made on Unix: 0 or a plain file.
                if member.is_dir() or (member.external_attr >> 28) not in (0, 0o10):
                    continue
                with archive.open(member) as content:
                    self._take(member.filename, content, time.mktime((*member.date_time, 0, 0, -1)))

    def _untar(self) -> None:
        # The archive itself is counted, too: what is packed again may be of any size.
        unpacked = self._folder.parent / "archive.tar"
        with unpacked.open("wb") as target:
            for chunk in ImportedFile(self._path, of_many=True).chunks():
                self._count(len(chunk))
                target.write(chunk)
        self._written = 0
        with unpacked.open("rb", buffering=0) as file, closing(tarfile.TarFile(fileobj=_Careful(file))) as archive:
            for number, member in enumerate(archive):
                if number > _MOST_MEMBERS:
                    raise UsageError(f"{self._path.name}: holds too many files; unpack it and import some")
                content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is not None:
                    self._take(member.name, content, float(member.mtime))
        unpacked.unlink()

    def _take(self, name: str, content: IO[bytes], modified_seconds: float) -> None:
        """Write one file. A name that leads out of the folder is refused, with the archive that has it."""
        parts = [part for part in PurePosixPath(name).parts if part != "."]
        path = self._folder.joinpath(*parts)
        is_named = bool(parts) and all(part != ".." and _NAME.fullmatch(part) for part in parts)
        if not is_named or not path.resolve().is_relative_to(self._folder.resolve()):
            raise UsageError(f"{self._path.name}: a file in it is called {name[:80]!r}, which leads elsewhere")
        if parts[0] == _OF_MACOS or parts[-1].startswith("._"):
            return
        if len(self._files) >= _MOST_FILES:
            raise UsageError(f"{self._path.name}: holds more than {_MOST_FILES:,} files; unpack it and import some")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as target:
            while chunk := content.read(_CHUNK_BYTES):
                self._count(len(chunk))
                target.write(chunk)
        self._files.append(path)
        os.utime(path, (modified_seconds, modified_seconds))

    def _count(self, size: int) -> None:
        self._written += size
        room = shutil.disk_usage(self._folder).free
        if self._written > _MOST_BYTES or room < _CHUNK_BYTES:
            raise UsageError(f"{self._path.name}: unpacks to too much; unpack it and import the files you want")


class _Careful(io.BufferedReader):
    """A tar archive of which no header is read that would fill the memory."""

    def __init__(self, file: io.RawIOBase) -> None:
        super().__init__(file, _CHUNK_BYTES)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a part. Raises ReadError for one that no archive of results needs."""
        if size is None or size < 0 or size > _MOST_HEADER_BYTES + tarfile.BLOCKSIZE:
            raise tarfile.ReadError("a header is too long")
        return super().read(size)


def is_bundle(path: Path) -> bool:
    """Whether a file is a tar archive, packed or not, or a zip archive of several files."""
    try:
        return ImportedFile(path, of_many=True).holds_files
    except (CollectorError, UsageError, OSError, *_BROKEN):
        return False


def with_members(paths: Sequence[Path], folder: Path) -> tuple[list[Path], dict[Path, Path]]:
    """Return the files with those of an archive in its place; and file → the archive that it is from.

    They are unpacked into an empty folder, each archive below a folder of its own."""
    files: list[Path] = []
    archives: dict[Path, Path] = {}
    for number, path in enumerate(paths):
        if is_bundle(path):
            (within := folder / str(number) / "files").mkdir(parents=True)
            members = Bundle(path, within).unpack()
            archives |= dict.fromkeys(members, path)
            files += members
        else:
            files.append(path)
    return files, archives
