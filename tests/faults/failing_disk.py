"""A file system that passes on to a folder until a file tells it to fail.

`python failing_disk.py FOLDER PLACE FAULT`: FAULT holds nothing, or the name of an error (EIO, EROFS) and what fails
with it, "write" or "all". It needs fusepy, which Debian has as python3-fusepy.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

from fusepy import FUSE, FuseOSError, Operations

WRITES = frozenset(
    (
        *("chmod", "chown", "create", "fsync", "link", "mkdir", "mknod", "rename", "rmdir", "symlink", "truncate"),
        *("unlink", "utimens", "write"),
    )
)


class FailingDisk(Operations):
    """Every operation of fusepy, on the files of a folder."""

    def __init__(self, folder: Path, fault: Path) -> None:
        self._folder, self._fault = str(folder), fault

    def __call__(self, op: str, *arguments: Any) -> Any:
        name, _, what = self._fault.read_text().strip().partition(" ")
        if name and (what == "all" or op in WRITES) and op not in ("init", "destroy"):
            raise FuseOSError(getattr(errno, name))
        return super().__call__(op, *arguments)

    def _at(self, path: str) -> Path:
        return Path(self._folder + path)

    def access(self, path: str, mode: int) -> None:
        if not os.access(self._at(path), mode):
            raise FuseOSError(errno.EACCES)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, float]:
        found = os.lstat(self._at(path)) if fh is None else os.fstat(fh)
        names = ("atime", "ctime", "gid", "mode", "mtime", "nlink", "size", "uid")
        return {f"st_{name}": getattr(found, f"st_{name}") for name in names}

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self._at(path))
        names = ("bavail", "bfree", "blocks", "bsize", "favail", "ffree", "files", "flag", "frsize", "namemax")
        return {f"f_{name}": getattr(found, f"f_{name}") for name in names}

    def readdir(self, path: str, _: int) -> list[str]:
        return [".", "..", *(entry.name for entry in self._at(path).iterdir())]

    def readlink(self, path: str) -> str:
        return str(self._at(path).readlink())

    def mkdir(self, path: str, mode: int) -> None:
        self._at(path).mkdir(mode)

    def rmdir(self, path: str) -> None:
        self._at(path).rmdir()

    def unlink(self, path: str) -> None:
        self._at(path).unlink()

    def symlink(self, target: str, source: str) -> None:
        self._at(target).symlink_to(source)

    def link(self, target: str, source: str) -> None:
        self._at(target).hardlink_to(self._at(source))

    def rename(self, old: str, new: str) -> None:
        self._at(old).rename(self._at(new))

    def chmod(self, path: str, mode: int) -> None:
        self._at(path).chmod(mode)

    def utimens(self, path: str, times: tuple[float, float] | None = None) -> None:
        os.utime(self._at(path), times)

    def create(self, path: str, mode: int, fi: None = None) -> int:  # noqa: ARG002 - the signature of fusepy
        return os.open(self._at(path), os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode)

    def open(self, path: str, flags: int) -> int:
        return os.open(self._at(path), flags)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:  # noqa: ARG002
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:  # noqa: ARG002
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:  # noqa: ARG002
        os.truncate(self._at(path), length)

    def flush(self, path: str, fh: int) -> None:
        pass

    def fsync(self, path: str, datasync: int, fh: int) -> None:  # noqa: ARG002
        os.fsync(fh)

    def release(self, path: str, fh: int) -> None:  # noqa: ARG002
        os.close(fh)


if __name__ == "__main__":
    FUSE(FailingDisk(Path(sys.argv[1]), Path(sys.argv[3])), sys.argv[2], foreground=True, nothreads=True)
