"""The utilisation of data sheets' figures that a person entered.

A device that shares its time between reads and writes is busy by the sum of both: U = X_read / C_read + X_write /
C_write (utilisation law, Denning and Buzen 1978). The ports of one device carry their sum, each direction separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sanpath.facts.figures.manual_figures import Ceilings
from sanpath.facts.load.loads import LoadFacts
from sanpath.units import bandwidth, counted, iops, percent


@dataclass(frozen=True, slots=True)
class Promise:
    """A data sheet's figure for a device, or for all its ports together. `used_ratio`: share of it that the step
    uses."""

    entity: str
    used_ratio: float
    words: str

    def __str__(self) -> str:
        return f"{self.entity} uses {percent(self.used_ratio)} of what was entered as its limit: {self.words}"


def promises_of(
    load: LoadFacts,
    both_directions: Sequence[LoadFacts],
    ceilings: Ceilings,
    devices: Iterable[str],
    ports_of_arrays: Iterable[Sequence[str]],
) -> Iterator[Promise]:
    """Yield the promise of each device with a ceiling, in the unit of which the largest share is used, and that of
    all ports of each array together. `both_directions`: of the load's step."""
    for entity in devices:
        if (promise := _both_directions(entity, both_directions, ceilings)) is not None:
            yield promise
    for ports in ports_of_arrays:
        if (promise := _front(load, ports, ceilings)) is not None:
            yield promise


def _both_directions(entity: str, both: Sequence[LoadFacts], ceilings: Ceilings) -> Promise | None:
    """Return the promise of the device itself. None: no figure was entered for it."""
    promises = []
    for unit, formatted in (("bytes_per_second", bandwidth), ("ops_per_second", iops)):
        used_ratio, words = 0.0, []
        for direction in (None, *dict.fromkeys(step_load.direction for step_load in both)):
            if (promised := ceilings.get((entity, unit, direction))) is not None:
                limit, source = promised
                these = [step_load for step_load in both if direction in (None, step_load.direction)]
                throughput = sum(float(getattr(step_load, unit)) for step_load in these)
                used_ratio += throughput / limit
                name = "" if direction is None else f"{direction} "
                words.append(f"{name}{formatted(throughput)} of {formatted(limit)} ({source})")
        if words:
            promises.append(Promise(entity, used_ratio, " and ".join(words)))
    return max(promises, key=lambda promise: promise.used_ratio, default=None)


def _front(load: LoadFacts, ports: Sequence[str], ceilings: Ceilings) -> Promise | None:
    """Return the promise of all ports of a device together. None: the data sheet does not give every port."""
    promised = [ceilings.get((port, "bytes_per_second", None)) for port in ports]
    port_rates = [port_promise[0] for port_promise in promised if port_promise is not None]
    if not port_rates or len(port_rates) < len(ports):
        return None
    words = f"{load.direction} {bandwidth(load.bytes_per_second)} of {bandwidth(sum(port_rates))}"
    words += f" over {counted(len(ports), 'port')}"
    if len(ports) > 1 and load.bytes_per_second > max(port_rates):
        words += f", more than one alone carries ({bandwidth(max(port_rates))}): several are in use"
    return Promise(ports[0], load.bytes_per_second / sum(port_rates), words)
