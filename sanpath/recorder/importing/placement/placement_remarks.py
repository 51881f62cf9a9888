"""Remarks on doubtful placements of a file: a wrong time zone, a run counted twice, an option without effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta, timezone

from sanpath.plugin import ResultClock, SourceLink
from sanpath.recorder.importing.placement.placement import QUARTER_HOUR_US, Placement, step_limits
from sanpath.recorder.importing.target_recording import sources_of_other_hosts
from sanpath.recording.reading.recording import Recording
from sanpath.units import long_duration

_MIN_OVERLAP_RATIO = 0.1
"""Share of the shorter load by which two loads must overlap to have run at the same time: times may be rounded to
seconds."""


def find_steps_of_tool(recording: Recording, collector: str, *hosts: str | None) -> Iterator[tuple[str, int, int]]:
    """Yield (source, begin, end) of the completed steps of a tool, times in microseconds.

    Steps on other machines than `hosts` are left out; without hosts, none are.
    """
    for source in sorted(_sources_of_tool(recording, collector) - sources_of_other_hosts(recording, *hosts)):
        for begin, end in step_limits([each for each in recording.events() if each[0] == source]).values():
            if end is not None:
                yield source, begin, end


def _sources_of_tool(recording: Recording, collector: str) -> set[str]:
    return {declaration.name for declaration in recording.declarations if declaration.collector == collector}


def overlap_remarks(
    placement: Placement,
    recording: Recording,
    collector: str,
    hosts: Collection[str],
    targets: Collection[tuple[str, str]],
) -> Iterator[str]:
    """Yield a remark if a source of the same tool has loads at the same time: both may report the same run.

    `hosts`, `targets`: the machines of the file, and the devices, ports or volumes that it tests; empty: not known.
    A source with other hosts or other targets reports another run.
    """
    if not placement.steps or placement.first is None or placement.last is None:
        return
    for source, begin, end in find_steps_of_tool(recording, collector, *hosts):
        overlap_us = min(end, placement.last) - max(begin, placement.first)
        if overlap_us <= _MIN_OVERLAP_RATIO * min(end - begin, placement.last - placement.first):
            continue
        others = _targets(recording, source)
        if not (others and targets and others.isdisjoint(targets)):
            yield f"{source} has loads at the same time: if both files are of one run, it is now counted twice"
            return


def _targets(recording: Recording, source: str) -> set[tuple[str, str]]:
    links = (item for name, _, item in recording.inventory() if name == source and isinstance(item, SourceLink))
    return {link.to_end for link in links if link.relation == "targets"}


def assumed_zone_remarks(placement: Placement, clock: ResultClock) -> Iterator[str]:
    """Yield a remark if the file's times are local and no zone is given: the zone of this machine is assumed."""
    if clock == "local" and placement.zone is None and placement.first is not None and not placement.marks:
        offset = datetime.fromtimestamp(placement.first / 1e6).astimezone().isoformat()[-6:]
        yield f"its times have no zone: that of this machine is assumed, UTC{offset}; --utc-offset names another"


def repeated_hour_remarks(placement: Placement, clock: ResultClock) -> Iterator[str]:
    """Yield a remark if the file begins at a local time that occurred twice, as summer time ended."""
    if clock != "local" or placement.first is None or placement.marks or placement.continues_us is not None:
        return
    began = datetime.fromtimestamp((placement.first - placement.behind_us) / 1e6, placement.zone or UTC)
    began = began if placement.zone is not None else began.astimezone()
    local_us = round(began.replace(tzinfo=UTC).timestamp() * 1e6)
    if (set_back_us := placement.set_back_us(local_us)) > 0:
        offset = (began.utcoffset() or timedelta()) - timedelta(microseconds=set_back_us)
        second = began.replace(tzinfo=timezone(offset)).isoformat()[-6:]
        yield (
            f"its first time, {began:%H:%M}, came twice that day, as summer time ended: the first is taken; "
            f"--utc-offset {second} names the second"
        )


def unused_option_remarks(placement: Placement, clock: ResultClock, requested: Placement) -> Iterator[str]:
    """Yield a remark for each option that had no effect. `requested`: the placement before anything was guessed."""
    if clock in ("utc", "local") and requested.begins is not None:
        yield "--at is not used: the file contains its times; --clock-behind or --mark moves them"
    if clock != "local" and requested.zone is not None and requested.begins is None:
        yield "--utc-offset is not used: the file has no local times"
    unused = len(placement.marks) - placement.steps
    if unused > 0 and (clock != "elapsed" or placement.steps):
        yield f"--mark: {unused} not used, because the file has fewer loads"


def placing_option(clock: ResultClock, requested: Placement) -> str:
    """Return the option that may be wrong by hours; "" for none."""
    if clock == "elapsed":
        return "--at" if requested.begins is not None else ""
    return "--utc-offset" if clock == "local" else ""


def time_range_of_other_tools(recording: Recording, collector: str) -> tuple[int, int] | None:
    """Return begin and end, in microseconds, of everything in the recording except runs of the same tool. None: there
    is nothing else."""
    same_tool = _sources_of_tool(recording, collector)
    polls = [poll for poll in recording.polls() if poll.source not in same_tool]
    if not polls:
        return None
    began = min(poll.started for poll in polls)
    imported = (event.seen for s, event in recording.events() if event.name == "imported" and s not in same_tool)
    # The poll of an import has no duration.
    return began, max(*(poll.ended for poll in polls), *imported, began)


def outside_recording_remarks(
    placement: Placement, recording: Recording, collector: str, option: str
) -> Iterator[str]:
    """Yield a remark if the file does not overlap with the rest of the recording; runs of the same tool do not count.

    `option`: the option that placed it; "": none.
    """
    limits = time_range_of_other_tools(recording, collector)
    first, last = placement.first, placement.last
    if first is None or last is None or limits is None:
        return
    began, ended = limits
    gap_us = max(began - last, first - ended)
    if gap_us > 0:
        quarter_hours = -(-gap_us // QUARTER_HOUR_US)
        shift = quarter_hours * QUARTER_HOUR_US * (1 if last < began else -1)
        overlaps = first + shift <= ended and began <= last + shift
        hint = f"; {option} may be wrong by about {quarter_hours / 4:g} h" if overlaps and option else ""
        yield f"it lies {long_duration(gap_us / 1e6)} away from everything else in the recording{hint}"
