"""Ways from an initiator to a target port that can carry the test's I/O, by what its host says of the LUN's paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sanpath.facts.host.planes import path_of
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.identity import Topology
from sanpath.topology.paths import IoPath


def usable_ways(
    topology: Topology,
    loads: Sequence[LoadFacts],
    ways: Sequence[IoPath],
    samples: Mapping[str, Sequence[StepSamples]],
) -> list[IoPath]:
    """Those of which the host has a path that it does not call dead or on standby from the first step to the last: a
    path that worked for a while carried I/O. All of them, where the host tells nothing of its paths or would leave
    none."""
    works = _paths(topology, loads, samples)
    if not works:
        return list(ways)
    kept = [way for way in ways if works.get((way.hba, way.array_port)) or works.get((way.hba, None))]
    return kept or list(ways)


def _paths(
    topology: Topology, loads: Sequence[LoadFacts], samples: Mapping[str, Sequence[StepSamples]]
) -> dict[tuple[str, str | None], bool]:
    """(initiator, target port, None where it is not known) of the LUN's paths → whether one ever was usable."""
    told = {
        topology.known_as.get((sample.source, "path", sample.entity))
        for sample in samples.get("path", ())
        if sample.means.get("path_usable")
    }
    luns = {lun for load in loads for lun in path_of(topology, load)}
    found: defaultdict[tuple[str, str | None], bool] = defaultdict(bool)
    for path in {path for lun in luns for path in topology.related(lun, "member_of", "path")}:
        port = next(iter(topology.related(path, "targets", "array_port")), None)
        for hba in topology.related(path, "attached_to", "hba"):
            # What nobody tells the state of may be usable.
            found[hba, port] |= path in told or topology.entities[path].attributes.get("usable") is not False
    return dict(found)
