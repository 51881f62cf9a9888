"""A Unix host by its files and commands: the one that sanpath runs on, or the recorded one of a case folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sanpath.plugin import CollectorError, CommandReply, Cost, Failure

NO_PROGRAM = 127
"""Exit code of a shell for a program that is not there (POSIX)."""

MAX_FILE_BYTES = 1 << 20
"""Largest file that is read: /proc/diskstats of 9,000 devices, where everything else is a few hundred bytes."""

_WILDCARDS = frozenset("*?[")
_END_SECONDS = 1.0

PATH_TOO = "/usr/sbin:/sbin"
"""Where administrators' programs are; the accounts of monitors often do not look there."""


class LocalMachine:
    """`plugin.Machine` on this machine. Reading blocks: a collector that uses it runs in a thread.

    A path is looked for below each root, the last one first: later roots change earlier ones.
    """

    def __init__(self, cost: Cost, roots: Sequence[Path] = (Path("/"),)) -> None:
        self._roots, self._cost = list(roots), cost

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Every file that a pattern names and that has something to read; one request."""
        self._cost.requests += 1
        found = {path: content for path in self._candidates(patterns) if (content := self._content(path))}
        self._cost.bytes_in += sum(map(len, found.values()))
        return found

    async def names(self, patterns: Sequence[str]) -> list[str]:
        """The paths that there are."""
        self._cost.requests += 1
        return [path for path in self._candidates(patterns) if any(place.exists() for place in self._places(path))]

    async def run(self, command: Sequence[str]) -> CommandReply:
        """Run a command. It is ended when nobody waits for it any longer."""
        self._cost.requests += 1
        environment = os.environ | {"LC_ALL": "C", "PATH": f"{os.environ.get('PATH', os.defpath)}:{PATH_TOO}"}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            return CommandReply(NO_PROGRAM, b"", str(error.strerror).encode())
        try:
            output, errors = await process.communicate()
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, TimeoutError):
                    process.kill()
                    async with asyncio.timeout(_END_SECONDS):  # one that hangs in the kernel does not end
                        await process.wait()
        self._cost.bytes_in += len(output) + len(errors)
        return CommandReply(process.returncode or 0, output, errors)

    async def close(self) -> None:
        """Nothing is open."""

    def _candidates(self, patterns: Sequence[str]) -> list[str]:
        """Paths that the patterns may name: looking for one without a wildcard is as good as reading it."""
        found = {pattern for pattern in patterns if not _WILDCARDS.intersection(pattern)}
        for root in self._roots:
            for pattern in patterns:
                if pattern not in found:
                    found |= {f"/{path.relative_to(root)}" for path in root.glob(pattern.lstrip("/"))}
        return sorted(found)

    def _places(self, path: str) -> list[Path]:
        return [root / path.lstrip("/") for root in reversed(self._roots)]

    def _content(self, path: str) -> bytes:
        for place in self._places(path):
            try:
                if place.is_file():
                    with place.open("rb") as file:
                        return checked(path, file.read(MAX_FILE_BYTES + 1))
            except OSError:
                continue
        return b""


class RecordedMachine(LocalMachine):
    """The machine of a case folder: `NAME.files` and `NAME.commands.yaml`, as many states of each as have come.

    A file of commands maps a command line to its output, or to `output`, `errors` and `exit`. Later states change
    earlier ones; a command that is in none of them is not there.
    """

    def __init__(self, cost: Cost, folder: Path, states: Callable[[], int]) -> None:
        super().__init__(cost, ())
        self._folder, self._states = folder, states

    def _candidates(self, patterns: Sequence[str]) -> list[str]:
        self._roots = sorted(self._folder.glob("*.files"))[: self._states()]
        return super()._candidates(patterns)

    async def run(self, command: Sequence[str]) -> CommandReply:
        """The recorded answer."""
        self._cost.requests += 1
        answers: dict[str, Any] = {}
        for path in sorted(self._folder.glob("*.commands.yaml"))[: self._states()]:
            answers |= yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        answer = answers.get(" ".join(command))
        if answer is None:
            return CommandReply(NO_PROGRAM, b"", b"not recorded")
        said: Mapping[str, Any] = answer if isinstance(answer, dict) else {"output": answer}
        output, errors = (str(said.get(stream, "")).encode() for stream in ("output", "errors"))
        self._cost.bytes_in += len(output) + len(errors)
        return CommandReply(int(said.get("exit", 0)), output, errors)


def checked(path: str, content: bytes) -> bytes:
    """The content of a file. Raises UNREADABLE when it is larger than anything that is meant to be read."""
    if len(content) > MAX_FILE_BYTES:
        raise CollectorError(Failure.UNREADABLE, f"{path} holds more than {MAX_FILE_BYTES >> 20} MiB")
    return content
