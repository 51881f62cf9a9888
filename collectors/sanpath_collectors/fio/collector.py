"""Wraps a fio command and turns its growing output into samples, entities and step events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from sanpath.errors import UsageError
from sanpath.plugin import Event, Item, LoadReader, WrappedCommand
from sanpath_collectors.fio.groups import Group, histograms, load_step
from sanpath_collectors.fio.inventory import Inventory
from sanpath_collectors.fio.parse import Documents, parse_status
from sanpath_collectors.fio.status import Status
from sanpath_collectors.fio.tables import LOAD, LUN, rows

LOCAL_ID = "fio"


class FioReader(LoadReader):
    """Reads the output of one run of fio while it grows.

    `load`: local id of its load; None: "fio".
    """

    def __init__(self, load: str | None = None) -> None:
        super().__init__(load or LOCAL_ID)
        self._documents = Documents()
        self._inventory = Inventory(self.load)
        self._groups: dict[int, Group] = {}
        self._last_progress_us: dict[int, int] = {}
        self._loads: dict[str, str] = {}
        self._passthrough_text = ""

    @classmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Adds a JSON status every second to the formats that the user wants.

        Raises UsageError for `fio --client`, which prints nothing before its end.
        """
        arguments = list(argv)
        if _option_value(arguments, "client") is not None:
            raise UsageError("fio --client gives nothing before its end; start fio on the host that does the I/O")
        formats = _option_value(arguments, "output-format") or ("terse" if "--minimal" in arguments else "")
        if not {"json", "json+"} & set(formats.split(",")):
            arguments.append(f"--output-format={formats},json" if formats else "--output-format=json")
        if _option_value(arguments, "status-interval") is None:
            arguments.append("--status-interval=1")
        return WrappedCommand(tuple(arguments), _option_value(arguments, "output"))

    def feed(self, added: bytes, seen_us: int) -> Iterable[Item]:
        """Yields the samples of every status document that is complete now."""
        documents, text = self._documents.feed(added)
        self._passthrough_text += text
        for document in documents:
            yield from self._status(parse_status(document), seen_us)

    def finish(self, seen_us: int) -> Iterable[Item]:
        """Ends the steps that were running."""
        self._passthrough_text += self._documents.remaining()
        yield from self._end_running(seen_us)

    def passthrough(self) -> bytes:
        """Returns the text between the documents since the last call, for the user's terminal."""
        text, self._passthrough_text = self._passthrough_text, ""
        return text.encode("utf-8")

    def _status(self, current: Status, seen_us: int) -> Iterator[Item]:
        self._loads |= {job.name: f"{self.load}/{job.name}" for job in current.jobs}
        yield from self._inventory.new_items(current, self._loads)
        yield from self._inventory.remarks(current, self._loads, seen_us)
        time_us = None if current.time_in_seconds else current.time_us
        yield from self._steps(current, time_us or seen_us, seen_us)
        active = [job for job in current.jobs if self._groups[job.group].state != "waiting"]
        if active:
            yield rows(LOAD, [(self._loads[job.name], seen_us, job.samples) for job in active], time_us)
        if current.tested_disks:
            yield rows(LUN, [(disk, seen_us, values) for disk, values in current.tested_disks.items()], time_us)

    def _steps(self, current: Status, time_us: int, seen_us: int) -> Iterator[Event]:
        for group_number in sorted({job.group for job in current.jobs}):
            group = self._groups.setdefault(group_number, Group())
            progress = group.update([job for job in current.jobs if job.group == group_number], time_us)
            if progress not in ("none", "ended"):
                self._last_progress_us[group_number] = seen_us - group.idle_us
            match progress:
                case "begun":
                    yield from self._end_running(seen_us, before=group_number)
                    yield self._event("step-begin", group_number, seen_us)
                case "ramp over":
                    yield self._event("ramp-end", group_number, seen_us)
                case "ended":
                    yield from self._end_step(group_number, seen_us)

    def _end_running(self, seen_us: int, before: int | None = None) -> Iterator[Event]:
        for group_number, group in self._groups.items():
            if group.state in ("running", "ramp") and (before is None or group_number < before):
                group.state = "ended"
                yield from self._end_step(group_number, seen_us)

    def _end_step(self, group_number: int, seen_us: int) -> Iterator[Event]:
        end = self._last_progress_us.get(group_number, seen_us)
        yield from histograms(self._groups[group_number].jobs, self._loads, end)
        yield self._event("step-end", group_number, end)

    def _event(self, name: Literal["step-begin", "ramp-end", "step-end"], group_number: int, seen_us: int) -> Event:
        return load_step(group_number, self._groups[group_number].jobs, self._loads).event(name, seen_us)


def _option_value(arguments: Sequence[str], name: str) -> str | None:
    """The value of `--name=value` or `--name value`, with one dash or two; the last one wins, as in fio.

    None: the option is not given.
    """
    option_value = None
    for index, argument in enumerate(arguments):
        option, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and option == name:
            option_value = value if equals else "".join(arguments[index + 1 : index + 2])
    return option_value
