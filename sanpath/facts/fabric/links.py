"""Facts of links: utilisation against the data rate, share of the test's bytes, and the ceiling that follows.

Ceiling of the test at a link (utilisation law), in payload: (capacity x full ratio - foreign bytes) / share of the
test's bytes. The shares are measured, so the ceiling holds for any path policy as long as the mix of I/O does not
change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from sanpath.catalogue.link_capacity import Capacity, Technology, counted_per_payload, full_ratio, link_capacity
from sanpath.facts.fabric.cabling import CarriedBytes, cabling_of_test, carried_bytes
from sanpath.facts.fabric.link_measures import FULL_RATIO
from sanpath.facts.fabric.load_shares import OVERHEAD_TOLERANCE, on_loaded_path, other_path_idle
from sanpath.facts.host.tested_machines import as_number, platform_of_hosts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import MIN_WINDOWS, StepSamples, sum_of_known
from sanpath.facts.table import FactRow
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.topology.paths import Cable, IoPath, luns_of, switch_of
from sanpath.topology.topology import Topology

_ABOVE_FULL_RATIO = 1.01
"""Windows above this multiple of the utilisation that a full link shows come from the agent's cache or from late
polls."""
ABOVE_LINE_RATE_RATIO = 1.05
"""Multiple of line rate from which the mean of an entire step means that the agent reports a wrong speed: then
utilisation is not known."""
_PAUSE_BITS = 65_535 * 512.0
"""Longest time that one pause frame asks for, in bit times: 65,535 quanta of 512 (IEEE 802.3, Annex 31B)."""
_Counted = Mapping[tuple[str, str, str], StepSamples]
"""(step, source, entity) → samples of a switch port."""


@dataclass(frozen=True, slots=True)
class SampledPort:
    """The switch port of a cable in one step. `far_sample`: the port at the far end of a link between switches.
    `miscounts`: the directions in which its counter cannot be right. `higher_speed`: the speed that one end reports
    if the other end reports the lower `negotiated`; None: they agree, or one reports no speed."""

    cable: Cable
    technology: Technology
    capacity: Capacity | None
    negotiated: float | None
    sample: StepSamples
    far_sample: StepSamples | None = None
    miscounts: frozenset[Direction] = frozenset()
    higher_speed: float | None = None

    @property
    def at_higher_speed(self) -> SampledPort:
        """The port at `higher_speed`, for counters that exceed the lower speed. Without a higher speed, its capacity
        is not known."""
        speed = self.higher_speed
        capacity = link_capacity(self.technology, speed) if speed else None
        return replace(self, capacity=capacity, negotiated=speed or self.negotiated, higher_speed=None)

    @property
    def as_reported(self) -> SampledPort:
        """The port at the speed that its switch reports."""
        speed = self.reported_speed
        capacity = link_capacity(self.technology, speed) if speed else None
        return replace(self, capacity=capacity, negotiated=speed, higher_speed=None)

    @property
    def reported_speed(self) -> float | None:
        """The speed that its switch reports, in bits per second."""
        return self.sample.last_values.get("link_speed_bits_per_second")

    def windows(self, direction: Direction) -> list[tuple[float, float]]:
        """Bytes per second and length in seconds of each window."""
        if direction in self.miscounts:
            return []
        counter = f"bytes_{self.cable.counter(direction)}_total"
        windows = zip(self.sample.rates.get(counter, ()), self.sample.seconds, strict=False)
        return [(rate, seconds) for rate, seconds in windows if rate is not None]

    def credit_stall(self, direction: Direction) -> float | None:
        """Share of the time in which frames of a direction waited for transmit credit; None: no port reports it."""
        stalled = "credit_stall_seconds_tx_total"
        if self.cable.counter(direction) == "tx":
            return self.sample.rate(stalled)
        if self.far_sample is not None and (rate := self.far_sample.rate(stalled)) is not None:
            return rate
        return self.sample.rate("credit_stall_seconds_rx_total")

    def pauses(self, direction: Direction) -> float | None:
        """Pause frames a second that tell the sender of a direction to wait; None: no port reports them."""
        side = "rx" if self.cable.counter(direction) == "tx" else "tx"
        at_far_end = "tx" if side == "rx" else "rx"
        far = self.far_sample.rate(f"pause_frames_{at_far_end}_total") if self.far_sample is not None else None
        near = self.sample.rate(f"pause_frames_{side}_total")
        return max((rate for rate in (near, far) if rate is not None), default=None)

    def mean(self, direction: Direction) -> float | None:
        """Bytes per second over the step.

        A single window above line rate is left out if it alone raises the mean of the step above line rate. The agent
        answered from its cache before or after it, so the window also contains another window's bytes. The delay is
        at most one poll, so the window can contain the bytes of two windows. More than that is a jump of the counter,
        not a delay.
        """
        if direction in self.miscounts:
            return None
        mean = self.sample.rate(f"bytes_{self.cable.counter(direction)}_total")
        limit = ABOVE_LINE_RATE_RATIO * self.capacity.data_bytes_per_second if self.capacity is not None else None
        if mean is None or limit is None or mean <= limit:
            return mean
        windows = self.windows(direction)
        if not windows:
            return mean
        possible = [(rate, seconds) for rate, seconds in windows if rate <= limit]
        latest = max(rate for rate, _ in windows)
        if len(possible) + 1 < max(2, len(windows)) or latest > 2 * limit:
            return mean
        return sum(rate * seconds for rate, seconds in possible) / sum(seconds for _, seconds in possible)

    @property
    def is_down(self) -> bool | None:
        """Whether one end was down during the entire step. None: neither end reports its state."""
        ends = [self.sample] if self.far_sample is None else [self.sample, self.far_sample]
        states = [up for end in ends if (up := end.means.get("link_up")) is not None]
        return min(states) == 0 if states else None

    def error_rate(self, counter: str) -> float | None:
        """Rate of an error counter.

        The receiver of a frame counts its errors, so both ends are added. None: neither end reports it."""
        return sum_of_known(port.rate(counter) for port in (self.sample, self.far_sample) if port is not None)

    def ends_ratio(self, direction: Direction) -> float | None:
        """Bytes counted at the far end of a link between switches, over those at this end; None: one end does not
        report them."""
        if self.far_sample is None or not (near_rate := self.mean(direction)):
            return None
        far_rate = self.far_sample.rate(f"bytes_{self.cable.from_far_end.counter(direction)}_total")
        return None if far_rate is None else far_rate / near_rate

    @property
    def is_faster_than_reported(self) -> bool:
        """Whether the mean and most of several windows exceed line rate: the reported speed is wrong, in every step.
        A counter that jumps, or an agent's cache, explains single windows."""
        if (ratio := self.counted_ratio()) is None or ratio <= ABOVE_LINE_RATE_RATIO:
            return False
        limit = max(self.mean(direction) or 0.0 for direction in DIRECTIONS) / ratio * ABOVE_LINE_RATE_RATIO
        of_directions = [[rate > limit for rate, _ in self.windows(direction)] for direction in DIRECTIONS]
        return any(len(above) >= MIN_WINDOWS and sum(above) > len(above) / 2 for above in of_directions)

    def counted_ratio(self) -> float | None:
        """Bytes of the busier direction over the data rate, even if above 1; None: not counted, or no speed."""
        rates = [mean for direction in DIRECTIONS if (mean := self.mean(direction)) is not None]
        capacity = link_capacity(self.technology, self.negotiated) if self.negotiated else None
        return max(rates) / capacity.data_bytes_per_second if rates and capacity is not None else None


def merged_windows(windows: Sequence[tuple[float, float]], limit: float) -> list[tuple[float, float]]:
    """Merge each (rate, seconds) window above `limit` with its neighbours until none is above it."""
    result: list[tuple[float, float]] = []
    for window in windows:
        rate, seconds = window
        while result and (rate > limit or result[-1][0] > limit):
            previous_rate, previous_seconds = result.pop()
            rate, seconds = (
                (rate * seconds + previous_rate * previous_seconds) / (seconds + previous_seconds),
                seconds + previous_seconds,
            )
        result.append((rate, seconds))
    return result


def link_rows(
    topology: Topology,
    steps: Sequence[Step],
    loads: Sequence[LoadFacts],
    samples: Mapping[str, Sequence[StepSamples]],
    of_loads_alone: bool = False,
) -> Iterator[FactRow]:
    """Yield one row for each cable, step and direction. `of_loads_alone`: only of cables that the loads may cross."""
    cabling = cabling_of_test(topology, loads, samples)
    cables = [cable for cable in cabling.links if not of_loads_alone or cabling.is_possible(cable)]
    naa, platform = _lun_identifier(topology, loads), platform_of_hosts(topology, loads)
    counted = {(s.step, s.source, s.entity): s for s in samples.get("switch_port", ())}
    of_steps = [[p for c in cables if (p := sampled_port(topology, c, step, counted)) is not None] for step in steps]
    # Hosts report a speed only once, which says nothing about a link whose speed changes during the run.
    speeds = {(p.cable.id, p.reported_speed) for ports in of_steps for p in ports}
    changes = {cable for cable, number in Counter(cable for cable, _ in speeds).items() if number > 1}
    of_steps = [[p.as_reported if p.cable.id in changes else p for p in ports] for ports in of_steps]
    wrong_speeds = {(p.cable.id, p.negotiated) for ports in of_steps for p in ports if p.is_faster_than_reported}
    for step, sampled in zip(steps, of_steps, strict=True):
        raised = [p.at_higher_speed if (p.cable.id, p.negotiated) in wrong_speeds else p for p in sampled]
        ports = [replace(p, capacity=None) if counts_too_much(p) else p for p in raised]
        for direction in DIRECTIONS:
            load = next((f for f in loads if f.step == step.name and f.direction == direction), None)
            byte_rates = {p.cable: rate for p in ports if (rate := p.mean(direction)) is not None}
            carried = CarriedBytes(byte_rates, {}, cabling.test_cables)
            if load is not None:
                overhead = counted_per_payload(ports[0].technology, step.block_bytes) if ports else 0.0
                carried = carried_bytes(topology, cabling, step, load, overhead, byte_rates, samples)
            for counting in ports:
                cable, is_wrong = counting.cable, counting.cable in carried.miscounting
                port = replace(counting, miscounts=frozenset({direction})) if is_wrong else counting
                yield {
                    **_row(topology, port, step, direction, load, carried.shares.get(cable.id), cabling.paths),
                    "on_loaded_path": on_loaded_path(
                        cable, cable in carried.byte_rates, load is not None, carried.shares, carried.used_cables
                    ),
                    "miscounts": is_wrong,
                    "other_path_idle": other_path_idle(
                        cable, carried.byte_rates, carried.shares, carried.used_cables
                    ),
                    "naa": naa,
                    "platform": platform,
                }


def _lun_identifier(topology: Topology, loads: Sequence[LoadFacts]) -> str | None:
    """Return the naa identifier of the LUN under test. None: not known, or there are several."""
    luns = {lun for f in loads for root in f.roots for lun in luns_of(topology, root)}
    identifiers = {naa for lun in luns for naa in topology.entities[lun].ids.get("naa", ())}
    return identifiers.pop() if len(identifiers) == 1 else None


def sampled_port(topology: Topology, cable: Cable, step: Step, samples: _Counted) -> SampledPort | None:
    """Return the port of a cable that a source samples.

    Between switches, the far end may be sampled as well: then it is the end whose bytes are known. Its `capacity` is
    None if it counts too much.
    """
    port = _port(topology, cable, step, samples)
    if cable.side != "switch":
        return port
    ends = [end for end in (port, _port(topology, cable.from_far_end, step, samples)) if end is not None]
    ends.sort(key=lambda end: _counts_bytes(end.sample), reverse=True)
    return replace(ends[0], far_sample=ends[1].sample) if len(ends) > 1 else ends[0] if ends else None


def _port(topology: Topology, cable: Cable, step: Step, samples: _Counted) -> SampledPort | None:
    """Return the port with the samples of one source: of the sources that know its bytes, the one with the most
    windows."""
    entity = topology.entities[cable.switch_port]
    read = [samples[key] for source_id in entity.known_as if (key := (step.name, *source_id)) in samples]
    sample = max((s for s in read if s.length_seconds), key=lambda s: (_counts_bytes(s), s.windows), default=None)
    if sample is None:
        return None
    technology = cast(Technology, entity.attributes.get("technology") or "ethernet")
    speeds = [sample.last_values.get("link_speed_bits_per_second"), _speed_at_host(topology, cable, technology)]
    known = sorted(speed for speed in speeds if speed)
    if not known:
        return SampledPort(cable, technology, None, None, sample)
    lower, higher = known[0], known[-1] if is_faster(known[-1], known[0]) else None
    port = SampledPort(cable, technology, link_capacity(technology, lower), lower, sample, higher_speed=higher)
    return replace(port, capacity=None) if counts_too_much(port) else port


def _speed_at_host(topology: Topology, cable: Cable, technology: Technology) -> float | None:
    """Return the speed that the initiator port at a link has negotiated, by its host. None: not known.

    Both ends of a Fibre Channel link run at the same speed (FC-FS, speed negotiation). If they report different ones,
    the higher is what that end could do: some agents report the highest or configured speed of a port. The speed of
    virtual Ethernet ports has no meaning, and neither has that of converged adapters that do not report a speed of
    Fibre Channel.
    """
    if technology != "fibre_channel" or cable.side != "host" or _is_uplink(cable):
        return None
    speed = as_number(topology.entities[cable.device].attributes.get("speed_bits_per_second"))
    return speed if speed and link_capacity(technology, speed) is not None else None


def _counts_bytes(sample: StepSamples) -> bool:
    """Return whether the bytes of a port are known: a 32-bit counter may wrap too often."""
    return any(sample.rate(f"bytes_{side}_total") is not None for side in ("rx", "tx"))


def counts_too_much(port: SampledPort) -> bool:
    """Return whether a port counts more than its speed allows: then its agent reports a wrong speed."""
    if port.capacity is None:
        return False
    busiest = max(port.mean(direction) or 0.0 for direction in DIRECTIONS)
    return busiest > ABOVE_LINE_RATE_RATIO * port.capacity.data_bytes_per_second


def _row(
    topology: Topology,
    port: SampledPort,
    step: Step,
    direction: Direction,
    load: LoadFacts | None,
    share: float | None,
    paths: Sequence[IoPath],
) -> FactRow:
    windows, cable = port.windows(direction), port.cable
    # A port whose peer is not known is a link of its own and has the name of the port.
    between_switches = cable.side == "switch" and cable.device != cable.switch_port
    sender, receiver = _ends(topology, cable, direction)
    return {
        "entity": cable.id,
        "step": step.name,
        "direction": direction,
        "side": cable.side if between_switches or cable.side != "switch" else None,
        "between_switches": between_switches,
        "trunk": cable.group if cable.side == "switch" else None,
        "near_port": cable.switch_port,
        "far_port": cable.device if between_switches else None,
        "switch": topology.entities[cable.switch_port].label.partition("/")[0],
        "switch_port": topology.entities[cable.switch_port].label.partition("/")[2],
        "technology": port.technology,
        "windows": 1 if port.sample.by_hand else len(windows) or port.sample.windows,
        "by_hand": port.sample.by_hand,
        "down": port.is_down,
        **_utilisation_facts(port, step, direction, windows),
        **_share_facts(port, step, direction, load, share),
        **_speed_facts(topology, port, paths),
        "sender": sender,
        "receiver": receiver,
        **_error_facts(port, direction),
    }


def _utilisation_facts(
    port: SampledPort, step: Step, direction: Direction, windows: Sequence[tuple[float, float]]
) -> FactRow:
    """Return how full a link is, on average and in its windows."""
    mean = port.mean(direction)
    full = full_ratio(port.technology, step.block_bytes)
    capacity = port.capacity.data_bytes_per_second if port.capacity else None
    judged = (
        [(r / capacity, s) for r, s in merged_windows(windows, _ABOVE_FULL_RATIO * full * capacity)]
        if capacity
        else []
    )
    utilisations = sorted(utilisation for utilisation, _ in judged)
    return {
        "utilisation": mean / capacity if mean is not None and capacity else None,
        "utilisation_p95": utilisations[min(len(utilisations) - 1, int(0.95 * len(utilisations)))]
        if utilisations
        else None,
        "utilisation_max": utilisations[-1] if utilisations else None,
        "first_utilisation": _mean_of_first(judged),
        "last_utilisation": _mean_of_first(judged[::-1]),
        "full_ratio": full,
        "full_windows_ratio": sum(s for u, s in judged if u >= FULL_RATIO * full) / sum(s for _, s in judged)
        if judged
        else None,
        "bytes_per_second": mean,
        "capacity_bytes_per_second": capacity,
        "speed": port.capacity.name if port.capacity else None,
    }


def _mean_of_first(windows: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean of the first windows, a third of the time. None: fewer than three windows."""
    if len(windows) < 3:
        return None
    most, total, length = sum(seconds for _, seconds in windows) / 3, 0.0, 0.0
    for value, seconds in windows:
        if length and length + seconds > most:
            break
        total, length = total + value * seconds, length + seconds
    return total / length if length else None


def _share_facts(
    port: SampledPort, step: Step, direction: Direction, load: LoadFacts | None, share: float | None
) -> FactRow:
    """Return the test's share of a link's bytes, those of others, and the ceiling of the test that follows."""
    mean = port.mean(direction)
    full = full_ratio(port.technology, step.block_bytes)
    overhead = counted_per_payload(port.technology, step.block_bytes)
    capacity = port.capacity.data_bytes_per_second if port.capacity else None
    foreign = ceiling = None
    if load is not None and share and mean and load.bytes_per_second:
        test_byte_rate = share * load.bytes_per_second * overhead
        foreign = max(0.0, mean - test_byte_rate * OVERHEAD_TOLERANCE)
        if capacity:
            counted = (mean - foreign) / (share * load.bytes_per_second)
            # A link that carried more than the frame model allows can carry at least that much.
            ceiling = max(load.bytes_per_second, (capacity * full - foreign) / (share * counted))
    return {"share": share, "foreign_bytes_per_second": foreign, "ceiling_bytes_per_second": ceiling}


def _speed_facts(topology: Topology, port: SampledPort, paths: Sequence[IoPath]) -> FactRow:
    """Return the speed that both ends have negotiated, and those that they could run."""
    far_attributes = topology.entities[port.cable.device].attributes
    device_speed = None if _is_uplink(port.cable) else as_number(far_attributes.get("capable_bits_per_second"))
    switch_speed = as_number(topology.entities[port.cable.switch_port].attributes.get("capable_bits_per_second"))
    path_speed = _path_capable(topology, port.cable, paths)
    supported = {
        "the switch port": switch_speed,
        "the device at the switch port": device_speed,
        "each end of the path": path_speed,
    }
    speeds = {end: speed for end, speed in supported.items() if speed is not None}
    end_speeds = [speed for speed in (device_speed, switch_speed) if speed is not None]
    return {
        "negotiated_bits_per_second": port.negotiated,
        "capable_high_bits_per_second": max(end_speeds, default=None),
        "switch_is_slower": None
        if device_speed is None or port.negotiated is None
        else is_faster(device_speed, port.negotiated),
        "both_ends_can_go_faster": both_faster(device_speed, switch_speed, port.negotiated),
        "path_capable_bits_per_second": path_speed,
        "possible_bits_per_second": max(speeds.values(), default=None),
        "possible_at": max(speeds, key=speeds.__getitem__, default=None),
    }


def _error_facts(port: SampledPort, direction: Direction) -> FactRow:
    """Return the facts of delayed and destroyed frames of a link, and whether its counters agree."""
    errors = [port.error_rate(f"errors_{side}_total") for side in ("rx", "tx")]
    discards = [port.error_rate(f"discards_{side}_total") for side in ("rx", "tx")]
    pauses, speed = port.pauses(direction), port.negotiated
    return {
        "credit_stall_ratio": port.credit_stall(direction),
        "pauses_per_second": pauses,
        "paused_most_ratio": min(1.0, pauses * _PAUSE_BITS / speed) if pauses is not None and speed else None,
        "crc_errors_per_second": port.error_rate("crc_errors_total"),
        "ends_ratio": port.ends_ratio(direction),
        "counted_ratio": port.counted_ratio(),
        "errors_per_second": sum_of_known([*errors, *discards]),
        "discards_per_second": sum_of_known(discards),
    }


def is_faster(bits_per_second: float, negotiated_bits_per_second: float) -> bool:
    """Return whether a speed is higher than the negotiated one. The two may differ by a percent where devices round
    them."""
    return bits_per_second > negotiated_bits_per_second * 1.01


def both_faster(
    device_speed: float | None, switch_speed: float | None, negotiated_bits_per_second: float | None
) -> bool | None:
    """Return whether both ends are capable of more than the speed that they negotiated. None: not known. If one end
    already runs at its highest speed, the other end need not be known.
    """
    if negotiated_bits_per_second is None:
        return None
    faster = [None if s is None else is_faster(s, negotiated_bits_per_second) for s in (device_speed, switch_speed)]
    return False if False in faster else None if None in faster else True


def _ends(topology: Topology, cable: Cable, direction: Direction) -> tuple[str | None, str | None]:
    """Return the switch or device that sends the frames of a direction, and the one that receives them."""
    near_end = switch_of(topology, cable.switch_port)
    far_end = (
        switch_of(topology, cable.device) if cable.side == "switch" else None if _is_uplink(cable) else cable.device
    )
    if cable.device == cable.switch_port:
        far_end = None  # Its peer is not known.
    return (near_end, far_end) if cable.counter(direction) == "tx" else (far_end, near_end)


def _is_uplink(cable: Cable) -> bool:
    """Return whether another switch may be at the other end: an array's port has several names itself."""
    return cable.side == "host" and bool(cable.uplink_of)


def _path_capable(topology: Topology, cable: Cable, paths: Sequence[IoPath]) -> float | None:
    """Return the speed that both ends of a path could run: the lower of initiator and target port, on the best
    path."""
    speeds = []
    for path in paths:
        if cable.id in {crossed.id for crossed in path.cables}:
            end_speeds = [
                as_number(topology.entities[e].attributes.get("capable_bits_per_second"))
                for e in (path.hba, path.array_port)
            ]
            if None not in end_speeds:
                speeds.append(min(cast(list[float], end_speeds)))
    return max(speeds, default=None)
