"""Finds the I/O paths that can carry the test's I/O, by the state of the LUN's paths at its host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sanpath.facts.devices.planes import devices_of_load
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.paths import IoPath
from sanpath.topology.topology import Topology


def usable_paths(
    topology: Topology,
    loads: Sequence[LoadFacts],
    paths: Sequence[IoPath],
    samples: Mapping[str, Sequence[StepSamples]],
) -> list[IoPath]:
    """Return the paths that the host reports as usable in any step, neither dead nor on standby.

    A path that was usable for a while carried I/O. Returns all paths where the host reports no states, or where none
    would remain."""
    usable = _paths(topology, loads, samples)
    if not usable:
        return list(paths)
    remaining = [path for path in paths if usable.get((path.hba, path.array_port)) or usable.get((path.hba, None))]
    return remaining or list(paths)


def _paths(
    topology: Topology, loads: Sequence[LoadFacts], samples: Mapping[str, Sequence[StepSamples]]
) -> dict[tuple[str, str | None], bool]:
    """(initiator, target port) of the LUN's paths → whether one ever was usable. Target port None: not known."""
    usable = {
        topology.known_as.get((sample.source, "path", sample.entity))
        for sample in samples.get("path", ())
        if sample.means.get("path_usable")
    }
    luns = {lun for load in loads for lun in devices_of_load(topology, load)}
    states: defaultdict[tuple[str, str | None], bool] = defaultdict(bool)
    for path in {path for lun in luns for path in topology.related(lun, "member_of", "path")}:
        port = next(iter(topology.related(path, "targets", "array_port")), None)
        for hba in topology.related(path, "attached_to", "hba"):
            # A path without a reported state may be usable.
            states[hba, port] |= path in usable or topology.entities[path].attributes.get("usable") is not False
    return dict(states)
