"""`sanpath import`: a result that appeared only at the end, in a recording at the time it belongs to."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import zipfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.errors import SanpathError, UsageError
from sanpath.model import Event, SourceEntity
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.writer import Writer
from sanpath.topology.resolve import resolve
from tests.support.recording import microseconds
from tests.support.san import HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X

THREADS = 100


def sqlio(direction: str = "read", threads: int = THREADS, ops: float = X, seconds: int = 60) -> str:
    """What SQLIO prints of 64 KiB I/Os, 8 outstanding a thread; its latency is cut off to whole milliseconds."""
    way = "reading" if direction == "read" else "writing"
    where = "from" if direction == "read" else "to"
    return f"""sqlio v1.5.SG
using system counter for latency timings, 2539060 counts per second
{threads} threads {way} for {seconds} secs {where} file E:\\test.dat
	using 64KB random IOs
	enabling multiple I/Os per thread with 8 outstanding
using specified size: 50000 MB for file: E:\\test.dat
initialization done
CUMULATIVE DATA:
throughput metrics:
IOs/sec: {ops:.2f}
MBs/sec: {ops / 16:.2f}
latency metrics:
Min_Latency(ms): 1
Avg_Latency(ms): {int(1000 * threads * 8 / ops - 0.7)}
Max_Latency(ms): 139
"""


def without_load(folder: Path, seconds: float = 60.0, write: bool = False) -> Path:
    """A recording of switch and array while something reads (and writes) over the 4GFC link; nobody told of it."""
    san = San(folder, leave_out={"load"})
    flow = Flow(X, THREADS * 8 / X)
    counted = (COUNTED, COUNTED if write else NOTHING)
    array = {"read": AtArray(0.00035, san=0.0047)} | ({"write": AtArray(0.00035, san=0.0047)} if write else {})
    san.step(
        "",
        THREADS * 8,
        read=flow,
        write=flow if write else None,
        seconds=seconds,
        ports={HOST_PORT.name: counted, "fc1/1": counted},
        array=array,
    )
    san.write()
    return folder


def at(seconds: float) -> str:
    return datetime.fromtimestamp(microseconds(seconds) / 1e6, UTC).isoformat()


def run(*words: object) -> str:
    """The command line; what it printed."""
    done = CliRunner().invoke(app, ["import", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def judged(folder: Path) -> Diagnosis:
    return diagnose(Recording(folder))


def written(folder: Path, text: str, name: str = "sqlio.txt") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_result_without_times_goes_where_it_is_told(tmp_path: Path) -> None:
    folder = without_load(tmp_path / "a.sanpath")
    reported = run(written(tmp_path, sqlio()), "--into", folder, "--at", at(5), "--host", "esx7")
    assert "64 KiB random read" in reported
    result = judged(folder)
    assert result.verdict.kind == "bottleneck"
    assert result.verdict.bottlenecks[0].entity == "link:esx7/vmhba2--sw1/fc1/7"
    (step,) = result.steps
    assert step.in_flight.configured == 800
    latency = step.directions["read"].latency_seconds
    assert latency.mean == pytest.approx(800 / X, rel=0.01)  # N / X, which lies within what was printed
    assert latency.interval == (pytest.approx(0.127), pytest.approx(0.128))
    assert any("a single figure" in text for text in step.valid)


def test_a_result_without_times_is_placed_by_a_mark(tmp_path: Path) -> None:
    folder = without_load(tmp_path / "a.sanpath")
    hand = Writer(folder, "hand.1")
    hand.event("hand", Event(microseconds(5), "mark", {"name": "before LSI"}))
    hand.flush()
    run(written(tmp_path, sqlio()), "--into", folder, "--mark", "before LSI", "--host", "esx7")
    assert judged(folder).verdict.kind == "bottleneck"


def test_a_result_without_times_and_marks_ends_when_its_file_does(tmp_path: Path) -> None:
    folder = without_load(tmp_path / "a.sanpath")
    file = written(tmp_path, sqlio())
    os.utime(file, (microseconds(65) / 1e6, microseconds(65) / 1e6))
    reported = run(file, "--into", folder, "--host", "esx7")
    assert "its modification time is taken as the end" in reported
    assert judged(folder).verdict.kind == "bottleneck"


def test_two_generators_at_once_are_one_step_with_two_directions(tmp_path: Path) -> None:
    folder = without_load(tmp_path / "a.sanpath", write=True)
    run(written(tmp_path, sqlio("read"), "r.txt"), "--into", folder, "--at", at(5), "--host", "esx7")
    run(written(tmp_path, sqlio("write"), "w.txt"), "--into", folder, "--at", at(5.5), "--host", "esx7")
    result = judged(folder)
    (step,) = result.steps
    assert set(step.directions) == {"read", "write"}
    assert step.in_flight.configured == 1600
    assert {b.direction for b in step.verdict.bottlenecks} == {"read", "write"}


def test_a_recording_that_is_still_written_takes_it_too(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    san = San(folder)
    san.step("s", 8, read=Flow(100, 0.08))
    san.write(ended=False)
    run(written(tmp_path, sqlio(seconds=10)), "--into", folder, "--at", at(40))
    assert [step.name for step in judged(folder).steps] == ["s", "64 KiB random read, 100 threads x 8"]


def test_a_file_of_many_samples_is_written_as_it_is_read(tmp_path: Path) -> None:
    """More than wait for one flush: the folder is no recording yet when its first segment is there."""
    header = ",".join(f'"\\\\w1\\PhysicalDisk({n} X:)\\Disk Reads/sec"' for n in range(50))
    rows = (
        f'"01/01/2027 {s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}.000",' + ",".join(['"5"'] * 50) for s in range(900)
    )
    file = tmp_path / "perfmon.csv"
    file.write_text("\n".join((f'"(PDH-CSV 4.0) (UTC)(0)",{header}', *rows)) + "\n")
    assert "samples" in run(file, "--into", tmp_path / "a.sanpath")
    assert judged(tmp_path / "a.sanpath").sources


def test_the_file_is_kept_byte_for_byte(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    file = written(tmp_path, sqlio())
    run(file, "--into", folder)
    (kept,) = folder.glob("imports/*/sqlio.txt")
    assert kept.read_bytes() == file.read_bytes()


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "sqlio.txt.gz"
    file.write_bytes(gzip.compress(sqlio().encode()))
    assert "64 KiB random read" in run(file, "--into", tmp_path / "a.sanpath")
    assert not list((tmp_path / "a.sanpath").glob("imports/*/*")), "what is packed cannot be searched for secrets"


def test_a_file_of_powershell_is_kept_without_secrets(tmp_path: Path) -> None:
    folder, file = tmp_path / "a.sanpath", tmp_path / "sqlio.txt"
    file.write_bytes(f"http_pass=swordfish\n{sqlio()}".encode("utf-16"))
    run(file, "--into", folder)
    (kept,) = folder.glob("imports/*/sqlio.txt")
    assert "swordfish" not in kept.read_text("utf-16")
    assert sqlio() in kept.read_text("utf-16")


def test_a_second_result_of_one_tool_has_a_name_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    for begin in (0, 100):
        run(written(tmp_path, sqlio(threads=THREADS + begin)), "--into", folder, "--at", at(begin))
    assert [source.name for source in judged(folder).sources] == ["sqlio", "sqlio-2"]


def test_a_file_is_not_imported_twice(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(written(tmp_path, sqlio()), "--into", folder, "--at", at(0))
    with pytest.raises(UsageError, match="is in the recording already"):
        run(tmp_path / "sqlio.txt", "--into", folder, "--at", at(200))


def test_two_results_of_one_tool_at_one_time_are_pointed_out(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(written(tmp_path, sqlio()), "--into", folder, "--at", at(0))
    reported = run(written(tmp_path, sqlio("write"), "w.txt"), "--into", folder, "--at", at(1))
    assert "if both files are of one run, it is now counted twice" in reported


def test_a_result_that_lies_within_an_earlier_one_of_its_tool_is_pointed_out(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(written(tmp_path, sqlio(seconds=60)), "--into", folder, "--at", at(0))
    reported = run(written(tmp_path, sqlio("write", seconds=10), "w.txt"), "--into", folder, "--at", at(20))
    assert "if both files are of one run, it is now counted twice" in reported


def test_the_report_of_each_step_says_what_is_odd_about_the_import(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    both = sqlio(seconds=20) + sqlio("write", seconds=20)
    run(written(tmp_path, both), "--into", folder, "--at", at(0))
    run(written(tmp_path, both + "\n", "again.txt"), "--into", folder, "--at", at(0))
    steps = judged(folder).steps
    assert len(steps) == 2
    for step in steps:
        assert any("it is now counted twice" in text for text in step.valid)


def test_results_one_after_the_other_are_no_twins(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(written(tmp_path, sqlio(seconds=10)), "--into", folder, "--at", at(0))
    assert "note" not in run(written(tmp_path, sqlio("write", seconds=10), "w.txt"), "--into", folder, "--at", at(10))


def counters(folder: Path, begin: float = 0.0) -> Path:
    """A log of a minute, of the machine W1."""
    moments = (datetime.fromtimestamp(microseconds(begin + s) / 1e6, UTC) for s in range(61))
    rows = (f'"{moment:%m/%d/%Y %H:%M:%S}.000","5"' for moment in moments)
    header = '"(PDH-CSV 4.0) (UTC)(0)","\\\\W1\\PhysicalDisk(1 E:)\\Disk Reads/sec"'
    return written(folder, "\n".join((header, *rows)) + "\n", "perfmon.csv")


def test_a_counter_log_lasts_as_long_as_its_samples(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(counters(tmp_path), "--into", folder)
    assert "outside" not in run(written(tmp_path, sqlio(seconds=10)), "--into", folder, "--at", at(30))
    assert "it lies 40 s away" in run(written(tmp_path, sqlio(seconds=9)), "--into", folder, "--at", at(100))


def test_a_file_that_takes_long_to_read_is_no_slow_poll(tmp_path: Path) -> None:
    """Otherwise every large file would be a device that answers too late."""
    folder = tmp_path / "a.sanpath"
    run(counters(tmp_path), "--into", folder)
    (poll,) = Recording(folder).polls()
    assert poll.rows > 0
    assert poll.ended == poll.started


def test_how_far_the_clock_of_a_file_was_off_is_not_known(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(counters(tmp_path), "--into", folder)
    (source,) = judged(folder).sources
    assert source.clock_offset_seconds is None


def test_an_option_that_moves_nothing_is_said(tmp_path: Path) -> None:
    reported = run(counters(tmp_path), "--into", tmp_path / "a.sanpath", "--at", at(30), "--utc-offset", "+02:00")
    assert "--at is not used" in reported
    reported = run(counters(tmp_path), "--into", tmp_path / "b.sanpath", "--utc-offset", "+02:00")
    assert "--utc-offset is not used" in reported


def test_more_marks_than_loads_are_said(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(written(tmp_path, sqlio(seconds=10) + sqlio("write", seconds=10)), "--into", folder, "--at", at(0))
    steps = ("64 KiB random read, 100 threads x 8", "64 KiB random write, 100 threads x 8")
    file = written(tmp_path, sqlio(threads=2, seconds=10), "b.txt")
    reported = run(file, "--into", folder, "--mark", steps[0], "--mark", steps[1])
    assert "1 not used, because the file has fewer loads" in reported


def test_a_host_is_found_however_its_name_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(counters(tmp_path), "--into", folder)
    reported = run(written(tmp_path, sqlio(seconds=10)), "--into", folder, "--at", at(0), "--host", "W1")
    assert "note" not in reported
    entities = [item for _, _, item in Recording(folder).inventory() if isinstance(item, SourceEntity)]
    hosts = {node.local_id for node in entities if node.kind == "host"}
    assert hosts == {"w1"}


def test_the_machine_that_a_file_names_is_called_as_requested(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(counters(tmp_path), "--into", folder, "--host", "db1")
    topology = resolve(Recording(folder).inventory())
    assert [host.id for host in topology.of_kind("host")] == ["host:db1"]
    devices = topology.related("host:db1", "attached_to", "lun")
    assert devices
    assert all(device.startswith("lun:db1/") for device in devices)
    reported = run(written(tmp_path, sqlio(seconds=10)), "--into", folder, "--at", at(0), "--host", "DB1.example.net")
    assert "note" not in reported


def test_a_host_that_the_recording_does_not_know_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "a.sanpath"
    run(counters(tmp_path), "--into", folder)
    reported = run(written(tmp_path, sqlio(seconds=10)), "--into", folder, "--at", at(0), "--host", "w2")
    assert "the recording has no host w2 yet, only w1" in reported


def test_an_archive_with_a_password_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "sqlio.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("sqlio.txt", sqlio())
    content = bytearray(file.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1  # The flags, in front of the file and in the list of files.
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"sqlio\.zip: cannot be unpacked"):
        run(file, "--into", tmp_path / "a.sanpath")


def test_what_cannot_be_read_is_said_with_the_name_of_the_file(tmp_path: Path) -> None:
    good, bad = written(tmp_path, sqlio()), written(tmp_path, "nothing", "b.txt")
    with pytest.raises(SanpathError, match=r"^b\.txt: "):
        run(good, bad, "--into", tmp_path / "a.sanpath", "--reader", "sqlio", "--at", at(0))


def test_what_is_no_recording_is_not_written_to(tmp_path: Path) -> None:
    file = written(tmp_path, sqlio())
    with pytest.raises(UsageError, match="is a file, not a recording"):
        run(file, "--into", file)


def test_without_a_name_nothing_is_added_to_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, sqlio())
    monkeypatch.chdir(tmp_path)
    run(file, "--at", at(0))
    with pytest.raises(UsageError, match=rf"{file.stem}.sanpath: is there already; to add to it: --into"):
        run(file, "--at", at(7200))


def test_what_lies_outside_of_the_recording_is_said(tmp_path: Path) -> None:
    folder = without_load(tmp_path / "a.sanpath")
    reported = run(written(tmp_path, sqlio()), "--into", folder, "--at", at(5 + 7200))
    assert "away from everything else in the recording" in reported
    assert "about 2 h" in reported
    reported = run(written(tmp_path, sqlio("write"), "b.txt"), "--into", folder, "--at", at(5 + 46 * 86_400))
    assert re.search(r"it lies 4\d days \d+ h away", reported)


def test_runs_of_one_tool_that_follow_each_other_are_no_mistake_of_the_time_zone(tmp_path: Path) -> None:
    reports = sorted((Path(__file__).parents[3] / "examples/vsan-jetstress/hybrid").glob("*.html"))
    zone = ("--utc-offset", "UTC", "--into", tmp_path / "a.sanpath")
    assert "away from everything else in the recording" not in run(*reports[:2], *zone)
    assert "away from everything else in the recording" not in run(reports[2], *zone)


def test_devices_that_a_file_names_with_its_machine_are_of_the_host_that_is_given(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "collectors/iostat/json-two-runs-the-second-killed/iostat.json"
    run(file, "--into", tmp_path / "a.sanpath", "--host", "db1", "--utc-offset", "UTC")
    names = resolve(Recording(tmp_path / "a.sanpath").inventory()).entities
    assert "lun:db1/sda" in names
    assert not any("db-3" in name for name in names)


def test_sequential_runs_are_not_compared_with_random_ones(tmp_path: Path) -> None:
    """Both are in one file, as a batch of SQLIO writes it: what either does says nothing of the other."""
    text = sqlio(threads=10) + sqlio(threads=40, ops=2 * X).replace("random IOs", "sequential IOs")
    run(written(tmp_path, text), "--into", tmp_path / "a.sanpath", "--at", at(0))
    curves = judged(tmp_path / "a.sanpath").verdict.curves
    assert sorted(len(curve.points) for curve in curves) == [1, 1]


@pytest.mark.parametrize("options", [(), ("--at", at(0))], ids=["modified at the same time", "one --at for all"])
def test_files_without_times_are_runs_one_after_the_other(tmp_path: Path, options: tuple[str, ...]) -> None:
    """A checkout or an archive gives all its files the same time: the loads would be added up."""
    files = [written(tmp_path, sqlio(threads=threads), f"{threads}.txt") for threads in (10, 20, 40)]
    for file in files:
        os.utime(file, (1_800_000_000, 1_800_000_000))
    reported = run(*files, "--into", tmp_path / "a.sanpath", *options)
    assert "it is placed after sqlio, as a run of its own" in reported
    steps = judged(tmp_path / "a.sanpath").steps
    assert len(steps) == 3
    assert all(step.directions["read"].ops_per_second == pytest.approx(X, rel=0.01) for step in steps)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b'{"fio version" : "fio-3.33",\n"jobs" : [\n', "copy the whole file"),
        (b"hello\nworld\n", "is not a result"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03x", "damaged"),
    ],
)
def test_a_file_that_nobody_reads_is_refused_in_one_line(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "what.gz"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=rf"^what\.gz: .*{problem}"):
        run(file, "--into", tmp_path / "a.sanpath")
    assert not (tmp_path / "a.sanpath").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--mark", "gone"), "has no step 'gone'; there are: none"),
        (("--at", "noon"), "write a time as 2026-01-31T14:00:00"),
        (("--utc-offset", "Mars/Olympus"), "is not a time zone"),
        (("--reader", "snmp_switch"), "does not read result files"),
        (("--reader", "sqlo"), "did you mean sqlio"),
        (("--at", "0001-01-01T00:00:00+14:00"), "write a time of the years 1970 to"),
        (("--at", "9999-12-31T23:59:59-14:00"), "write a time of the years 1970 to"),
        (("--clock-behind", "nan"), "write seconds"),
        (("--clock-behind", "1e300"), "write seconds"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(tmp_path: Path, words: tuple[str, str], problem: str) -> None:
    folder = without_load(tmp_path / "a.sanpath", seconds=12)
    with pytest.raises(UsageError, match=problem):
        run(written(tmp_path, sqlio()), "--into", folder, *words)


CABLED = """
topology:
  things:
    "hba:esx7/vmhba2": {capable_bits_per_second: 8_000_000_000}
    "switch_port:sw1/fc1/7": {technology: fibre_channel, speed_bits_per_second: 4_000_000_000}
    "switch_port:sw1/fc1/1": {technology: fibre_channel, speed_bits_per_second: 4_000_000_000}
    "switch:sw1":
    "array:fa1":
    "array_port:fa1/CT0.FC0": {capable_bits_per_second: 8_000_000_000}
  links:
    - load:sqlio runs_on host:esx7
    - hba:esx7/vmhba2 attached_to host:esx7
    - hba:esx7/vmhba2 logged_in switch_port:sw1/fc1/7
    - array_port:fa1/CT0.FC0 logged_in switch_port:sw1/fc1/1
    - switch_port:sw1/fc1/7 member_of switch:sw1
    - switch_port:sw1/fc1/1 member_of switch:sw1
    - array_port:fa1/CT0.FC0 member_of array:fa1
"""


def two_loads_over_known_cables(tmp_path: Path, ops: float) -> Diagnosis:
    (tmp_path / "sanpath.yaml").write_text(CABLED)
    (tmp_path / "result.txt").write_text(sqlio(threads=16, ops=ops) + sqlio(threads=100, ops=ops))
    arguments = ["import", str(tmp_path / "result.txt"), "--config", str(tmp_path / "sanpath.yaml")]
    done = CliRunner().invoke(app, [*arguments, "--into", str(tmp_path / "a.sanpath")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return diagnose(Recording(tmp_path / "a.sanpath"))


def test_a_plateau_at_what_a_link_of_the_configuration_carries_names_it_although_nobody_counts(
    tmp_path: Path,
) -> None:
    result = two_loads_over_known_cables(tmp_path, X)
    assert (result.verdict.kind, result.verdict.grade) == ("bottleneck", "C")
    assert result.verdict.bottlenecks[0].entity == "link:esx7/vmhba2--sw1/fc1/7"
    assert result.verdict.bottlenecks[0].coincident == ("link:sw1/fc1/1--fa1/CT0.FC0",)
    assert any("bytes of its links are not measured" in unseen.why for unseen in result.unobserved)


def test_a_plateau_below_what_the_links_carry_names_none(tmp_path: Path) -> None:
    result = two_loads_over_known_cables(tmp_path, 0.9 * X)
    assert result.verdict.kind == "cannot_tell"
    assert not result.verdict.bottlenecks


def test_the_version_in_a_result_tells_the_unit_of_a_log_that_is_named_before_it(tmp_path: Path) -> None:
    log = written(tmp_path, "".join(f"{500 * n}, 1900, 0, 0\n" for n in range(1, 9)), "a_lat.1.log")
    text = (
        "w: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=8\nfio-2.2.10\n"
        "w: (groupid=0, jobs=1): err= 0: pid=9: Fri Jan 19 01:20:01 2018\n"
        "  read : io=64KB, bw=16KB/s, iops=4, runt=  4000msec\n"
        "     lat (usec): min=852, max=2961, avg=1900.00, stdev=17.21\n"
        "     issued    : total=r=16/w=0/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n"
    )
    reported = run(log, written(tmp_path, text, "z.out"), "--into", tmp_path / "a.sanpath")
    assert reported.index("z.out") < reported.index("a_lat.1.log")
    assert "microseconds" not in reported
    assert "microseconds" in run(log, "--into", tmp_path / "alone.sanpath")


@pytest.mark.parametrize("kind", ["bw", "iops", "lat"])
def test_a_load_without_operations_and_their_latency_is_not_said_to_be_too_short(tmp_path: Path, kind: str) -> None:
    log = written(tmp_path, "".join(f"{500 * n}, 400000, 0, 0, 0\n" for n in range(1, 80)), f"a_{kind}.1.log")
    run(log, "--into", tmp_path / "a.sanpath")
    assert judged(tmp_path / "a.sanpath").verdict.headline == (
        "no load was read with operations and their latency: nothing can be judged"
    )


def test_a_load_that_was_too_short_for_a_window_is_said_to_be_so(tmp_path: Path) -> None:
    log = written(tmp_path, "1, 400000, 0, 0, 0\n", "a_lat.1.log")
    run(log, "--into", tmp_path / "a.sanpath")
    assert "long enough" in judged(tmp_path / "a.sanpath").verdict.headline


def test_an_import_is_taken_out_by_deleting_the_files_of_its_writer(tmp_path: Path) -> None:
    folder, result = without_load(tmp_path / "x.sanpath"), written(tmp_path, sqlio())
    before = asdict(judged(folder))
    run(result, "--into", folder, "--at", at(0))
    assert judged(folder).verdict.headline != before["verdict"]["headline"]
    (writer,) = (folder / "imports").iterdir()
    subprocess.run(["find", str(folder), "-path", f"*/{writer.name}*", "-delete"], check=True)
    assert [name for name, value in asdict(judged(folder)).items() if value != before[name]] == []
