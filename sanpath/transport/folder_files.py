"""Files below root folders, such as those of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sanpath.plugin import Cost


class FolderFiles:
    """`plugin.Files` below several roots. A file in a later root overrides the one in an earlier root."""

    def __init__(self, roots: Sequence[Path], cost: Cost) -> None:
        self._roots, self._cost = list(roots), cost

    async def read(self, path: str) -> bytes | None:
        """Read a file. None: no root has a readable one (sysfs answers some attributes with an error)."""
        return await self.read_from(path, 0, -1)

    async def list(self, path: str) -> list[str]:
        """List the names in a folder over all roots, sorted."""
        names: set[str] = set()
        for root in self._roots:
            try:
                names |= {entry.name for entry in (root / path.lstrip("/")).iterdir()}
            except OSError:
                continue
        self._cost.requests += bool(names)
        return sorted(names)

    async def read_from(self, path: str, offset: int, limit: int) -> bytes | None:
        """Read at most `limit` bytes from `offset` on. None: no root has a readable file."""
        for root in reversed(self._roots):
            try:
                with (root / path.lstrip("/")).open("rb") as file:
                    file.seek(offset)
                    content = file.read(limit)
            except OSError:
                continue
            self._cost.requests += 1
            self._cost.bytes_in += len(content)
            return content
        return None
