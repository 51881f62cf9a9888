"""Detects Fibre Channel port counters that hold bytes instead of words, by comparison with the host's block devices.

Linux' qla2xxx counts bytes as words before 5.12. Not every source reports the kernel, or another counter in another
unit. A host's ports carry the bytes of its disks, so a factor of four reveals it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isclose

from sanpath.facts.load.host_loads import level_by_name
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS
from sanpath.topology.topology import Topology

_DRIVER = "qla2xxx"
_WORD_BYTES = 4
"""A word of Fibre Channel (FC-FS)."""
_SAME_BYTES = 0.12
"""Relative difference within which ports carry a multiple of the disks' bytes: frames, and the windows of two
sources."""
_MIN_DIRECTION_RATIO = 0.1
"""Share of the bytes of both directions from which a direction counts: the other one contains commands. sanpath's own
choice."""
_MIN_BYTES_PER_SECOND = 1e6
"""Smallest rate of disks that decides: below it, commands and other traffic would. sanpath's own choice."""
_AT_PORT = {"read": "rx", "write": "tx"}
_COUNTERS = tuple(f"bytes_{direction}_total" for direction in _AT_PORT.values())


def correct_port_units(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]]
) -> dict[str, Sequence[StepSamples]]:
    """Return the samples, with corrected port bytes where counters were read as words. This holds for all steps or
    for none, because it depends on the driver. `samples`: entity kind → its samples."""
    ports: dict[tuple[str, str], list[StepSamples]] = {}
    for sample in samples.get("hba", ()):
        port = topology.known_as.get((sample.source, "hba", sample.entity))
        if port is not None and _may_count_bytes(topology.entities[port].attributes):
            for host in topology.related(port, "attached_to", "host"):
                ports.setdefault((host, sample.source), []).append(sample)
    luns = samples.get("lun", ())
    wrong = {
        id(sample)
        for (host, source), found in ports.items()
        # Another source may read a part of the disks.
        if _are_words(found, _disks(topology, host, [lun for lun in luns if lun.source == source]))
        for sample in found
    }
    if not wrong:
        return dict(samples)
    return {**samples, "hba": [_scaled_to_bytes(each) if id(each) in wrong else each for each in samples["hba"]]}


def _may_count_bytes(port: Mapping[str, object]) -> bool:
    return port.get("technology") == "fibre_channel" and port.get("driver", _DRIVER) == _DRIVER


def _disks(topology: Topology, host: str, samples: Sequence[StepSamples]) -> list[StepSamples]:
    """The samples of a host's disks, or of the lowest devices that are read, such as maps without their paths."""
    own = set(topology.related(host, "attached_to", "lun"))
    levels: dict[int, dict[tuple[str, str], StepSamples]] = {}
    for sample in samples:
        lun = topology.known_as.get((sample.source, "lun", sample.entity))
        if lun in own and lun is not None and any(_bytes([sample], f"bytes_{each}_total") for each in DIRECTIONS):
            levels.setdefault(level_by_name(topology, lun), {})[sample.step, lun] = sample
    return list(levels[min(levels)].values()) if levels else []


def _are_words(ports: Sequence[StepSamples], disks: Sequence[StepSamples]) -> bool:
    """Whether ports count four times the disks' bytes, in each direction that counts."""
    steps = {sample.step for sample in ports} & {sample.step for sample in disks}
    ports, disks = ([each for each in found if each.step in steps] for found in (ports, disks))
    moved = {direction: _bytes(disks, f"bytes_{direction}_total") for direction in DIRECTIONS}
    total = sum(moved.values())
    telling = [direction for direction, of_one in moved.items() if of_one > _MIN_DIRECTION_RATIO * total]
    seconds = max((sample.length_seconds for sample in disks), default=0.0)
    return total > _MIN_BYTES_PER_SECOND * seconds and all(
        isclose(_bytes(ports, f"bytes_{_AT_PORT[each]}_total"), _WORD_BYTES * moved[each], rel_tol=_SAME_BYTES)
        for each in telling
    )


def _bytes(samples: Sequence[StepSamples], counter: str) -> float:
    return sum((sample.rate(counter) or 0.0) * sample.length_seconds for sample in samples)


def _scaled_to_bytes(sample: StepSamples) -> StepSamples:
    def less(values: Mapping[str, float | None]) -> dict[str, float | None]:
        return {
            name: value / _WORD_BYTES if name in _COUNTERS and value is not None else value
            for name, value in values.items()
        }

    return replace(
        sample,
        rates={
            name: [None if rate is None else rate / _WORD_BYTES for rate in rates] if name in _COUNTERS else rates
            for name, rates in sample.rates.items()
        },
        overall=None if sample.overall is None else replace(sample.overall, rates=less(sample.overall.rates)),
        mean_rates=less(sample.mean_rates),
    )
