"""Configured throughput limits: of volumes, of volume groups, and of hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.facts.table import number
from sanpath.model import Scalar
from sanpath.topology.paths import only_host
from sanpath.topology.topology import Topology
from sanpath.units import bandwidth, iops

Rate = Literal["bytes_per_second", "ops_per_second"]
RATES: tuple[Rate, Rate] = ("bytes_per_second", "ops_per_second")
REACHED = 0.9
"""Share of a limit from which it counts as reached: the mean over a step is a little below the limit."""
_ALL_RATIO = 0.9
"""Share of a load's I/Os from which a limit holds all of them: load and array count in different windows."""
_FORMATS: Mapping[Rate, Callable[[float], str]] = {"bytes_per_second": bandwidth, "ops_per_second": iops}
_OWN_LIMIT_WORDS = "its QoS limit of {}"


@dataclass(frozen=True, slots=True)
class SetLimit:
    """A limit of reads and writes together.

    `entity`: the limited entity; `rate`: the limited rate, at `limit` a second; `throughput`: the throughput that it
    applies to, in a step. `is_own`: it is a volume's own; `is_of_volume`: it is a volume's or its group's. `words`:
    the limit in words.
    """

    entity: str
    rate: Rate
    limit: float
    throughput: float
    is_own: bool
    is_of_volume: bool
    words: str

    @property
    def used_ratio(self) -> float:
        """Share of it that is used."""
        return self.throughput / self.limit if self.limit else float("inf")


def configured_limits(facts: Facts, load: LoadFacts) -> Iterator[SetLimit]:
    """Yield the limits of the load's volumes, of their volume groups, and of its host. If the array reported none of
    the volumes in the step, the load is assumed to be spread evenly over them."""
    topology, volumes = facts.topology, sorted(volumes_of(facts.topology, load, facts.tables))
    host, whole = only_host(topology, load.roots), load.whole or load
    # All parts of the test on a host share the host's limit.
    is_alone = only_host(topology, whole.roots) == host
    on_host = facts.test_loads_in(load.step) if is_alone else facts.loads_in(load.step)
    volumes_on_host = volumes_of(topology, whole, facts.tables) if is_alone else volumes
    for rate in RATES:
        total = sum(float(getattr(step_load, rate)) for step_load in facts.loads_in(load.step))
        volume_rows = facts.tables["volume"].select(step=load.step)
        rows = [(str(row["entity"]), number(row, rate)) for row in volume_rows]
        if not any(volume in volumes for volume, _ in rows):
            rows += [(volume, total / len(volumes)) for volume in volumes]
        limits: list[tuple[str, Scalar, float, bool, str]] = []
        for volume in volumes:
            attributes, members = topology.entities[volume].attributes, _members(topology, volume)
            own = sum(throughput for entity, throughput in rows if entity == volume)
            of_group = sum(throughput for entity, throughput in rows if entity in members)
            group = f"the QoS limit of {{}} of its volume group {attributes.get('volume_group')}"
            limits.append((volume, attributes.get(f"qos_{rate}"), own, True, _OWN_LIMIT_WORDS))
            limits.append((volume, attributes.get(f"group_qos_{rate}"), of_group, True, group))
        if host is not None:
            # A cloud limits the instance itself; an array limits the I/O of a host.
            attributes = topology.entities[host].attributes
            is_instance = attributes.get("instance_type") is not None
            entity = volumes[0] if len(volumes) == len(volumes_on_host) == 1 and not is_instance else host
            of_host = sum(float(getattr(step_load, rate)) for step_load in on_host)
            words = f"the QoS limit of {{}} of the host {host.partition(':')[2]}"
            limits.append((entity, attributes.get(f"qos_{rate}"), of_host, False, words))
        for entity, limit, throughput, is_of_volume, words in limits:
            if isinstance(limit, int | float) and limit > 0:
                formatted = words.format(_FORMATS[rate](limit))
                yield SetLimit(
                    entity=entity,
                    rate=rate,
                    limit=limit,
                    throughput=throughput,
                    is_own=words == _OWN_LIMIT_WORDS,
                    is_of_volume=is_of_volume,
                    words=formatted,
                )


def limited_ratio(facts: Facts, load: LoadFacts) -> float:
    """Share of a load's I/Os that a reached limit holds back: if one of several volumes is limited, only that
    volume's I/Os. 1: all I/Os, or it is not known which."""
    rates = {rate: sum(float(getattr(each, rate)) for each in facts.loads_in(load.step)) for rate in RATES}
    reached = [limit for limit in configured_limits(facts, load) if limit.used_ratio >= REACHED]
    if not reached:
        return 1.0
    held = sum(limit.throughput / rates[limit.rate] for limit in reached if rates[limit.rate])
    is_part = 0 < held < _ALL_RATIO and all(limit.is_of_volume for limit in reached)
    return held if is_part else 1.0


def own_limit(volume: str, rate: Rate, limit: float, throughput: float = 0.0) -> SetLimit:
    """Return a volume's own limit. `throughput`: the throughput that it would apply to, 0 if that is not known."""
    return SetLimit(
        entity=volume,
        rate=rate,
        limit=limit,
        throughput=throughput,
        is_own=True,
        is_of_volume=True,
        words=_OWN_LIMIT_WORDS.format(_FORMATS[rate](limit)),
    )


def _members(topology: Topology, volume: str) -> list[str]:
    """Return the volumes of the group that a volume is in."""
    group = topology.entities[volume].attributes.get("volume_group")
    arrays = topology.related(volume, "member_of", "array")
    members = [v.id for v in topology.of_kind("volume") if v.attributes.get("volume_group") == group]
    return [member for member in members if topology.related(member, "member_of", "array") == arrays]
