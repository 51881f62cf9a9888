"""Files below a root: those of this machine, or those of a recorded one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sanpath.plugin import Cost


class FolderFiles:
    """`plugin.Files`. A path is looked for below each root, the last one first: later roots change earlier ones."""

    def __init__(self, roots: Sequence[Path], cost: Cost) -> None:
        self._roots, self._cost = list(roots), cost

    async def read(self, path: str) -> bytes | None:
        """A whole file; None where no root has one that can be read (sysfs answers some attributes with an error)."""
        for root in reversed(self._roots):
            try:
                content = (root / path.lstrip("/")).read_bytes()
            except OSError:
                continue
            self._cost.requests += 1
            self._cost.bytes_in += len(content)
            return content
        return None

    async def list(self, path: str) -> list[str]:
        """The names in a folder over all roots, sorted."""
        names: set[str] = set()
        for root in self._roots:
            try:
                names |= {entry.name for entry in (root / path.lstrip("/")).iterdir()}
            except OSError:
                continue
        self._cost.requests += bool(names)
        return sorted(names)

    async def read_from(self, path: str, offset: int, limit: int) -> bytes | None:
        """A part of a file; None where no root has one that can be read."""
        for root in reversed(self._roots):
            try:
                with (root / path.lstrip("/")).open("rb") as file:
                    file.seek(offset)
                    part = file.read(limit)
            except OSError:
                continue
            self._cost.requests += 1
            self._cost.bytes_in += len(part)
            return part
        return None
