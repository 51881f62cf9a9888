"""Files and folders of a host as they were read in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sanpath_collectors.linux_host import parse


class Snapshot:
    """`files`: absolute path → content; `names`: paths of which only that they are there is known."""

    def __init__(self, files: Mapping[str, bytes], names: Iterable[str] = ()) -> None:
        self._files = files
        self._children: dict[str, dict[str, None]] = {}
        for path in (*files, *names):
            while path:
                path, _, name = path.rpartition("/")
                self._children.setdefault(path, {})[name] = None

    def content(self, path: str) -> bytes:
        """A file, b"" where there is none."""
        return self._files.get(path, b"")

    def text(self, path: str) -> str:
        """A file without the white space around it, "" where there is none."""
        return self.content(path).decode("utf-8", "replace").strip(" \0\r\n")

    def number(self, path: str) -> int | None:
        """A file that is a whole number, None for everything else."""
        return parse.number(self.text(path))

    def children(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none where it was not read."""
        return sorted(self._children.get(folder, ()))

    def has(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        folder, _, name = path.rpartition("/")
        return name in self._children.get(folder, ())
