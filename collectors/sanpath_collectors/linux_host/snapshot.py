"""Files and folders of a machine, read in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sanpath_collectors.linux_host import parse

HOSTNAME = "/proc/sys/kernel/hostname"


class Snapshot:
    """Files and folders at one moment.

    `files`: absolute path → content; `names`: paths that exist, without content.
    """

    def __init__(self, files: Mapping[str, bytes], names: Iterable[str] = ()) -> None:
        self._files = files
        self._children: dict[str, dict[str, None]] = {}
        for path in (*files, *names):
            known = False
            while path and not known:  # The parent folders of a known path are known, too.
                path, _, name = path.rpartition("/")
                known = path in self._children
                self._children.setdefault(path, {})[name] = None

    def content(self, path: str) -> bytes:
        """Content of a file; b"" if there is none."""
        return self._files.get(path, b"")

    def text(self, path: str) -> str:
        """Content of a file without surrounding white space; "" if there is none."""
        return self.content(path).decode("utf-8", "replace").strip(" \0\r\n")

    def number(self, path: str) -> int | None:
        """Content of a file as an integer; None for anything else."""
        return parse.number(self.text(path))

    @property
    def host_name(self) -> str:
        """The name of the host; "" for the default names that many hosts have."""
        name = self.text(HOSTNAME)
        return "" if name.partition(".")[0] in ("localhost", "(none)") else name

    def children(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none if it was not read."""
        return sorted(self._children.get(folder, ()))

    def has(self, path: str) -> bool:
        """Whether a file or folder exists."""
        folder, _, name = path.rpartition("/")
        return name in self._children.get(folder, ())
