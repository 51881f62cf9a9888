"""Wraps a fio command as a load, and turns its growing output into samples, entities and step events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.errors import UsageError
from sanpath.plugin import Event, Item, LoadReader, Rows, WrappedCommand
from sanpath_collectors.fio.documents import Documents
from sanpath_collectors.fio.inventory import Inventory
from sanpath_collectors.fio.jobs.groups import Group, error_warnings, histogram_events, load_step, step_number
from sanpath_collectors.fio.jobs.status import JobStatus, Number, Status
from sanpath_collectors.fio.parse import parse_status
from sanpath_collectors.fio.tables import LOAD, LUN, rows, zeros

LOCAL_ID = "fio"


class FioLoad(LoadReader):
    """Reads the output of one run of fio while it grows.

    `load`: local id of its load; None: "fio".
    """

    def __init__(self, load: str | None = None) -> None:
        super().__init__(load or LOCAL_ID)
        self._documents = Documents()
        self._inventory = Inventory(self.load)
        self._groups: dict[tuple[int, int], Group] = {}
        self._clock = _Clock(0, 0, dated=False)
        self._step_begin_us: dict[int, int] = {}
        self._loads: dict[str, str] = {}
        self._passthrough_text = ""

    @classmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Adds a JSON status every second to the formats that the user wants.

        Raises UsageError for `fio --client`, which prints nothing before its end, and for jobs from standard input.
        """
        arguments = list(argv)
        if _option_value(arguments, "client") is not None:
            raise UsageError("fio --client gives nothing before its end; start fio on the host that does the I/O")
        if {"-", "/dev/stdin"} & set(arguments[1:]):
            raise UsageError("a load has no standard input; write the jobs of fio into a file, as in: fio job.fio")
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
            yield from self._read_status(parse_status(document), seen_us)

    def finish(self, seen_us: int) -> Iterable[Item]:  # noqa: ARG002 - the last status tells when they ended
        """Ends the steps that were running."""
        self._passthrough_text += self._documents.remaining()
        yield from self._end_running_steps()

    def passthrough(self) -> bytes:
        """Returns the text between the documents since the last call, for the user's terminal."""
        text, self._passthrough_text = self._passthrough_text, ""
        return text.encode("utf-8")

    def _read_status(self, current: Status, seen_us: int) -> Iterator[Item]:
        self._loads |= {job.name: f"{self.load}/{job.name}" for job in current.jobs}
        yield from self._inventory.new_items(current, self._loads)
        yield from self._inventory.remarks(current, self._loads, seen_us)
        time_us = None if current.time_in_seconds else current.time_us
        self._clock = _Clock(time_us or seen_us, seen_us, dated=time_us is not None)
        yield from self._update_steps(current)
        active = [job for job in current.jobs if self._groups[job.stage].state != "waiting"]
        samples = [(self._loads[job.name], seen_us, job.counters) for job in active]
        disks = [(disk, seen_us, values) for disk, values in current.tested_disks.items()]
        for table, table_samples in ((LOAD, samples), (LUN, disks)):
            if table_samples:
                yield rows(table, table_samples, None if time_us is None else [time_us] * len(table_samples))

    def _update_steps(self, current: Status) -> Iterator[Item]:
        for stage in sorted({job.stage for job in current.jobs}):
            group = self._groups.setdefault(stage, Group())
            jobs = [job for job in current.jobs if job.stage == stage]
            match group.update(jobs, self._clock.time_us):
                case "begun":
                    yield self._step_event("step-begin", group, self._clock.time_us)
                case "ramp over" | "ramp over earlier":
                    yield self._step_event("ramp-end", group, group.ramp_ended_us)
                    yield from self._zero_rows(group)
                case "ended":
                    yield from self._end_step(group)

    def _end_running_steps(self) -> Iterator[Item]:
        for group in self._groups.values():
            if group.state in ("running", "ramp"):
                group.state = "ended"
                yield from self._end_step(group)

    def _end_step(self, group: Group) -> Iterator[Item]:
        ended_us = self._clock.to_recorder_us(group.ended_us)
        yield from error_warnings(group.jobs, ended_us)
        yield from histogram_events(group.jobs, self._loads, ended_us)
        # A job that ends before its group has a row at either end.
        ended = [
            (job, at)
            for job in group.jobs
            for at in sorted({min(group.clocks[job.name].ended_us, group.ended_us), group.ended_us})
            if job.runtime_ms and at < self._clock.time_us
        ]
        yield from self._edge_rows([(job, at, job.counters) for job, at in ended])
        yield self._step_event("step-end", group, group.ended_us)

    def _zero_rows(self, group: Group) -> Iterator[Rows]:
        ramped = [
            (job, clock.began_us)
            for job in group.jobs
            if (clock := group.clocks[job.name]).has_ramped and clock.began_us < self._clock.time_us
        ]
        # fio's clock has milliseconds: after a status of the same one.
        yield from self._edge_rows([(job, began_us + 1, zeros(job)) for job, began_us in ramped])

    def _edge_rows(self, values: Sequence[tuple[JobStatus, int, Mapping[str, Number]]]) -> Iterator[Rows]:
        """Yields rows at the begin or end of a step, from (job, time by fio's clock, values).

        The edge lies between two statuses. Without these rows the window between them would not belong to the step,
        and a wait for an I/O that delayed the second status would be lost.
        """
        clock = self._clock
        samples = [
            (self._loads[job.name], clock.seen_us if clock.dated else at, of_job) for job, at, of_job in values
        ]
        if samples:
            yield rows(LOAD, samples, [at for _, at, _ in values] if clock.dated else None)

    def _step_event(self, name: Literal["step-begin", "ramp-end", "step-end"], group: Group, time_us: int) -> Event:
        step, clock = load_step(step_number(group.jobs[0].stage), group.jobs, self._loads), self._clock
        # The statuses are delayed differently, but no step may end before it begins.
        seen_us = max(self._step_begin_us.get(step.group, 0), clock.to_recorder_us(time_us))
        if name == "step-begin":
            self._step_begin_us[step.group] = seen_us
        return step.event(name, seen_us, time_us if clock.dated else None)


@dataclass(frozen=True, slots=True)
class _Clock:
    """The time of the last status by fio's clock (`time_us`) and by the recorder's (`seen_us`). `dated`: fio reports
    precise times; otherwise both are the recorder's."""

    time_us: int
    seen_us: int
    dated: bool

    def to_recorder_us(self, time_us: int) -> int:
        """Converts a time of fio's clock to the recorder's, by the difference at the last status."""
        return self.seen_us - (self.time_us - time_us)


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
