"""Detects doubtful placements of a file: a wrong time zone, a run counted twice, an option without effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta, timezone

from sanpath.plugin import ResultClock, SourceLink
from sanpath.recorder.importing.placement import QUARTER_US, Placement, step_limits
from sanpath.recorder.importing.target import of_other_hosts
from sanpath.recording.reading.recording import Recording
from sanpath.units import long_duration

_LEAST_OVERLAP = 0.1
"""Share of the shorter one from which two loads ran at the same time: times may be whole seconds."""


def steps_of_tool(recording: Recording, collector: str, *hosts: str | None) -> Iterator[tuple[str, int, int]]:
    """Yield (source, begin, end) of the steps that sources of a tool have had, times in microseconds, but not on
    other machines than `hosts`; without any, on each."""
    for source in sorted(_sources_of_tool(recording, collector) - of_other_hosts(recording, *hosts)):
        for begin, end in step_limits([each for each in recording.events() if each[0] == source]).values():
            if end is not None:
                yield source, begin, end


def _sources_of_tool(recording: Recording, collector: str) -> set[str]:
    return {declaration.name for declaration in recording.declarations if declaration.collector == collector}


def overlapping_loads(
    placement: Placement,
    recording: Recording,
    collector: str,
    hosts: Collection[str],
    targets: Collection[tuple[str, str]],
) -> Iterator[str]:
    """Yield a remark if a source of the same tool has loads at the same time: it may be the same run, unless it is of
    other machines than `hosts`, or of other devices, ports or volumes than `targets`, those of the file; empty: not
    known."""
    if not placement.steps or placement.first is None or placement.last is None:
        return
    for source, begin, end in steps_of_tool(recording, collector, *hosts):
        overlap_us = min(end, placement.last) - max(begin, placement.first)
        if overlap_us <= _LEAST_OVERLAP * min(end - begin, placement.last - placement.first):
            continue
        others = _targets(recording, source)
        if not (others and targets and others.isdisjoint(targets)):
            yield f"{source} has loads at the same time: if both files are of one run, it is now counted twice"
            return


def _targets(recording: Recording, source: str) -> set[tuple[str, str]]:
    links = (item for name, _, item in recording.inventory() if name == source and isinstance(item, SourceLink))
    return {link.to_end for link in links if link.relation == "targets"}


def assumed_zone(placement: Placement, clock: ResultClock) -> Iterator[str]:
    """Yield a remark if the file's times are local, and their zone is that of this machine for want of another."""
    if clock == "local" and placement.zone is None and placement.first is not None and not placement.marks:
        offset = datetime.fromtimestamp(placement.first / 1e6).astimezone().isoformat()[-6:]
        yield f"its times have no zone: that of this machine is assumed, UTC{offset}; --utc-offset names another"


def doubled_hour(placement: Placement, clock: ResultClock) -> Iterator[str]:
    """Yield a remark if the file begins at a local time that came twice, and does not show which of them it was."""
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


def unused_options(placement: Placement, clock: ResultClock, requested: Placement) -> Iterator[str]:
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


def limits_of_others(recording: Recording, collector: str) -> tuple[int, int] | None:
    """Return when everything in the recording but runs of the same tool began and ended. None: there is nothing
    else."""
    same_tool = _sources_of_tool(recording, collector)
    polls = [poll for poll in recording.polls() if poll.source not in same_tool]
    if not polls:
        return None
    began = min(poll.started for poll in polls)
    imported = (event.seen for s, event in recording.events() if event.name == "imported" and s not in same_tool)
    # The poll of an import has no duration.
    return began, max(*(poll.ended for poll in polls), *imported, began)


def outside_recording(placement: Placement, recording: Recording, collector: str, option: str) -> Iterator[str]:
    """Yield a remark if the file lies outside of everything else in the recording but runs of the same tool.

    `option`: the option that placed it; "": none.
    """
    limits = limits_of_others(recording, collector)
    first, last = placement.first, placement.last
    if first is None or last is None or limits is None:
        return
    began, ended = limits
    gap_us = max(began - last, first - ended)
    if gap_us > 0:
        quarter_hours = -(-gap_us // QUARTER_US)
        shift = quarter_hours * QUARTER_US * (1 if last < began else -1)
        overlaps = first + shift <= ended and began <= last + shift
        hint = f"; {option} may be wrong by about {quarter_hours / 4:g} h" if overlaps and option else ""
        yield f"it lies {long_duration(gap_us / 1e6)} away from everything else in the recording{hint}"
