"""The simulated SAN: load, hosts, fabric and array on one clock."""

from __future__ import annotations

from sanpath_lab.physics.array_model import SimulatedArray
from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.fabric import Fabric
from sanpath_lab.physics.host_model import SimulatedHost, SimulatedNeighbour
from sanpath_lab.physics.hypervisor_counters import HypervisorCounters
from sanpath_lab.physics.load_model import LoadRun
from sanpath_lab.scenario import Load, Scenario


class Simulation:
    """A simulation of a scenario. It depends only on the scenario, with its random seed, and on when the load begins.

    `epoch_seconds`: wall clock at simulated time 0, in seconds since the epoch. All devices have this clock.
    """

    def __init__(self, scenario: Scenario, epoch_seconds: float) -> None:
        self.scenario = scenario
        self.epoch_seconds = epoch_seconds
        self._events = EventQueue()
        self.fabric = Fabric(scenario, self._events)
        self.arrays = {
            definition.name: SimulatedArray(scenario, definition, self._events, self.fabric, epoch_seconds)
            for definition in scenario.arrays
        }
        self.array = self.arrays[scenario.array.name]
        timeout = scenario.host.timeout_seconds
        hypervisor = None if scenario.vcenter is None else HypervisorCounters(self._events, epoch_seconds, timeout)
        self.host = SimulatedHost(scenario, self._events, self.fabric, self.array, hypervisor)
        for neighbour, route in zip(scenario.neighbours, self.fabric.neighbour_routes, strict=True):
            array = self.arrays[scenario.array_of(neighbour).name]
            SimulatedNeighbour(neighbour, route, self._events, self.fabric, array)
        self.load: LoadRun | None = None

    @property
    def now(self) -> float:
        """Simulated seconds since the start."""
        return self._events.now

    def begin_load(self, load: Load | None = None) -> LoadRun:
        """Start a load now; None: that of the scenario. Raises RuntimeError: a load is running."""
        if self.load is not None and not self.load.finished:
            raise RuntimeError("a load is already under way")
        load = load or self.scenario.load
        range_bytes = load.working_set_bytes or self.scenario.volume.provisioned_bytes
        self.host.use_range(range_bytes)
        self.array.use_range(range_bytes)
        self.load = LoadRun(load, self._events, self.host, self.scenario.seed)
        return self.load

    def advance(self, until: float) -> None:
        """Advance simulated time to `until`."""
        self._events.advance(until)
