"""How fast result files are imported, against DuckDB's read_csv (CSV) or json.loads (JSON) over the same file.

Goals: at most 3 times as long, at most 200 MB of memory. SANPATH_IMPORT_MB is the size of each file, 200 by default;
two of them have 10 million lines instead. CPU time is user and system time of the process, all its threads.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.benchmarks.rounds import interleaved, ratios, spread

ROUNDS = 5
MANY_LINES = 10_000_000
MEGABYTES = int(os.environ.get("SANPATH_IMPORT_MB", "200"))
EPOCH_S = 1_800_000_000

READ_CSV = (
    "import duckdb, sys; duckdb.sql(\"SET memory_limit = '4GB'\"); "
    "duckdb.sql(f\"CREATE TABLE t AS SELECT * FROM read_csv('{sys.argv[1]}', ignore_errors = true, header = true)\")"
)
READ_DOCUMENTS = """
import json, sys
text = open(sys.argv[1]).read()
decoder, at = json.JSONDecoder(), 0
while at < len(text):
    _, at = decoder.raw_decode(text, at)
    at += 1
"""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its name, lines of it without end, and what it is measured against. `count`: lines of the file;
    None: as many as fill the size of all files."""

    name: str
    lines: Callable[[], Iterator[str]]
    baseline: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu_seconds: float


def fio_log() -> Iterator[str]:
    """An unaveraged fio latency log."""
    noise = random.Random(1)
    for number in range(1 << 62):
        yield f"{number // 20}, {noise.randrange(50_000, 9_000_000)}, {number % 2}, 4096, {number % 5000 * 4096}\n"


READS = ("Disk Reads/sec", "Avg. Disk sec/Read")
DISK = (*READS, "Disk Writes/sec", "Avg. Disk sec/Write", "Disk Read Bytes/sec")


def perfmon(count: int, names: Sequence[str] = DISK) -> Iterator[str]:
    """A counter log of a Windows host with some disks, 1 s apart: the same counters of each."""
    noise = random.Random(1)
    disks = [rf"\\\\WIN1\\PhysicalDisk({n} X:)\\{name}".replace("\\\\", "\\") for n in range(count) for name in names]
    yield ",".join(f'"{cell}"' for cell in ("(PDH-CSV 4.0) (W. Europe Standard Time)(-60)", *disks)) + "\n"
    for second in range(1 << 62):
        moment = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(EPOCH_S + second))
        yield ",".join((f'"{moment}.000"', *(f'"{noise.random():.12f}"' for _ in disks))) + "\n"


def esxtop() -> Iterator[str]:
    """A batch of an ESXi host: 6,000 columns, of which few are of interest."""
    noise = random.Random(1)
    groups = [rf"\\\\esx7\\Group Cpu({n}:vm{n})\\% Used".replace("\\\\", "\\") for n in range(5800)]
    names = ("Average Driver MilliSec/Command", "Average Kernel MilliSec/Command", "Commands/sec", "MBytes Read/sec")
    luns = [
        rf"\\\\esx7\\Physical Disk SCSI Device(naa.624a9370{n:024x})\\{name}".replace("\\\\", "\\")
        for n in range(50)
        for name in names
    ]
    yield ",".join(f'"{cell}"' for cell in ("(PDH-CSV 4.0) (UTC)(0)", *groups, *luns)) + "\n"
    for number in range(1 << 62):
        moment = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(EPOCH_S + 2 * number))
        yield ",".join((f'"{moment}"', *(f'"{100 * noise.random():.2f}"' for _ in (*groups, *luns)))) + "\n"


def fio_status() -> Iterator[str]:
    """Status documents of one fio job, a second apart, with all that fio 3.33 puts into one."""
    levels = dict.fromkeys(("1", "2", "4", "8", "16", "32", ">=64"), 0.1)
    buckets = {str(upper): 0.01 for upper in (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)}
    for second in range(1, 1 << 62):
        latency = {"min": 90_000, "max": 9_000_000, "mean": 2e6, "stddev": 1e5, "N": 6250 * second}
        clat = latency | {"percentile": {f"{p}.000000": 2_000_000 + p for p in range(1, 100, 6)}}
        read = {
            "io_bytes": 409_600_000 * second,
            "io_kbytes": 400_000 * second,
            "bw_bytes": 409_600_000,
            "bw": 400_000,
        }
        read |= {"iops": 6250.0, "runtime": 1000 * second, "total_ios": 6250 * second, "short_ios": 0, "drop_ios": 0}
        read |= {"slat_ns": latency, "clat_ns": clat, "lat_ns": latency, "bw_min": 1, "bw_max": 2, "bw_agg": 99.9}
        read |= {"bw_mean": 1.0, "bw_dev": 0.1, "bw_samples": second, "iops_min": 1, "iops_max": 2, "iops_mean": 1.5}
        idle = read | {"io_bytes": 0, "total_ios": 0, "lat_ns": latency | {"N": 0}}
        job = {"jobname": "t", "groupid": 0, "error": 0, "elapsed": second, "read": read, "write": idle, "trim": idle}
        job |= {"job options": {"bs": "64k", "iodepth": "16", "rw": "randread", "ioengine": "libaio"}}
        job |= {"iodepth_level": levels, "iodepth_submit": levels, "iodepth_complete": levels}
        job |= {"latency_ns": buckets, "latency_us": buckets, "latency_ms": buckets, "usr_cpu": 1.0, "sys_cpu": 2.0}
        head = {"fio version": "fio-3.33", "timestamp": EPOCH_S + second, "timestamp_ms": 1000 * (EPOCH_S + second)}
        yield json.dumps(head | {"jobs": [job]}, indent=2) + "\n"


FORMATS = (
    Format("run_lat.1.log", fio_log, READ_CSV),
    Format("perfmon.csv", partial(perfmon, 40), READ_CSV),
    Format("perfmon-5-counters.csv", partial(perfmon, 1), READ_CSV, MANY_LINES),
    Format("perfmon-2-counters.csv", partial(perfmon, 1, READS), READ_CSV, MANY_LINES),
    Format("esxtop.csv", esxtop, READ_CSV),
    Format("fio.json", fio_status, READ_DOCUMENTS),
)


def measure() -> str:
    """One line a format."""
    return "".join(f"\n  {form.name}: {_measured(form)}" for form in FORMATS)


def _measured(form: Format) -> str:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / form.name
        size = lines = 0
        with file.open("w", encoding="utf-8") as out:
            for line in form.lines():
                size += out.write(line)
                lines += 1
                if lines == form.count or (form.count is None and size >= MEGABYTES * 1e6):
                    break

        def imported() -> Cost:
            with tempfile.TemporaryDirectory(dir=name) as into:
                return _cost([sys.executable, "-m", "sanpath", "import", str(file), "--into", f"{into}/r.sanpath"])

        def baseline() -> Cost:
            return _cost([sys.executable, "-c", form.baseline, str(file)])

        imported()  # Writes the byte code that an installed sanpath has: its modules are not compiled in each round.
        ours, theirs = interleaved(ROUNDS, imported, baseline)
        memory = _peak_bytes([sys.executable, "-m", "sanpath", "import", str(file), "--into", f"{name}/last.sanpath"])
    rate = [size / cost.seconds for cost in ours]
    took = ratios([cost.seconds for cost in ours], [cost.seconds for cost in theirs])
    took_cpu = ratios([cost.cpu_seconds for cost in ours], [cost.cpu_seconds for cost in theirs])
    return (
        f"{spread(rate, 1e-6, 'MB/s')}, {spread(took)} times the baseline (goal 3), {spread(took_cpu)} times its CPU "
        f"time, {memory / 1e6:.0f} MB of memory (goal 200), {lines:,} lines"
    )


def _cost(command: list[str]) -> Cost:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began, cpu_began = time.monotonic(), _cpu_seconds()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return Cost(time.monotonic() - began, _cpu_seconds() - cpu_began)


def _cpu_seconds() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _peak_bytes(command: list[str]) -> float:
    """Resident set at its largest, of a process that does nothing else."""
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
    script += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", script, *command], check=True, capture_output=True, text=True)
    return 1024.0 * int(done.stdout)
