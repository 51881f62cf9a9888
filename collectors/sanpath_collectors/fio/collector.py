"""Wraps a fio command and turns its growing output into samples, things and step events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from sanpath.errors import UsageError
from sanpath.plugin import Event, Item, LoadReader, WrappedCommand
from sanpath_collectors.fio.groups import Group, histograms, load_step
from sanpath_collectors.fio.inventory import Inventory, rows
from sanpath_collectors.fio.parse import Documents, status
from sanpath_collectors.fio.status import Status
from sanpath_collectors.fio.tables import LOAD, LUN

LOCAL_ID = "fio"


class FioReader(LoadReader):
    """Reads one fio execution."""

    def __init__(self, load: str | None = None) -> None:
        super().__init__(load or LOCAL_ID)
        self._documents = Documents()
        self._inventory = Inventory(self.load)
        self._groups: dict[int, Group] = {}
        self._progressed: dict[int, int] = {}
        self._loads: dict[str, str] = {}
        self._text = ""

    @classmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Ask for a JSON status every second beside the formats the user wants."""
        words = list(argv)
        if _option(words, "client") is not None:
            raise UsageError("fio --client gives nothing before its end; start fio on the host that does the I/O")
        formats = _option(words, "output-format") or ("terse" if "--minimal" in words else "")
        if not {"json", "json+"} & set(formats.split(",")):
            words.append(f"--output-format={formats},json" if formats else "--output-format=json")
        if _option(words, "status-interval") is None:
            words.append("--status-interval=1")
        return WrappedCommand(tuple(words), _option(words, "output"))

    def feed(self, added: bytes, seen: int) -> Iterable[Item]:
        """Samples of every status document that is complete now."""
        documents, text = self._documents.feed(added)
        self._text += text
        for document in documents:
            yield from self._status(status(document), seen)

    def finish(self, seen: int) -> Iterable[Item]:
        """End the steps that were running."""
        self._text += self._documents.rest()
        yield from self._end(seen)

    def passthrough(self) -> bytes:
        """The lines between the documents."""
        text, self._text = self._text, ""
        return text.encode("utf-8")

    def _status(self, now: Status, seen: int) -> Iterator[Item]:
        self._loads |= {job.name: f"{self.load}/{job.name}" for job in now.jobs}
        yield from self._inventory.told(now, self._loads)
        yield from self._inventory.remarks(now, self._loads, seen)
        time_us = None if now.whole_seconds else now.time_us
        yield from self._steps(now, time_us or seen, seen)
        active = [job for job in now.jobs if self._groups[job.group].state != "waiting"]
        if active:
            yield rows(LOAD, [(self._loads[job.name], seen, job.samples) for job in active], time_us)
        if now.disks:
            yield rows(LUN, [(disk, seen, values) for disk, values in now.disks.items()], time_us)

    def _steps(self, now: Status, time_us: int, seen: int) -> Iterator[Event]:
        for number in sorted({job.group for job in now.jobs}):
            group = self._groups.setdefault(number, Group())
            progress = group.update([job for job in now.jobs if job.group == number], time_us)
            if progress not in ("none", "ended"):
                self._progressed[number] = seen - group.idle_us
            match progress:
                case "begun":
                    yield from self._end(seen, before=number)
                    yield self._event("step-begin", number, seen)
                case "ramp over":
                    yield self._event("ramp-end", number, seen)
                case "ended":
                    yield from self._ended(number, seen)

    def _end(self, seen: int, before: int | None = None) -> Iterator[Event]:
        for number, group in self._groups.items():
            if group.state in ("running", "ramp") and (before is None or number < before):
                group.state = "ended"
                yield from self._ended(number, seen)

    def _ended(self, number: int, seen: int) -> Iterator[Event]:
        end = self._progressed.get(number, seen)
        yield from histograms(self._groups[number].jobs, self._loads, end)
        yield self._event("step-end", number, end)

    def _event(self, name: Literal["step-begin", "ramp-end", "step-end"], number: int, seen: int) -> Event:
        return load_step(number, self._groups[number].jobs, self._loads).event(name, seen)


def _option(words: Sequence[str], name: str) -> str | None:
    """The value of `--name=value` or `--name value`, with one dash or two; the last one wins, as in fio."""
    found = None
    for number, word in enumerate(words):
        given, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and given == name:
            found = value if equals else "".join(words[number + 1 : number + 2])
    return found
