"""Unpacks a zip or tar archive of several result files into a folder that is deleted afterwards.

The archive is not trusted. It may give wrong sizes, and names that lead anywhere: the bytes written are counted, and
every file must be below that folder. Only regular files are extracted. Archives within an archive are not unpacked.
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
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO

from sanpath.errors import CollectorError, UsageError
from sanpath.recorder.importing.files.imported_file import ImportedFile, is_zip

_MAX_FILES = 1000
"""Largest number of files in one archive: sanpath's own choice."""
_MAX_MEMBERS = 100 * _MAX_FILES
"""Largest number of members, with folders and links. All of them are kept in memory."""
_MAX_UNPACKED_BYTES = 8 << 30
"""Largest size of all files together, unpacked. Logs of days need less: sanpath's own choice."""
_MAX_HEADER_BYTES = 1 << 20
"""Largest header of a tar member, such as one with a long name. It is read into memory."""
_CHUNK_BYTES = 1 << 20
_DAMAGE_ERRORS = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError),
    *(RuntimeError, NotImplementedError, ValueError, OverflowError),
)
"""Errors that Python raises for an archive that is damaged, has a password, or contains impossible times."""
_MACOS_FOLDER = "__MACOSX"
"""Folder of the metadata that macOS adds for each file. In a tar archive their names begin with "._"."""
_PORTABLE_NAME = re.compile(r"[^\x00-\x1f\x7f/\\:]{1,200}")
"""A name of a file or folder that is valid on every system."""
_COLON = re.compile(r"(?<=..):")
"""A colon in a name, as in times (14:30:05). After a single letter it would name a drive."""
_OFFICE_MEMBER = "[Content_Types].xml"
"""A file in every document of an office program (Office Open XML), which is a zip archive."""


class Archive:
    """An archive that is unpacked below a folder. Raises UsageError if it is damaged or too large."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder
        self._files: list[Path] = []
        self._paths: dict[str, Path] = {}
        self._written_bytes = 0

    def unpack(self) -> list[Path]:
        """Write the files of the archive and return them, in the order of their names."""
        try:
            if is_zip(self._path):
                self._unzip()
            else:
                self._untar()
        except _DAMAGE_ERRORS as error:
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
            if _OFFICE_MEMBER in archive.namelist():
                reason = "is a document of an office program: import the original of what it holds, or save it as CSV"
                raise UsageError(f"{self._path.name}: {reason}")
            for member in archive.infolist():
                # Upper bits: the file type, if the archive was made on Unix. 0: unknown; 0o10: a regular file.
                if member.is_dir() or (member.external_attr >> 28) not in (0, 0o10):
                    continue
                with archive.open(member) as content:
                    self._extract(member.filename, content, time.mktime((*member.date_time, 0, 0, -1)))

    def _untar(self) -> None:
        # A compressed archive may expand to any size, so its own bytes are counted as well.
        unpacked = self._folder.parent / "archive.tar"
        with unpacked.open("wb") as target:
            for chunk in ImportedFile(self._path, allow_archive=True).chunks():
                self._count_bytes(len(chunk))
                target.write(chunk)
        self._written_bytes = 0
        with (
            unpacked.open("rb", buffering=0) as file,
            closing(tarfile.TarFile(fileobj=_LimitedReader(file))) as archive,
        ):
            for number, member in enumerate(archive):
                if number > _MAX_MEMBERS:
                    raise UsageError(f"{self._path.name}: holds too many files; unpack it and import some")
                content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is not None:
                    self._extract(member.name, content, float(member.mtime))
        unpacked.unlink()

    def _extract(self, name: str, content: IO[bytes], modified_seconds: float) -> None:
        """Write one file. Raises UsageError for a name that leads out of the folder."""
        parts = [_COLON.sub("_", part) for part in PurePosixPath(name).parts if part != "."]
        path = self._folder.joinpath(*parts)
        is_portable = bool(parts) and all(part != ".." and _PORTABLE_NAME.fullmatch(part) for part in parts)
        if not is_portable or not path.resolve().is_relative_to(self._folder.resolve()):
            raise UsageError(f"{self._path.name}: a file in it is called {name[:80]!r}, which leads elsewhere")
        if parts[0] == _MACOS_FOLDER or parts[-1].startswith("._"):
            return
        if len(self._files) >= _MAX_FILES:
            raise UsageError(f"{self._path.name}: holds more than {_MAX_FILES:,} files; unpack it and import some")
        path.parent.mkdir(parents=True, exist_ok=True)
        path = self._paths.setdefault(name, _unused(path))
        with path.open("wb") as target:  # Of several members of one name, the last one counts.
            while chunk := content.read(_CHUNK_BYTES):
                self._count_bytes(len(chunk))
                target.write(chunk)
        self._files += [path] if path not in self._files else []
        os.utime(path, (modified_seconds, modified_seconds))

    def _count_bytes(self, size: int) -> None:
        self._written_bytes += size
        free_bytes = shutil.disk_usage(self._folder).free
        if self._written_bytes > _MAX_UNPACKED_BYTES or free_bytes < _CHUNK_BYTES:
            raise UsageError(f"{self._path.name}: unpacks to too much; unpack it and import the files you want")


def _unused(path: Path) -> Path:
    """Return a path that does not exist, with a number in its name if needed: two names of an archive may differ only
    in characters that are replaced."""
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return path if not path.exists() else next(each for each in numbered if not each.exists())


class _LimitedReader(io.BufferedReader):
    """A tar archive whose headers are limited in size, so that none fills the memory."""

    def __init__(self, file: io.RawIOBase) -> None:
        super().__init__(file, _CHUNK_BYTES)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a part. Raises ReadError if it is longer than a header may be."""
        if size is None or size < 0 or size > _MAX_HEADER_BYTES + tarfile.BLOCKSIZE:
            raise tarfile.ReadError("a header is too long")
        return super().read(size)


def is_archive_of_files(path: Path) -> bool:
    """Whether a file is a tar archive, compressed or not, or a zip archive of several files."""
    try:
        return ImportedFile(path, allow_archive=True).is_archive
    except (CollectorError, UsageError, OSError, *_DAMAGE_ERRORS):
        return False


def unpack_archives(paths: Sequence[Path], folder: Path) -> tuple[list[Path], dict[Path, Path]]:
    """Replace archives by the files in them. Returns all files, and extracted file → its archive.

    `folder`: an empty folder; each archive is unpacked below a folder of its own.
    """
    files: list[Path] = []
    archives: dict[Path, Path] = {}
    for number, path in enumerate(paths):
        if is_archive_of_files(path):
            (target_folder := folder / str(number) / "files").mkdir(parents=True)
            members = Archive(path, target_folder).unpack()
            archives |= dict.fromkeys(members, path)
            files += members
        else:
            files.append(path)
    return files, archives
