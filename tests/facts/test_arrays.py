"""Facts of arrays: means over operations, times that are not the array's own, ports that count."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.facts.compute import compute
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.table import FactTable
from sanpath.model import Column, Scalar, SourceEntity, Table
from sanpath.recording.reading.recording import Recording
from sanpath.topology.resolve import resolve
from sanpath_collectors.flasharray.tables import ARRAY, VOLUME
from tests.scenarios.test_linux_storage import Storage
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, NAA, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, fast, published

PORT = Table(
    "array_port",
    tuple(
        Column(name, 64)
        for name in (
            "bytes_rx_total",
            "bytes_tx_total",
            "errors_rx_total",
            "errors_tx_total",
            "discards_rx_total",
            "discards_tx_total",
        )
    ),
)


def test_a_mean_time_is_that_of_an_io_and_not_of_a_second(tmp_path: Path) -> None:
    """After a ramp of 2 s 7 s with 1,000 reads at 1 ms and 11 s with 10 at 100 ms: 18 s / 7,110 reads = 2.53 ms."""
    out = array_only(tmp_path)
    for at in range(1, 21):
        busy = at < 10
        values = {"ops_per_second_read": 1000.0 if busy else 10.0, "bytes_per_second_read": 1.0}
        values["service_seconds_read"] = 1_000.0 if busy else 100_000.0
        out.samples("fa1", ARRAY, at, {"fa1": values}, covers=1.0)
    (row,) = compute(out.write()).tables["array"].select(direction="read")
    assert row["service_seconds"] == pytest.approx(18 / 7110, rel=1e-6)
    assert row["ops_per_second"] == pytest.approx(7110 / 18)


def test_where_the_operations_are_not_told_every_second_counts_alike(tmp_path: Path) -> None:
    out = array_only(tmp_path)
    for at in range(1, 21):
        values = {"ops_per_second_read": 5.0} if at > 18 else {"service_seconds_read": 1000.0 * at}
        out.samples("fa1", ARRAY, at, {"fa1": values}, covers=1.0)
    (row,) = compute(out.write()).tables["array"].select(direction="read")
    assert row["service_seconds"] == pytest.approx(0.0105)  # of the seconds 3 to 18


def test_the_end_of_a_step_is_set_beside_its_beginning(tmp_path: Path) -> None:
    """1 ms in the first 14 s and 4 ms after that, of which 2 are queue."""
    out = array_only(tmp_path)
    for at in range(1, 21):
        values = {"ops_per_second_write": 100.0, "bytes_per_second_write": 1.0}
        values |= {"service_seconds_write": 1000.0 if at < 14 else 2000.0}
        values |= {"queue_seconds_write": 0.0 if at < 14 else 2000.0}
        out.samples("fa1", ARRAY, at, {"fa1": values}, covers=1.0)
    (row,) = compute(out.write()).tables["array"].select(direction="write")
    assert row["growth_within"] == pytest.approx(4.0)
    assert row["held_throughput"] is None, "no load tells its throughput"


class TwoArrays(San):
    """Beside the array under test there is another one, at work for others."""

    def _array(self, out: RecordingBuilder, last: float) -> None:
        super()._array(out, last)
        out.source("fa2", "flasharray", ARRAY, VOLUME)
        out.entity("fa2", "array", "fa2", ids={"name": ("fa2",)})
        out.entity("fa2", "volume", "vol77", ids={"name": ("vol77",)})
        out.link("fa2", "member_of", (("volume", "vol77"), ("array", "fa2")))
        for at in range(int(last)):
            out.poll("fa2", at)
            result = {"ops_per_second_read": 2 * X, "bytes_per_second_read": 2 * X * 65536}
            out.samples("fa2", ARRAY, at, {"fa2": {**result, "service_seconds_read": 9000.0}}, covers=1.0)
            out.samples("fa2", VOLUME, at, {"vol77": {**result, "service_seconds_read": 9000.0}}, covers=1.0)


def test_what_another_array_does_is_compared_with_no_load(tmp_path: Path) -> None:
    """It moves twice the bytes of the test, and none of them are the test's."""
    san = TwoArrays(tmp_path)
    san.step(
        "t16", 16, read=Flow(X, 16 / X), ports={HOST_PORT.name: (COUNTED, NOTHING)}, array={"read": AtArray(1e-3)}
    )
    recording = san.write()
    facts = compute(recording)
    assert {row["entity"] for row in facts.tables["array"]} == {"array:fa1"}
    assert {row["foreign_ratio"] for row in facts.tables["volume"].select(entity="volume:fa2/vol77")} == {None}
    assert not [f.rule for f in diagnose(recording).findings if f.outcome == "hit" and "fa2" in f.entity]


def array_only(folder: Path) -> RecordingBuilder:
    out = RecordingBuilder(folder)
    out.source("fa1", "flasharray", ARRAY, PORT)
    mark: dict[str, Scalar] = {"step": "s", "group": 0}
    out.event("fa1", 0, "step-begin", **mark)
    out.event("fa1", 20, "step-end", **mark)
    out.entity("fa1", "array", "fa1", ids={"name": ("fa1",)})
    return out


def test_what_two_sources_count_is_one_volume(tmp_path: Path) -> None:
    """One times its I/Os, the other knows only how many there are, and reads it less often."""
    out = array_only(tmp_path)
    for source, volume in (("times", "v"), ("other", "w")):
        out.source(source, "prometheus", VOLUME)
        out.entity(source, "volume", volume, ids={"naa": (NAA,)})
    for at in range(1, 21):
        values = {"ops_per_second_read": 100.0, "bytes_per_second_read": 1.0}
        out.samples("times", VOLUME, at, {"v": {**values, "service_seconds_read": 1000.0}}, covers=1.0)
        if at % 4 == 0:
            out.samples("other", VOLUME, at, {"w": {**values, "ops_per_second_read": 104.0}}, covers=1.0)
    (row,) = compute(out.write()).tables["volume"].select(direction="read")
    assert row["ops_per_second"] == pytest.approx(100)
    assert row["service_seconds"] == pytest.approx(0.001)


def test_volumes_of_one_name_on_two_arrays_each_have_their_own_first_data_reduction() -> None:
    reductions = {"fa1": (2.0, 2.0), "fa2": (4.0, 5.0)}
    topology = resolve([(array, 0, SourceEntity("volume", "v", "v")) for array in reductions])
    loads = [LoadFacts(("load:fio",), step, "read", 9, 1e3, 4e6, 1e-3, None, 1.0, None) for step in ("a", "b")]
    samples = [
        StepSamples(
            array,
            "v",
            step,
            means={"ops_per_second_read": 1e3, "data_reduction_ratio": reduction},
            last_values={"data_reduction_ratio": reduction},
        )
        for array, ratios in reductions.items()
        for step, reduction in zip(("a", "b"), ratios, strict=True)
    ]
    rows = array_rows(topology, "volume", loads, FactTable(()), samples)
    assert {(row["entity"], row["step"]): row["data_reduction_change"] for row in rows} == {
        ("volume:fa1/v", "a"): 0.0,
        ("volume:fa1/v", "b"): 0.0,
        ("volume:fa2/v", "a"): 0.0,
        ("volume:fa2/v", "b"): pytest.approx(0.25),
    }


def test_a_target_port_that_counts_tells_its_rates(tmp_path: Path) -> None:
    out = array_only(tmp_path)
    out.entity("fa1", "array_port", "CT0.FC0")
    for at in range(21):
        counts = {"bytes_rx_total": 100 * at, "bytes_tx_total": 700 * at, "errors_rx_total": 2 * at}
        counts |= {"errors_tx_total": at, "discards_rx_total": 0, "discards_tx_total": 4 * at}
        out.samples("fa1", PORT, at, {"CT0.FC0": counts})
    (row,) = compute(out.write()).tables["array_port"]
    assert (row["bytes_per_second_read"], row["bytes_per_second_write"]) == (pytest.approx(700), pytest.approx(100))
    assert row["errors_per_second"] == pytest.approx(3)
    assert (row["discards_per_second_rx"], row["discards_per_second_tx"]) == (pytest.approx(0), pytest.approx(4))


def over_a_full_link(folder: Path, response: float) -> Recording:
    """The published test with an array whose one clock holds the transfer: 128 in flight at 6,250 a second."""
    san = San(folder, leave_out=frozenset({"disk"}))
    ports = {port.name: (COUNTED, NOTHING) for port in (HOST_PORT, ARRAY_PORT)}
    for n in (16, 128):
        result = {"read": AtArray(None, queue=None, response=response)}
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=ports, array=result)
    return san.write()


def test_a_time_that_holds_the_transfer_is_never_the_array_s_own(tmp_path: Path) -> None:
    recording = over_a_full_link(tmp_path, 0.0024)
    row = compute(recording).tables["array"].select(step="t128", direction="read")[0]
    assert (row["array_seconds"], row["response_seconds"]) == (None, pytest.approx(0.0024))
    found = diagnose(recording)
    (limit,) = found.verdict.bottlenecks
    assert limit.kind == "link"
    (budget,) = [b for b in found.latency_budget if b.step == "t128"]
    (part,) = [p for p in budget.parts if p.plane == "response"]
    assert part.seconds == (pytest.approx(0.0024), pytest.approx(0.0024))
    assert (part.limited_by, part.layer) == (limit.entity, limit.layer)
    assert not [p for p in budget.parts if p.plane in ("array", "wire")]


def test_an_array_is_cleared_where_even_with_the_transfer_it_has_little_to_do_with_the_latency(
    tmp_path: Path,
) -> None:
    at_most_one = [c for c in diagnose(over_a_full_link(tmp_path / "a", 0.001)).cleared if c.entity == "array:fa1"]
    assert at_most_one
    assert "at most 1.00 ms" in at_most_one[0].because
    most_of_it = diagnose(over_a_full_link(tmp_path / "b", 0.0024))
    assert "array:fa1" not in [c.entity for c in most_of_it.cleared]


def test_what_waits_in_an_array_is_booked_where_it_limits(tmp_path: Path) -> None:
    """Fast links; 8 and 64 in flight at 10,000 a second: the array serves in 0.3 ms and lets the rest wait."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], leave_out=frozenset({"disk"}))
    ports = {port.name: (10_000 * 8192 * 1.02, 0.0) for port in (HOST_PORT, ARRAY_PORT)}
    for n, queue in ((8, 0.0004), (64, 0.0058)):
        result = {"read": AtArray(0.0003, san=0.00002, queue=queue)}
        san.step(f"q{n}", n, read=Flow(10_000, n / 10_000), ports=ports, array=result, block=8192)
    found = diagnose(san.write())
    (limit,) = found.verdict.bottlenecks
    assert (limit.entity, limit.layer) == ("array:fa1", "array_front")
    parts = [p for b in found.latency_budget if b.step == "q64" for p in b.parts if p.plane == "array"]
    assert {p.what: p.layer for p in parts} == {"service time": "array_back", "queue in the array": "array_front"}


def test_how_long_a_file_takes_to_read_is_no_poll_of_a_device(tmp_path: Path) -> None:
    facts = compute(published(San(tmp_path, imported={"fa1": 0.0})).write())
    seconds = {str(row["entity"]): row["poll_seconds"] for row in facts.tables["source"].select()}
    assert seconds["source:fa1"] is None
    assert seconds["source:sw1"] is not None


class Filling(Storage):
    """The host reads half as much again as its load does: a cache of its own is being filled."""

    filling = 0.5

    def _counted_by(self, _name: str, second: float) -> dict[str, Number]:
        disk = self._disk(second)
        ops = round(float(disk["ops_read_total"] or 0) * (1 + self.filling))
        return {"ops_read_total": ops, "bytes_read_total": 8 * 1024 * ops}


@pytest.mark.parametrize(("filling", "others"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 1.0)])
def test_what_the_hosts_of_the_test_move_besides_its_load_is_not_other_hosts(
    tmp_path: Path, filling: float, others: float
) -> None:
    san = Filling(tmp_path, leave_out={"disk"})
    san.filling = filling
    san.step(
        "q16",
        16,
        block=8 * 1024,
        read=Flow(800, 0.02),
        disk={"read": Flow(800, 0.0199)},
        ports={"fc1/7": (7e6, NOTHING), "fc1/1": (7e6, NOTHING)},
        array={"read": AtArray(0.005, queue=None, ops=800 * (1 + filling + others))},
    )
    recording = san.write()
    tables = compute(recording).tables
    for kind in ("array", "volume"):
        (row,) = tables[kind].select(direction="read")
        assert row["foreign_ratio"] == pytest.approx(1 - 1 / (1 + filling + others), abs=0.02)
        assert row["other_hosts_ratio"] == pytest.approx(others / (1 + filling + others), abs=0.02)
    hit = {finding.rule for finding in diagnose(recording).findings if finding.outcome == "hit"}
    assert {"volume-shared", "array-busy-with-others"} & hit == (
        {"volume-shared", "array-busy-with-others"} if others else set()
    )
