"""How busy the machine was, as DiskSpd prints it: the figures reach the verdict, of the machine that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import conclude, judge_recording
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.facts import Facts
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording

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


def judged(folder: Path, core: float, host: str | None) -> tuple[Facts, Diagnosis]:
    file = folder / "result.txt"
    file.write_text(TEXT.format(core=f"{core:.2f}", mean=f"{(core + 6) / 4:.2f}"))
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
