"""Devices whose I/Os are counted and not timed: what they moved is said, and which command tells the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Verdict
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from tests.support.stories import judged

TIMED = "repeat the test, and run iostat -xty 1 -o JSON beside it"


def iostat_text(reads_kib: int, writes_kib: int) -> str:
    """Ten seconds of `iostat -kt 1`; the first report is that since boot."""
    lines = ["Linux 5.14.0 (db7) \t2026-03-02 \t_x86_64_\t(16 CPU)", ""]
    for second in range(11):
        lines += [
            f"2026-03-02T10:00:{second:02}+0000",
            "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd",
            f"sdb            6100.00    {reads_kib}.00    {writes_kib}.00         0.00     0    0          0",
            "",
        ]
    return "\n".join(lines)


def sar_text() -> str:
    lines = ["Linux 6.18.44 (vm) \t2026-03-02 \t_x86_64_\t(2 CPU)", ""]
    for second in range(10):
        lines += [
            f"06:25:{second:02}     tps     rkB/s     wkB/s  dkB/s  areq-sz  aqu-sz  await  %util DEV",
            f"06:25:{second + 1:02}  20000.0  200000.0  100000.0    0.0     15.0    9.43   0.43   46.8 vda",
            "",
        ]
    return "\n".join(lines)


def idle_text() -> str:
    """One report of `iostat -x` without -y: it covers the time since boot."""
    return """Linux 5.14.0 (db7) \t03/02/2026 \t_x86_64_\t(16 CPU)

Device:   rrqm/s  wrqm/s   r/s   w/s  rkB/s  wkB/s avgrq-sz avgqu-sz  await r_await w_await  svctm  %util
sda         0.00    0.18  0.02  0.16   0.36   4.08    49.78     0.00  16.18    4.18   17.63   3.35   0.06
"""


def typeperf_text() -> str:
    names = ("Disk Transfers/sec", "Disk Bytes/sec", "Avg. Disk sec/Transfer")
    header = ",".join(rf'"\\SQLVM1\PhysicalDisk(2 E:)\{name}"' for name in (*names, "Avg. Disk Queue Length"))
    rows = [f'"03/02/2026 09:00:{s:02}.000","12480.0","817889280.0","0.0051","63.6"' for s in range(10)]
    return "\n".join([f'"(PDH-CSV 4.0) (Coordinated Universal Time)(0)",{header}', *rows, ""])


def verdict_of(folder: Path, name: str, text: str) -> Verdict:
    (file := folder / name).write_text(text)
    import_file(ImportRequest(file, folder / "r.sanpath"))
    return judged(Recording(folder / "r.sanpath")).verdict


@pytest.mark.parametrize(
    ("reads_kib", "writes_kib", "moved"),
    [
        (390_400, 0, "399.8 MB/s in reads, 6,100 IOPS"),
        (0, 97_600, "99.9 MB/s in writes, 6,100 IOPS"),
        (97_600, 97_600, "99.9 MB/s in reads and 99.9 MB/s in writes"),
    ],
)
def test_iostat_without_x_tells_what_was_moved(tmp_path: Path, reads_kib: int, writes_kib: int, moved: str) -> None:
    verdict = verdict_of(tmp_path, "iostat.txt", iostat_text(reads_kib, writes_kib))
    assert verdict.headline.startswith(f"device db7/sdb moved {moved}; their latency was not read")
    assert verdict.decide_with == TIMED


def test_sar_of_reads_and_writes_tells_what_was_moved(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, "sar.txt", sar_text())
    assert "device vm/vda moved 204.8 MB/s in reads and 102.4 MB/s in writes" in verdict.headline
    assert verdict.decide_with == TIMED


def test_a_device_that_hardly_moves_anything_has_no_load(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, "iostat.txt", idle_text())
    assert verdict.headline.startswith("device db7/sda moved 0.4 kB/s in reads and 4.2 kB/s in writes, too little")
    assert verdict.decide_with == "record the devices again while the load runs"


def test_counters_of_transfers_alone_name_those_that_are_missing(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, "p.csv", typeperf_text())
    assert "the latency of reads and writes was not read" in verdict.headline
    assert 'typeperf "\\PhysicalDisk(*)\\*"' in (verdict.decide_with or "")
    texts = [str(event.detail.get("text")) for _, event in Recording(tmp_path / "r.sanpath").events()]
    assert any("Disk Reads/sec, Disk Writes/sec, Disk Read Bytes/sec" in text for text in texts)
