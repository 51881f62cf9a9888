"""What was observed and what was not: the account of every source, and everything that could not be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from sanpath.facts.compute import Facts
from sanpath.facts.load.load_events import dropped, warnings
from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.table import number
from sanpath.model import Poll
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.clock import CLOCK_JUMP
from sanpath.topology.identity import Topology
from sanpath.topology.paths import io_paths
from sanpath.verdict.accounts import Absence, RecorderAccount, SourceAccount
from sanpath.verdict.evidence.step import unseen_between
from sanpath.verdict.explanation.source_limits import admitted, coarse
from sanpath.verdict.model import Unobserved


def unobserved(recording: Recording, polls: Sequence[Poll], facts: Facts) -> list[Unobserved]:
    """Sources that gave nothing or too little, joins that were not found, and parts of the path without a source."""
    _, doubts = warnings(facts.steps, facts.events)
    odd = [Unobserved(f"part of {source}", text, "its figures may be off") for source, text in doubts]
    return [
        *_dropped(facts),
        *_absent(facts),
        *_jumps(facts),
        *_unread(recording, polls),
        *_unjoined(facts.topology),
        *_blind(facts),
        *coarse(facts),
        *admitted(facts.events),
        *_unplaced(facts),
        *odd,
    ]


def iso(microseconds: int) -> str:
    """A time for people and programs: ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def accounts(
    recording: Recording, polls: Sequence[Poll], clocks: Mapping[str, ClockOffset]
) -> tuple[SourceAccount, ...]:
    """One for each source. `clocks`: source → its offset, where one is known."""
    read_by = {s.name: start.header.recorder or None for start in recording.starts for s in start.header.sources}
    found = []
    for declaration in recording.declarations:
        own = [p for p in polls if p.source == declaration.name]
        done = [p for p in own if p.outcome != "skipped"]
        clock = clocks.get(declaration.name)
        failed = [p for p in done if p.outcome in ("failed", "partial")]
        found.append(
            SourceAccount(
                declaration.name,
                declaration.collector,
                len(done),
                len(failed),
                len(own) - len(done),
                clock.seconds if clock is not None else None,
                sum(p.ended - p.started for p in done) / 1e6,
                sum(p.requests for p in done),
                failed[-1].message if failed else "",
                declaration.every_seconds,
                iso(max(p.ended for p in done if p.rows)) if any(p.rows for p in done) else None,
                clock.uncertainty_seconds if clock is not None else None,
                clock.compared_by if clock is not None else None,
                read_by.get(declaration.name),
            )
        )
    return tuple(found)


def _dropped(facts: Facts) -> list[Unobserved]:
    """Samples that were too old to be kept, or to be read here."""
    if (found := dropped(facts.events)) is None:
        return []
    before, why = found
    return [Unobserved(f"samples before {iso(before)}", why, "steps before it are not judged")]


def recorders(facts: Facts) -> tuple[RecorderAccount, ...]:
    """One for each recorder, in the order in which they began."""
    return tuple(
        RecorderAccount(
            who.name,
            who.host,
            who.sources,
            who.starts,
            iso(who.first_us),
            iso(who.last_us),
            who.ended,
            who.offset_seconds,
            who.uncertainty_seconds,
            tuple(
                Absence(iso(gap.since_us), None if gap.until_us is None else iso(gap.until_us), gap.kind, gap.sources)
                for gap in facts.absences
                if gap.recorder == who.name
            ),
        )
        for who in facts.recorders
    )


_WAYS = {
    "joined": "the recorder {who} joined when the load had begun",
    "restarted": "the recorder {who} was killed or cut off, and started again",
    "stopped": "the recorder {who} was killed or cut off, and did not come back",
    "ended": "the recorder {who} was ended before the load",
}


def _absent(facts: Facts) -> Iterator[Unobserved]:
    """Times in which a recorder was not there."""
    for gap in facts.absences:
        since = iso(gap.since_us)
        when = f"from {since} on" if gap.until_us is None else f"from {since} to {iso(gap.until_us)}"
        yield Unobserved(
            f"{', '.join(gap.sources)} {when}",
            _WAYS[gap.kind].format(who=gap.recorder),
            "nothing that they knew then was judged; counters that went on tell the mean of it",
        )


def _jumps(facts: Facts) -> Iterator[Unobserved]:
    """The wall clock of whoever recorded was set: no time of the recording follows it, other people's notes do."""
    told = [(event.seen, event.detail.get("seconds")) for _, event in facts.events if event.name == CLOCK_JUMP]
    jumps = [(seen, seconds) for seen, seconds in told if isinstance(seconds, int | float)]
    if not jumps:
        return
    by = sorted(seconds for _, seconds in jumps)
    often = f"{by[0]:+,.1f} s" if len(by) == 1 else f"{by[0]:+,.1f} to {by[-1]:+,.1f} s, {len(by)} times"
    yield Unobserved(
        f"the wall clock of the recorder at {iso(jumps[0][0])}",
        f"it was set by {often}, or the machine slept",
        "times go on as if it had not been: notes and logs by the wall clock are off by that afterwards",
    )


def _unread(recording: Recording, polls: Sequence[Poll]) -> list[Unobserved]:
    """Sources that failed, were late or left things out, and segments that cannot be read."""
    found = []
    for declaration in recording.declarations:
        own = [p for p in polls if p.source == declaration.name]
        good = [p for p in own if p.outcome == "ok"]
        bad = [p for p in own if p.outcome in ("failed", "partial")]
        late = [p for p in own if p.outcome == "skipped"]
        if not own:
            found.append(
                Unobserved(
                    f"source {declaration.name}",
                    "no poll of it was recorded",
                    f"what {declaration.name} knows may be missing",
                )
            )
        elif bad and not good:
            found.append(
                Unobserved(
                    f"source {declaration.name}", bad[-1].message, f"nothing that {declaration.name} knows was judged"
                )
            )
        elif bad or late:
            reason = bad[-1].message if bad else late[-1].message
            what = f"source {declaration.name}, {len(bad)} failed polls and {len(late)} gaps"
            found.append(Unobserved(what, reason, "steps with fewer than four whole windows are graded C"))
    damaged = [
        Unobserved(f"segment {name}", "damaged or not ours", "its samples are missing")
        for name in sorted(recording.unreadable)
    ]
    altered = [
        Unobserved(name, "was changed after it was written", "it is taken as it is now")
        for name in sorted(recording.altered)
    ]
    return found + damaged + altered


def _unjoined(topology: Topology) -> list[Unobserved]:
    return [Unobserved(u.subject, u.reason, "its traffic is not attributed to anything") for u in topology.unjoined]


def _unplaced(facts: Facts) -> list[Unobserved]:
    """What the edges of the load cannot place: imported files, and what recorders of unknown clocks have read."""
    as_said = "where it lies in time is as its file says: it may belong to another step"
    left_out = "nothing that it says was judged"
    return [
        Unobserved(f"the clock of {one.source}", one.reason, left_out if one.left_out else as_said)
        for one in facts.unplaced
    ]


def _blind(facts: Facts) -> list[Unobserved]:
    """Parts of the path that no source observes."""
    found = []
    if any(root.startswith("host:") for load in facts.loads for root in load.roots):
        why = "no load generator was read: what its host counts is taken for the load"
        found.append(Unobserved("the load", why, "its configured queue depth is not known"))
    if not facts.tables["link"].rows:
        known = any(path.cables for path in io_paths(facts.topology, *(r for f in facts.loads for r in f.roots)))
        why = "the bytes of its links are not measured" if known else "no switch port is joined to the loaded path"
        only = "a link is named only where throughput stands still at what it carries"
        found.append(Unobserved("the fabric", why, only if known else "no link was judged"))
    if not facts.tables["array"].rows and not facts.tables["volume"].rows:
        found.append(
            Unobserved("the array", "no array reports its latency", "the array is neither blamed nor cleared")
        )
    for row in facts.tables["link"].select(direction="read", capacity_bytes_per_second=None):
        speed = row["negotiated_bits_per_second"]
        why = f"counts more bytes than its {number(row, 'negotiated_bits_per_second') / 1e9:g} Gb/s can carry"
        found.append(
            Unobserved(
                f"{row['entity']} in step {row['step']}",
                why if speed else "its speed is not known",
                "how full it was is not known",
            )
        )
    loads = {root for load in facts.loads for root in load.roots}
    why = "its bytes are not measured: neither end is read"
    found += [Unobserved(link, why, "it may be full") for link in unseen_between(facts, loads)]
    told = [row for row in facts.tables["link"].rows if row["credit_stall_ratio"] is not None]
    if facts.tables["link"].rows and not told:
        why = "no source reports buffer credits or pause frames"
        found.append(Unobserved("credit stall", why, "a slow device elsewhere on the fabric would not be seen"))
    return found
