"""Several switches, the links between them, and who suffers from whom: bounds, not figures."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic import ValidationError

from sanpath_lab.physics.link import LinkDirection
from sanpath_lab.routing import egress_ports
from sanpath_lab.scenario import Scenario, load_scenario
from sanpath_lab.simulation import Simulation

LARGEST_FRAME = 2112 + 28


@dataclass(frozen=True)
class Passed:
    """What happened to one direction of a cable meanwhile, as shares of the time."""

    used: float
    stalled: float


class Watch:
    """Counters since it was made."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, self._since = simulation, simulation.now
        self._before = {id(link): (link.octets, link.stall_seconds) for link in links(simulation)}
        self._ios = simulation.host.disks[0].totals["read"].ios

    @property
    def seconds(self) -> float:
        return self._simulation.now - self._since

    def passed(self, link: LinkDirection) -> Passed:
        octets, stalled = self._before[id(link)]
        used = (link.octets - octets) / link.bytes_per_second / self.seconds
        return Passed(used, (link.stall_seconds - stalled) / self.seconds)

    def reads_per_second(self) -> float:
        return (self._simulation.host.disks[0].totals["read"].ios - self._ios) / self.seconds


def links(simulation: Simulation) -> list[LinkDirection]:
    cables = simulation.fabric.cables.values()
    return list({id(link): link for c in cables for link in (c.towards_switch, c.from_switch)}.values())


def watched(simulation: Simulation, seconds: float = 1.0) -> Watch:
    """The load under way for a while, then so long."""
    if simulation.load is None:
        simulation.begin_load()
    simulation.advance(simulation.now + 0.5)
    watch = Watch(simulation)
    simulation.advance(simulation.now + seconds)
    return watch


def to_neighbour(simulation: Simulation) -> LinkDirection:
    return simulation.fabric.neighbour_routes[0].to_host[-1]


def changed(name: str, **load: object) -> Simulation:
    scenario = load_scenario(name)
    return Simulation(scenario.model_copy(update={"load": scenario.load.model_copy(update=load)}), 1.8e9)


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("name", ["slow-drain-host", "oversubscribed-isl"])
def test_a_switch_holds_no_more_than_its_buffers_and_loses_nothing(name: str, direction: str) -> None:
    simulation = changed(name, direction=direction)
    simulation.begin_load()
    for _ in range(300):
        simulation.advance(simulation.now + 0.003)
        for switch in simulation.scenario.switches:
            own = [c for port, c in simulation.fabric.cables.items() if port.startswith(f"{switch.name}/")]
            held = sum(c.towards_switch.octets - c.from_switch.octets for c in own)
            assert 0 <= held <= sum(c.towards_switch.lent for c in own) * LARGEST_FRAME


@pytest.mark.parametrize("name", ["slow-drain-host", "oversubscribed-isl", "four-gigabit-switch"])
def test_credits_are_never_overdrawn_nor_invented(name: str) -> None:
    simulation = Simulation(load_scenario(name), 1.8e9)
    simulation.begin_load()
    for _ in range(2000):
        simulation.advance(simulation.now + 0.0002)
        assert all(0 <= link.credits <= link.lent for link in links(simulation))


def test_a_slow_device_stalls_its_own_port_and_the_link_towards_it_but_not_its_victims_port(
    slow_drain: Simulation,
) -> None:
    watch, cables = watched(slow_drain), slow_drain.fabric.cables
    culprit = watch.passed(cables["sw1/0/3"].from_switch)
    assert culprit.used == pytest.approx(0.05, abs=0.005)
    assert 0.9 < culprit.stalled < 0.96
    shared = watch.passed(cables["sw2/0/7"].from_switch)
    assert shared.used < 0.2
    assert 0.8 < shared.stalled < 1 - shared.used + 0.01
    victim = watch.passed(cables["sw1/0/2"].from_switch)
    assert victim.used < 0.1
    assert victim.stalled < 0.01


def test_the_innocent_host_falls_with_the_slow_one_and_recovers_with_it(slow_drain: Simulation) -> None:
    slow = watched(slow_drain, 0.5).reads_per_second()
    to_neighbour(slow_drain).drain_ratio = 1.0
    recovered = watched(slow_drain, 0.5).reads_per_second()
    to_neighbour(slow_drain).drain_ratio = 0.05
    slow_again = watched(slow_drain, 0.5).reads_per_second()
    assert recovered > 5 * slow
    assert slow_again == pytest.approx(slow, rel=0.1)


def test_neither_link_nor_array_is_full_and_the_array_sees_it_as_san_time(slow_drain: Simulation) -> None:
    watch = watched(slow_drain, 2.5)
    assert max(watch.passed(link).used for link in links(slow_drain)) < 0.2
    own = {hba.wwpn for hba in slow_drain.scenario.host.hbas}
    read = slow_drain.array.snapshots[-1].total("read", own)
    assert read.service_seconds / read.ops < 0.5e-3
    assert read.queue_seconds / read.ops < 0.1e-3
    assert read.san_seconds / read.ops > 5e-3


def test_it_is_slow_however_much_the_innocent_host_asks_for(slow_drain: Simulation) -> None:
    few = watched(changed("slow-drain-host", threads=(2,)), 0.5)
    many = watched(changed("slow-drain-host", threads=(16,)), 0.5)
    assert many.reads_per_second() == pytest.approx(few.reads_per_second(), rel=0.05)
    assert few.reads_per_second() * 65536 < 0.1 * to_neighbour(slow_drain).bytes_per_second


def test_a_slow_link_fills_and_is_shared_by_both_hosts(oversubscribed: Simulation) -> None:
    watch, cables = watched(oversubscribed), oversubscribed.fabric.cables
    shared = watch.passed(cables["sw2/fc1/8"].from_switch)
    assert 0.975 < shared.used < 0.99
    assert shared.stalled < 0.01, "it is full, it does not wait"
    share = watch.passed(cables["sw1/fc1/2"].from_switch).used / (shared.used / 2)
    assert 0.4 < share < 0.6
    for target in ("sw2/fc1/1", "sw2/fc1/2"):
        assert watch.passed(cables[target].towards_switch).stalled > 0.5, "the array's ports are held up"
    for host in ("sw1/fc1/2", "sw1/fc1/3"):
        assert watch.passed(cables[host].from_switch).stalled < 0.01


def test_a_full_link_gives_no_more_to_more_ios() -> None:
    few, many = (
        watched(changed("oversubscribed-isl", threads=(threads,)), 0.5).reads_per_second() for threads in (4, 16)
    )
    assert many == pytest.approx(few, rel=0.02)


def test_both_ends_of_a_link_between_switches_count_the_same(slow_drain: Simulation) -> None:
    watched(slow_drain)
    near, far = (slow_drain.fabric.cables[port] for port in ("sw1/0/7", "sw2/0/7"))
    assert near.towards_switch is far.from_switch
    assert near.from_switch is far.towards_switch
    assert near.towards_switch.octets > 0


TRIANGLE = [("a/0/1", "b/0/1"), ("b/0/2", "c/0/2"), ("a/0/3", "c/0/3"), ("c/0/4", "a/0/4")]


def test_frames_take_the_fewest_links_and_pairs_are_spread_over_parallel_ones() -> None:
    assert egress_ports(TRIANGLE, "a/0/9", "a/0/8", 0) == []
    assert egress_ports(TRIANGLE, "a/0/9", "b/0/9", 0) == ["a/0/1"]
    assert {egress_ports(TRIANGLE, "a/0/9", "c/0/9", number)[0] for number in range(2)} == {"a/0/3", "a/0/4"}
    assert egress_ports(TRIANGLE[:2], "a/0/9", "c/0/9", 0) == ["a/0/1", "b/0/2"]


def refused(**update: object) -> str:
    scenario = load_scenario("slow-drain-host").model_dump() | update
    with pytest.raises(ValidationError) as problem:
        Scenario.model_validate(scenario)
    return str(problem.value)


def test_switches_that_no_link_joins_are_refused() -> None:
    assert "no link leads from switch sw1 to switch sw2" in refused(inter_switch_links=[])


def test_a_cable_needs_a_port_of_its_own() -> None:
    link = {"gigabit": 16, "credits": 160}
    assert "no switch has a port sw2/0/8" in refused(inter_switch_links=[link | {"ends": ("sw1/0/7", "sw2/0/8")}])
    assert "two cables in switch port sw1/0/2" in refused(
        inter_switch_links=[link | {"ends": ("sw1/0/2", "sw2/0/7")}]
    )


def test_buffers_too_small_for_the_grain_of_the_simulation_are_refused() -> None:
    assert "80 credits: bursts of 64 frames need 130" in refused(burst_frames=64)
