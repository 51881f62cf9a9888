"""What a person notices of Jetstress' reports that no single case shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sanpath import registry
from sanpath.plugin import CollectorError, Event, Item, Rows, SourceEntity
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath_collectors.jetstress.dates import DateOrder, parse_file_name_time_us, parse_time_us
from sanpath_collectors.jetstress.parse import find_decimal_mark, parse_duration_seconds, parse_measure, parse_number
from sanpath_collectors.jetstress.reader import JetstressReader
from tests.collectors.test_cases import as_data

CASES = Path(__file__).parent
PASS = CASES / "2010-performance-pass" / "Performance_2012_2_3_10_24_21.html"
XML = CASES / "2010-performance-as-xml" / "Performance_2012_2_3_10_24_21.xml"
FEB_3_2012 = 1_328_227_200_000_000
"""Midnight, microseconds since 1970."""
HOUR = 3_600_000_000


def read(file: Path) -> list[Item]:
    return list(JetstressReader("jet").read(ImportedFile(file)))


def read_text(text: str) -> list[Item]:
    reader = JetstressReader("jet")
    return [*reader.feed(text.encode()), *reader.finish()]


def result(items: list[Item]) -> list[dict[str, Any]]:
    """What a report says, but for how it names things."""
    return [as_data(item) for item in items]


def warnings(items: list[Item]) -> list[object]:
    return [item.detail["code"] for item in items if isinstance(item, Event) and item.name == "data-warning"]


def report() -> str:
    return PASS.read_text(encoding="utf-8")


def test_the_same_test_as_html_and_as_xml() -> None:
    as_html, as_xml = result(read(PASS)), result(read(XML))
    as_html[0]["attributes"]["description"] = as_xml[0]["attributes"]["description"]
    assert as_html[1]["attributes"].pop("os").startswith("Windows Server 2008 R2")
    assert as_html == as_xml


def test_throughput_size_and_latency_are_those_of_the_row() -> None:
    first, last = (item for item in read(PASS) if isinstance(item, Rows))
    at = first.entity.index("jet/Instance1992.2")
    seconds = (last.seen[at] - first.seen[at]) / 1e6
    assert seconds == 7200
    done = {name: last.values[name][at] or 0 for name in last.values}
    assert done["ops_read_total"] / seconds == pytest.approx(37.904, rel=1e-4)
    assert done["ops_write_total"] / seconds == pytest.approx(21.221, rel=1e-4)
    assert done["bytes_read_total"] / done["ops_read_total"] == pytest.approx(33460.118, rel=1e-4)
    assert done["latency_seconds_read_total"] * 1e-9 / done["ops_read_total"] == pytest.approx(13.871e-3, rel=1e-4)
    assert done["latency_seconds_write_total"] * 1e-9 / done["ops_write_total"] == pytest.approx(3.702e-3, rel=1e-4)


def test_a_thread_is_no_io_in_flight() -> None:
    for case in CASES.glob("*/import.yaml"):
        (file,) = (path for path in case.parent.iterdir() if path.suffix in (".html", ".xml", ".log", ".txt"))
        try:
            items = read(file)
        except CollectorError:
            continue
        for item in items:
            if isinstance(item, SourceEntity):
                assert "in_flight_configured" not in item.attributes
            elif isinstance(item, Event):
                assert item.detail.get("offered") is None


def test_no_other_collector_takes_a_file() -> None:
    for case in CASES.glob("*/import.yaml"):
        (file,) = (path for path in case.parent.iterdir() if path.suffix in (".html", ".xml", ".log", ".txt"))
        found = registry.result_reader(ImportedFile(file).head(), file.name)
        assert found is not None
        assert found[0].name == "jetstress"


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"(PDH-CSV 4.0) (GMT)(0)","\\\\MBX\\Database ==> Instances(JetstressWin/x)\\I/O Database Reads/sec"\r\n',
        "<html><body><p>How to run Jetstress 2013</p></body></html>",
        '<?xml version="1.0"?><configuration><appSettings/></configuration>',
        "5/30/2007 10:15:49 AM -- backup started\r\n",
        "<Results><System><ComputerName>jetstress-1</ComputerName></System></Results>",
    ],
)
def test_what_is_none_of_its_files_is_left_to_others(text: str) -> None:
    assert not JetstressReader.recognises(text.encode(), "Performance_2012_2_3_10_24_21.html")
    with pytest.raises(CollectorError, match="no file of Jetstress"):
        read_text(text)


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"<legend>(.*?)</legend>", r"<h3>\1</h3>"),
        (r"<legend>(.*?)</legend>", r"<div class='title'>\1</div>"),
        (r"<legend>(.*?)</legend>", r"<legend><b> \1 </b>"),
        (r"</t[dr]>", ""),
        (r"<th ", "<td "),
        (r"\n", ""),
        (r"<(/?\w+)", lambda found: found[0].upper()),
        (r"I/O Database (Reads|Writes)", r"I/O Database \1 (Attached)"),
        (r"I/O Database (Reads|Writes)", r"DB \1"),
    ],
    ids=["h3", "div", "unclosed", "no-end-tags", "td-header", "one-line", "upper-case", "attached", "short"],
)
def test_the_layout_may_differ_as_long_as_the_names_are_there(pattern: str, replacement: Any) -> None:
    varied = re.sub(pattern, replacement, report())
    assert varied != report()
    rows = [as_data(item) for item in read_text(varied) if isinstance(item, Rows)]
    assert rows == [as_data(item) for item in read_text(report()) if isinstance(item, Rows)]
    assert len(rows) == 2


def test_columns_may_stand_in_another_order() -> None:
    header, cells = ["Instances", "I/O Database Writes/sec", "I/O Database Reads/sec"], ["One", "2.000", "4.000"]
    table = "".join(f"<tr>{''.join(f'<td>{text}</td>' for text in row)}</tr>" for row in (header, cells))
    items = read_text(f"<html>Jetstress<h2>Transactional I/O Performance</h2><table>{table}</table></html>")
    last = [item for item in items if isinstance(item, Rows)][-1]
    assert (last.values["ops_read_total"], last.values["ops_write_total"]) == ([240], [120])
    assert "no-duration" in warnings(items)


def test_figures_under_a_heading_that_is_not_known_are_those_of_the_first_table() -> None:
    renamed = report().replace("Transactional I/O Performance", "E/A-Leistung")
    rows = [as_data(item) for item in read_text(renamed) if isinstance(item, Rows)]
    assert rows == [as_data(item) for item in read_text(report()) if isinstance(item, Rows)]


def test_a_row_without_figures_is_no_header() -> None:
    row = "<tr>\n<td>Instance1992.0</td>" + "<td>n/a</td>" * 12 + "</tr>\n"
    marked = report().replace('<tr>\n<td class="grid_row_header">Instance1992.1</td>\n<td>13', f"{row}\\g", 1)
    assert marked.count("n/a") == 12
    broken = marked.replace("\\g", '<tr>\n<td class="grid_row_header">Instance1992.1</td>\n<td>13')
    rows = [as_data(item) for item in read_text(broken) if isinstance(item, Rows)]
    assert rows == [as_data(item) for item in read_text(report()) if isinstance(item, Rows)]


def test_without_times_its_log_tells_them() -> None:
    bare = re.sub(
        r"<tr>\n<td[^>]*>(?:Test|Collection) (?:Start|End) Time</td>.*?</tr>\n", "", report(), flags=re.DOTALL
    )
    assert "Collection" not in bare
    events = {item.name: item.seen for item in read_text(bare) if isinstance(item, Event)}
    assert events["step-begin"] == FEB_3_2012 + 10 * HOUR + (24 * 60 + 24) * 1_000_000
    assert events["ramp-end"] == FEB_3_2012 + 10 * HOUR + (34 * 60 + 18) * 1_000_000
    assert events["step-end"] == FEB_3_2012 + 12 * HOUR + (34 * 60 + 19) * 1_000_000


@pytest.mark.parametrize(
    ("day", "expected", "warned"),
    [("13/2/2012", 10, False), ("2/13/2012", 10, False), ("2/3/2012", 0, True)],
    ids=["european", "american", "nobody knows"],
)
def test_the_summary_alone_tells_the_order_of_day_and_month(day: str, expected: int, warned: bool) -> None:
    bare = re.sub(r"<fieldset>\s*<legend>Test Log.*?</fieldset>", "", report(), flags=re.DOTALL)
    items = read_text(bare.replace("Performance_2012_2_3_10_24_21.blg", "x.blg").replace("2/3/2012", day))
    (begin,) = (item.seen for item in items if isinstance(item, Event) and item.name == "step-begin")
    assert (begin - FEB_3_2012) // (24 * HOUR) == expected
    assert ("date-order-assumed" in warnings(items)) is warned


def test_a_log_whose_dates_may_be_read_in_two_ways_says_so() -> None:
    begun, ended = "2/3/2012 10:24:24 AM -- Starting transaction dispatch ..", "2/3/2012 12:34:19 PM -- Performance"
    log = f"{begun}\n{ended} logging has ended.\n"
    items = read_text(log)
    assert warnings(items) == ["date-order-assumed"]
    assert [item.name for item in items if isinstance(item, Event)][1:] == ["step-begin", "ramp-end", "step-end"]


@pytest.mark.parametrize("file", [PASS, XML])
def test_a_file_that_is_too_large_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanpath_collectors.jetstress.report._MAX_BYTES", 4096)
    with pytest.raises(CollectorError, match="64 MiB"):
        read(file)


@pytest.mark.parametrize(
    ("texts", "mark", "certain"),
    [
        (["13.422", "0.000"], ".", True),
        (["13,422", "0,000"], ",", True),
        (["13,422", "1,5"], ",", True),
        (["1.083,451"], ",", True),
        (["1,083.451"], ".", True),
        (["1,083,451", "12"], ".", True),
        (["1,083", "0.5"], ".", True),
        (["1.083", "0,5"], ",", True),
        (["13,422", "38,116"], ",", False),
        (["12", "n/a"], ".", True),
        ([], ".", True),
    ],
)
def test_the_decimal_mark_is_found_out(texts: list[str], mark: str, certain: bool) -> None:
    assert find_decimal_mark(texts) == (mark, certain)


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("1.083,451", ",", 1083.451),
        ("1\u202f083,451", ",", 1083.451),
        ("1,083.451", ".", 1083.451),
        ("n/a", ".", None),
        ("-1", ".", None),
        ("9" * 19, ".", None),
        ("", ".", None),
    ],
)
def test_figures(text: str, mark: Any, value: float | None) -> None:
    assert parse_number(text, mark) == value


@pytest.mark.parametrize(
    ("dates", "name", "order", "certain"),
    [
        (["5/31/2007 12:59:31 AM"], "", "mdy", True),
        (["31/05/2007 00:59:31"], "", "dmy", True),
        (["05.03.2015 14:09:12"], "", "dmy", True),
        (["2015/3/5 14:09:12"], "", "ymd", True),
        (["3/5/2015 2:09:12 PM"], "", "mdy", False),
        (["3/3/2015 2:09:12 PM"], "", "mdy", True),
        (["3/5/2015 2:09:12 PM"], "Stress_2015_5_3_14_9_16.html", "dmy", True),
        (["3/5/2015 2:09:12 PM"], "Stress_2015_3_5_14_9_16.html", "mdy", True),
        # A day apart, not a month.
        (["3/5/2015 23:09:12", "4/5/2015 01:10:00"], "", "dmy", True),
        (["3/5/2015 23:09:12", "3/6/2015 01:10:00"], "", "mdy", True),
        (["3/12/2015 23:09:12", "3/13/2015 01:10:00"], "", "mdy", True),
    ],
)
def test_the_order_of_day_and_month_is_found_out(dates: list[str], name: str, order: str, certain: bool) -> None:
    order_of_dates = DateOrder()
    for date in dates:
        order_of_dates.add_date(date)
    order_of_dates.add_file_name(name)
    assert order_of_dates.decide() == (order, certain)


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("2/3/2012 12:00:00 AM", "mdy", 0),
        ("2/3/2012 12:30:00 PM", "mdy", 12 * HOUR + HOUR // 2),
        ("2/3/2012 1:00:00\u202fPM", "mdy", 13 * HOUR),
        ("3.2.2012 13:00", "dmy", 13 * HOUR),
        ("2012-02-03T13:00:00", "ymd", 13 * HOUR),
        ("31/2/2012 13:00:00", "dmy", None),
        ("2/3/2012", "mdy", None),
    ],
)
def test_moments(text: str, order: Any, expected: int | None) -> None:
    assert parse_time_us(text, order) == (None if expected is None else FEB_3_2012 + expected)


def test_a_file_name_has_no_padding() -> None:
    assert parse_file_name_time_us("Performance_2012_2_3_1_0_0.html") == FEB_3_2012 + HOUR
    assert parse_file_name_time_us("Performance_2012_13_3_1_0_0.html") is None
    assert parse_file_name_time_us("JetstressConfig.xml") is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("P0Y0M0DT2H0M0S", 7200), ("P0Y0M1DT0H30M5S", 88205), ("PT24H", 86400), ("P1Y0M0DT0H", None), ("", None)],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert parse_duration_seconds(text) == seconds


@pytest.mark.parametrize(
    ("column", "what", "log"),
    [
        ("iodatabasereadsaveragelatencymsec", ("latency", "read", 1e-3), False),
        ("dbwritessec", ("ops", "write", 1.0), False),
        ("iologwritesaveragebytes", ("bytes", "write", 1.0), True),
        ("avgdisksecread", ("latency", "read", 1.0), None),
        ("diskwritessec", ("ops", "write", 1.0), None),
        ("avgdiskbyteswrite", ("bytes", "write", 1.0), None),
    ],
)
def test_columns(column: str, what: tuple[str, str, float], log: bool | None) -> None:
    found = parse_measure(column)
    assert found is not None
    assert (found.quantity, found.direction, found.scale) == what
    assert found.is_log is log


@pytest.mark.parametrize(
    "column", ["databasemaintenanceioreadssec", "databasecachehit", "diskbytessec", "average", ""]
)
def test_columns_that_tell_something_else(column: str) -> None:
    assert parse_measure(column) is None
