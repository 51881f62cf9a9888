"""Generators that print their result when they end: read as their files are, and placed at the end of the output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.model import Event, Rows, SourceEntity, SourceLink

CASES = Path(__file__).parent.parent / "collectors"
END_US = 1_900_000_000_000_000


@pytest.mark.parametrize(
    ("collector", "file"),
    [
        ("diskspd", "xml-series-two-targets/result.xml"),
        ("vdbench", "flatfile-decimal-comma-gmt-offset/flatfile.html"),
    ],
)
def test_the_last_figure_is_of_the_moment_of_the_end(collector: str, file: str) -> None:
    loaded = registry.load_reader([collector], collector)
    assert loaded is not None
    load = loaded[1]("db1/load")
    content = (CASES / collector / file).read_bytes()
    assert not [*load.feed(content[:999], END_US - 1), *load.feed(content[999:], END_US)]
    items = list(load.finish(END_US))
    samples = [item for item in items if isinstance(item, Rows)]
    assert max(time_us for rows in samples for time_us in rows.seen) == END_US
    begins = [item.seen for item in items if isinstance(item, Event) and item.name == "step-begin"]
    assert begins
    assert max(begins) < END_US
    assert load.passthrough() == b""


def test_a_cool_down_lies_between_the_last_figure_and_the_end() -> None:
    loaded = registry.load_reader(["diskspd"], "diskspd")
    assert loaded is not None
    content = (CASES / "diskspd/xml-series-two-targets/result.xml").read_bytes()
    load = loaded[1]()
    list(load.feed(re.sub(rb"<Cooldown>\d+<", b"<Cooldown>20<", content), END_US))
    ends = [item.seen for item in load.finish(END_US) if isinstance(item, Event) and item.name == "step-end"]
    assert max(ends) == END_US - 20_000_000


def test_output_without_a_result_is_a_warning_and_no_failure() -> None:
    loaded = registry.load_reader(["diskspd", "-b4k"])
    assert loaded is not None
    load = loaded[1]()
    list(load.feed(b"Error opening file: test.dat [2]\n", END_US))
    [warning] = list(load.finish(END_US))
    assert isinstance(warning, Event)
    assert (warning.seen, warning.detail["code"]) == (END_US, "no-result")


@pytest.mark.parametrize(
    ("given", "added"),
    [(["-b4K"], ["-L", "-Rxml"]), (["-L", "-Rtext"], []), (["/Rxml"], ["-L"])],
)
def test_diskspd_is_asked_for_latencies_and_for_a_result(given: list[str], added: list[str]) -> None:
    loaded = registry.load_reader(["C:/diskspd.exe"])
    assert loaded is not None
    assert loaded[1].wrap(["C:/diskspd.exe", *given]).argv == ("C:/diskspd.exe", *added, *given)


def test_diskspd_for_linux_is_not_asked_for_what_it_does_not_have() -> None:
    loaded = registry.load_reader(["/usr/local/bin/diskspd"])
    assert loaded is not None
    assert loaded[1].wrap(["/usr/local/bin/diskspd", "-b4K"]).argv == ("/usr/local/bin/diskspd", "-L", "-b4K")


def test_the_machine_has_the_name_under_which_it_was_reached() -> None:
    """The recorder says which it is: a second name of it would be a second machine."""
    loaded = registry.load_reader(["diskspd"], "diskspd")
    assert loaded is not None
    load = loaded[1]("win7/diskspd")
    list(load.feed((CASES / "diskspd/xml-series-two-targets/result.xml").read_bytes(), END_US))
    items = list(load.finish(END_US))
    assert not [item for item in items if isinstance(item, SourceEntity) and item.kind == "host"]
    assert not [item for item in items if isinstance(item, SourceLink) and item.relation == "runs_on"]
    machine = [item for item in items if isinstance(item, Rows) and item.table.kind == "host"]
    assert [rows.entity for rows in machine] == [["win7/diskspd"]] * len(machine)
    assert machine
