"""Laws of a result file and nothing else: large I/Os, caches, rates, copies that lack lines, several kinds of I/O."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.reading.recording import Recording
from tests.support.fio_text import SECONDS, fio_text, import_text, likelihoods

ONE_BY_ONE = {"depth": 1, "levels": "1=100.0%", "engine": "psync"}


def hits(diagnosis: Diagnosis) -> set[str]:
    return {finding.rule for finding in diagnosis.findings if finding.outcome == "hit"}


def in_folder(folder: Path, name: str, text: str) -> Diagnosis:
    (folder / name).mkdir()
    return import_text(folder / name, text)


def test_the_larger_one_block_at_a_time_the_less_it_shows_too_few_outstanding_ios(tmp_path: Path) -> None:
    """Below the block layer it is many requests, which queue one behind another."""
    too_few = []
    for kib in (64, 256, 1024, 4096, 16384):
        text = fio_text(ops=50, latency_us=20_000, block=kib * 1024, **ONE_BY_ONE)  # type: ignore[arg-type]
        too_few.append(likelihoods(in_folder(tmp_path, str(kib), text))["concurrency_limited"])
    assert all(smaller >= larger for smaller, larger in pairwise(too_few)), too_few
    assert too_few[0] > 0.9 > 0.7 > too_few[-1], too_few


@pytest.mark.parametrize(
    ("larger_us", "is_too_few"),
    [(840, [False, False]), (420, [True, True]), (4200, [False, True])],
    ids=["same bytes", "same time", "fewer bytes"],
)
def test_where_larger_blocks_move_no_more_bytes_more_of_the_smaller_ones_would_not(
    tmp_path: Path, larger_us: int, is_too_few: list[bool]
) -> None:
    """One at a time: 128 KiB in 0.42 ms, 300 MB/s, and twice as large ones. If these move fewer, as on another disk,
    they are not at the limit of the smaller ones."""
    for minute, kib, latency_us in ((10, 128, 420), (20, 256, larger_us)):
        device = {"ops": round(1e6 / latency_us), "latency_us": latency_us, "device_us": latency_us - 20}
        text = fio_text(block=kib * 1024, minute=minute, **device, **ONE_BY_ONE)  # type: ignore[arg-type]
        steps = import_text(tmp_path, text).steps
    assert [step.verdict.kind == "concurrency_limited" for step in steps] == is_too_few


@pytest.mark.parametrize("cpu", ["", "usr=1.00%, sys=2.00%"], ids=["unread", "idle"])
def test_where_larger_blocks_move_no_more_bytes_processors_do_not_limit_the_smaller_ones(
    tmp_path: Path, cpu: str
) -> None:
    """A drive moves 171 MB/s, one by one and with many outstanding."""
    for minute, kib, depth, latency_us in ((10, 128, 1, 768), (20, 1024, 1, 6_144), (30, 1024, 32, 196_000)):
        ops, levels = round(depth * 1e6 / latency_us), f"{depth}=100.0%"
        text = fio_text(ops, latency_us, block=kib * 1024, depth=depth, levels=levels, minute=minute, cpu=cpu)
        steps = import_text(tmp_path, text).steps
    assert not {"generator_limited", "concurrency_limited"}.intersection(step.verdict.kind for step in steps)


@pytest.mark.parametrize(("writes", "is_too_few"), [(3_074, False), (2_000, True)], ids=["same", "other"])
def test_reads_and_writes_at_one_rate_are_held_by_what_counts_ios(
    tmp_path: Path, writes: int, is_too_few: bool
) -> None:
    """Four at a time: 4 KiB each in 1.3 ms, and writes."""
    import_text(tmp_path, fio_text(ops=3_074, latency_us=4e6 / 3_074, depth=4, levels="4=100.0%"))
    text = fio_text(ops=writes, latency_us=4e6 / writes, depth=4, levels="4=100.0%", minute=20)
    done = writes * SECONDS
    text = text.replace("read", "write").replace(f"total={done},0", f"total=0,{done}")
    assert (likelihoods(import_text(tmp_path, text))["concurrency_limited"] > 0.5) == is_too_few


def test_each_kind_of_io_in_a_file_gets_its_verdict_on_the_first_screen(tmp_path: Path) -> None:
    large = fio_text(ops=160, latency_us=6_250, block=1024 * 1024, minute=10, **ONE_BY_ONE)  # type: ignore[arg-type]
    import_text(tmp_path, large)
    import_text(tmp_path, fio_text(ops=450, latency_us=71_000, minute=20))
    summary = diagnose(Recording(tmp_path / "r.sanpath")).summary
    assert "too few outstanding I/Os" in summary.verdict
    (line,) = summary.other_io
    assert re.fullmatch(r"Reads of 4 KiB: the limit is something below the load \(.+ %\)\.", line)


def test_kinds_of_io_with_the_same_verdict_are_not_listed(tmp_path: Path) -> None:
    for minute, kib in ((10, 4), (20, 64)):
        import_text(tmp_path, fio_text(ops=450, latency_us=71_000, block=kib * 1024, minute=minute))
    assert diagnose(Recording(tmp_path / "r.sanpath")).summary.other_io == ()


@pytest.mark.parametrize(
    ("text", "is_void"),
    [
        (fio_text(device_us=100, device_ios=300), True),
        (fio_text(device_us=100), False),
        (fio_text(device_us=100, device_ios=0), False),
        (fio_text(ops=200_000, latency_us=3, **ONE_BY_ONE), True),  # type: ignore[arg-type]
        (fio_text(ops=50_000, latency_us=12, **ONE_BY_ONE), False),  # type: ignore[arg-type]
    ],
    ids=["the device did little", "it did all", "it counts nothing", "faster than any drive", "as fast as a drive"],
)
def test_a_test_that_memory_answers_is_void(tmp_path: Path, text: str, is_void: bool) -> None:
    diagnosis = import_text(tmp_path, text)
    assert ("test-answered-by-cache" in hits(diagnosis)) is is_void
    assert ((diagnosis.summary.action or "").startswith("Bypass the file cache")) is is_void
    assert (diagnosis.summary.verdict == "Not a test of the storage: memory answers the I/Os") is is_void
    assert not is_void or diagnosis.verdict.kind == "cannot_tell"


@pytest.mark.parametrize(("engine", "is_void"), [("libaio", True), ("sg", False), ("io_uring_cmd", False)])
def test_commands_that_the_kernel_does_not_count_are_not_answered_by_memory(
    tmp_path: Path, engine: str, is_void: bool
) -> None:
    diagnosis = import_text(tmp_path, fio_text(device_us=100, device_ios=300, engine=engine))
    assert ("test-answered-by-cache" in hits(diagnosis)) is is_void


def with_command(text: str, options: str) -> str:
    return f"root@db1:/data# fio --name=job --rw=randread --direct=1 --iodepth=32 --ioengine=libaio {options}\n{text}"


def test_the_command_line_above_an_output_tells_whether_a_rate_was_set(tmp_path: Path) -> None:
    """Half of the configured I/Os are outstanding."""
    text = fio_text(ops=1_270, latency_us=12_500)
    found = {
        name: likelihoods(in_folder(tmp_path, name, whole)).get("demand_limited", 0.0)
        for name, whole in (
            ("unknown", text),
            ("none", with_command(text, "--size=1g")),
            ("rate", with_command(text, "--rate_iops 1270")),
            ("of another job", with_command(text, "--size=1g").replace("--name=job", "--name=other")),
        )
    }
    assert found["none"] < 0.1 < found["unknown"] < found["rate"]
    assert found["rate"] > 0.95
    assert found["of another job"] == found["unknown"]


def test_a_round_rate_has_been_set_by_somebody(tmp_path: Path) -> None:
    round_rate, other = (
        likelihoods(in_folder(tmp_path, str(ops), fio_text(ops=ops, latency_us=16e6 / ops)))["demand_limited"]
        for ops in (1_000, 1_040)
    )
    assert round_rate > other + 0.1


def without_latencies(device_reads_us: int, device_writes_us: int) -> str:
    """A mixed load with gtod_reduce: fio times neither direction, and the device times both."""
    reads, writes = 6_000 * SECONDS, 2_000 * SECONDS
    ticks = reads * device_reads_us // 1000, writes * device_writes_us // 1000
    return "\n".join(
        [
            "job: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, ioengine=libaio, iodepth=64",
            "fio-3.33",
            "job: (groupid=0, jobs=1): err= 0: pid=7: Mon Jun 15 21:10:40 2026",
            f"  read: IOPS=6000, BW=1MiB/s (1MB/s)({reads * 4}KiB/{SECONDS}000msec)",
            f"  write: IOPS=2000, BW=1MiB/s (1MB/s)({writes * 4}KiB/{SECONDS}000msec)",
            "  cpu          : usr=4.00%, sys=6.00%, ctx=1, majf=0, minf=1",
            "  IO depths    : 1=0.1%, 64=100.0%, >=64=0.0%",
            f"     issued rwts: total={reads},{writes},0,0 short=0,0,0,0",
            "     latency   : target=0, window=0, percentile=100.00%, depth=64",
            "Disk stats (read/write):",
            f"  sdb: ios={reads}/{writes}, merge=0/0, ticks={ticks[0]}/{ticks[1]}, in_queue={sum(ticks)}, util=99%",
            "",
        ]
    )


@pytest.mark.parametrize(("reads_us", "writes_us"), [(4_750, 17_600), (7_900, 7_900), (9_800, 2_400)])
def test_directions_that_were_timed_together_differ_by_what_the_device_takes(
    tmp_path: Path, reads_us: int, writes_us: int
) -> None:
    """All 64 are at the device, however long its reads and its writes take: no queue above it is full."""
    diagnosis = import_text(tmp_path, without_latencies(reads_us, writes_us))
    latencies = {d: result.latency_seconds.mean for d, result in diagnosis.steps[0].directions.items()}
    assert latencies["read"] == pytest.approx(reads_us / 1e6, rel=0.1)
    assert latencies["write"] == pytest.approx(writes_us / 1e6, rel=0.1)
    assert sum(s.probability for s in diagnosis.verdict.suspects if s.entity == "lun:db1/sdb") < 0.2


def test_a_copy_that_begins_with_its_figures_is_read_as_the_whole(tmp_path: Path) -> None:
    whole = with_command(fio_text(device_us=15_000), "--size=1g --runtime=20")
    lines = whole.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("  read: IOPS="))
    copied = "\n".join([lines[0], *lines[begin:], ""])
    of_whole, of_copy = in_folder(tmp_path, "whole", whole), in_folder(tmp_path, "copy", copied)
    assert of_copy.verdict.kind == of_whole.verdict.kind
    assert likelihoods(of_copy) == pytest.approx(likelihoods(of_whole), abs=0.05)
    assert of_copy.summary.consequence == of_whole.summary.consequence


@pytest.mark.parametrize("processes", [1, 2, 8, 64])
def test_the_smallest_machines_are_the_rarest(tmp_path: Path, processes: int) -> None:
    """Processes of 12 % each: one core that they fill together is less likely than eight that they fill."""
    text = fio_text(jobs=processes, depth=4, cpu="usr=6.00%, sys=6.40%", levels="1=0.1%, 4=100.0%", ops=8_000)
    found = likelihoods(import_text(tmp_path, text.replace("avg=16000.00", f"avg={processes * 4e6 / 8000:.2f}")))
    assert found.get("generator_limited", 0.0) < {1: 0.05, 2: 0.05, 8: 0.4, 64: 0.6}[processes]


@pytest.mark.parametrize("cores", [0.7, 0.99, 1.97, 2.1, 3.9, 4.1, 7.8, 8.3, 15.9, 16.5])
def test_processors_of_an_unread_machine_are_no_verdict_by_how_many_are_used(tmp_path: Path, cores: float) -> None:
    """A machine may have as many as its processes use, be that a power of two or not."""
    share = 100 * cores / 32
    text = fio_text(jobs=32, depth=4, cpu=f"usr={share:.2f}%, sys=0.00%", levels="4=100.0%", ops=80_000)
    found = likelihoods(import_text(tmp_path, text.replace("avg=16000.00", f"avg={32 * 4e6 / 80_000:.2f}")))
    assert found.get("generator_limited", 0.0) < 0.6


@pytest.mark.parametrize("used_before", [1.6, 1.97])
def test_processors_with_which_fewer_processes_did_as_much_do_not_limit(tmp_path: Path, used_before: float) -> None:
    def diagnosed(jobs: int, cores: float, minute: int) -> Diagnosis:
        cpu = f"usr={100 * cores / jobs:.2f}%, sys=0.00%"
        latency_us = jobs * 32e6 / 390_000
        return import_text(tmp_path, fio_text(390_000, latency_us, 32, jobs, cpu, "32=100.0%", minute=minute))

    diagnosed(4, used_before, 10)
    likely = likelihoods(diagnosed(8, 1.97, 20)).get("generator_limited", 0.0)
    assert (likely < 0.1) == (used_before < 1.9)


def test_rates_that_a_page_quotes_above_whole_entries_are_no_runs(tmp_path: Path) -> None:
    """`read: IOPS=…` alone, as a summary: what follows it is another run's command, or nothing."""
    command = "# fio --name=test --numjobs=1 --iodepth=32 --rw=randread --bs=4k\n"
    entry = fio_text(device_us=15_000)
    quoted = "  read: IOPS=23.4k, BW=91.4MiB/s (95.8MB/s)(1829MiB/20012msec)\n"
    alone = in_folder(tmp_path, "alone", entry)
    on_page = in_folder(tmp_path, "page", f"### Results\n{quoted}\n{command}{entry}\n### More\n{quoted}\n")
    assert len(on_page.steps) == len(alone.steps)
    assert on_page.summary.consequence == alone.summary.consequence


def test_more_ios_of_a_synchronous_engine_are_more_processes(tmp_path: Path) -> None:
    diagnosis = import_text(tmp_path, fio_text(ops=500, latency_us=4_000, depth=1, jobs=2, engine="psync"))
    texts = [experiment.text for experiment in diagnosis.verdict.experiments]
    assert "repeat the step with 4 outstanding I/Os, one for each of 4 processes" in texts


def test_ios_that_an_engine_serves_one_after_another_saturate_nothing_together(tmp_path: Path) -> None:
    """64 through the file cache: libaio has one of each process outside the process."""
    command = "$ fio --name=job --rw=randread --iodepth=64 --numjobs=1 --direct={}\n"
    text = fio_text(ops=4_000, latency_us=16_000, depth=64, levels="1=0.1%, 32=0.1%, 64=100.0%")
    cached, direct = (
        likelihoods(in_folder(tmp_path, option, command.format(option) + text))["concurrency_limited"]
        for option in ("0", "1")
    )
    assert cached > 2 * direct
