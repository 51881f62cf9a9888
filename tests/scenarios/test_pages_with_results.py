"""Results as people publish them: mails that quote, pages with several results, devices that stand on each other."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.errors import UsageError
from sanpath.model import SourceEntity
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath.registry import result_reader
from sanpath.views.step_notes import step_notes
from tests.support.fio_text import fio_text, import_text, likelihoods
from tests.support.stories import judged

IOSTAT = """Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  r_await  w_await  aqu-sz  %util
sdb           2000.00    0.00   8000.00      0.00     0.00     0.00     1.00     0.00    2.00  99.00
"""


def in_folder(folder: Path, name: str, text: str) -> Diagnosis:
    (folder / name).mkdir()
    return import_text(folder / name, text)


def hits(diagnosis: Diagnosis) -> set[str]:
    return {finding.rule for finding in diagnosis.findings if finding.outcome == "hit"}


@pytest.mark.parametrize("mark", ["> ", ">", ">> ", "> > "])
def test_a_quoted_result_says_what_the_result_says(tmp_path: Path, mark: str) -> None:
    text = fio_text(device_us=15_000)
    quoted = "".join(f"{mark}{line}\n" for line in text.splitlines())
    found = [in_folder(tmp_path, name, each).verdict for name, each in (("plain", text), ("quoted", quoted))]
    assert found[0] == found[1]


def test_a_result_that_lost_its_indentation_keeps_its_devices(tmp_path: Path) -> None:
    text = fio_text(device_us=15_000)
    flat = "".join(f"{line.lstrip()}\n" for line in text.splitlines())
    found = [likelihoods(in_folder(tmp_path, name, each)) for name, each in (("plain", text), ("flat", flat))]
    assert found[0] == found[1]


def test_a_result_with_less_indentation_keeps_its_latencies(tmp_path: Path) -> None:
    """The figures of a direction are not indented by more than the lines of the job."""
    text = fio_text()
    shallow = text.replace("\n     lat (", "\n  lat (")
    found = [in_folder(tmp_path, name, each).verdict for name, each in (("plain", text), ("shallow", shallow))]
    assert shallow != text
    assert found[0] == found[1]


def test_a_part_of_a_page_may_be_quoted(tmp_path: Path) -> None:
    """Prose, and a report of which the markdown quotes some lines only."""
    prose = "".join(f"Line {number} of what was tried before.\n" for number in range(20))
    processors = ">avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n  1.0  0.0  1.0  0.0  0.0  98.0\n"
    table = f"{IOSTAT}sdc 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
    quoted = "".join(f">{line}\n" for line in table.splitlines())
    plain = in_folder(tmp_path, "plain", table)
    page = in_folder(tmp_path, "page", f"{prose}{processors}{quoted}")
    assert [step.directions["read"].ops_per_second for step in page.steps] == [2000.0]
    assert plain.verdict.suspects == page.verdict.suspects


def test_an_entry_that_a_mail_program_has_wrapped_is_read(tmp_path: Path) -> None:
    """The lines were filled to 72 characters, whatever they were before."""
    text = fio_text(cpu="")
    header, banner, *entry = text.splitlines()
    filled = "\n".join(f"> {line}" for line in fill(" ".join(line.strip() for line in entry), 72).splitlines())
    found = [
        in_folder(tmp_path, name, each).steps[0].directions["read"]
        for name, each in (("plain", text), ("filled", f"> {header}\n> {banner}\n{filled}\n"))
    ]
    assert found[0] == found[1]


def test_a_result_that_a_mail_program_has_wrapped_keeps_its_engine_and_devices(tmp_path: Path) -> None:
    text = fio_text(device_us=15_000)
    wrapped = text.replace(" ioengine=", "\nioengine=").replace(" in_queue=", "\nin_queue=")
    assert wrapped.count("\n") == text.count("\n") + 2
    found = [in_folder(tmp_path, name, each).verdict for name, each in (("plain", text), ("wrapped", wrapped))]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["page.md", "page.txt"])
def test_a_load_generator_comes_before_what_watched_it(name: str) -> None:
    """A page with iostat's table in front of fio's output."""
    found = result_reader(f"{IOSTAT}\n{fio_text()}".encode(), name)
    alone = result_reader(IOSTAT.encode(), name)
    assert (found and found[0].name, alone and alone[0].name) == ("fio", "iostat")


@pytest.mark.parametrize(
    "command",
    [
        "$ fio --name=job --rw=randread --depth=1",
        "# ./fio --name=job --rw=randread",
        "root@db1:~# /usr/local/bin/fio --name=job --rw=randread",
        "[root@db1 ~]# fio --name=job \\\n>     --rw=randread \\\n>     --direct=1",
        "# fio --name=job\n--rw=randread --direct=1",
    ],
    ids=["in the path", "in this folder", "of another folder", "over several lines", "wrapped"],
)
def test_a_command_line_tells_that_no_rate_was_set(tmp_path: Path, command: str) -> None:
    """Of 32 I/Os 16 are outstanding."""
    text = fio_text(latency_us=8_000, levels="16=100.0%")
    unknown = likelihoods(in_folder(tmp_path, "without", text)).get("demand_limited", 0.0)
    known = likelihoods(in_folder(tmp_path, "with", f"{command}\n{text}")).get("demand_limited", 0.0)
    assert known < unknown / 3


def test_entries_that_were_printed_at_other_times_are_other_runs(tmp_path: Path) -> None:
    """Two fragments of 189 and 529 IOPS are no load of 718."""
    first, second = (
        fio_text(ops=ops, latency_us=16_000_000 / ops, depth=16, minute=m) for ops, m in ((189, 10), (529, 30))
    )
    fragments = "\n".join("\n".join(text.splitlines()[2:]) for text in (first, second))
    found = import_text(tmp_path, f"{fragments}\n")
    assert [round(step.directions["read"].ops_per_second) for step in found.steps] == [189, 529]


def test_devices_that_stand_on_each_other_are_no_other_user(tmp_path: Path) -> None:
    text = fio_text(device_us=15_000, stacked=("dm-1", "dm-0"))
    assert "device-shared" not in hits(in_folder(tmp_path, "stack", text))
    busier = fio_text(device_us=15_000, stacked=("dm-0",), device_ios=4 * 2_000 * 20)
    assert "device-shared" in hits(in_folder(tmp_path, "shared", busier))


def test_a_device_without_times_is_not_timed(tmp_path: Path) -> None:
    """Kernels before 5.10 keep none of md: 0 ms for 40,000 I/Os does not show that they wait above it."""
    found = import_text(tmp_path, fio_text(device_us=0.0))
    assert not any(s.entity == "host:db1" and s.probability > 0.05 for s in found.verdict.suspects)
    assert not any("sdb" in part.entity for budget in found.latency_budget for part in budget.parts)


def test_several_programs_of_a_host_without_a_name_may_keep_any_number_outstanding(tmp_path: Path) -> None:
    text = IOSTAT.replace("1.00     0.00    2.00  99.00", "2.30     0.00    4.60  40.00")
    file = tmp_path / "result.txt"
    file.write_text(text)
    import_file(ImportRequest(file, tmp_path / "r.sanpath"))
    named = likelihoods(in_folder(tmp_path, "named", text))
    assert text != IOSTAT
    assert likelihoods(judged(Recording(tmp_path / "r.sanpath"))) == pytest.approx(named, abs=0.02)


def test_whoever_waits_for_the_device_behind_a_cache_asks_for_more(tmp_path: Path) -> None:
    """The load holds 2 of its 32 I/Os, and its device as many as it could hold: they are those of a file cache."""
    text = fio_text(latency_us=1_000, levels="32=100.0%", device_us=15_900)
    without = likelihoods(in_folder(tmp_path, "without", fio_text(latency_us=1_000, levels="32=100.0%")))
    found = likelihoods(in_folder(tmp_path, "with", text))
    assert without["demand_limited"] > 0.5 > 0.1 > found.get("demand_limited", 0.0)


def test_a_run_that_memory_answered_does_not_decide_where_another_reached_the_devices(tmp_path: Path) -> None:
    import_text(tmp_path, fio_text(ops=600_000, latency_us=2, depth=1, levels="1=100.0%", engine="psync", minute=10))
    found = import_text(tmp_path, fio_text(device_us=15_000, minute=20))
    decided = next(step for step in found.steps if step.name == found.verdict.from_step)
    assert decided.directions["read"].ops_per_second == pytest.approx(2_000, rel=0.01)
    assert found.summary.action != "Bypass the file cache (direct I/O)"


BUSY, LESS_BUSY = "usr=38.00%, sys=60.00%", "usr=30.00%, sys=50.00%"


@pytest.mark.parametrize(
    ("other", "is_cleared"),
    [
        ({"cpu": LESS_BUSY}, True),
        ({"cpu": BUSY}, False),
        ({"ops": 100_000, "latency_us": 320, "cpu": LESS_BUSY}, False),
        ({"ops": 100_000, "latency_us": 320, "block": 8192, "cpu": LESS_BUSY}, True),
    ],
    ids=["as fast with less of a core", "as fast and as busy", "slower", "as many bytes with half of the I/Os"],
)
def test_a_core_that_does_not_hold_another_run_holds_none(
    tmp_path: Path, other: dict[str, object], is_cleared: bool
) -> None:
    def generator(folder: str, *texts: str) -> float:
        (tmp_path / folder).mkdir()
        found = [import_text(tmp_path / folder, text) for text in texts][-1]
        return max(
            suspect.probability if suspect.verdict == "generator_limited" else 0.0
            for suspect in found.verdict.suspects
        )

    busy: dict[str, object] = {"ops": 200_000, "latency_us": 160, "cpu": BUSY}
    alone = generator("alone", fio_text(**busy))  # type: ignore[arg-type]
    both = generator("both", fio_text(**busy), fio_text(**{**busy, **other, "minute": 20}))  # type: ignore[arg-type]
    assert alone > 0.8
    assert (both < 0.5) is is_cleared


@pytest.mark.parametrize(
    ("engine", "direct", "device_us", "is_hit"),
    [
        ("posixaio", True, 510, True),
        ("posixaio", True, 7_900, False),
        ("libaio", False, 340, True),
        ("libaio", True, 340, False),
        ("io_uring", False, 340, False),
    ],
    ids=["POSIX AIO", "all I/Os at the device", "the file cache", "another engine", "one that uses threads"],
)
def test_an_engine_serves_one_io_at_a_time(
    tmp_path: Path, engine: str, direct: bool, device_us: float, is_hit: bool
) -> None:
    """16 I/Os are outstanding at fio."""
    text = fio_text(latency_us=8_000, depth=16, levels="16=100.0%", engine=engine, device_us=device_us)
    known = SourceEntity("load", "fio/job", "fio/job", {"name": ("fio/job",)}, {"direct": direct})
    found = import_text(tmp_path, text, [known])
    assert ("engine-serialises" in hits(found)) is is_hit
    if is_hit:
        assert found.verdict.bottlenecks[0].entity == "host:db1"
        assert found.summary.action == "Let the generator reach its queue depth"


def cut_before(text: str, begin: str) -> str:
    return text[: text.index(begin)]


@pytest.mark.parametrize("option", ["fsync=1", "fdatasync=1", "fsync=0"])
def test_the_time_that_ios_leave_is_that_of_the_flushes(tmp_path: Path, option: str) -> None:
    """1,192 writes a second of 0.33 ms, each with a flush whose time fio 3.1 does not print: 0.5 of each 0.84 ms,
    of which the process works 0.01 ms."""
    command = f"# fio --name=job --rw=randwrite --ioengine=sync --{option} --bs=4k"
    text = fio_text(ops=1_192, latency_us=326.6, depth=1, flush_us=1, levels="1=100.0%", engine="sync")
    without = "".join(
        line for line in text.splitlines(keepends=True) if "sync (" not in line and "fsync/" not in line
    )
    found = in_folder(tmp_path, "result", f"{command}\n{without}")
    flushes = found.steps[0].in_flight.flushes
    assert flushes == pytest.approx(0.60 if option != "fsync=0" else 0.0, abs=0.005)
    assert ("test-uses-file-cache" in hits(found)) is (option == "fsync=0")
    assert (found.summary.verdict == "The load waits for flushes: 0.6 outstanding at any time") is bool(flushes)


@pytest.mark.parametrize(
    ("options", "jobs", "cpu", "in_flight"),
    [
        ("--fsync=10 --time_based --runtime=20", 8, "usr=1.00%, sys=2.00%", 3.92),
        ("--fsync=10 --time_based=1", 8, "usr=1.00%, sys=2.00%", 3.92),
        ("--fsync=10 --size=1g", 8, "usr=1.00%, sys=2.00%", 0.0),
        ("--fsync=10 --size=1g --verify=crc32c", 1, "usr=1.00%, sys=2.00%", 0.0),
        ("--fsync=10 --size=1g", 1, "usr=1.00%, sys=2.00%", 0.49),
        ("--fsync=10 --size=1g", 1, "usr=30.00%, sys=10.00%", 0.2),
        ("--fsync=10 --size=1g", 1, "usr=45.00%, sys=50.00%", 0.0),
        ("--fsync=10 --size=1g", 1, "", 0.0),
    ],
)
def test_only_time_that_nothing_else_takes_is_that_of_flushes(
    tmp_path: Path, options: str, jobs: int, cpu: str, in_flight: float
) -> None:
    """Processes that wait for I/Os half of their time. Bound by their size, several end one after the other; one that
    verifies also reads after its writes; the rest may be the process's own work, or the system's."""
    text = fio_text(1_000 * jobs, 500.0, 1, jobs, cpu, "1=100.0%", flush_us=1, engine="psync")
    without = "".join(
        line for line in text.splitlines(keepends=True) if "sync (" not in line and "fsync/" not in line
    )
    command = f"$ fio --name=job --rw=randwrite --ioengine=psync {options} --numjobs={jobs} --group_reporting"
    found = in_folder(tmp_path, "result", f"{command}\n{without}")
    assert found.steps[0].in_flight.flushes == pytest.approx(in_flight, abs=0.01)


def test_a_copy_without_a_count_has_as_many_ios_as_its_iops_and_its_bytes_allow(tmp_path: Path) -> None:
    """fio 3.1 prints 21.99 MiB as "21.0MiB": bytes over the block size are 5 % too few."""
    text = """job: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, (T) 2300B-2300B, ioengine=sync, iodepth=1
fio-3.1
job: (groupid=0, jobs=1): err= 0: pid=7: Mon Jun 15 21:10:40 2026
  write: IOPS=1192, BW=2678KiB/s (2742kB/s)(21.0MiB/8411msec)
     lat (usec): min=1, max=6381, avg=326.60, stdev= 4.20
"""
    found = import_text(tmp_path, text)
    assert found.steps[0].directions["write"].ops_per_second == pytest.approx(1192.3, abs=0.5)


def test_the_block_size_of_a_copy_without_a_header_is_the_only_possible_one(tmp_path: Path) -> None:
    """117.4 MB/s of 111 to 112 IOPS are 1 MiB, within what is rounded."""
    text = """job: (groupid=0, jobs=1): err= 0: pid=7: Mon Jun 15 21:10:40 2026
  read: IOPS=111, BW=112MiB/s (117MB/s)(13.1GiB/120138msec)
     lat (msec): min=63, max=254, avg=143.01, stdev=15.87
"""
    found = import_text(tmp_path, text).steps[0].directions["read"]
    assert found.bytes_per_second / found.ops_per_second == pytest.approx(2**20, rel=1e-6)


def test_a_mixed_job_that_is_cut_before_its_writes_is_not_short_of_ios(tmp_path: Path) -> None:
    """Half of the time its only I/O is a write."""
    header = "job: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=sync, iodepth=1"
    text = cut_before(fio_text(ops=1_250, latency_us=400, depth=1, engine="sync"), "  cpu ")
    text = f"{header}\n{text.partition(chr(10))[2]}"
    found = import_text(tmp_path, text)
    assert found.steps[0].in_flight.configured is None
    assert "less-in-flight-than-configured" not in hits(found)
    assert any("the text ends before its writes" in note for note in step_notes(found))


def test_a_command_that_is_quoted_in_a_sentence_counts(tmp_path: Path) -> None:
    text = fio_text(latency_us=8_000, levels="16=100.0%")
    page = f"I ran `fio --name=job --rw=randread` on both:\n\n```\n{text}```\n"
    found = [
        likelihoods(in_folder(tmp_path, *each)).get("demand_limited", 0.0) for each in (("a", text), ("b", page))
    ]
    assert found[1] < found[0] / 3


def test_the_end_of_a_result_says_what_is_missing(tmp_path: Path) -> None:
    text = "Run status group 0 (all jobs):\n   READ: bw=112MiB/s (118MB/s), io=8192MiB, run=73043-73043msec\n"
    with pytest.raises(UsageError, match="is the summary at the end of fio's output: import the lines of its jobs"):
        import_text(tmp_path, text)


def test_a_copy_that_ends_within_its_latencies_has_their_mean(tmp_path: Path) -> None:
    text = cut_before(fio_text(), " stdev= 4.20")
    assert not text.endswith("\n")
    assert import_text(tmp_path, text).steps[0].directions["read"].latency_seconds.mean == pytest.approx(0.016)
