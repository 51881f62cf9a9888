"""A result with one figure, and iostat or sar beside it: the device shows how the test went on, and what it is made
of; a network port, whether it is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from tests.support.fio_text import SECONDS, fio_text, likelihoods
from tests.support.stories import judged

DEPTH = 8
ENDED = datetime(2026, 6, 15, 21, 10, 40)
IDLE = 10
"""Seconds of iostat before and after the test."""


def iostat_text(ops: Sequence[float], waiting: Mapping[str, float] | None = None, **devices: float) -> str:
    """`iostat -xt 1` of the machine db1, around a test that had so many reads a second. `devices`: name, _ for -, and
    the share of the reads that it did; each has a part of those outstanding. None: sdb did all. `waiting`: device →
    reads outstanding there, where they are not that part."""
    lines = ["Linux 6.1.0 (db1) \t06/15/26 \t_x86_64_\t(8 CPU)", ""]
    begun = ENDED - timedelta(seconds=SECONDS + IDLE)
    for second, rate in enumerate((0.0, *[0.0] * IDLE, *ops, *[0.0] * IDLE)):
        lines += [
            f"{begun + timedelta(seconds=second):%m/%d/%y %H:%M:%S}",
            "Device            r/s     rkB/s   r_await     w/s     wkB/s   w_await  aqu-sz  %util",
            *(
                _row(name.replace("_", "-"), rate * share, (waiting or {}).get(name, DEPTH * share))
                for name, share in (devices or {"sdb": 1}).items()
            ),
            "",
        ]
    return "\n".join(lines)


def _row(device: str, rate: float, outstanding: float) -> str:
    await_ms, queue = (1000 * outstanding / rate, outstanding) if rate else (0.0, 0.0)
    return f"{device} {rate:.2f} {4 * rate:.2f} {await_ms:.3f} 0.00 0.00 0.00 {queue:.2f} {100 if rate else 0:.2f}"


def of_both(folder: Path, ops: Sequence[float]) -> Diagnosis:
    """fio says how many reads there were in all, and that 8 were outstanding."""
    folder.mkdir(exist_ok=True)
    mean = round(sum(ops) / SECONDS)
    (result := folder / "fio.txt").write_text(fio_text(ops=mean, latency_us=1e6 * DEPTH / mean, depth=DEPTH))
    (devices := folder / "iostat.txt").write_text(iostat_text(ops))
    for file in (result, devices):
        import_file(ImportRequest(file, folder / "r.sanpath"))
    return judged(Recording(folder / "r.sanpath"))


def test_the_machine_that_iostat_names_is_that_of_the_load(tmp_path: Path) -> None:
    found = of_both(tmp_path, [4000.0] * SECONDS)
    (step,) = found.steps
    assert {plane.entity for plane in step.in_flight.planes} == {"load:fio", "lun:db1/sdb"}
    assert step.in_flight.planes[-1].measured[0] == pytest.approx(DEPTH, rel=0.03)


def test_ios_that_take_longer_for_a_while_are_seen_at_the_device(tmp_path: Path) -> None:
    """Ten seconds at 6,000 a second and ten at 1,000, with as many outstanding: a cache has filled up."""
    even, fallen = (
        of_both(tmp_path / "even", [3500.0] * SECONDS),
        of_both(tmp_path / "fall", [6000.0] * 10 + [1000.0] * 10),
    )
    assert "The test had not settled" in (fallen.summary.consequence or "")
    assert "The test had not settled" not in (even.summary.consequence or "")
    few = [likelihoods(found).get("concurrency_limited", 0.0) for found in (even, fallen)]
    assert few[1] < 0.7 * few[0]
    assert not any("it is not known whether the step was steady" in note for note in fallen.steps[0].valid)


def test_a_device_that_does_other_ios_shows_nothing_of_the_load(tmp_path: Path) -> None:
    """sdc of the same machine does a tenth, and comes and goes."""
    result = fio_text(ops=4000, latency_us=2000.0, depth=DEPTH)
    (file := tmp_path / "fio.txt").write_text(result)
    (devices := tmp_path / "iostat.txt").write_text(iostat_text([400.0, 1.0] * (SECONDS // 2), sdc=1))
    for each in (file, devices):
        import_file(ImportRequest(each, tmp_path / "r.sanpath"))
    found = judged(Recording(tmp_path / "r.sanpath"))
    assert any("it is not known whether the step was steady" in note for note in found.steps[0].valid)


@pytest.mark.parametrize(("busy", "suspected"), [(10.0, False), (98.0, True)])
def test_the_processors_that_sar_read_are_those_of_the_load(tmp_path: Path, busy: float, suspected: bool) -> None:
    lines = ["Linux 6.1.0 (db1) \t06/15/26 \t_x86_64_\t(8 CPU)", ""]
    for second in range(SECONDS):
        begun = ENDED - timedelta(seconds=SECONDS - second)
        lines += [
            f"{begun:%H:%M:%S}  CPU  %user  %nice  %system  %iowait  %steal  %idle",
            f"{begun + timedelta(seconds=1):%H:%M:%S}  all  {busy:.2f}  0.00  0.00  0.00  0.00  {100 - busy:.2f}",
            "",
        ]
    (result := tmp_path / "fio.txt").write_text(fio_text(ops=4000, latency_us=2000.0, depth=DEPTH))
    (processors := tmp_path / "sar.txt").write_text("\n".join(lines))
    for file in (result, processors):
        import_file(ImportRequest(file, tmp_path / "r.sanpath"))
    found = judged(Recording(tmp_path / "r.sanpath"))
    assert ("the processors of db1" in [suspect.place for suspect in found.verdict.suspects]) == suspected
    assert (found.summary.acquittal is None) == suspected


def test_a_host_that_is_read_is_not_to_be_read(tmp_path: Path) -> None:
    """Without iostat it is; then the storage behind it is what is missing."""
    (result := tmp_path / "fio.txt").write_text(fio_text(ops=4000, latency_us=2000.0, depth=DEPTH))
    import_file(ImportRequest(result, tmp_path / "alone.sanpath"))
    alone, with_both = judged(Recording(tmp_path / "alone.sanpath")), of_both(tmp_path / "both", [4000.0] * SECONDS)
    (text,), (text_of_both,) = (
        [each.text for each in found.verdict.experiments if each.action == "read_below"]
        for found in (alone, with_both)
    )
    assert text == "repeat the test, and let sanpath read the host and the storage behind it (sanpath init adds them)"
    assert text_of_both == "repeat the test, and let sanpath read the storage behind the host (sanpath init adds it)"
    assert not any("read the host" in each.text for each in with_both.verdict.experiments)


@pytest.mark.parametrize(
    "devices",
    [
        {"sdb": 1.0},
        {"dm_3": 1.0, "sdb": 0.5, "sdc": 0.5},
        {"dm_5": 1.0, "dm_3": 1.0, "sdb": 0.5, "sdc": 0.5},
        {"dm_3": 0.5, "dm_4": 0.5, "sdb": 0.5, "sdc": 0.5},
    ],
    ids=["a disk", "a map", "a volume on a map", "two maps"],
)
def test_ios_count_once_whatever_stands_on_what(tmp_path: Path, devices: dict[str, float]) -> None:
    (file := tmp_path / "iostat.txt").write_text(iostat_text([4000.0] * SECONDS, **devices))
    import_file(ImportRequest(file, tmp_path / "r.sanpath"))
    (step,) = judged(Recording(tmp_path / "r.sanpath")).steps
    assert step.directions["read"].ops_per_second == pytest.approx(4000, rel=0.02)
    assert step.in_flight.measured == pytest.approx(DEPTH, rel=0.02)


def of_stack(folder: Path, waiting: Mapping[str, float], **devices: float) -> Diagnosis:
    """4,000 reads a second of 8 outstanding, on a device that is made of others."""
    (result := folder / "fio.txt").write_text(fio_text(ops=4000, latency_us=2000.0, depth=DEPTH))
    (stack := folder / "iostat.txt").write_text(iostat_text([4000.0] * SECONDS, waiting, **devices))
    for file in (result, stack):
        import_file(ImportRequest(file, folder / "r.sanpath"))
    return judged(Recording(folder / "r.sanpath"))


def test_the_part_at_which_the_ios_wait_is_named(tmp_path: Path) -> None:
    """Of four parts that do as much, sdd takes 7.1 ms and the others 0.3 ms."""
    waiting = {"sdb": 0.3, "sdc": 0.3, "sdd": 7.1, "sde": 0.3}
    found = of_stack(tmp_path, waiting, md0=1.0, **dict.fromkeys(waiting, 0.25))
    places = [suspect.place for suspect in found.verdict.suspects]
    assert any(place and place.startswith("sdd or") for place in places)
    assert not any(place and place.startswith("md0") for place in places)
    assert [
        finding.entity
        for finding in found.findings
        if finding.rule == "slower-than-peers" and finding.outcome == "hit"
    ]


def test_what_waits_above_the_parts_is_no_full_queue_of_theirs(tmp_path: Path) -> None:
    """Encryption holds seven of the eight; the drive below it takes 0.1 ms."""
    found = of_stack(tmp_path, {"nvme0n1": 0.4}, dm_0=1.0, nvme0n1=1.0)
    first = found.verdict.suspects[0]
    assert (first.kind, first.entity) == ("io_stack", "host:db1")
    assert not any(
        suspect.entity == "lun:db1/nvme0n1" for suspect in found.verdict.suspects if suspect.probability > 0.1
    )


BLOCK = 65536
LINK = 10e9


def network_text(rate: float, *, devices: bool) -> str:
    """`sar -n DEV 1` of the machine db1, around a test that reads so many times a second 64 KiB over eth0. `devices`:
    `sar -d -n DEV 1`."""
    lines = ["Linux 5.14.0 (db1) \t06/15/26 \t_x86_64_\t(8 CPU)"]
    begun = ENDED - timedelta(seconds=SECONDS + IDLE)
    for second in range(SECONDS + 2 * IDLE):
        before, now = (f"{begun + timedelta(seconds=end):%H:%M:%S}" for end in (second, second + 1))
        ops = rate if IDLE <= second < IDLE + SECONDS else 0.0
        if devices:
            lines += [
                "",
                f"{before} DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
                f"{now} sdb {ops:.2f} {64 * ops:.2f} 0 0 64 {32 if ops else 0} {32e3 / ops if ops else 0:.2f} 100",
            ]
        received = 1.03 * BLOCK * ops  # With the headers of Ethernet, IP, TCP and iSCSI.
        lines += ["", f"{before} IFACE rxpck/s txpck/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s %ifutil"]
        lines += [
            f"{now} {name} 9.00 9.00 {moved / 1024:.2f} {moved / 204800:.2f} 0 0 0 {800 * moved / LINK:.2f}"
            for name, moved in (("lo", 2e9), ("bond0", received), ("eth0", received), ("eth1", 0.0))
        ]
    return "\n".join([*lines, ""])


def of_network(folder: Path, rate: float, text: str, host: str | None = None) -> Diagnosis:
    (result := folder / "fio.txt").write_text(
        fio_text(ops=round(rate), latency_us=32e6 / rate, depth=32, block=BLOCK)
    )
    (network := folder / "sar.txt").write_text(text)
    for file in (result, network):
        import_file(ImportRequest(file, folder / "r.sanpath", host=host))
    return judged(Recording(folder / "r.sanpath"))


@pytest.mark.parametrize("devices", [True, False], ids=["with sar -d", "alone"])
def test_a_full_network_port_is_named(tmp_path: Path, devices: bool) -> None:
    """17,800 reads of 64 KiB are 1.17 GB/s: with their headers 96 % of 10 Gb/s."""
    found = of_network(tmp_path, 17_800, network_text(17_800, devices=devices), host="db1")
    first = found.verdict.suspects[0]
    assert (first.kind, first.entity) == ("link", "hba:db1/eth0")
    assert first.probability > 0.6


def test_a_network_port_that_is_half_full_is_not(tmp_path: Path) -> None:
    found = of_network(tmp_path, 9_000, network_text(9_000, devices=True))
    assert not any(suspect.kind == "link" and suspect.probability > 0.1 for suspect in found.verdict.suspects)
