"""Accounts of every source and recorder, and everything that was not measured."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from sanpath.diagnosis.model import Unobserved
from sanpath.diagnosis.sources import Absence, RecorderAccount, SourceAccount
from sanpath.explanation.source_limits import coarse_sources, reported_gaps, uncounted_links
from sanpath.facts.facts import Facts
from sanpath.facts.load.load_events import dropped, has_generator, warnings
from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.table import number
from sanpath.model import Poll
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.clock import CLOCK_JUMP
from sanpath.topology.names import short_name
from sanpath.topology.paths import hosts_of, io_paths
from sanpath.topology.port_descriptions import DESCRIPTION
from sanpath.topology.topology import SAME_TRAFFIC, Topology
from sanpath.units import counted, first_of, join_names

_MAX_PORTS = 4
"""Largest number of ports, hosts or sources that are named."""


def unobserved(recording: Recording, polls: Sequence[Poll], facts: Facts) -> list[Unobserved]:
    """Sources that delivered too little or nothing, failed joins, and parts of the path without a source."""
    _, doubts = warnings(facts.steps, facts.events)
    sources_by_text: dict[str, list[str]] = {}
    for source, text in doubts:
        sources_by_text.setdefault(text, []).append(source)
    doubtful = [Unobserved(first_of(sources, _MAX_PORTS), text, "") for text, sources in sources_by_text.items()]
    return [
        *_dropped_samples(facts),
        *_absent_recorders(facts),
        *_clock_jumps(facts),
        *_incomplete_sources(recording, polls),
        *_unjoined(facts.topology),
        *_hosts_by_traffic(facts.topology),
        *_machines_by_traffic(facts.topology),
        *_described_cables(facts.topology),
        *_unobserved_load(facts),
        *_unobserved_fabric(facts),
        *_unobserved_array(facts, recording.sample_kinds()),
        *_unobserved_links(facts),
        *uncounted_links(facts, recording.declarations),
        *coarse_sources(facts),
        *reported_gaps(facts.events),
        *_unplaced(facts),
        *doubtful,
    ]


def iso(microseconds: int) -> str:
    """A time in ISO 8601, UTC, to the millisecond."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def accounts(
    recording: Recording, polls: Sequence[Poll], clocks: Mapping[str, ClockOffset]
) -> tuple[SourceAccount, ...]:
    """One account for each source. `clocks`: source → the known offset of its clock."""
    read_by = {s.name: start.header.recorder or None for start in recording.starts for s in start.header.sources}
    source_accounts = []
    for declaration in recording.declarations:
        source_polls = [p for p in polls if p.source == declaration.name]
        completed = [p for p in source_polls if p.outcome != "skipped"]
        clock = clocks.get(declaration.name)
        failed = [p for p in completed if p.outcome in ("failed", "partial")]
        source_accounts.append(
            SourceAccount(
                name=declaration.name,
                kind=declaration.collector,
                polls=len(completed),
                failures=len(failed),
                gaps=len(source_polls) - len(completed),
                clock_offset_seconds=clock.seconds if clock is not None else None,
                cost_seconds=sum(p.ended - p.started for p in completed) / 1e6,
                requests=sum(p.requests for p in completed),
                last_failure=failed[-1].message if failed else "",
                every_seconds=declaration.every_seconds,
                last_answer=iso(max(p.ended for p in completed if p.rows))
                if any(p.rows for p in completed)
                else None,
                clock_uncertainty_seconds=clock.uncertainty_seconds if clock is not None else None,
                clock_told_by=clock.compared_by if clock is not None else None,
                recorder=read_by.get(declaration.name),
            )
        )
    return tuple(source_accounts)


def _dropped_samples(facts: Facts) -> list[Unobserved]:
    """Samples that are missing because of their age: deleted from the recording, or not read."""
    if (oldest := dropped(facts.events)) is None:
        return []
    before, reason = oldest
    return [Unobserved(f"samples before {iso(before)}", reason, "earlier steps are not judged")]


def recorders(facts: Facts) -> tuple[RecorderAccount, ...]:
    """One account for each recorder, in the order in which they began."""
    return tuple(
        RecorderAccount(
            name=recorder.name,
            host=recorder.host,
            sources=recorder.sources,
            starts=recorder.starts,
            began=iso(recorder.first_us),
            last=iso(recorder.last_us),
            ended=recorder.ended,
            clock_offset_seconds=recorder.offset_seconds,
            clock_uncertainty_seconds=recorder.uncertainty_seconds,
            absences=tuple(
                Absence(iso(gap.since_us), None if gap.until_us is None else iso(gap.until_us), gap.kind, gap.sources)
                for gap in facts.absences
                if gap.recorder == recorder.name
            ),
        )
        for recorder in facts.recorders
    )


_ABSENCES = {
    "joined": "the recorder {who} joined after the load had begun",
    "restarted": "the recorder {who} was killed or cut off, and started again",
    "stopped": "the recorder {who} was killed or cut off, and did not come back",
    "ended": "the recorder {who} was ended before the load",
}


def _absent_recorders(facts: Facts) -> Iterator[Unobserved]:
    """Periods in which a recorder did not run."""
    for gap in facts.absences:
        since = iso(gap.since_us)
        period = f"from {since} on" if gap.until_us is None else f"from {since} to {iso(gap.until_us)}"
        yield Unobserved(
            f"{', '.join(gap.sources)} {period}",
            _ABSENCES[gap.kind].format(who=gap.recorder),
            "nothing in that period was judged; counters that kept counting give its mean",
        )


def _clock_jumps(facts: Facts) -> Iterator[Unobserved]:
    """Steps of the recorder's wall clock.

    They do not affect the times in the recording, but they do affect people's notes and logs.
    """
    details = [(event.seen, event.detail.get("seconds")) for _, event in facts.events if event.name == CLOCK_JUMP]
    jumps = [(time_us, seconds) for time_us, seconds in details if isinstance(seconds, int | float)]
    if not jumps:
        return
    offsets = sorted(seconds for _, seconds in jumps)
    words = (
        f"{offsets[0]:+,.1f} s"
        if len(offsets) == 1
        else f"{offsets[0]:+,.1f} to {offsets[-1]:+,.1f} s, {len(offsets)} times"
    )
    yield Unobserved(
        f"the wall clock of the recorder at {iso(jumps[0][0])}",
        f"it was stepped by {words}, or the machine was suspended",
        "recorded times are not affected, but later times in notes and logs differ from them by this amount",
    )


def _incomplete_sources(recording: Recording, polls: Sequence[Poll]) -> list[Unobserved]:
    """Sources that failed, were late or left something out, and segments that cannot be read."""
    incomplete = []
    for declaration in recording.declarations:
        name = f"source {declaration.name}"
        source_polls = [p for p in polls if p.source == declaration.name]
        complete = [p for p in source_polls if p.outcome == "ok"]
        failed = [p for p in source_polls if p.outcome in ("failed", "partial")]
        skipped = [p for p in source_polls if p.outcome == "skipped"]
        if not source_polls:
            incomplete.append(Unobserved(name, "none of its polls was recorded", "its data may be missing"))
        elif failed and not complete:
            incomplete.append(Unobserved(name, failed[-1].message, "its data was not judged"))
        elif failed or skipped:
            reason = failed[-1].message if failed else skipped[-1].message
            missing = {"failed poll": len(failed), "gap": len(skipped)}
            counts = " and ".join(counted(number, noun) for noun, number in missing.items() if number)
            effect = "steps with fewer than four complete windows get confidence C"
            incomplete.append(Unobserved(f"{name}, {counts}", reason, effect))
    damaged = [
        Unobserved(f"segment {name}", "damaged, or not in this format", "its samples are missing")
        for name in sorted(recording.unreadable)
    ]
    altered = [
        Unobserved(name, "was changed after it was written", "its current content is used")
        for name in sorted(recording.altered)
    ]
    return incomplete + damaged + altered


def _unjoined(topology: Topology) -> list[Unobserved]:
    return [Unobserved(u.subject, u.reason, "its traffic is not attributed to anything") for u in topology.unjoined]


def _hosts_by_traffic(topology: Topology) -> Iterator[Unobserved]:
    """Hosts that only an array reports, and that are assumed to be those of loads."""
    inferred = {
        link.from_entity: text.partition(": ")[2]
        for link in topology.links
        for text in link.evidence
        if link.relation == "targets" and text.startswith(SAME_TRAFFIC)
    }
    for load, evidence in inferred.items():
        for host in hosts_of(topology, load)[:1]:
            entity = topology.entities[host]
            names = [local_id for _, local_id in entity.known_as if local_id != entity.label]
            yield Unobserved(
                f"the host of {load}",
                f"only an array reports it: {evidence}",
                f"its volumes and adapters are assumed to be those of the test; to confirm this, write "
                f"{load} runs_on host:{(names or [entity.label])[0]} under links in sanpath.yaml",
            )


def _machines_by_traffic(topology: Topology) -> Iterator[Unobserved]:
    """Machines that a load's results do not name, found by the bytes of their devices."""
    mark = f": {SAME_TRAFFIC}: "
    for link in topology.links:
        text = next((text for text in link.evidence if mark in text), None)
        if link.relation == "runs_on" and text is not None:
            machine = topology.entities[link.to_entity].label
            yield Unobserved(
                f"the machine of {link.from_entity}",
                f"its result names no machine: {text.partition(mark)[2]}",
                f"{machine} is assumed; to confirm this, import the result with --host {machine}",
            )


def _described_cables(topology: Topology) -> Iterator[Unobserved]:
    """Cables on the loads' paths that are known only from a port's description."""
    loads = [entity.id for entity in topology.of_kind("load")]
    on_path = {cable.switch_port for path in io_paths(topology, *loads) for cable in path.cables}
    ports = {
        topology.entities[link.from_entity].label
        for link in topology.links
        if link.from_entity in on_path and any(text.startswith(DESCRIPTION) for text in link.evidence)
    }
    if ports:
        why = f"known from port descriptions only: {first_of(sorted(ports), _MAX_PORTS)}"
        yield Unobserved("cables of the path", why, "an outdated description would name the wrong port")


def _unplaced(facts: Facts) -> list[Unobserved]:
    """Sources that cannot be placed in time by the load: imported files, and sources read with an unknown clock."""
    by_its_file = "its times come from the file alone: its samples may belong to another step"
    left_out = "its data was not judged"
    return [
        Unobserved(f"the clock of {source.source}", source.reason, left_out if source.left_out else by_its_file)
        for source in facts.unplaced
    ]


def _unobserved_load(facts: Facts) -> Iterator[Unobserved]:
    """The load, if no source reports it itself: a host or an array stands in."""
    roots = list(dict.fromkeys(root for load in facts.loads for root in load.roots))
    if any(load.seen_at_array for load in facts.loads):
        counted_for = first_of([short_name(root) for root in roots], _MAX_PORTS)
        yield Unobserved(
            "the load",
            f"no load generator and no host was read: the array's counters for {counted_for} stand in",
            "its latency and outstanding I/Os do not include waits above the array",
        )
    elif machines := {root.partition(":")[0] for root in roots} & {"host", "vm"}:
        state = "the load generator reported nothing" if has_generator(facts.events) else "no load generator was read"
        machine = "host" if "host" in machines else "virtual machine"
        reason = f"{state}: the I/O of its {machine} is taken as the load"
        yield Unobserved("the load", reason, "its configured queue depth is not known")


def _unobserved_fabric(facts: Facts) -> Iterator[Unobserved]:
    """The fabric, if no link of the path has known bytes."""
    links, roots = facts.tables["link"], (root for load in facts.loads for root in load.roots)
    if not links.rows and any(path.cables for path in io_paths(facts.topology, *roots)):
        consequence = "a link is named only where throughput levels off at its data rate"
        yield Unobserved("the fabric", "the bytes of its links are not measured", consequence)
    elif not links.rows:
        yield Unobserved("the fabric", "no switch port is known on the path of the test", "no link was judged")


def _unobserved_array(facts: Facts, sampled: Collection[str]) -> Iterator[Unobserved]:
    """The array, if no step has its latency. `sampled`: kinds of which the recording has samples."""
    if facts.tables["array"].rows or facts.tables["volume"].rows:
        return
    is_read = "array" in sampled or "volume" in sampled
    reason = "none of its samples lies within a step" if is_read else "no array reports its latency"
    remedy = ": poll it more often, or make the steps longer than its averages" if is_read else ""
    yield Unobserved("the array", reason, f"it is judged by the clocks around it alone, and never cleared{remedy}")


def _unobserved_links(facts: Facts) -> Iterator[Unobserved]:
    """Links without known speed, with counters that miss bytes, and without credit."""
    links = facts.tables["link"]
    for row in links.select(direction="read", capacity_bytes_per_second=None):
        if row["down"]:
            continue
        speed = number(row, "negotiated_bits_per_second")
        reason = f"counts more bytes than its {speed / 1e9:g} Gb/s can carry" if speed else "its speed is not known"
        yield Unobserved(f"{row['entity']} in step {row['step']}", reason, "its utilisation is not known")
    wrong = links.select(miscounts=True)
    for entity, port in dict.fromkeys((row["entity"], str(row["near_port"])) for row in wrong):
        sources = dict.fromkeys(source for source, _ in facts.topology.entities[port].known_as)
        reason = f"its counter, read from {join_names(list(sources))}, misses bytes that crossed the link"
        yield Unobserved(str(entity), reason, "it is judged by its speed and the load's bytes")
    if links.rows and all(row["credit_stall_ratio"] is None for row in links.rows):
        pauses = ("pause_frames_per_second_rx", "pause_frames_per_second_tx")
        with_pauses = any(row[name] is not None for row in facts.tables["switch_port"].rows for name in pauses)
        reason = f"no source reports buffer credits{'' if with_pauses else ' or pause frames'}"
        yield Unobserved("credit stall", reason, "a slow-drain device elsewhere on the fabric would go unnoticed")
