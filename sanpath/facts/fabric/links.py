"""Facts of links: utilisation against the data rate, share of the test's bytes, and the ceiling that follows.

Ceiling of the test at a link (utilisation law), in payload: (capacity x full ratio - bytes of others) / share of the
test's bytes. The shares are measured, so it holds for any path policy as long as the mix stays what it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from sanpath.catalogue.capacity import Capacity, Technology, counted_per_payload, full_ratio, link_capacity
from sanpath.facts.fabric.test_shares import (
    LOADED,
    OVERHEAD_TOLERANCE,
    Shares,
    cables_of_test,
    crossings,
    on_loaded_path,
    operations_by_target,
    other_path_idle,
    shares_of_test,
)
from sanpath.facts.host.under_test import platform_of_hosts
from sanpath.facts.host.usable_paths import usable_ways
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactRow
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.topology.identity import Topology
from sanpath.topology.open_ends import open_ends
from sanpath.topology.paths import Cable, IoPath, cables, io_paths, switch_of

FULL = 0.95
"""A window counts as full from this share of what a full link reads; the limit of the rule link-full."""
_ABOVE_FULL = 1.01
"""Windows above this share of what a full link reads are an artefact of the agent's cache or of late polls."""
ABOVE_LINE_RATE = 1.05
"""A whole step above it is no artefact: then the agent names a wrong speed, and utilisation is not known."""


_Counted = Mapping[tuple[str, str, str], StepSamples]
"""(step, source, entity) → what was sampled of a switch port."""


@dataclass(frozen=True, slots=True)
class _Port:
    """The switch port of a cable in one step. `far`: the port at the other end of a link between switches."""

    cable: Cable
    technology: Technology
    capacity: Capacity | None
    negotiated: float | None
    sample: StepSamples
    far: StepSamples | None = None

    def windows(self, direction: Direction) -> list[tuple[float, float]]:
        """Bytes per second and length of each window."""
        counter = f"bytes_{self.cable.counter(direction)}_total"
        told = zip(self.sample.rates.get(counter, ()), self.sample.seconds, strict=False)
        return [(rate, seconds) for rate, seconds in told if rate is not None]

    def credit_stall(self, direction: Direction) -> float | None:
        """Share of the time in which frames of a direction waited for transmit credit; None: no port tells."""
        stalled = "credit_stall_seconds_tx_total"
        if self.cable.counter(direction) == "tx":
            return self.sample.rate(stalled)
        if self.far is not None and (told := self.far.rate(stalled)) is not None:
            return told
        return self.sample.rate("credit_stall_seconds_rx_total")

    def mean(self, direction: Direction) -> float | None:
        """Bytes per second over the step."""
        return self.sample.rate(f"bytes_{self.cable.counter(direction)}_total")

    def damage(self, counter: str) -> float | None:
        """A counter of what went wrong: whoever receives a frame counts it, so both ends are added. None: neither
        tells."""
        return _sum(port.rate(counter) for port in (self.sample, self.far) if port is not None)

    def ends_ratio(self, direction: Direction) -> float | None:
        """What the other end of a link between switches counts, over what this one does; None: one is silent."""
        if self.far is None or not (here := self.mean(direction)):
            return None
        there = self.far.rate(f"bytes_{self.cable.from_far_end.counter(direction)}_total")
        return None if there is None else there / here

    def counted_ratio(self) -> float | None:
        """Bytes of the busier direction over the data rate, however impossible; None: not counted, or no speed."""
        counted = [mean for direction in DIRECTIONS if (mean := self.mean(direction)) is not None]
        capacity = link_capacity(self.technology, self.negotiated) if self.negotiated else None
        return max(counted) / capacity.data_bytes_per_second if counted and capacity is not None else None


def merged(windows: Sequence[tuple[float, float]], limit: float) -> list[tuple[float, float]]:
    """(rate, seconds) windows with each one above `limit` joined to its neighbours until it is not."""
    done: list[tuple[float, float]] = []
    for window in windows:
        rate, seconds = window
        while done and (rate > limit or done[-1][0] > limit):
            before, length = done.pop()
            rate, seconds = (rate * seconds + before * length) / (seconds + length), seconds + length
        done.append((rate, seconds))
    return done


def link_rows(
    topology: Topology,
    steps: Sequence[Step],
    loads: Sequence[LoadFacts],
    samples: Mapping[str, Sequence[StepSamples]],
) -> Iterator[FactRow]:
    """One row a cable, step and direction."""
    cabled = io_paths(topology, *sorted({root for f in loads for root in f.roots}))
    paths = usable_ways(topology, loads, cabled, samples)
    between = {cable.id: cable for path in cabled for cable in path.cables if cable.side == "switch"}
    open_links = [] if cabled else open_ends(topology, sorted({root for f in loads for root in f.roots}))
    known = [*cables(topology), *between.values(), *open_links]
    mine = cables_of_test(topology, loads, paths, known)
    for cable in open_links:
        mine.setdefault(cable.group, set()).add(cable.id)
    crossed = crossings(paths)
    naa, platform = _lun_identifier(topology, loads), platform_of_hosts(topology, loads)
    counted = {(s.step, s.source, s.entity): s for s in samples.get("switch_port", ())}
    for step in steps:
        ports = [p for cable in known if (p := _seen_port(topology, cable, step, counted)) is not None]
        for direction in DIRECTIONS:
            load = next((f for f in loads if f.step == step.name and f.direction == direction), None)
            sizes = {p.cable: size for p in ports if (size := p.mean(direction)) is not None}
            shares: Shares = {}
            if load is not None:
                overhead = counted_per_payload(ports[0].technology, step.block_bytes) if ports else 0.0
                told = operations_by_target(topology, paths, samples, step.name)
                moved = load.bytes_per_second * overhead
                shares = shares_of_test(sizes, moved, mine, told, crossed) | _only_way(
                    topology, open_links, sizes, moved
                )
            for port in ports:
                cable = port.cable
                yield {
                    **_row(topology, port, step, direction, load, shares.get(cable.id), paths),
                    "on_loaded_path": on_loaded_path(cable, cable in sizes, load is not None, shares, mine),
                    "other_path_idle": other_path_idle(cable, sizes, shares, mine),
                    "naa": naa,
                    "platform": platform,
                }


def _only_way(topology: Topology, open_links: Sequence[Cable], sizes: Mapping[Cable, float], test: float) -> Shares:
    """Of links on ways that cannot be followed: the only busy one of a switch carries the test, and of several nobody
    knows which one does."""
    busy: defaultdict[str | None, list[Cable]] = defaultdict(list)
    for cable in open_links:
        if sizes.get(cable, 0.0) >= LOADED * test > 0:
            busy[switch_of(topology, cable.switch_port)].append(cable)
    one = {here[0] for here in busy.values() if len(here) == 1 and sizes[here[0]] * OVERHEAD_TOLERANCE >= test}
    several = {cable for here in busy.values() for cable in here} - one
    return {cable.id: 1.0 for cable in one} | {cable.id: None for cable in several}


def _lun_identifier(topology: Topology, loads: Sequence[LoadFacts]) -> str | None:
    """The naa identifier of the LUN under test. None: not known, or there are several."""
    luns = {lun for f in loads for root in f.roots for lun in topology.related(root, "targets", "lun")}
    found = {naa for lun in luns for naa in topology.entities[lun].ids.get("naa", ())}
    return found.pop() if len(found) == 1 else None


def _seen_port(topology: Topology, cable: Cable, step: Step, samples: _Counted) -> _Port | None:
    """The end of a cable that some source counts; between switches both ends may be."""
    near = _port(topology, cable, step, samples)
    if cable.side != "switch":
        return near
    far = _port(topology, cable.from_far_end, step, samples)
    return far if near is None else replace(near, far=far.sample) if far is not None else near


def _port(topology: Topology, cable: Cable, step: Step, samples: _Counted) -> _Port | None:
    entity = topology.entities[cable.switch_port]
    for told in entity.known_as:
        sample = samples.get((step.name, *told))
        if sample is not None and sample.length_seconds:
            technology = cast(Technology, entity.attributes.get("technology") or "ethernet")
            speed = sample.lasts.get("link_speed_bits_per_second")
            port = _Port(cable, technology, link_capacity(technology, speed) if speed else None, speed, sample)
            return replace(port, capacity=None) if _counts_too_much(port) else port
    return None


def _counts_too_much(port: _Port) -> bool:
    if port.capacity is None:
        return False
    busiest = max(port.mean(direction) or 0.0 for direction in DIRECTIONS)
    return busiest > ABOVE_LINE_RATE * port.capacity.data_bytes_per_second


def _row(
    topology: Topology,
    port: _Port,
    step: Step,
    direction: Direction,
    load: LoadFacts | None,
    share: float | None,
    paths: Sequence[IoPath],
) -> FactRow:
    mean = port.mean(direction)
    full = full_ratio(port.technology, step.block_bytes)
    overhead = counted_per_payload(port.technology, step.block_bytes)
    capacity = port.capacity.data_bytes_per_second if port.capacity else None
    windows = port.windows(direction)
    judged = [(r / capacity, s) for r, s in merged(windows, _ABOVE_FULL * full * capacity)] if capacity else []
    used = sorted(utilisation for utilisation, _ in judged)
    foreign = ceiling = None
    if load is not None and share and mean and load.bytes_per_second:
        test = share * load.bytes_per_second * overhead
        foreign = max(0.0, mean - test * OVERHEAD_TOLERANCE)
        if capacity:
            counted = (mean - foreign) / (share * load.bytes_per_second)
            # A link that was seen to carry more than the frame model allows can carry at least that.
            ceiling = max(load.bytes_per_second, (capacity * full - foreign) / (share * counted))
    far_end = topology.entities[port.cable.device].attributes
    capable = None if port.cable.uplink_of else _number(far_end.get("capable_bits_per_second"))
    switch = _number(topology.entities[port.cable.switch_port].attributes.get("capable_bits_per_second"))
    ends = [speed for speed in (capable, switch) if speed is not None]
    on_path = _path_capable(topology, port.cable, paths)
    errors = [port.damage(f"{what}_total") for what in ("errors_rx", "errors_tx", "discards_rx", "discards_tx")]
    # A port behind which nobody is known is a link of its own, called like the port.
    between = port.cable.side == "switch" and port.cable.device != port.cable.switch_port
    return {
        "entity": port.cable.id,
        "step": step.name,
        "direction": direction,
        "side": port.cable.side if between or port.cable.side != "switch" else None,
        "between_switches": between,
        "trunk": port.cable.group if port.cable.side == "switch" else None,
        "near_port": port.cable.switch_port,
        "far_port": port.cable.device if between else None,
        "switch_port": topology.entities[port.cable.switch_port].label.partition("/")[2],
        "technology": port.technology,
        "windows": 1 if port.sample.by_hand else len(windows) or port.sample.windows,
        "by_hand": port.sample.by_hand,
        "utilisation": mean / capacity if mean is not None and capacity else None,
        "utilisation_p95": used[min(len(used) - 1, int(0.95 * len(used)))] if used else None,
        "utilisation_max": used[-1] if used else None,
        "full_ratio": full,
        "full_windows_ratio": sum(s for u, s in judged if u >= FULL * full) / sum(s for _, s in judged)
        if judged
        else None,
        "bytes_per_second": mean,
        "capacity_bytes_per_second": capacity,
        "speed": port.capacity.name if port.capacity else None,
        "share": share,
        "foreign_bytes_per_second": foreign,
        "ceiling_bytes_per_second": ceiling,
        "negotiated_bits_per_second": port.negotiated,
        "capable_low_bits_per_second": min(ends, default=None),
        "capable_high_bits_per_second": max(ends, default=None),
        "switch_is_slower": None if capable is None or port.negotiated is None else capable > port.negotiated * 1.01,
        "path_capable_bits_per_second": on_path,
        "possible_bits_per_second": max((s for s in (*ends, on_path) if s is not None), default=None),
        "sender": _ends(topology, port.cable, direction)[0],
        "receiver": _ends(topology, port.cable, direction)[1],
        "credit_stall_ratio": port.credit_stall(direction),
        "timeout_discards_per_second": port.sample.rate("discards_timeout_total"),
        "crc_errors_per_second": port.damage("crc_errors_total"),
        "link_resets_per_second": _sum(port.sample.rate(f"link_resets_{way}_total") for way in ("rx", "tx")),
        "credit_losses_per_second": port.sample.rate("credit_losses_total"),
        "ends_ratio": port.ends_ratio(direction),
        "counted_ratio": port.counted_ratio(),
        "errors_per_second": sum(e for e in errors if e is not None) if any(e is not None for e in errors) else None,
    }


def _ends(topology: Topology, cable: Cable, direction: Direction) -> tuple[str | None, str | None]:
    """The switch or device that sends the frames of a direction, and the one that takes them."""
    near = switch_of(topology, cable.switch_port)
    far = switch_of(topology, cable.device) if cable.side == "switch" else None if cable.uplink_of else cable.device
    if cable.device == cable.switch_port:
        far = None  # Nobody knows where it leads.
    return (near, far) if cable.counter(direction) == "tx" else (far, near)


def _path_capable(topology: Topology, cable: Cable, paths: Sequence[IoPath]) -> float | None:
    """What both ends of the path could do: the lower capability of initiator and target port, best path counting."""
    found = []
    for path in paths:
        if cable in path.cables:
            ends = [
                _number(topology.entities[e].attributes.get("capable_bits_per_second"))
                for e in (path.hba, path.array_port)
            ]
            if None not in ends:
                found.append(min(cast(list[float], ends)))
    return max(found, default=None)


def _sum(values: Iterable[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return sum(told) if told else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
