"""Logs that a program has saved again in a country with decimal commas, and those that cannot be read for it."""

from __future__ import annotations

import re

import pytest

from sanpath.plugin import CollectorError, Event, Item, Rows
from sanpath_collectors.esxtop.reader import EsxtopLog
from sanpath_collectors.perfmon.reader import CounterLog, PerfMonLog
from tests.collectors.perfmon.test_perfmon import CASES, last, read, warnings

ORIGINAL = (CASES / "typeperf-one-disk/typeperf.csv").read_text()


def saved_again(date: str = r"\2.\1.\3", *, quoted: bool = False) -> str:
    """The log with semicolons, decimal commas and dates in another order: groups are month, day and year."""
    text = re.sub(r'(\d)\.(\d+)"', r'\1,\2"', ORIGINAL).replace('","', '";"')
    header, rows = text.split("\n", 2)[1:] if text.startswith(("\n", "\r")) else text.split("\n", 1)
    rows = re.sub(r'(?m)^"(\d\d)/(\d\d)/(\d{4})', rf'"{date}', rows)
    content = f"{header}\n{rows}"
    return content if quoted else content.replace('"', "")


@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("date", [r"\2.\1.\3", r"\3-\1-\2", r"\1/\2/\3"], ids=["German", "ISO", "American"])
def test_the_figures_are_those_of_the_original(date: str, quoted: bool) -> None:
    text = saved_again(date, quoted=quoted)
    assert PerfMonLog.recognises(text.encode(), "log.csv")
    items, expected = read(text), read(ORIGINAL)
    assert last(items, "lun") == last(expected, "lun")
    assert last(items, "lun")
    times = [[seen for rows in each if isinstance(rows, Rows) for seen in rows.seen] for each in (items, expected)]
    assert times[0] == times[1]


def test_a_long_log_is_read_to_its_end() -> None:
    header, *rows = saved_again().splitlines()
    minutes = [row.replace("08:00:", f"08:{minute:02}:") for minute in range(30) for row in rows if ":" in row[:20]]
    items = read("\n".join([header, *minutes, ""]))
    assert (
        max(seen for item in items if isinstance(item, Rows) for seen in item.seen) % 3_600_000_000 > 29 * 60_000_000
    )
    assert not [item for item in items if isinstance(item, Event) and item.detail.get("code") == "no-time"]


def test_days_with_slashes_that_are_not_american_are_refused_with_the_reason() -> None:
    """20/11/2026 is a day, but 05/11/2026 would be another one."""
    with pytest.raises(CollectorError, match="import the original"):
        read(saved_again(r"\2/\1/\3"))


def test_text_of_the_same_form_with_commas_is_read_as_before() -> None:
    assert "no-time" not in warnings(read(ORIGINAL))


READERS = [(PerfMonLog, ORIGINAL), (EsxtopLog, (CASES.parent / "esxtop/full-queue/esx7.csv").read_text())]


def samples(reader: type[CounterLog], text: str) -> tuple[list[Item], list[Item]]:
    """Samples and other items."""
    log = reader("x")
    items = [*log.feed(text.encode()), *log.finish()]
    return [i for i in items if isinstance(i, Rows)], [i for i in items if not isinstance(i, Rows)]


@pytest.mark.parametrize(("reader", "text"), READERS)
def test_decimal_commas_in_quotes_are_read(reader: type[CounterLog], text: str) -> None:
    commas = re.sub(r'"(\d+)\.(\d+)"', lambda m: f'"{m[1]},{m[2].ljust(4, "0")}"', text)
    assert commas != text
    assert samples(reader, commas) == samples(reader, text)


@pytest.mark.parametrize(("reader", "text"), READERS)
def test_decimal_commas_between_commas_are_refused_with_what_to_do(reader: type[CounterLog], text: str) -> None:
    header, rows = text.strip().split("\n", 1)
    commas = re.sub(r'"(\d+)\.(\d+)"', r"\1,\2", rows).replace('"', "")
    with pytest.raises(CollectorError, match="decimal commas: export it with points, or with ; between the cells"):
        samples(reader, f"{header}\n{commas}\n")


@pytest.mark.parametrize(("reader", "text"), READERS)
def test_a_comma_of_decimals_or_of_thousands_is_left_out_and_said(reader: type[CounterLog], text: str) -> None:
    doubtful = re.sub(r'"([1-9]\d{0,2})\.\d+"', r'"\1,500"', text)
    assert doubtful != text
    (event,) = [i for i in samples(reader, doubtful)[1] if isinstance(i, Event) and "commas" in str(i.detail)]
    assert "as in 1,234, are left out: export it with points" in str(event.detail["text"])
