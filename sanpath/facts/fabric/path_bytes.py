"""The load's bytes at each end of its paths, as the host counts them by the block devices of the paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.paths import luns_of, paths_of_luns
from sanpath.topology.topology import Topology

_SAME_BYTES = 0.1
"""Relative difference up to which the paths together have carried what the load moved: nothing else used its LUNs, no
cache answered, and the windows of the two sources need not begin together."""

_ENDS = 2
"""An initiator and a target port."""


def bytes_of_paths(
    topology: Topology, load: LoadFacts, samples: Mapping[str, Sequence[StepSamples]]
) -> dict[str, float]:
    """Return initiator or target port → bytes a second of the load, by the block devices of its paths.

    Linux has a block device for each path of a multipath LUN. It counts this host's I/Os only, whoever else uses the
    ports. Empty: a path has no such count, or its ends are not known, or the counts are not those of the load alone.
    """
    paths = paths_of_luns(topology, (lun for root in load.roots for lun in luns_of(topology, root)))
    rates = _rates(topology, load, samples) if paths else {}
    devices: set[str] = set()
    moved: dict[str, float] = {}
    for path in paths:
        entity = topology.entities[path]
        named = str(entity.attributes.get("device"))
        found = (topology.known_as.get((source, "lun", named)) for source, _ in entity.known_as)
        device = next((each for each in found if each in rates), None)
        ends = (
            *topology.related(path, "attached_to", "hba")[:1],
            *topology.related(path, "targets", "array_port")[:1],
        )
        if device is None or device in devices or len(ends) < _ENDS:
            return {}
        devices.add(device)
        for end in ends:
            moved[end] = moved.get(end, 0.0) + rates[device]
    total = sum(rates[device] for device in devices)
    return moved if isclose(total, load.bytes_per_second, rel_tol=_SAME_BYTES) else {}


def _rates(topology: Topology, load: LoadFacts, samples: Mapping[str, Sequence[StepSamples]]) -> dict[str, float]:
    """Return block device → its bytes a second in the direction of a load."""
    rates: dict[str, float] = {}
    for sample in samples.get("lun", ()):
        if sample.step != load.step:
            continue
        device = topology.known_as.get((sample.source, "lun", sample.entity))
        rate = sample.rate(f"bytes_{load.direction}_total")
        if device is not None and rate is not None:
            rates[device] = rate
    return rates
