"""A Unix host by its files and commands: the one that sanpath runs on, or the recorded one of a case folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from sanpath.plugin import CommandReply, Cost
from sanpath.transport.files import FolderFiles

NO_PROGRAM = 127
"""Exit code of a shell for a program that is not there (POSIX)."""


class LocalMachine:
    """`plugin.Machine` on this machine. Reading blocks: a collector that uses it runs in a thread."""

    def __init__(self, cost: Cost, roots: Sequence[Path] = (Path("/"),)) -> None:
        self._roots, self._cost = list(roots), cost
        self._files = FolderFiles(self._roots, cost)

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Every readable file that a pattern names; one request."""
        before = self._cost.requests
        found = {path: await self._files.read(path) for path in await self.names(patterns)}
        self._cost.requests = before + 1
        return {path: content for path, content in found.items() if content is not None}

    async def names(self, patterns: Sequence[str]) -> list[str]:
        """The paths that there are."""
        self._cost.requests += 1
        return sorted({f"/{p.relative_to(r)}" for r in self._roots for q in patterns for p in r.glob(q.lstrip("/"))})

    async def run(self, command: Sequence[str]) -> CommandReply:
        """Run a command."""
        self._cost.requests += 1
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            return CommandReply(NO_PROGRAM, b"", str(error.strerror).encode())
        output, errors = await process.communicate()
        self._cost.bytes_in += len(output)
        return CommandReply(process.returncode or 0, output, errors)

    async def close(self) -> None:
        """Nothing is open."""
