"""How busy the machine was, as DiskSpd prints it: the figures reach the verdict, of the machine that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import conclude, judge_recording
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.facts import Facts
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath.summary.summarise import summary
from sanpath.topology.resolve import resolve
from sanpath.verdict.hypotheses.processors import COSTLY_PATH

TEXT = """\
Command Line: diskspd -d60 -w0 -r -t1 -o16 -b8K -Sh -L X:\\a.dat

Results for timespan 1:
*******************************************************************************

actual test time:       60.00s
thread count:           1
proc count:             4

CPU |  Usage |  User  |  Kernel |  Idle
-------------------------------------------
   0|  {core}%|   5.00%|   90.00%|   5.00%
   1|   2.00%|   1.00%|    1.00%|  98.00%
   2|   2.00%|   1.00%|    1.00%|  98.00%
   3|   2.00%|   1.00%|    1.00%|  98.00%
-------------------------------------------
avg.|  {mean}%|   2.00%|   23.25%|  74.75%

Total IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |      9830400000 |      1200000 |     156.25 |   20000.00 |    0.800 |     0.100 | X:\\a.dat (64GiB)
-----------------------------------------------------------------------------------------------------
total:        9830400000 |      1200000 |     156.25 |   20000.00 |    0.800 |     0.100

Read IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |      9830400000 |      1200000 |     156.25 |   20000.00 |    0.800 |     0.100 | X:\\a.dat (64GiB)
-----------------------------------------------------------------------------------------------------
total:        9830400000 |      1200000 |     156.25 |   20000.00 |    0.800 |     0.100

Write IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
     0 |               0 |            0 |       0.00 |       0.00 |    0.000 |       N/A | X:\\a.dat (64GiB)
-----------------------------------------------------------------------------------------------------
total:                 0 |            0 |       0.00 |       0.00 |    0.000 |       N/A

total:
  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.200 |        N/A |      0.200
   50th |      0.800 |        N/A |      0.800
    max |      3.000 |        N/A |      3.000
"""


def costly(options: str) -> str:
    """Two threads on two of four cores, full, which do 2,500 I/Os a second each: 0.4 ms of a core for each I/O."""
    text = TEXT.replace("{core}", "99.00").replace("{mean}", "50.50").replace("   1|   2.00%", "   1|  99.00%")
    text = text.replace("-t1 -o16", options).replace("thread count:           1", "thread count:           2")
    text = text.replace("1200000", " 300000").replace("20000.00", " 5000.00").replace("156.25", " 39.06")
    text = text.replace("9830400000", "2457600000").replace("0.800 |", "3.200 |")
    rows = [line for line in text.splitlines() if line.startswith("     0 |") and "39.06" in line]
    half = rows[0].replace("2457600000", "1228800000").replace(" 300000", " 150000").replace(" 5000.00", " 2500.00")
    return text.replace(rows[0], f"{half}\n{half.replace('     0 |', '     1 |', 1)}")


def judged(folder: Path, core: float, host: str | None, threads: int = 1) -> tuple[Facts, Diagnosis]:
    """A timespan in which one of four cores was so busy. Of several threads, each did as much as the others, and the
    result names its machine, w7."""
    file = folder / "result.txt"
    text = TEXT.format(core=f"{core:.2f}", mean=f"{(core + 6) / 4:.2f}")
    (row,) = {line for line in text.splitlines() if line.startswith("     0 |") and "1200000" in line}
    each = row.replace("9830400000", f"{9830400000 // threads:>10}").replace("1200000", f"{1200000 // threads:>7}")
    each = each.replace("156.25", f"{156.25 / threads:6.2f}").replace("20000.00", f"{20000 / threads:8.2f}")
    text = text.replace(row, "\n".join(each.replace("     0 |", f"     {n} |", 1) for n in range(threads)))
    text = text.replace("-t1 -o16", f"-t{threads} -o{16 // threads}")
    if threads > 1:
        text = text.replace("Results for", "System information:\n\n\tcomputer name: w7\n\nResults for", 1)
    file.write_text(text.replace("thread count:           1", f"thread count:           {threads}"))
    import_file(ImportRequest(file, folder / "a.sanpath", host=host))
    recording = Recording(folder / "a.sanpath")
    facts, judgements = judge_recording(recording)
    return facts, conclude(recording, facts, judgements)


def test_the_processors_are_those_of_the_machine_that_is_given(tmp_path: Path) -> None:
    facts, _ = judged(tmp_path, 99.0, "w7")
    (row,) = facts.tables["host"].select(entity="host:w7")
    assert row["busiest_core_ratio"] == pytest.approx(0.99)
    assert row["cpu_ratio"] == pytest.approx(0.2625)


def test_the_processors_of_an_unknown_machine_are_of_no_host(tmp_path: Path) -> None:
    facts, _ = judged(tmp_path, 99.0, None)
    assert not facts.tables["host"].select()


@pytest.mark.parametrize(("core", "is_likely"), [(99.0, True), (20.0, False)])
def test_a_full_core_may_be_what_limits(tmp_path: Path, core: float, is_likely: bool) -> None:
    """One thread keeps 16 I/Os in flight. With a full core, it or the interrupts that the core serves may limit."""
    _, diagnosis = judged(tmp_path, core, "w7")
    suspects = diagnosis.verdict.suspects
    of_machine = [s.probability for s in suspects if s.verdict == "generator_limited" or s.entity == "host:w7"]
    assert (sum(of_machine) > 0.5) == is_likely


def test_threads_that_do_as_much_do_not_fill_one_core_alone(tmp_path: Path) -> None:
    """Of four, each used a quarter of a core and a bit at most: interrupts fill the core."""
    _, diagnosis = judged(tmp_path, 99.0, "w7", threads=4)
    first = diagnosis.verdict.suspects[0]
    assert (first.kind, first.entity) == ("core", "host:w7")
    assert sum(s.probability for s in diagnosis.verdict.suspects if s.verdict == "generator_limited") < 0.1


def first_action(folder: Path, options: str) -> tuple[Diagnosis, str | None]:
    (file := folder / "result.txt").write_text(costly(options))
    import_file(ImportRequest(file, folder / "b.sanpath", host="w7"))
    recording = Recording(folder / "b.sanpath")
    diagnosis = conclude(recording, *judge_recording(recording))
    return diagnosis, summary(diagnosis, resolve(recording.inventory())).action


def test_threads_that_fill_cores_with_few_ios_point_to_what_each_io_costs(tmp_path: Path) -> None:
    """More processes would share the same cores: an emulated controller, or a filter, takes the time."""
    diagnosis, action = first_action(tmp_path, "-t2 -o64")
    first = diagnosis.verdict.suspects[0]
    assert (first.verdict, first.place) == ("generator_limited", COSTLY_PATH)
    assert first.because[0].startswith(
        "its 2 threads used 99.0 % of a core each at most, on average, 0.40 ms for each I/O"
    )
    assert (action or "").startswith("Find what makes an I/O so costly")


def test_a_load_that_does_not_keep_what_it_was_asked_for_is_not_asked_for_less(tmp_path: Path) -> None:
    diagnosis, _ = first_action(tmp_path, "-t2 -o64")
    texts = [each.text for each in diagnosis.verdict.experiments]
    assert not any("with 32 outstanding" in text for text in texts)
    assert any("twice as many threads, because these keep fewer I/Os" in text for text in texts)
