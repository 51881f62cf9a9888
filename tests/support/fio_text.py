"""Writes fio's text output with given figures, and diagnoses it if nothing else was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import SourceEntity
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath.summary.summarise import summary
from sanpath.topology.resolve import resolve
from tests.support.stories import judged

SECONDS = 20


def fio_text(
    ops: int = 2_000,
    latency_us: float = 16_000.0,
    depth: int = 32,
    jobs: int = 1,
    cpu: str = "usr=1.00%, sys=2.00%",
    levels: str = "1=0.1%, 32=100.0%, >=64=0.0%",
    *,
    flush_us: float = 0.0,
    device_us: float | None = None,
    engine: str = "libaio",
    block: int = 4096,
    device_ios: int | None = None,
    stacked: tuple[str, ...] = (),
    minute: int = 10,
    differs: tuple[float, float] | None = None,
) -> str:
    """fio's text output of random reads (writes with flushes). `cpu`: "" leaves the line out. `device_us`: how long
    sdb took for an I/O, None: not printed. `device_ios`: reads and writes that sdb counted, None: those of the load.
    `stacked`: devices above sdb, which count the same. `minute`: of the hour in which it ended. `differs`: standard
    deviation and largest of the throughput in 40 windows, over its mean, None: not printed."""
    kind, done = ("write" if flush_us else "read"), ops * SECONDS
    counts = f"0,{done}" if flush_us else f"{done},0"
    sizes = f"(R) {block}B-{block}B, (W) {block}B-{block}B"
    lines = [
        f"job: (g=0): rw=rand{kind}, bs={sizes}, ioengine={engine}, iodepth={depth}",
        "fio-3.33",
        f"job: (groupid=0, jobs={jobs}): err= 0: pid=7: Mon Jun 15 21:{minute}:40 2026",
        f"  {kind}: IOPS={ops}, BW=1MiB/s (1MB/s)({done * block // 1024}KiB/{SECONDS}000msec)",
        f"     lat (usec): min=1, max=99999999, avg={latency_us:.2f}, stdev= 4.20",
    ]
    if differs is not None:
        deviation, most = (1000 * ratio for ratio in differs)
        lines.append(
            f"   bw (  KiB/s): min= 10, max={most:.0f}, per=100.00%, avg=1000.00, stdev={deviation:.2f}, samples=40"
        )
    if flush_us:
        lines += ["  fsync/fdatasync/sync_file_range:", f"    sync (usec): min=1, max=99999, avg={flush_us}, stdev=1"]
    lines += [f"  cpu          : {cpu}, ctx=1, majf=0, minf=1"] if cpu else []
    lines += [
        f"  IO depths    : {levels}",
        f"     issued rwts: total={counts},0,{done if flush_us else 0} short=0,0,0,0",
    ]
    if device_us is not None:
        done = done if device_ios is None else device_ios
        ticks = round(done * device_us / 1000)
        lines += [
            "Disk stats (read/write):",
            *(
                f"  {name}: ios={done}/0, merge=0/0, ticks={ticks}/0, in_queue={ticks}, util=99%"
                for name in (*stacked, "sdb")
            ),
        ]
    return "\n".join([*lines, ""])


def import_text(folder: Path, text: str, known: Sequence[SourceEntity] = ()) -> Diagnosis:
    """Import a result and diagnose it. `known`: additions of the configuration."""
    file = folder / "result.txt"
    file.write_text(text)
    import_file(ImportRequest(file, folder / "r.sanpath", host="db1", site_items=known))
    return judged(Recording(folder / "r.sanpath"))


def import_first_screen(folder: Path, text: str) -> tuple[str, str, str | None]:
    """Import a result; return verdict, consequence and first action."""
    diagnosis = import_text(folder, text)
    found = summary(diagnosis, resolve(Recording(folder / "r.sanpath").inventory()))
    return found.verdict, found.consequence or "", found.action


def likelihoods(diagnosis: Diagnosis) -> dict[str, float]:
    kinds: dict[str, float] = {}
    for suspect in diagnosis.verdict.suspects:
        kinds[suspect.verdict] = kinds.get(suspect.verdict, 0.0) + suspect.probability
    return kinds
