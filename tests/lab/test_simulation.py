from __future__ import annotations

import pytest

from sanpath_lab.physics.load_model import Job
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation

EPOCH_SECONDS = 1_800_000_000.25


def run_to_the_end(simulation: Simulation, slice_seconds: float = 0.02) -> list[Job]:
    run = simulation.begin_load()
    while not run.finished:
        simulation.advance(simulation.now + slice_seconds)
    return run.jobs


def counters(simulation: Simulation) -> list[float]:
    cables = simulation.fabric.cables.values()
    ends = [end for cable in cables for end in (cable.towards_switch, cable.from_switch)]
    disk = simulation.host.disks[0].totals.values()
    return [
        *(end.octets for end in ends),
        *(end.frames for end in ends),
        *(totals.ios for totals in disk),
        *(totals.ticks_seconds for totals in disk),
        *(totals.ops for totals in simulation.array.totals.values()),
        *(totals.san_seconds for totals in simulation.array.totals.values()),
        simulation.host.disks[0].guest_queue.in_flight_seconds(simulation.now),
        simulation.host.disks[0].lun_queue.in_flight_seconds(simulation.now),
    ]


def with_direction(scenario: Scenario, direction: str) -> Scenario:
    return scenario.model_copy(update={"load": scenario.load.model_copy(update={"direction": direction})})


def with_threads(scenario: Scenario, *threads: int, outstanding: int = 8) -> Scenario:
    load = scenario.load.model_copy(update={"threads": threads, "outstanding_per_thread": outstanding})
    return scenario.model_copy(update={"load": load})


@pytest.fixture(params=["read", "write"])
def either_direction(request: pytest.FixtureRequest, short: Scenario) -> Simulation:
    return Simulation(with_direction(short, request.param), EPOCH_SECONDS)


def test_throughput_sticks_at_the_link_and_latency_is_what_is_outstanding_over_it(
    either_direction: Simulation,
) -> None:
    jobs = run_to_the_end(either_direction)
    seconds = [job.runtime_seconds(either_direction.now) for job in jobs]
    iops = [job.ios / s for job, s in zip(jobs, seconds, strict=True)]
    direction = either_direction.scenario.load.directions[0]
    latencies = [job.by_direction[direction].latency for job in jobs]
    mean_ms = [latency.sum_seconds / latency.count * 1e3 for latency in latencies]
    assert iops == pytest.approx([6290] * 4, rel=0.01)
    assert mean_ms == pytest.approx([2.54, 20.3, 81.4, 127.2], rel=0.02)


def test_littles_law_holds_for_the_load(either_direction: Simulation) -> None:
    direction = either_direction.scenario.load.directions[0]
    for job in run_to_the_end(either_direction):
        in_flight = job.by_direction[direction].latency.sum_seconds / job.runtime_seconds(either_direction.now)
        assert in_flight == pytest.approx(job.threads * 8, rel=0.02)


def test_littles_law_holds_for_the_guests_disk_which_never_has_more_than_its_depth(
    simulation: Simulation,
) -> None:
    run_to_the_end(simulation)
    disk, now = simulation.host.disks[0], simulation.now
    assert disk.guest_queue.in_flight_seconds(now) == pytest.approx(disk.totals["read"].ticks_seconds, rel=1e-6)
    mean_in_flight = disk.guest_queue.in_flight_seconds(now) / disk.guest_queue.busy_seconds(now)
    assert 27 < mean_in_flight < 32, "three of four steps fill the queue of 32, one has 16 outstanding"


def test_array_times_and_the_hosts_own_account_for_what_the_disk_sees(simulation: Simulation) -> None:
    run_to_the_end(simulation)
    simulation.advance(simulation.now + 1.0)
    read = simulation.array.snapshots[-1].total("read")
    inside = (read.service_seconds + read.queue_seconds + read.san_seconds) / read.ops
    guest = simulation.host.disks[0].totals["read"]
    seen_by_guest = guest.ticks_seconds / guest.ios
    assert read.ops == guest.ios
    assert 0 < seen_by_guest - inside < 50e-6, "only the way of the command is outside the array's clocks"
    assert read.service_seconds / read.ops == pytest.approx(0.35e-3, rel=0.03)


def test_bytes_agree_on_both_cables_and_with_the_array(either_direction: Simulation) -> None:
    run_to_the_end(either_direction)
    cables, route = either_direction.fabric.cables, either_direction.fabric.routes[0]
    for first, last in (route.to_host, route.to_array):
        assert first.octets == last.octets
    direction = either_direction.scenario.load.direction
    done = sum(t.bytes for n, t in either_direction.array.totals.items() if n.direction == direction)
    data = (route.to_host if direction == "read" else route.to_array)[0]
    assert data.octets == pytest.approx(done * 2076 / 2048, rel=0.002), "commands and responses are small"
    idle = [cables["sw1/fc1/2"], cables["sw1/fc1/8"]]
    assert all(end.octets == 0 for cable in idle for end in (cable.towards_switch, cable.from_switch))


def test_no_counter_ever_falls_and_no_port_exceeds_its_line_rate(short: Scenario) -> None:
    simulation = Simulation(with_threads(short, 100), EPOCH_SECONDS)
    run = simulation.begin_load()
    before, window, transfer_octets = counters(simulation), 0.05, 66_500
    while not run.finished:
        simulation.advance(simulation.now + window)
        after = counters(simulation)
        assert all(new >= old for old, new in zip(before, after, strict=True))
        ports = len(simulation.fabric.cables) * 2
        busiest = max(new - old for old, new in zip(before[:ports], after[:ports], strict=True))
        assert busiest <= 425e6 * window + transfer_octets
        before = after


@pytest.mark.slow
def test_the_seed_decides_everything_and_slices_do_not_matter(short: Scenario) -> None:
    one, other = Simulation(short, EPOCH_SECONDS), Simulation(short, EPOCH_SECONDS)
    in_small_slices, in_large_slices = run_to_the_end(one, 0.02), run_to_the_end(other, 0.5)
    small, large = (
        [job.by_direction["read"].latency.by_latency() for job in jobs] for jobs in (in_small_slices, in_large_slices)
    )
    assert small == large
    reseeded = Simulation(short.model_copy(update={"seed": 1}), EPOCH_SECONDS)
    run_to_the_end(reseeded)
    assert reseeded.array.totals != one.array.totals


def test_a_single_io_takes_service_and_one_transfer(short: Scenario) -> None:
    scenario = with_threads(short, 1, outstanding=1)
    (job,) = run_to_the_end(Simulation(scenario, EPOCH_SECONDS))
    transfer = 32 * 2108 / 425e6
    latency = job.by_direction["read"].latency
    mean = latency.sum_seconds / latency.count
    assert mean == pytest.approx(0.348e-3 + transfer, rel=0.06)


def test_round_robin_over_two_paths_doubles_the_throughput(short: Scenario) -> None:
    paths = ({"hba": "vmhba2", "target": "CT0.FC0"}, {"hba": "vmhba3", "target": "CT1.FC0"})
    scenario = Scenario.model_validate(with_threads(short, 16).model_dump() | {"paths": paths})
    simulation = Simulation(scenario, EPOCH_SECONDS)
    (job,) = run_to_the_end(simulation)
    assert job.ios / job.runtime_seconds(simulation.now) == pytest.approx(2 * 6290, rel=0.01)


def test_reads_and_writes_together_fill_both_directions_of_a_link(short: Scenario) -> None:
    simulation = Simulation(with_direction(with_threads(short, 16), "mixed"), EPOCH_SECONDS)
    (job,) = run_to_the_end(simulation)
    for tally in job.by_direction.values():
        assert tally.ios / job.runtime_seconds(simulation.now) == pytest.approx(6290, rel=0.01)
        assert tally.latency.count == pytest.approx(tally.ios, rel=0.02)


def test_stopping_drains_what_is_in_flight_and_starts_nothing_more(short: Scenario) -> None:
    simulation = Simulation(short, EPOCH_SECONDS)
    run = simulation.begin_load()
    simulation.advance(0.6)
    run.stop()
    assert not run.finished
    simulation.advance(0.7)
    assert run.finished
    before = counters(simulation)
    simulation.advance(5.0)
    assert counters(simulation) == before
    assert [job.phase for job in run.jobs] == ["ended", "waiting", "waiting", "waiting"]


def test_a_second_load_is_refused_while_one_is_under_way(short: Scenario) -> None:
    simulation = Simulation(short, EPOCH_SECONDS)
    simulation.begin_load()
    with pytest.raises(RuntimeError, match="under way"):
        simulation.begin_load()
