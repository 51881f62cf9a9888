"""The storage of a recording: a local folder, or an object store supported by fsspec, with a few operations."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from sanpath.errors import UsageError
from sanpath.extras import S3, Extra
from sanpath.recording.storage.checksum import is_intact, seal

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Location = Path | str
"""Where a recording is stored: a local path, or a URL for fsspec such as s3://bucket/NAME.sanpath."""


_DOCUMENT_BYTES = 64 << 20
"""The largest document that is read; real ones are far smaller."""
_TICK_SECONDS = 0.01
"""The longest tick of a kernel (CONFIG_HZ=100)."""


def location(place: Location) -> Location:
    """Parse a location; URLs of this machine become paths. Raises UsageError for a URL with a password."""
    protocol, separator, remainder = str(place).partition("://")
    if not separator:
        return Path(place)
    if protocol in ("file", "local"):
        return Path(remainder)
    if re.match(r"[^/]*:[^/]*@", remainder):
        raise UsageError(f"{protocol}://: no password in a URL, others can see it; the store's library knows its own")
    return str(place)


def store_at(place: Location) -> Store:
    """Return the store of a recording. Raises UsageError when the library for it is missing."""
    place = location(place)
    return LocalStore(place) if isinstance(place, Path) else ObjectStore(place)


def _time_bounds(modified_seconds: float) -> tuple[float, float]:
    """Return the earliest and latest time in seconds that a modification time may stand for.

    A whole second stands for any time within it. The clock of a file system ticks with the kernel, at least 100 times
    a second.
    """
    return modified_seconds, modified_seconds + (1.0 if modified_seconds == int(modified_seconds) else _TICK_SECONDS)


class Store(Protocol):
    """The files of one recording. Names are relative to it, with "/". Every failure is an OSError."""

    def exists(self) -> bool:
        """Return whether the recording exists."""
        ...

    def list(self, folder: str) -> list[str]:
        """Return the names of the direct entries of a folder; [] when it does not exist."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a document. Refuses special files and files that are too large."""
        ...

    def intact(self, name: str, is_expected: bool) -> bool | None:
        """Return whether a segment is unchanged, according to its checksum. None: it has none.

        `is_expected`: it was written with space for one.
        """
        ...

    def seal(self, path: str) -> None:
        """Write the checksum into a segment; `path`: that of `writing`, after the segment was written."""
        ...

    def state(self, name: str) -> object:
        """Return a value that changes when a file changes, as far as it is cheap to get."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Write a file atomically: readers see all of it or nothing."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that does not exist yet. Returns whether this call wrote it.

        If the store can guarantee it, exactly one of several concurrent calls succeeds.
        """
        ...

    def written(self, name: str) -> tuple[float, float] | None:
        """Return when a file was written: (earliest, latest) on the store's clock, in seconds since the epoch.

        None: the store does not report it.
        """
        ...

    def delete(self, name: str) -> None:
        """Delete a file."""
        ...

    def url(self, name: str) -> str:
        """Return the URL of a file for DuckDB, once the store is registered."""
        ...

    def writing(self, name: str) -> AbstractContextManager[str]:
        """Return a context with the path to write a file to; the file appears atomically when the block succeeds."""
        ...

    def roots(self) -> tuple[str, ...]:
        """Return what DuckDB may access for this recording: the folder, or the URL prefix of its objects."""
        ...

    @property
    def files(self) -> AbstractFileSystem | None:
        """The file system to register with DuckDB; None: that of this machine."""
        ...

    def scratch(self, folder: str) -> Path:
        """Return a local folder for growing files, which later become `folder` of the recording."""
        ...

    def adopt(self, scratch: Path, folder: str) -> None:
        """Move the files of a scratch folder into the recording; after a failure they stay there."""
        ...


class LocalStore:
    """A local folder: files are written under a temporary name and renamed."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def exists(self) -> bool:
        """Return whether the folder exists."""
        return self._root.is_dir()

    def list(self, folder: str) -> list[str]:
        """Return the names of the direct entries of a folder. As in an object store, there are no empty folders."""
        try:
            with os.scandir(self._root / folder) as entries:
                # Reading a pipe would block, and a device might never end.
                return [
                    entry.name for entry in entries if entry.is_file() or (entry.is_dir() and _has_entries(entry))
                ]
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            if not folder:
                raise
            return []  # A file in place of a folder has no entries.

    def read(self, name: str) -> bytes:
        """Return the content of a regular file: a reader must not block on a pipe or an endless device."""
        with self._regular(name) as file:
            if os.fstat(file.fileno()).st_size > _DOCUMENT_BYTES:
                raise OSError(errno.EFBIG, f"is larger than {_DOCUMENT_BYTES >> 20} MiB")
            return file.read()

    def intact(self, name: str, is_expected: bool) -> bool | None:
        """Check the checksum in the file."""
        with self._regular(name) as file:
            return is_intact(file, is_expected)

    def state(self, name: str) -> object:
        """Return inode, size and times of modification."""
        try:
            status = os.stat(self.url(name))  # noqa: PTH116 - of every segment at every reading: a Path takes four times as long
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _regular(self, name: str) -> BinaryIO:
        path = self._root / name
        # Opening a pipe must not wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "is not a regular file")
        return os.fdopen(handle, "rb")

    def seal(self, path: str) -> None:
        """Write the checksum into the segment."""
        seal(Path(path))

    def put(self, name: str, content: bytes) -> None:
        """Write and rename."""
        with self.writing(name) as partial:
            Path(partial).write_bytes(content)

    def create(self, name: str, content: bytes) -> bool:
        """Hard-link a complete file to the name, which fails if the name exists, also on NFS."""
        path = self._prepared_path(name)
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
        try:
            partial.write_bytes(content)
            self._protect(partial)
            try:
                path.hardlink_to(partial)
            except FileExistsError:
                return False
            except OSError:  # Without hard links the last writer wins; reading the file afterwards shows which one.
                self.put(name, content)
        finally:
            partial.unlink(missing_ok=True)
        return True

    def written(self, name: str) -> tuple[float, float] | None:
        """Return the file's modification time; on a share it is on the server's clock."""
        return _time_bounds((self._root / name).stat().st_mtime_ns / 1e9)

    def delete(self, name: str) -> None:
        """Delete a file."""
        (self._root / name).unlink()

    def url(self, name: str) -> str:
        """Return the path."""
        return f"{self._root}{os.sep}{name}"

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[str]:
        """Yield the path of a `.partial` file, which is renamed at the end."""
        path = self._prepared_path(name)
        partial = path.with_name(path.name + ".partial")
        try:
            yield str(partial)
            self._protect(partial)
            partial.replace(path)
        except BaseException as error:
            partial.unlink(missing_ok=True)  # On a full disk a partial file only wastes space.
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(self._root)  # A failed write does not name its file.
            raise

    def roots(self) -> tuple[str, ...]:
        """Return the folder as it was opened, and with symbolic links resolved."""
        return tuple(dict.fromkeys((str(self._root), str(self._root.resolve()))))

    @property
    def files(self) -> AbstractFileSystem | None:
        """None: DuckDB opens local files by itself."""
        return None

    def scratch(self, folder: str) -> Path:
        """Return the folder of the recording itself."""
        return self._root / folder

    def adopt(self, scratch: Path, folder: str) -> None:
        """Do nothing: the files are already in the recording."""

    def _prepared_path(self, name: str) -> Path:
        """Return the path of a file after creating its folder.

        A new recording is accessible to its owner only, because it contains names and addresses of a network. To
        share one, create its folder beforehand with the desired permissions.
        """
        if not self._root.exists():
            self._root.parent.mkdir(parents=True, exist_ok=True)
            self._root.mkdir(mode=0o700, exist_ok=True)
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _protect(self, path: Path) -> None:
        """Remove permissions from a file that the recording's folder does not grant."""
        mode = path.stat().st_mode
        if mode & ~self._root.stat().st_mode & 0o066:
            path.chmod(mode & self._root.stat().st_mode & 0o666)


class ObjectStore:
    """A store of fsspec.

    Files get their final name at once: a PUT is atomic, whereas renaming would copy and delete.
    """

    def __init__(self, url: str) -> None:
        protocol = url.partition("://")[0]
        extra = S3 if protocol in ("s3", "s3a") else Extra(f"fsspec[{protocol}]", ("fsspec",))
        extra.require(f"{protocol}://")
        from fsspec.core import url_to_fs  # a slow import that local recordings do not need

        try:
            self._files, root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UsageError(f"{url}: cannot be opened: {error}") from error
        self._root = root.rstrip("/")
        self._created_folders: set[str] = set()

    def exists(self) -> bool:
        """Return whether there is any object: stores have no empty folders."""
        return bool(self.list(""))

    def list(self, folder: str) -> list[str]:
        """Return the names of the direct entries of a folder."""
        path = f"{self._root}/{folder}".rstrip("/")
        with self._os_errors(folder):
            # Readers need files written since the last listing. Cached listings of other folders remain: a file that
            # is not listed costs a request whenever it is opened.
            self._files.invalidate_cache(path)
            try:
                paths = [str(entry).rstrip("/") for entry in self._files.ls(path, detail=False)]
            except FileNotFoundError:
                return []
        return [entry.rpartition("/")[2] for entry in paths if entry != path]

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        with self._os_errors(name):
            return bytes(self._files.cat_file(self._path(name), end=_DOCUMENT_BYTES))

    def intact(self, name: str, is_expected: bool) -> bool | None:  # noqa: ARG002 - the store checks it
        """None: stores have their own checksums, and checking ours would fetch the whole object."""
        return None

    def state(self, name: str) -> object:  # noqa: ARG002 - objects of ours are never changed
        """None: objects never change."""
        return None

    def seal(self, path: str) -> None:
        """Do nothing: stores have their own checksums."""

    def put(self, name: str, content: bytes) -> None:
        """Write an object."""
        with self._os_errors(name):
            self._create_folder(name)
            self._files.pipe_file(self._path(name), content)

    def create(self, name: str, content: bytes) -> bool:
        """Send a PUT on the condition that the object does not exist."""
        with self._os_errors(name):
            self._create_folder(name)
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
            except (NotImplementedError, TypeError):  # The store has no conditional PUT.
                self._files.pipe_file(self._path(name), content)
        return True

    def written(self, name: str) -> tuple[float, float] | None:
        """Return the object's modification time."""
        with self._os_errors(name):
            self._files.invalidate_cache()
            try:
                modified = self._files.modified(self._path(name))
            except NotImplementedError:
                return None
        return _time_bounds(modified.timestamp())

    def delete(self, name: str) -> None:
        """Delete an object."""
        with self._os_errors(name):
            self._files.rm_file(self._path(name))

    def url(self, name: str) -> str:
        """Return the object's URL."""
        return str(self._files.unstrip_protocol(self._path(name)))

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[str]:
        """Yield the object's URL."""
        with self._os_errors(name):
            self._create_folder(name)
            yield self.url(name)

    def roots(self) -> tuple[str, ...]:
        """Return the URL as fsspec writes it and as DuckDB compares it."""
        url = str(self._files.unstrip_protocol(self._root))
        protocol, _, remainder = url.partition("://")
        return tuple(
            dict.fromkeys((url, f"{protocol}://{remainder.lstrip('/')}", f"{protocol}:///{remainder.lstrip('/')}"))
        )

    @property
    def files(self) -> AbstractFileSystem | None:
        """The file system that fsspec opened."""
        return self._files

    def scratch(self, folder: str) -> Path:  # noqa: ARG002 - of LocalStore it is the folder
        """Return a temporary folder: objects cannot grow."""
        return Path(tempfile.mkdtemp(prefix="sanpath-"))

    def adopt(self, scratch: Path, folder: str) -> None:
        """Upload the files, then delete them."""
        for path in sorted(scratch.iterdir()):
            name = f"{folder}/{path.name}"
            with self._os_errors(name):
                self._create_folder(name)
                self._files.put_file(str(path), self._path(name))
        shutil.rmtree(scratch)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _create_folder(self, name: str) -> None:
        """Create the folder of a file. SFTP and the like need it; in object stores it must not create a bucket."""
        folders = name.split("/")[:-1]
        for depth in range(len(folders) + 1):
            folder = "/".join([self._root, *folders[:depth]])
            if folder not in self._created_folders and "/" in folder.strip("/"):
                with contextlib.suppress(Exception):  # The write will report the failure.
                    self._files.mkdir(folder, create_parents=False)
            self._created_folders.add(folder)

    @contextlib.contextmanager
    def _os_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError:
            raise
        except Exception as error:  # every store's library raises its own errors
            lines = str(error).strip().splitlines() or [""]
            # DuckDB passes on the library's error with its whole traceback.
            message = lines[-1] if "Traceback" in lines[0] else lines[0]
            raise OSError(f"{self.url(name)}: {type(error).__name__}: {message}") from error


def _has_entries(folder: os.DirEntry[str]) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entries)
    except OSError:
        return True  # Who reads it gets the reason.
