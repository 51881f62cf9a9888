"""The links that the test's I/O may cross, and the test's bytes on them in each step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.devices.usable_paths import usable_paths
from sanpath.facts.fabric.load_shares import (
    LOADED,
    Crossing,
    Shares,
    cables_of_test,
    crossings,
    miscounted,
    operations_by_target,
    shares_of_open_links,
    shares_of_test,
    with_open_host_links,
)
from sanpath.facts.fabric.path_bytes import bytes_of_paths
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates
from sanpath.model import Direction, Step
from sanpath.topology.open_ends import open_ends, ports_by_traffic
from sanpath.topology.paths import Cable, IoPath, cables, initiators_of, io_paths
from sanpath.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Cabling:
    """The links of a recording, and where the test's I/O may go.

    `links`: all of them. `all_paths`: all cabled paths; `paths`: those that the test can use. `crossed`: group of
    links between switches → its crossing. `open_links`: links whose path cannot be followed, where no path is known.
    `test_cables`: group of links → those that the test can cross. `own_links`: those of the test's initiators.
    `is_complete`: whether all paths are cabled from end to end.
    """

    links: Sequence[Cable]
    all_paths: Sequence[IoPath]
    paths: Sequence[IoPath]
    crossed: Mapping[str, Crossing]
    open_links: Sequence[Cable]
    test_cables: Mapping[str, set[str]]
    own_links: Sequence[Cable]
    is_complete: bool

    def is_possible(self, cable: Cable) -> bool:
        """Return whether the test may cross a cable: it is one of its links, or none of that group is known to be."""
        possible = self.test_cables.get(cable.group)
        return not possible or cable.id in possible or cable in self.own_links


@dataclass(frozen=True, slots=True)
class CarriedBytes:
    """The test's bytes on its links, in one direction of a step. `miscounting`: links with wrong counters."""

    byte_rates: Mapping[Cable, float]
    shares: Shares
    used_cables: Mapping[str, set[str]]
    miscounting: Collection[Cable] = ()


def cabling_of_test(
    topology: Topology, loads: Sequence[LoadFacts], samples: Mapping[str, Sequence[StepSamples]]
) -> Cabling:
    """Return the links of a recording and those that the loads may use. `samples`: entity kind → its samples."""
    roots = sorted({root for f in loads for root in f.roots})
    all_paths = io_paths(topology, *roots)
    paths = usable_paths(topology, loads, all_paths, samples)
    isls = {cable.id: cable for path in all_paths for cable in path.cables if cable.side == "switch"}
    open_links = [] if all_paths else open_ends(topology, roots)
    if not all_paths and not open_links:
        open_links = ports_by_traffic(topology, _faces_host(topology, loads, samples))
    links = [*cables(topology), *isls.values(), *open_links]
    test_cables = cables_of_test(topology, loads, paths, links)
    for cable in open_links:
        test_cables.setdefault(cable.group, set()).add(cable.id)
    initiators = {hba for root in roots for hba in initiators_of(topology, root)}
    own_links = [cable for cable in links if not initiators.isdisjoint(cable.devices)]
    is_complete = _is_complete(topology, initiators, all_paths)
    return Cabling(links, all_paths, paths, crossings(paths), open_links, test_cables, own_links, is_complete)


def carried_bytes(
    topology: Topology,
    cabling: Cabling,
    step: Step,
    load: LoadFacts,
    overhead: float,
    byte_rates: Mapping[Cable, float],
    samples: Mapping[str, Sequence[StepSamples]],
) -> CarriedBytes:
    """Return the test's shares of the links in the direction of a load. `overhead`: bytes that ports count for
    each of the payload. `byte_rates`: as the ports count them."""
    operations = operations_by_target(topology, cabling.paths, samples, step.name)
    test_byte_rate = load.bytes_per_second * overhead
    wrong: Collection[Cable] = ()
    if cabling.is_complete:
        elsewhere = [overhead * rate for rate in _counted_by_arrays(samples, step, load.direction)]
        elsewhere += _counted_at_ends(topology, cabling.paths, samples, step, load.direction)
        wrong = miscounted(cabling.paths, byte_rates, test_byte_rate, elsewhere)
        byte_rates = {cable: rate for cable, rate in byte_rates.items() if cable not in wrong}
    used_cables = with_open_host_links(
        cabling.test_cables, cabling.own_links, cabling.all_paths, byte_rates, test_byte_rate
    )
    of_paths = bytes_of_paths(topology, load, samples)
    shares = shares_of_test(
        byte_rates, test_byte_rate, used_cables, operations, cabling.crossed, wrong, of_paths
    ) | shares_of_open_links(topology, cabling.open_links, byte_rates, test_byte_rate, cabling.test_cables)
    return CarriedBytes(byte_rates, shares, used_cables, wrong)


def _faces_host(
    topology: Topology, loads: Sequence[LoadFacts], samples: Mapping[str, Sequence[StepSamples]]
) -> dict[str, bool]:
    """Return switch port → whether it sends more than it receives while the loads mostly read, or less while they
    mostly write: then hosts are behind it. Ports that move hardly anything beside the loads are left out."""
    reads = sum(load.bytes_per_second for load in loads if load.direction == "read")
    moved = sum(load.bytes_per_second for load in loads)
    most = max((load.bytes_per_second for load in loads), default=0.0)
    rates: dict[str, list[float]] = {}
    for sample in samples.get("switch_port", ()):
        port = topology.known_as.get((sample.source, "switch_port", sample.entity))
        if port is not None:
            both = rates.setdefault(port, [0.0, 0.0, 0.0])
            tx, rx = (sample.rate(f"bytes_{side}_total") or 0.0 for side in ("tx", "rx"))
            rates[port] = [both[0] + tx, both[1] + rx, max(both[2], tx, rx)]
    return {
        port: (tx > rx) == (2 * reads > moved)
        for port, (tx, rx, busiest) in rates.items()
        if busiest >= LOADED * most > 0
    }


def _is_complete(topology: Topology, initiators: Collection[str], paths: Sequence[IoPath]) -> bool:
    """Return whether all initiators of the test, and all target ports that its host or its arrays name, are on a
    path that is cabled from end to end."""
    arrays = {path.array for path in paths}
    lun_paths = [path for hba in initiators for path in topology.related(hba, "attached_to", "path")]
    ports = {port for array in arrays for port in topology.related(array, "member_of", "array_port")}
    ports |= {port for path in lun_paths for port in topology.related(path, "targets", "array_port")}
    return set(initiators) <= {path.hba for path in paths} and ports <= {path.array_port for path in paths}


def _counted_by_arrays(samples: Mapping[str, Sequence[StepSamples]], step: Step, direction: Direction) -> list[float]:
    """Return the bytes a second of all arrays, or of all volumes, that each source counts."""
    totals: dict[tuple[str, str], float] = {}
    for kind in ("array", "volume"):
        for sample in samples.get(kind, ()):
            rate = gauge_or_rates(sample, f"bytes_per_second_{direction}", f"bytes_{direction}_total")
            if sample.step == step.name and rate is not None:
                totals[kind, sample.source] = totals.get((kind, sample.source), 0.0) + rate
    return list(totals.values())


def _counted_at_ends(
    topology: Topology,
    paths: Sequence[IoPath],
    samples: Mapping[str, Sequence[StepSamples]],
    step: Step,
    direction: Direction,
) -> list[float]:
    """Return the bytes a second that each source counts at the ports of hosts, or of arrays, at the ends of paths."""
    facing = {
        device: end for path in paths for end in (*path.cables[:1], *path.cables[-1:]) for device in end.devices
    }
    totals: dict[tuple[str, str], float] = {}
    for kind in ("hba", "array_port"):
        for sample in samples.get(kind, ()):
            end = facing.get(topology.known_as.get((sample.source, kind, sample.entity), ""))
            if sample.step != step.name or end is None:
                continue
            # The device at the other end receives what a switch sends.
            side = "rx" if end.counter(direction) == "tx" else "tx"
            if (rate := sample.rate(f"bytes_{side}_total")) is not None:
                totals[kind, sample.source] = totals.get((kind, sample.source), 0.0) + rate
    return list(totals.values())
