"""Where a recording lies, a local folder or an object store that fsspec knows, and the few operations on it."""

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
from sanpath.recording.storage.checksum import holds, seal

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Location = Path | str
"""A recording's place: a path on this machine, or a URL that fsspec opens, such as s3://bucket/NAME.sanpath."""


_DOCUMENT_BYTES = 64 << 20
"""No document of a recording comes near it."""
_TICK_SECONDS = 0.01


def location(place: Location) -> Location:
    """What a person wrote: a URL of this machine is a path. Raises UsageError for a URL with a password in it."""
    protocol, mark, rest = str(place).partition("://")
    if not mark:
        return Path(place)
    if protocol in ("file", "local"):
        return Path(rest)
    if re.match(r"[^/]*:[^/]*@", rest):
        raise UsageError(f"{protocol}://: no password in a URL, others can see it; the store's library knows its own")
    return str(place)


def store_at(place: Location) -> Store:
    """The store a recording lies in. Raises UsageError when there is no library for it."""
    place = location(place)
    return LocalStore(place) if isinstance(place, Path) else ObjectStore(place)


def _within(told: float) -> tuple[float, float]:
    """The earliest and the latest time that a modification time stands for: a whole second stands for all of it, and
    the clock of a file system ticks with the kernel (at least 100 times a second)."""
    return told, told + (1.0 if told == int(told) else _TICK_SECONDS)


class Store(Protocol):
    """The files of one recording; names are relative to it, with "/". Every failure is an OSError."""

    def exists(self) -> bool:
        """Whether anything is there."""
        ...

    def list(self, folder: str) -> list[str]:
        """Names of what lies directly in a folder, [] when there is none."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a document: of a regular file that is not far larger than any of ours."""
        ...

    def intact(self, name: str) -> bool | None:
        """Whether a segment is what was written, by its checksum. None: it has none."""
        ...

    def seal(self, path: str) -> None:
        """Give a segment its checksum: what `writing` gave, when it is written."""
        ...

    def state(self, name: str) -> object:
        """What changes when a file does, as far as that is cheap to know."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Write a file at once: whoever reads it sees all of it or none."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that nobody has written yet. Returns whether it was we who did: of several who try at once
        one does, where the store can promise that."""
        ...

    def written(self, name: str) -> tuple[float, float] | None:
        """When a file was written by the store's clock, seconds since the epoch, at the earliest and at the latest;
        None: it does not tell."""
        ...

    def delete(self, name: str) -> None:
        """Remove a file."""
        ...

    def url(self, name: str) -> str:
        """What DuckDB opens for a file, once it has been lent the store."""
        ...

    def writing(self, name: str) -> AbstractContextManager[str]:
        """What DuckDB writes for a file; the file is there, at once, when the block ends well."""
        ...

    def roots(self) -> tuple[str, ...]:
        """What DuckDB may reach for this recording: the folder, or the URL below which its objects lie."""
        ...

    @property
    def files(self) -> AbstractFileSystem | None:
        """The filesystem that DuckDB has to be lent; None: that of this machine."""
        ...

    def scratch(self, folder: str) -> Path:
        """A local folder for files that grow before they are part of the recording as `folder`."""
        ...

    def adopt(self, scratch: Path, folder: str) -> None:
        """Take what has grown in a scratch folder into the recording; what fails stays there."""
        ...


class LocalStore:
    """A folder of this machine: files are written under another name and renamed."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def exists(self) -> bool:
        """Whether the folder is there."""
        return self._root.is_dir()

    def list(self, folder: str) -> list[str]:
        """Names of what lies directly in a folder."""
        try:
            with os.scandir(self._root / folder) as entries:
                # A pipe would be waited for, a device read for ever.
                return [entry.name for entry in entries if entry.is_file() or entry.is_dir()]
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            if not folder:
                raise
            return []  # A file in the place of a folder holds nothing.

    def read(self, name: str) -> bytes:
        """The content of a regular file: a reader never waits for a pipe or an endless device."""
        with self._regular(name) as file:
            content = file.read(_DOCUMENT_BYTES + 1)
        if len(content) > _DOCUMENT_BYTES:
            raise OSError(errno.EFBIG, f"is larger than {_DOCUMENT_BYTES >> 20} MiB")
        return content

    def intact(self, name: str) -> bool | None:
        """By its checksum."""
        with self._regular(name) as file:
            return holds(file)

    def state(self, name: str) -> object:
        """Size, and when it was changed."""
        try:
            told = (self._root / name).stat()
        except OSError:
            return None
        return told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns

    def _regular(self, name: str) -> BinaryIO:
        path = self._root / name
        # A pipe is opened without waiting for whoever writes into it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "is no regular file")
        return os.fdopen(handle, "rb")

    def seal(self, path: str) -> None:
        """Put the checksum into the segment."""
        seal(Path(path))

    def put(self, name: str, content: bytes) -> None:
        """Write and rename."""
        with self.writing(name) as partial:
            Path(partial).write_bytes(content)

    def create(self, name: str, content: bytes) -> bool:
        """Link a complete file to the name: that fails when the name is taken, on NFS too."""
        path = self._place(name)
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
        try:
            partial.write_bytes(content)
            self._protect(partial)
            try:
                path.hardlink_to(partial)
            except FileExistsError:
                return False
            except OSError:  # No hard links here: then the last one wins, and who asks afterwards sees who that was.
                self.put(name, content)
        finally:
            partial.unlink(missing_ok=True)
        return True

    def written(self, name: str) -> tuple[float, float] | None:
        """The file's modification time: on a share it is the server's."""
        return _within((self._root / name).stat().st_mtime_ns / 1e9)

    def delete(self, name: str) -> None:
        """Remove a file."""
        (self._root / name).unlink()

    def url(self, name: str) -> str:
        """The path."""
        return str(self._root / name)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[str]:
        """The path of a `.partial` file, renamed at the end."""
        path = self._place(name)
        partial = path.with_name(path.name + ".partial")
        try:
            yield str(partial)
            self._protect(partial)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)  # On a full disk, half a file is in everybody's way.
            raise

    def roots(self) -> tuple[str, ...]:
        """The folder, by the name it is opened with and by the one that links lead to."""
        return tuple(dict.fromkeys((str(self._root), str(self._root.resolve()))))

    @property
    def files(self) -> AbstractFileSystem | None:
        """DuckDB knows local files."""
        return None

    def scratch(self, folder: str) -> Path:
        """The folder of the recording itself."""
        return self._root / folder

    def adopt(self, scratch: Path, folder: str) -> None:
        """It is there already."""

    def _place(self, name: str) -> Path:
        """The path of a file, whose folder is there. A recording that is made here is its owner's alone: it holds
        names and addresses of a network. Who is to share one makes its folder before, with the rights it is to have.
        """
        if not self._root.exists():
            self._root.parent.mkdir(parents=True, exist_ok=True)
            self._root.mkdir(mode=0o700, exist_ok=True)
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _protect(self, path: Path) -> None:
        """Take from a file what the recording's folder does not grant."""
        own = path.stat().st_mode
        if own & ~self._root.stat().st_mode & 0o066:
            path.chmod(own & self._root.stat().st_mode & 0o666)


class ObjectStore:
    """A store behind fsspec. Files get their final name at once: a PUT is atomic, a rename is a copy and a delete."""

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs  # not cheap, and not for local recordings

        try:
            self._files, root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UsageError(f"{url}: cannot be opened: {error}") from error
        self._root = root.rstrip("/")
        self._made: set[str] = set()

    def exists(self) -> bool:
        """Whether anything is there: stores know no empty folders."""
        return bool(self.list(""))

    def list(self, folder: str) -> list[str]:
        """Names of what lies directly in a folder."""
        path = f"{self._root}/{folder}".rstrip("/")
        with self._failures(folder):
            # A reader looks for what others have written since it looked last.
            self._files.invalidate_cache()
            try:
                found = [str(entry).rstrip("/") for entry in self._files.ls(path, detail=False)]
            except FileNotFoundError:
                return []
        return [entry.rpartition("/")[2] for entry in found if entry != path]

    def read(self, name: str) -> bytes:
        """The content of an object."""
        with self._failures(name):
            return bytes(self._files.cat_file(self._path(name), end=_DOCUMENT_BYTES))

    def intact(self, name: str) -> bool | None:  # noqa: ARG002 - the store looks after it
        """Not known here: stores have checksums of their own, and to ask would be to fetch all of it."""
        return None

    def state(self, name: str) -> object:  # noqa: ARG002 - objects of ours are never changed
        """Nothing."""
        return None

    def seal(self, path: str) -> None:
        """Stores have checksums of their own."""

    def put(self, name: str, content: bytes) -> None:
        """Write an object."""
        with self._failures(name):
            self._make_folder_of(name)
            self._files.pipe_file(self._path(name), content)

    def create(self, name: str, content: bytes) -> bool:
        """A PUT on condition that there is no such object."""
        with self._failures(name):
            self._make_folder_of(name)
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                return False
            except (NotImplementedError, TypeError):  # The store cannot do it at once.
                self._files.pipe_file(self._path(name), content)
        return True

    def written(self, name: str) -> tuple[float, float] | None:
        """The object's modification time."""
        with self._failures(name):
            self._files.invalidate_cache()
            try:
                told = self._files.modified(self._path(name))
            except NotImplementedError:
                return None
        return _within(told.timestamp())

    def delete(self, name: str) -> None:
        """Remove an object."""
        with self._failures(name):
            self._files.rm_file(self._path(name))

    def url(self, name: str) -> str:
        """The object's URL."""
        return str(self._files.unstrip_protocol(self._path(name)))

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[str]:
        """The object's URL."""
        with self._failures(name):
            self._make_folder_of(name)
            yield self.url(name)

    def roots(self) -> tuple[str, ...]:
        """The URL, as the library writes it and as DuckDB compares it."""
        url = str(self._files.unstrip_protocol(self._root))
        protocol, _, rest = url.partition("://")
        return tuple(dict.fromkeys((url, f"{protocol}://{rest.lstrip('/')}", f"{protocol}:///{rest.lstrip('/')}")))

    @property
    def files(self) -> AbstractFileSystem | None:
        """What fsspec opened."""
        return self._files

    def scratch(self, folder: str) -> Path:  # noqa: ARG002 - of LocalStore it is the folder
        """A temporary folder: objects cannot grow."""
        return Path(tempfile.mkdtemp(prefix="sanpath-"))

    def adopt(self, scratch: Path, folder: str) -> None:
        """Copy the files, then remove them."""
        for path in sorted(scratch.iterdir()):
            name = f"{folder}/{path.name}"
            with self._failures(name):
                self._make_folder_of(name)
                self._files.put_file(str(path), self._path(name))
        shutil.rmtree(scratch)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _make_folder_of(self, name: str) -> None:
        """SFTP and the like need folders. Object stores know none, and must not be led to make a bucket."""
        parts = name.split("/")[:-1]
        for depth in range(len(parts) + 1):
            folder = "/".join([self._root, *parts[:depth]])
            if folder not in self._made and "/" in folder.strip("/"):
                with contextlib.suppress(Exception):  # Whether it can be written to is told by the write.
                    self._files.mkdir(folder, create_parents=False)
            self._made.add(folder)

    @contextlib.contextmanager
    def _failures(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError:
            raise
        except Exception as error:  # every store's library has errors of its own
            lines = str(error).strip().splitlines() or [""]
            # DuckDB hands on what the library raised with all of its traceback.
            told = lines[-1] if "Traceback" in lines[0] else lines[0]
            raise OSError(f"{self.url(name)}: {type(error).__name__}: {told}") from error
