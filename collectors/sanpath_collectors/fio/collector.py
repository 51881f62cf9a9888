"""Wraps a fio command and turns its growing output into samples, things and step events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.errors import UsageError
from sanpath.model import Scalar
from sanpath.plugin import Event, Item, LoadReader, Rows, Table, Thing, Tie, WrappedCommand
from sanpath_collectors.fio.parse import Documents, JobStatus, Number, Status, status, target_addresses
from sanpath_collectors.fio.tables import LOAD, LUN

LOCAL_ID = "fio"


@dataclass(slots=True)
class _Group:
    """Jobs that run at the same time: fio's unit between two `stonewall`s, and so a load step.

    `progressed`: when it was last seen to complete I/Os; the end of the step, once it has ended.
    """

    jobs: list[JobStatus] = field(default_factory=list)
    state: Literal["waiting", "ramp", "running", "ended"] = "waiting"
    time_us: int = 0
    progressed: int = 0

    @property
    def ops(self) -> int:
        return sum(job.ops for job in self.jobs)

    @property
    def runtime_us(self) -> int:
        return 1000 * max((job.runtime_ms for job in self.jobs), default=0)


class FioReader(LoadReader):
    """Reads one fio execution."""

    def __init__(self) -> None:
        self._documents = Documents()
        self._groups: dict[int, _Group] = {}
        self._known: set[str] = set()
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
        yield from self._inventory(now)
        yield from self._steps(now, seen)
        active = [job for job in now.jobs if self._groups[job.group].state != "waiting"]
        if active:
            yield _rows(LOAD, {f"{LOCAL_ID}/{job.name}": job.samples for job in active}, seen, now.time_us)
        if now.disks:
            yield _rows(LUN, now.disks, seen, now.time_us)

    def _inventory(self, now: Status) -> Iterator[Thing | Tie]:
        if not self._known:
            self._known.add(LOCAL_ID)
            yield Thing("load", LOCAL_ID, LOCAL_ID, {"name": (LOCAL_ID,)})
        for job in now.jobs:
            local_id = f"{LOCAL_ID}/{job.name}"
            if local_id in self._known:
                continue
            self._known.add(local_id)
            attributes: dict[str, Scalar] = {"block_bytes": job.block_bytes, "in_flight_configured": job.in_flight}
            attributes |= {name: job.options[name] for name in ("rw", "ioengine", "direct") if name in job.options}
            yield Thing("load", local_id, local_id, {"name": (local_id,)}, attributes)
            yield Tie("member_of", ("load", local_id), ("load", LOCAL_ID), "fio job")
            for address in target_addresses(job.options):
                yield Tie("targets", ("load", LOCAL_ID), ("ip", address), f"fio option uri of {job.name}")
        for disk in now.disks:
            if disk not in self._known:
                self._known.add(disk)
                yield Thing("lun", disk, disk, {"device": (disk,)})
                yield Tie("targets", ("load", LOCAL_ID), ("lun", disk), "fio disk_util")

    def _steps(self, now: Status, seen: int) -> Iterator[Event]:
        """Begin, end of ramp and end of each group, told from its counters: fio itself does not say."""
        for number in sorted({job.group for job in now.jobs}):
            group = self._groups.setdefault(number, _Group())
            ops, runtime_us, time_us = group.ops, group.runtime_us, group.time_us
            group.jobs = [job for job in now.jobs if job.group == number]
            group.time_us = now.time_us or seen
            if group.ops == ops:
                # The run time of a job that only stalls goes on; that of one that has ended does not.
                if group.state == "running" and group.runtime_us == runtime_us:
                    yield from self._ended(number, group, seen)
                continue
            # What is missing between clock and run time of the last interval is the time since the group has ended.
            idle_us = group.time_us - time_us - (group.runtime_us - runtime_us) if group.state == "running" else 0
            group.progressed = seen - max(0, idle_us)
            if group.state == "waiting":
                yield from self._end(seen, before=number)
                ramps = any(job.options.get("ramp_time", "0") != "0" for job in group.jobs)
                group.state = "ramp" if ramps else "running"
                yield self._event("step-begin", number, group, seen)
            # The counters start again when the ramp ends; they may have overtaken their old values by now, but the
            # run time then grew by less than the clock.
            elif group.state == "ramp" and group.runtime_us - runtime_us < 0.7 * (group.time_us - time_us):
                group.state = "running"
                yield self._event("ramp-end", number, group, seen)

    def _end(self, seen: int, before: int | None = None) -> Iterator[Event]:
        for number, group in self._groups.items():
            if group.state in ("running", "ramp") and (before is None or number < before):
                yield from self._ended(number, group, seen)

    def _ended(self, number: int, group: _Group, seen: int) -> Iterator[Event]:
        group.state = "ended"
        yield self._event("step-end", number, group, group.progressed or seen)

    def _event(self, name: str, number: int, group: _Group, seen: int) -> Event:
        sizes = {job.block_bytes for job in group.jobs}
        return Event(
            seen,
            name,
            {
                "step": "+".join(dict.fromkeys(job.name.partition("#")[0] for job in group.jobs)),
                "group": number,
                "loads": ",".join(f"{LOCAL_ID}/{job.name}" for job in group.jobs),
                "offered": sum(job.in_flight for job in group.jobs),
                "block_bytes": sizes.pop() if len(sizes) == 1 else None,
                "rate_limited": any(
                    key.startswith(("rate", "thinktime")) for job in group.jobs for key in job.options
                ),
                "error": max((job.error for job in group.jobs), default=0),
            },
        )


def _rows(table: Table, rows: Mapping[str, Mapping[str, Number]], seen: int, time_us: int | None) -> Rows:
    return Rows(
        table,
        list(rows),
        [seen] * len(rows),
        {column.metric: [row.get(column.metric) for row in rows.values()] for column in table.columns},
        device_time=[time_us] * len(rows) if time_us is not None else None,
    )


def _option(words: Sequence[str], name: str) -> str | None:
    """The value of `--name=value` or `--name value`, with one dash or two; the last one wins, as in fio."""
    found = None
    for number, word in enumerate(words):
        given, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and given == name:
            found = value if equals else "".join(words[number + 1 : number + 2])
    return found
