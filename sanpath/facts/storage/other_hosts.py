"""The share of an array's bytes that is neither the load's nor otherwise moved by the hosts of the test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from sanpath.facts.host.tested_machines import UnderTest, rate
from sanpath.facts.table import FactRow, number
from sanpath.model import DIRECTIONS
from sanpath.topology.topology import Topology

_Bytes = dict[tuple[str, str, str], float]
"""(array or volume, step, direction) → bytes a second that the devices of the test's hosts counted."""


def with_other_hosts(topology: Topology, rows: Iterable[FactRow], tested: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield the rows of arrays or volumes with `other_hosts_ratio`.

    Bytes that are not the load's need not be other hosts': a cache or a file system of the test's own host reads and
    writes as well. What the devices of that host counted is its own. If they were not read, all bytes that are not
    the load's count as other hosts'."""
    of_hosts = _bytes_of_hosts(topology, tested)
    for row in rows:
        own = of_hosts.get((str(row["entity"]), str(row["step"]), str(row["direction"])))
        foreign = row["foreign_ratio"]
        if foreign is not None and own is not None and row["bytes_per_second"]:
            foreign = min(number(row, "foreign_ratio"), max(0.0, 1 - own / number(row, "bytes_per_second")))
        yield {**row, "other_hosts_ratio": foreign}


def _bytes_of_hosts(topology: Topology, tested: Sequence[UnderTest]) -> _Bytes:
    """Guests' devices are left out: their bytes are those of their hypervisor's devices."""
    result: defaultdict[tuple[str, str, str], float] = defaultdict(float)
    for step in tested:
        for lun in step.devices if step.hosts else ():
            volumes = topology.related(lun, "backed_by", "volume")
            if not volumes or not topology.related(lun, "attached_to", "host"):
                continue
            stores = {
                *volumes,
                *(array for volume in volumes for array in topology.related(volume, "member_of", "array")),
            }
            for direction in DIRECTIONS:
                counted = rate(step.samples_of(lun), f"bytes_{direction}_total")
                for store in stores if counted is not None else ():
                    result[store, step.load.step, direction] += counted or 0.0
    return dict(result)
