"""Real reports of one run of vdbench on two hosts, each of them read alone; facts read from them by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from sanpath.plugin import CollectorError, Event, Item, Rows, SourceEntity
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath_collectors.vdbench.reader import VdbenchReader

ROOT = Path(__file__).parents[3]
VDBENCH = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "vdbench"

pytestmark = pytest.mark.skipif(not VDBENCH.is_dir(), reason="no recorded reports of vdbench: set SANPATH_RECORDINGS")


class OneChunk:
    """A file that was cut."""

    name = "report.html"

    def __init__(self, content: bytes) -> None:
        self._content = content

    def chunks(self) -> Iterator[bytes]:
        yield self._content

    def query(self, columns: Mapping[str, str], sql: str) -> Iterator[tuple[int | float | str | None, ...]]:
        raise NotImplementedError


REPORTS = ["flatfile", "summary", "totals", "histogram", "parmfile"]
SERIES = ["flatfile", "summary", "totals"]
RUNS = {
    # run: operations/s, mean response time in seconds, queue depth, as the last row of the run in flatfile.html says
    "rd1": (50.0169, 5.3952e-3, 0.2699),
    "rd2": (212.4237, 9.4001e-3, 1.9966),
    "rd3": (310.0508, 6.4390e-3, 1.9964),
}


def read(report: str) -> tuple[VdbenchReader, list[Item]]:
    file = ImportedFile(VDBENCH / f"vdbconvert_multihost.{report}.html")
    assert VdbenchReader.recognises(file.head(), file.name)
    reader = VdbenchReader("v")
    return reader, list(reader.read(file))


def rate(items: Sequence[Item], run: str, *metrics: str) -> float:
    """Last row minus first row, a second."""
    rows = [item for item in items if isinstance(item, Rows) and item.entity == [f"v/{run}"]]
    seconds = (rows[-1].seen[0] - rows[0].seen[0]) / 1e6
    return sum((rows[-1].values[m][0] or 0) - (rows[0].values[m][0] or 0) for m in metrics) / seconds


def of(direction_metric: str) -> tuple[str, str]:
    return direction_metric.format("read"), direction_metric.format("write")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("report", SERIES)
def test_littles_law_against_the_queue_depth(report: str, run: str) -> None:
    _, items = read(report)
    in_flight = rate(items, run, *of("latency_seconds_{}_total")) * 1e-9
    assert in_flight == pytest.approx(RUNS[run][2], rel=0.1)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("report", SERIES)
def test_throughput_and_latency_are_those_of_the_average(report: str, run: str) -> None:
    _, items = read(report)
    ops = rate(items, run, *of("ops_{}_total"))
    assert ops == pytest.approx(RUNS[run][0], rel=0.01)
    assert rate(items, run, *of("latency_seconds_{}_total")) * 1e-9 / ops == pytest.approx(RUNS[run][1], rel=0.02)
    assert rate(items, run, *of("bytes_{}_total")) == pytest.approx(4096 * ops, rel=0.001)
    assert rate(items, run, "ops_read_total") / ops == pytest.approx(0.755, abs=0.006)


@pytest.mark.parametrize("report", SERIES)
def test_each_run_is_a_step_without_its_warm_up(report: str) -> None:
    reader, items = read(report)
    marks = [(i.name, i.detail["step"]) for i in items if isinstance(i, Event) and i.name != "data-warning"]
    assert marks == [(mark, run) for run in RUNS for mark in ("step-begin", "ramp-end", "step-end")]
    moments = [i.seen for i in items if isinstance(i, Event) and i.name in ("ramp-end", "step-end")]
    for settled, ended in zip(moments[::2], moments[1::2], strict=True):
        assert (ended - settled) / 1e6 == pytest.approx(59, abs=0.5)
    assert reader.clock == ("elapsed" if report == "flatfile" else "local")


def test_a_series_has_a_row_an_interval_and_a_summary_two_a_run() -> None:
    for report, expected in (("flatfile", 60), ("summary", 60), ("totals", 2)):
        rows = [item.entity[0] for item in read(report)[1] if isinstance(item, Rows)]
        assert {run: rows.count(f"v/{run}") for run in RUNS} == dict.fromkeys(RUNS, expected)


def test_both_hosts_share_the_threads_of_the_one_storage_definition() -> None:
    begins = [i for i in read("summary")[1] if isinstance(i, Event) and i.name == "step-begin"]
    assert [begin.detail["offered"] for begin in begins] == [2.0, 2.0, 2.0]
    entities = {i.local_id: i.attributes for i in read("parmfile")[1] if isinstance(i, SourceEntity)}
    for run, requested in (("rd1", 50), ("rd2", 500), ("rd3", 5000)):
        result = entities[f"v/{run}"]
        assert result["in_flight_configured"] == 2
        assert result["requested_ops_per_second"] == requested
        assert (result["block_bytes"], result["read_ratio"], result["random_ratio"]) == (4096, 0.75, 1)


def test_only_the_first_run_is_held_back_by_its_rate() -> None:
    for report in SERIES:
        begins = [i for i in read(report)[1] if isinstance(i, Event) and i.name == "step-begin"]
        assert [begin.detail["rate_limited"] for begin in begins] == [True, False, False]
        # Flatfile and totals do not tell how many SDs there are; the two threads on the one were always busy.
        assert begins[1].detail["offered"] == pytest.approx(2, abs=0.05)


def test_the_only_warnings_are_of_what_a_report_does_not_tell() -> None:
    found = {
        (report, item.detail["code"])
        for report in REPORTS
        for item in read(report)[1]
        if isinstance(item, Event) and item.name == "data-warning"
    }
    assert found == {
        ("flatfile", "no-date"),
        ("flatfile", "in-flight-as-measured"),
        ("totals", "in-flight-as-measured"),
        ("histogram", "no-date"),
    }


def test_distributions_of_reads_and_writes_a_run() -> None:
    events = [i for i in read("histogram")[1] if isinstance(i, Event) and i.name == "latency-histogram"]
    assert [(e.detail["load"], e.detail["direction"]) for e in events] == [
        (f"v/{run}", direction) for run in RUNS for direction in ("read", "write")
    ]
    buckets = dict(pair.split(":") for pair in str(events[0].detail["buckets"]).split())
    assert len(buckets) == 27
    assert float(buckets["0.0006"]) == pytest.approx(770 / 2240, rel=1e-4)
    assert sum(map(float, buckets.values())) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("share", [0.4, 0.7, 0.9, 0.999])
@pytest.mark.parametrize("report", ["flatfile", "summary"])
def test_a_cut_report_gives_what_was_whole(report: str, share: float, tmp_path: Path) -> None:
    whole = (VDBENCH / f"vdbconvert_multihost.{report}.html").read_bytes()
    cut = tmp_path / f"{report}.html"
    cut.write_bytes(whole[: round(share * len(whole))])
    complete = [item for item in read(report)[1] if isinstance(item, Rows)]
    found = [item for item in VdbenchReader("v").read(ImportedFile(cut)) if isinstance(item, Rows)]
    assert [row.values for row in found] == [row.values for row in complete[: len(found)]]
    assert len(found) / len(complete) == pytest.approx(share, abs=0.2)


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_that_ends_in_its_first_line_says_what_to_do(report: str) -> None:
    reader = VdbenchReader("v")
    head = (VDBENCH / f"vdbconvert_multihost.{report}.html").read_bytes()[:70]
    with pytest.raises(CollectorError, match="html"):
        list(reader.read(OneChunk(head)))
