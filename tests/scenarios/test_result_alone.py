"""A result file, or iostat's output, and nothing else: all that it says is used, and nothing that it lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from tests.support.fio_text import fio_text, import_first_screen, import_text, likelihoods
from tests.support.stories import judged


def test_the_time_at_the_device_that_a_result_prints_is_a_clock(tmp_path: Path) -> None:
    """15 of 16 ms pass at sdb: what limits is not a queue of the host."""
    diagnosis = import_text(tmp_path, fio_text(device_us=15_000))
    places = {suspect.place or suspect.entity: suspect.probability for suspect in diagnosis.verdict.suspects}
    assert places["sdb or anything behind it"] > 0.3 > 0.1 > places.get("lun:db1/sdb", 0.0)
    planes = {plane.entity: plane.measured for step in diagnosis.steps for plane in step.in_flight.planes}
    assert planes["lun:db1/sdb"][0] == pytest.approx(30, rel=0.02)


def test_what_waits_above_the_device_is_not_sought_below(tmp_path: Path) -> None:
    suspects = import_text(tmp_path, fio_text(device_us=1_000)).verdict.suspects
    assert sum(suspect.probability for suspect in suspects if "below" in suspect.place) < 0.3


def test_what_waits_above_a_device_of_a_machine_without_a_name_is_sought_there(tmp_path: Path) -> None:
    """16 outstanding, 15 of them above sdb, where hardly one is: no queue lets so few through. Nothing that was read
    limits a control group, but it may be limited."""
    (text := tmp_path / "result.txt").write_text(fio_text(device_us=500))
    import_file(ImportRequest(text, tmp_path / "r.sanpath"))
    first = judged(Recording(tmp_path / "r.sanpath")).verdict.suspects[0]
    assert (first.verdict, first.place) == ("cannot_tell", "something above sdb")


@pytest.mark.parametrize(
    ("differs", "jobs", "is_slowed"), [((0.6, 1.7), 1, True), ((0.1, 1.4), 1, False), ((0.6, 1.7), 4, False)]
)
def test_throughput_that_differs_while_all_ios_are_outstanding_is_no_want_of_more(
    tmp_path: Path, differs: tuple[float, float], jobs: int, is_slowed: bool
) -> None:
    """Of 32 at 16 ms: 3,400 a second for half of the time and 600 in the other. fio does not add up the windows of
    several processes."""
    found = {}
    for name, printed in (("even", None), ("differs", differs)):
        (tmp_path / name).mkdir()
        text = fio_text(depth=32 // jobs, jobs=jobs, differs=printed, levels="1=0.1%, 8=50.0%, 32=50.0%")
        found[name] = likelihoods(import_text(tmp_path / name, text))["concurrency_limited"]
    assert (found["differs"] < 0.8 * found["even"]) is is_slowed
    assert is_slowed or found["differs"] == pytest.approx(found["even"])


def test_a_load_that_flushes_each_write_does_not_ask_for_no_more(tmp_path: Path) -> None:
    """144 writes a second, each of 12 microseconds, and a flush of 6.9 ms after it."""
    text = fio_text(ops=144, latency_us=12, depth=1, flush_us=6_900, levels="1=200.0%", engine="psync")
    verdict, consequence, action = import_first_screen(tmp_path, text)
    assert verdict == "The load waits for flushes: 1 outstanding at any time"
    assert "its flushes take 6.90 ms" in consequence
    assert action is not None
    assert action.startswith("Run the test with more processes, so that their flushes overlap; one alone needs")


def test_a_processor_that_was_not_reported_clears_nobody(tmp_path: Path) -> None:
    with_line, without = tmp_path / "with", tmp_path / "without"
    for folder in (with_line, without):
        folder.mkdir()
    assert any(cleared.entity.startswith("load:") for cleared in import_text(with_line, fio_text()).cleared)
    assert not any(cleared.entity.startswith("load:") for cleared in import_text(without, fio_text(cpu="")).cleared)


def test_processes_that_together_may_fill_the_machine_are_not_cleared(tmp_path: Path) -> None:
    """Eight processes at 11 % use 0.88 cores: the machine may have one."""
    text = fio_text(jobs=8, depth=4, cpu="usr=5.00%, sys=6.00%", levels="1=0.1%, 4=100.0%")
    assert import_text(tmp_path, text).cleared == ()


@pytest.mark.parametrize("ops", [50_000, 100_000, 200_000])
def test_a_thread_without_a_pause_between_its_ios_is_the_limit_itself(tmp_path: Path, ops: int) -> None:
    """A tenth of the time an I/O is outstanding, the rest of it the thread works: up to 18 microseconds an I/O."""
    text = fio_text(ops=ops, latency_us=1e5 / ops, depth=1, cpu="", levels="1=100.0%", engine="psync")
    found = likelihoods(import_text(tmp_path, text))
    assert found["generator_limited"] > 0.6 > found.get("demand_limited", 0.0)


def test_a_depth_that_the_engine_never_reached_is_no_wish_of_the_load(tmp_path: Path) -> None:
    """64 were asked for, 16 were outstanding, and never more than 31: the storage takes 160 ms for each."""
    levels = "1=0.1%, 4=0.2%, 8=46.6%, 16=53.1%, 32=0.0%, >=64=0.0%"
    text = fio_text(ops=100, latency_us=160_000, depth=64, levels=levels, engine="posixaio")
    found = likelihoods(import_text(tmp_path, text))
    assert max(found, key=found.__getitem__) == "cannot_tell"


def test_iops_that_are_the_same_with_all_block_sizes_count_ios(tmp_path: Path) -> None:
    """What limits then is no link and no bandwidth."""
    for minute, kib in ((10, 4), (20, 64)):
        import_text(tmp_path, fio_text(ops=4_000, latency_us=8_000, block=kib * 1024, minute=minute))
    diagnosis = judged(Recording(tmp_path / "r.sanpath"))
    words = [reason for step in diagnosis.steps for reason in step.verdict.because]
    assert any("IOPS are the same with blocks of 4 KiB to 64 KiB" in reason for reason in words)


IOSTAT = """Linux 6.1.0 (db1) \t06/15/2026 \t_x86_64_\t(16 CPU)

06/15/2026 09:10:40 PM
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  \
aqu-sz  %util
{rows}

06/15/2026 09:10:50 PM
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  \
aqu-sz  %util
{rows}
"""


def iostat_row(device: str, writes: float, wait_ms: float) -> str:
    kib = 4 * writes
    return f"{device}  0.00  0.00  0.00  0.00  0.00  0.00  {writes}  {kib}  0.00  0.00  {wait_ms}  4.00  1.00  50.00"


@pytest.mark.parametrize(
    ("devices", "expected_ops"),
    [
        ({"nvme0n1": (50_000, 0.1), "dm-0": (60_000, 3.0)}, 60_000),
        ({"sda": (10_000, 0.5), "sdb": (10_000, 0.5), "md0": (20_000, 0.6)}, 20_000),
        ({"sda": (10_000, 0.5), "md0": (20_000, 0.6), "sdb": (10_000, 0.5), "dm-3": (20_000, 0.7)}, 20_000),
        ({"nvme0n1": (50_000, 0.1), "dm-0": (20, 0.3)}, 50_000),
    ],
    ids=["a map over a drive", "RAID", "a volume on RAID", "the system's volume is elsewhere"],
)
def test_an_io_that_iostat_counts_at_two_levels_is_one(
    tmp_path: Path, devices: dict[str, tuple[float, float]], expected_ops: float
) -> None:
    rows = "\n".join(iostat_row(device, *figures) for device, figures in devices.items())
    diagnosis = import_text(tmp_path, IOSTAT.format(rows=rows))
    (step,) = diagnosis.steps
    assert step.directions["write"].ops_per_second == pytest.approx(expected_ops, rel=0.01)


def test_several_disks_that_carry_a_load_together_are_all_meant(tmp_path: Path) -> None:
    """Three disks with a third of the I/Os each: none of them is what limits alone."""
    text = fio_text(device_us=15_000, device_ios=40_000)
    (line,) = [line for line in text.splitlines() if line.startswith("  sdb: ios=")]
    third = line.replace("sdb", "{}").replace("ios=40000", "ios=13333")
    ticks = line.partition("ticks=")[2].partition("/")[0]
    third = third.replace(f"ticks={ticks}/", f"ticks={int(ticks) // 3}/")
    text = text.replace(line, "\n".join(third.format(name) for name in ("sdb", "sdc", "sdd")))
    places = {suspect.place for suspect in import_text(tmp_path, text).verdict.suspects}
    assert any(place.endswith(", 2 other devices or anything behind them") for place in places), places


@pytest.mark.parametrize("depths", [(32,), (8, 32), (8, 32, 128)])
def test_the_name_of_a_machine_that_nothing_reads_changes_no_probability(
    tmp_path: Path, depths: tuple[int, ...]
) -> None:
    """5,000 reads a second at every depth."""
    read = {"total_ios": 50_000, "io_bytes": 50_000 * 4096, "io_kbytes": 200_000, "runtime": 10_000}
    found = []
    for host in (None, "win1"):
        for depth in depths:
            latency = {"min": 1, "max": 16e6, "mean": 1e9 * depth / 5_000, "N": 50_000}
            options = {"rw": "read", "bs": "4k", "iodepth": str(depth), "ioengine": "windowsaio", "direct": "1"}
            job = {
                "jobname": f"q{depth}",
                "groupid": 0,
                "error": 0,
                "job options": options,
                "usr_cpu": 5,
                "sys_cpu": 5,
            }
            at = 1_800_000_000 + 20 * depths.index(depth)
            document = {
                "fio version": "fio-3.13",
                "timestamp": at,
                "jobs": [{**job, "read": read | {"lat_ns": latency}}],
            }
            (file := tmp_path / f"{host}-{depth}.json").write_text(json.dumps(document), encoding="utf-8")
            import_file(ImportRequest(file, tmp_path / f"{host}.sanpath", host=host))
        found.append(likelihoods(judged(Recording(tmp_path / f"{host}.sanpath"))))
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_who_was_asked_for_more_than_its_engine_admits_needs_more_processes(tmp_path: Path) -> None:
    """Of 128 I/Os 16 are outstanding, and never more than 31: a larger queue depth changes nothing."""
    levels = "1=0.1%, 8=40.0%, 16=60.0%, 32=0.0%, >=64=0.0%"
    text = fio_text(ops=20_000, latency_us=800, depth=128, levels=levels, engine="posixaio")
    decides = import_text(tmp_path, text).verdict.decide_with
    assert decides is not None
    assert "twice as many processes" in decides


def test_where_more_were_slower_the_next_step_has_fewer_than_those(tmp_path: Path) -> None:
    """8 processes reach 232,500 IOPS, and 64 processes 64,800: 128 would show nothing new."""
    few = fio_text(ops=232_500, latency_us=33, depth=1, jobs=8, levels="1=100.0%", engine="sync", minute=10)
    many = fio_text(ops=64_800, latency_us=983, depth=1, jobs=64, levels="1=100.0%", engine="sync", minute=30)
    found = import_text(tmp_path, f"{few}\n{many}").verdict
    assert found.experiment is not None
    assert found.experiment.in_flight is None or found.experiment.in_flight < 64


@pytest.mark.parametrize("jobs", [(1, 2), (2, 3), (4, 5)])
def test_no_step_is_proposed_that_was_run(tmp_path: Path, jobs: tuple[int, int]) -> None:
    """Nothing lies between both numbers."""
    results = [
        fio_text(ops, round(n * 0.9e6 / ops), depth=1, jobs=n, levels="1=100.0%", engine="sync", minute=10 + n)
        for n, ops in zip(jobs, (10_000, 6_000), strict=True)
    ]
    found = import_text(tmp_path, "\n".join(results)).verdict
    assert found.experiment is not None
    assert found.experiment.in_flight not in jobs


@pytest.mark.parametrize(
    ("block", "latency_us", "is_named"), [(512, 467, True), (512, 30, False), (8192, 467, False)]
)
def test_writes_below_a_sector_that_take_longer_are_named(
    tmp_path: Path, block: int, latency_us: float, is_named: bool
) -> None:
    """One write of 4 KiB at a time takes 29 us. Larger ones may take longer, and smaller ones only if the drive reads
    and rewrites the sector around them."""

    def writes(size: int, latency_us: float, minute: int) -> str:
        ops = round(0.96e6 / latency_us)
        levels = "1=100.0%"
        return fio_text(ops, latency_us, depth=1, block=size, flush_us=0.1, levels=levels, minute=minute)

    found = import_text(tmp_path, f"{writes(block, latency_us, 10)}\n{writes(4096, 29, 30)}")
    named = [any("rewrites the whole sector" in words for words in step.verdict.because) for step in found.steps]
    assert named == [is_named, False], "not of the larger writes"


def test_writes_below_a_sector_of_which_only_some_take_longer_are_not_named(tmp_path: Path) -> None:
    sizes = {512: 30, 2048: 467, 4096: 29}
    results = [
        fio_text(round(0.96e6 / us), us, depth=1, block=size, flush_us=0.1, levels="1=100.0%", minute=10 + number)
        for number, (size, us) in enumerate(sizes.items())
    ]
    found = import_text(tmp_path, "\n".join(results))
    assert not any("rewrites" in words for step in found.steps for words in step.verdict.because)
