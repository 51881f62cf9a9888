"""No file makes its reader take longer than its length accounts for: `re` would hold the recorder's loop meanwhile.

Measured is by how much the time grows when the file does: twice and four times as long for a reader that looks at
each character once; four and sixteen times for one that begins anew at each of them.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from functools import cache, partial

import pytest

from sanpath import registry
from sanpath.errors import SanpathError
from sanpath.plugin import ResultReader

SHAPES = {
    "blanks": b" ",
    "tabs": b"\t",
    "newlines": b"\n",
    "windows newlines": b"\r\n",
    "letter": b"a",
    "commas": b",",
    "tags": b"<",
    "digits": b"1",
    "dots": b".",
    "underscores": b"_",
    "quotes": b'"',
    "words": b"a ",
    "open tags": b"<a ",
    "comments": b"<!--",
    "parentheses": b"(",
}
SIZES = (4 << 10, 8 << 10, 16 << 10)
FLOOR_SECONDS = 0.02
"""What takes less is lost in the noise of the clock and of what else the machine does."""
MOST = 9.0
"""Growth from the smallest to the largest: 4 is linear, 16 quadratic."""
# What a pattern has begun with before it comes to the run; the begin alone may be enough to be recognised by.
BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    "diskspd": (b"Results for timespan 1:\n", b"<Results>\n<System>\n<ComputerName>"),
    "figures": (b"figures:\n- entity: ", b"entity,quantity,value\n"),
    "fio": (b"a: (groupid=0, jobs=1): err= 0: ", b"a: (g=0): rw=read, bs=", b'{"fio version" : "'),
    "iometer": (b"'Test Type,Test Description\n", b"Version 1.1.0 \n'TEST SETUP ="),
    "iostat": (
        b"Linux 4.18 (host) 01/01/2024 _x86_64_ (4 CPU)",
        b"Linux 4 (host) 1 (4 CPU)\n\nDevice r/s rkB/s\nsda ",
    ),
    "jetstress": (
        b"5/31/2007 12:59:31 AM -- Jetstress testing begins. ",
        b"<html><title>Jetstress</title><table><tr><td>Overall Test Result</td></tr>",
    ),
    "perfmon": (b'"(PDH-CSV 4.0) (UTC)(0)","\\\\',),
    "sqlio": (b"sqlio v1.5.SG\n", b"c:\\a.dat "),
    "vdbench": (
        b"<title>Vdbench a/flatfile.html</title>\n",
        b"Vdbench summary report, created 09:42:38\nOct 09, 2019 ",
        b"Vdbench summary report, created 09:42:38\n09:42:38.000 Starting RD=a; I/O rate: ",
        b"Total response time histogram.\n",
    ),
}


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    with contextlib.suppress(SanpathError):
        work()
    return time.process_time() - began


def growth(work: Callable[[int], object]) -> float:
    """The time of the largest over that of the smallest, the median of three; 1 where there is nothing to measure."""
    found = []
    for _ in range(3):
        last = seconds(partial(work, SIZES[-1]))
        if last < FLOOR_SECONDS:
            return 1.0
        middle = seconds(partial(work, SIZES[1]))
        if last < 2 * 1.3 * middle:
            return 1.0
        found.append(last / max(seconds(partial(work, SIZES[0])), FLOOR_SECONDS / 16))
    return statistics.median(found)


@cache
def readers() -> dict[str, type[ResultReader]]:
    found = {}
    for name in registry.result_readers():
        told = registry.result_reader(b"", "", name)
        assert told is not None
        found[name] = told[1]
    return found


def of(shape: bytes, size: int) -> bytes:
    return (shape * (size // len(shape) + 1))[:size]


@pytest.mark.parametrize("reader", readers())
def test_to_recognise_a_file_takes_as_long_as_it_is(reader: str) -> None:
    recognises = readers()[reader].recognises
    for beginning in (b"", *BEGINNINGS.get(reader, ())):
        for name, shape in SHAPES.items():
            work = partial(_recognise, recognises, beginning, shape)
            assert growth(work) < MOST, (beginning, name)


@pytest.mark.parametrize("reader", readers())
def test_to_read_a_file_takes_as_long_as_it_is(reader: str) -> None:
    for beginning in (b"", *BEGINNINGS.get(reader, ())):
        for name, shape in SHAPES.items():
            assert growth(partial(_read, readers()[reader], beginning, shape)) < MOST, (beginning, name)


def _recognise(recognises: Callable[[bytes, str], bool], beginning: bytes, shape: bytes, size: int) -> None:
    recognises(beginning + of(shape, size), "param.txt")


def _read(reader: type[ResultReader], beginning: bytes, shape: bytes, size: int) -> None:
    one = reader("load")
    for _ in one.feed(beginning + of(shape, size)):
        pass
    for _ in one.finish():
        pass
