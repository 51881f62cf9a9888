"""The verdict in one line of at most 12 words."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.diagnosis.experiment import SUSPECT_WORDS
from sanpath.diagnosis.model import Bottleneck, Diagnosis, ElementUse, StepResult
from sanpath.summary.busy_processors import busy_machine
from sanpath.summary.names import described, noun_of, possible_places, queue_names, readable, with_owner
from sanpath.summary.step_figures import in_flight, use_of
from sanpath.topology.paths import loads_with_machine, targets_of
from sanpath.topology.topology import Topology
from sanpath.units import bandwidth, count, counted, iops, percent_likely, percent_rounded
from sanpath.verdict.model import MIN_PROBABILITY

_FULL_LINK_RATIO = 0.8
"""Utilisation from which the link to a slow device is called saturated: sanpath's own choice. The link to a
slow-drain device is idle while the device returns no credits."""
_FULL_QUEUE_RATIO = 0.95
"""Share of its slots in use from which a queue is called full, as in the rule lun-queue-limits."""
_NEARLY_FULL_RATIO = 0.8
"""Share from which a queue is called nearly full: sanpath's own choice. A queue with a smaller share has a lower
limit than its slots."""
_MAX_WORDS = 12
"""Largest number of words that people read at a glance: sanpath's own choice."""
_MEMORY_RULE = "test-answered-by-cache"


def verdict_line(diagnosis: Diagnosis, topology: Topology, step: StepResult) -> str:
    """The verdict in a line. `step`: the step that it comes from."""
    text = _words(diagnosis, topology, step)
    if (times := _time_share(diagnosis.verdict.bottlenecks)) and not text.endswith(")"):
        text = _fitting(f"{text}, {times}", text)
    return f"{text[:1].upper()}{text[1:]}" if text.startswith(("link ", "something ")) else text


def _words(diagnosis: Diagnosis, topology: Topology, step: StepResult) -> str:
    verdict = diagnosis.verdict
    first = verdict.bottlenecks[0] if verdict.bottlenecks else None
    reached = iops(step.ops_per_second)
    cleared = ": nothing on the path is saturated" if _path_is_cleared(diagnosis) else ""
    match verdict.kind:
        case "bottleneck" if first is not None:
            return _bottleneck(diagnosis, topology, first, step)
        case "configured_cap" if first is not None:
            limit_kind = {"vdisk": "IOPS limit", "cgroup": "Limit", "host": "Limit"}.get(first.kind, "QoS limit")
            subject = f"{limit_kind} of {described(topology, first.entity)}"
            rate = sum(result.bytes_per_second for result in step.directions.values())
            if (limit := _configured_limit(topology, first.entity, rate, step.ops_per_second)) is not None:
                return f"{subject} is reached ({limit})"
            if len(targets_of(topology, *loads_with_machine(topology))[1]) > 1:
                return f"{subject} is reached"  # The test's throughput is not what this single volume allows.
            return _fitting(f"{subject} is reached: {bandwidth(rate)}, {reached}", f"{subject} is reached")
        case "concurrency_limited":
            if (flushes := step.in_flight.flushes) > in_flight(step):
                return f"The load waits for flushes: {count(flushes)} outstanding at any time"
            return f"Too few outstanding I/Os ({count(in_flight(step))}){cleared}"
        case "demand_limited":
            return f"The load asks for no more than {reached}"
        case "generator_limited":
            whose = "The load generator" if busy_machine(diagnosis) is None else "The load generator's machine"
            return f"{whose} is CPU-bound{cleared}"
        case "healthy":
            return f"Healthy: the requested {reached} are served with headroom"
        case _ if _is_answered_by_memory(diagnosis):
            return "Not a test of the storage: memory answers the I/Os"
        case _:
            return _unproven(diagnosis, topology)


def _configured_limit(topology: Topology, entity: str, bytes_per_second: float, ops_per_second: float) -> str | None:
    """The configured limit of an array's volume or host, in words; of two, the one with the higher utilisation.

    None: it was not read, or it may be its volume group's.
    """
    attributes = topology.entities[entity].attributes if entity in topology.entities else {}
    used = {
        words(limit): rate / limit
        for name, rate, words in (
            ("qos_bytes_per_second", bytes_per_second, bandwidth),
            ("qos_ops_per_second", ops_per_second, iops),
        )
        if isinstance(limit := attributes.get(name), int | float) and limit and not attributes.get(f"group_{name}")
    }
    return max(used, key=used.__getitem__, default=None)


def _is_answered_by_memory(diagnosis: Diagnosis) -> bool:
    step = diagnosis.verdict.from_step
    return any(f.rule == _MEMORY_RULE and f.outcome == "hit" and step in f.steps for f in diagnosis.findings)


def _time_share(bottlenecks: Sequence[Bottleneck]) -> str:
    """Share of the time for which the first bottleneck limits, in words; "": all of it."""
    ratio = bottlenecks[0].time_ratio if bottlenecks else None
    return "" if ratio is None else f"{percent_rounded(ratio)} of the time"


def _path_is_cleared(diagnosis: Diagnosis) -> bool:
    """Whether anything below the load was measured and is not the problem."""
    return any(not cleared.entity.startswith("load:") for cleared in diagnosis.cleared)


def _bottleneck(diagnosis: Diagnosis, topology: Topology, first: Bottleneck, step: StepResult) -> str:
    name = readable(first.entity)
    match first.kind:
        case "link" if first.is_one_of_several:
            return f"One of {possible_places(first)} is saturated ({first.direction}s); none was measured"
        case "link":
            use = use_of(diagnosis, first.entity, first.direction)
            speed = _speed(use)
            utilisation = (
                f"{percent_rounded(use.utilisation)} utilised, "
                if use is not None and use.utilisation is not None
                else ""
            )
            if times := _time_share([first]):
                return f"{speed}link {name} is saturated {times} ({first.direction}s)"
            return f"{speed}link {name} is saturated ({utilisation}{first.direction}s)"
        case "path_policy" if not first.coincident:
            return f"I/Os of {name} use paths that are not optimised"
        case "path_policy":
            return _in_turn(diagnosis, first)
        case "credit_stall" if (first.utilisation or 0.0) >= _FULL_LINK_RATIO:
            return f"Saturated link to {_device(topology, first)} backs up the fabric"
        case "credit_stall" if (first.culprit or "").startswith("switch:"):
            return f"Switch {readable(first.culprit or first.entity)} pauses its peers: the fabric backs up behind it"
        case "credit_stall" if first.culprit is None:
            return f"Link {name} has too few buffer credits"
        case "credit_stall":
            return f"Slow-drain device {_device(topology, first)} stalls the fabric"
        case "data_sheet":
            return f"{name} is at the limit that was entered for it ({percent_rounded(first.utilisation or 1.0)})"
        case "retries" if first.entity.startswith("path:"):
            return f"Path {name} fails: its I/Os wait for time-outs"
        case "retries" if first.coincident:
            return f"One of {possible_places(first)} loses frames: retries add latency"
        case "retries":
            return _capitalised(f"{described(topology, first.entity)} loses frames: retries add latency", first)
        case "tcp_window":
            return f"TCP window of {name} is full"
        case "io_thread":
            return f"Thread that serves the disk of {described(topology, first.entity)} is saturated"
        case "io_stack" if first.wait_at not in (None, first.entity):
            name = described(topology, first.entity)
            return f"I/Os wait in {name} between {described(topology, first.wait_at)} and its parts"
        case "io_stack":
            return f"I/Os wait in {described(topology, first.entity)} above its block device"
        case "core" if first.utilisation is None:
            return _capitalised(f"{described(topology, first.entity)} is slow to read received data", first)
        case "core":
            return f"One processor core of {name} is saturated"
        case "pcie":
            return f"PCIe lanes of {noun_of(topology, first.entity)} {with_owner(first.entity)} are saturated"
        case "lun" | "hba" | "vdisk":
            noun = noun_of(topology, first.entity)
            name, names = f"{noun} {with_owner(first.entity)}", queue_names(noun, diagnosis.verdict.bottlenecks)
            full, slots = _fullness(first, step)
            alone = _fitting(f"Queue of {name} is {full}{slots}", f"Queue of {name} is {full}")
            if names == name:
                return alone
            together = f"Queues of {names} are {full}"
            return _fitting(f"{together}{slots}", _fitting(together, alone))
        case "drive" if first.coincident:
            also = counted(len(first.coincident), "other")
            return f"Drive {with_owner(first.entity)} and {also} are saturated ({first.direction}s)"
        case "drive":
            return f"Drive {with_owner(first.entity)} is saturated ({first.direction}s)"
        case _:
            return _array(topology, first, step)


def _in_turn(diagnosis: Diagnosis, first: Bottleneck) -> str:
    """Paths that are used one at a time, with the links of the host and their use."""
    # A link that no switch reports is named by its initiator port.
    ends = [link.partition(":")[2].partition("--")[0] for link in first.coincident]
    hosts = {end.partition("/")[0] for end in ends if "/" in end}
    uses = [use_of(diagnosis, link, first.direction) for link in first.coincident]
    ratios = [use.utilisation for use in uses if use is not None and use.utilisation is not None]
    if len(hosts) != 1:
        return "The paths are used one at a time, not side by side"
    text = f"{hosts.pop()} uses one of {counted(len(first.coincident), 'link')} at a time"
    return _fitting(f"{text} ({percent_rounded(sum(ratios))} together)", text) if len(ratios) == len(ends) else text


def _device(topology: Topology, first: Bottleneck) -> str:
    """The culprit with its host, unless its own name contains the host."""
    culprit = first.culprit or first.entity
    hosts = topology.related(culprit, "attached_to", "host") if culprit in topology.entities else []
    name = readable(culprit)
    return f"{name} of {readable(hosts[0])}" if hosts and readable(hosts[0]) not in name else name


def _fullness(first: Bottleneck, step: StepResult) -> tuple[str, str]:
    """Whether a queue is full, or nearly so, and its slots, each in words. That a queue of unknown depth is full is
    concluded from where I/Os wait."""
    planes = [p for p in step.in_flight.planes if p.entity == first.entity and p.admitted]
    if not planes:
        return "probably full", ""
    slots = planes[0].admitted or 0.0
    used = sum(p.measured[1] + p.others for p in planes if p.plane == planes[0].plane)
    if _NEARLY_FULL_RATIO <= used / slots < _FULL_QUEUE_RATIO:
        return "nearly full", f" ({used:.0f} of {count(slots)})"
    # A limit below the reported depth may hold the I/Os back.
    return "full", f" ({counted(slots if used >= _FULL_QUEUE_RATIO * slots else used, 'slot')})"


def _array(topology: Topology, first: Bottleneck, step: StepResult) -> str:
    name, result = described(topology, first.entity), step.directions.get(first.direction)
    if result is not None and first.slows_below(result.ops_per_second):
        return _capitalised(f"{name} slows down under sustained load", first)
    rate = first.ceiling_ops_per_second or (result.ops_per_second if result is not None else None)
    reached = f" at {rate:,.0f} {first.direction} IOPS" if rate else f" ({first.direction}s)"
    # An unread array is named by the first of its ports.
    if first.entity.startswith("array_port:"):
        name = f"array behind port {readable(first.entity)}"
    if first.by_exclusion:
        return _capitalised(f"{name} limits{reached}, by exclusion", first)
    # The back end is what is meant by an array unless something else is said.
    if first.layer == "array_front" and not first.entity.startswith("array_port:"):
        name = f"front end of {name}"
    return _capitalised(f"{name} is saturated{reached}", first)


def _capitalised(text: str, first: Bottleneck) -> str:
    """The text with a capital first letter, unless it begins with the element's own name, such as array1."""
    return text if text.startswith(readable(first.entity)) else f"{text[:1].upper()}{text[1:]}"


def _unproven(diagnosis: Diagnosis, topology: Topology) -> str:
    if not diagnosis.verdict.suspects:
        return "Bottleneck not proven: too little was measured"
    first = diagnosis.verdict.suspects[0]
    name = first.place or SUSPECT_WORDS.get(first.verdict, "something not measured")
    if first.kind == "path_policy":
        name = "the path policy"
    elif first.entity is not None and first.kind != "unseen":
        name = described(topology, first.entity)
        # An unread array is named by the first of its ports.
        if first.entity.startswith("array_port:") and first.kind != "link":
            name = f"array behind port {readable(first.entity)}"
    what, short = "Bottleneck not proven; most likely", "Most likely"
    if first.place:
        # What is there was not read, but the place may be as good as certain.
        is_certain = first.probability >= MIN_PROBABILITY["A"]
        what, short = ("The limit is", "Limit:") if is_certain else ("Not proven; most likely", short)
    return _fitting(*(f"{beginning} {name} ({percent_likely(first.probability)})" for beginning in (what, short)))


def _fitting(line: str, shorter: str) -> str:
    return line if len(line.split()) <= _MAX_WORDS else shorter


def _speed(use: ElementUse | None) -> str:
    """The speed in words: 4GFC is a link of 4 Gb/s; the technology is left out."""
    if use is None or use.speed is None:
        return ""
    return (
        f"{use.speed.removesuffix('GFC')} Gb/s "
        if use.speed.endswith("GFC")
        else f"{use.speed.removesuffix(' Ethernet')} "
    )
