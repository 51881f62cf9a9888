"""Logs that a program has saved again in a country with decimal commas, and those that cannot be read for it."""

from __future__ import annotations

import re

import pytest

from sanpath.plugin import CollectorError, Event, Rows
from sanpath_collectors.perfmon.reader import PerfMonLog
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
