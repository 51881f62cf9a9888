"""Normal text of many jobs: the steps of the interpreter grow as the entries do, whatever the entries are of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from sanpath_collectors.fio.formats.normal import NormalText
from tests.collectors.fio.test_clients_in_text import DATE, HEADER, entry, greeting, printed, total

FEW = 40
END = "\nRun status group 0 (all jobs):\n"


def headers(number: int, *, alike: bool = True) -> str:
    depths = [8 if alike else 1 + job for job in range(number)]
    return "".join(f"j{job}: (g=0): {HEADER}{depth}\n" for job, depth in enumerate(depths)) + "fio-3.33\n\n"


def entries(number: int) -> str:
    return "".join(entry(f"j{job}", 0, 1000, 4000, job) for job in range(number))


def clients(names: list[str]) -> str:
    text = "".join(greeting(name, 8) for name in names)
    text += "".join(printed(name, 1000, 4000, process) for process, name in enumerate(names))
    return text + total(1000 * len(names), 4000, len(names))


SHAPES: dict[str, Callable[[int], str]] = {
    "jobs": lambda number: headers(number) + entries(number) + END,
    "jobs of many processes": lambda number: headers(number) + entries(number).replace("jobs=1", "jobs=2") + END,
    "unlike jobs of many processes": lambda number: (
        headers(number, alike=False) + entries(number).replace("jobs=1", "jobs=2") + END
    ),
    "jobs without header and date": lambda number: entries(number).replace(f": {DATE}", "") + END,
    "jobs that end one by one": lambda number: headers(number) + entries(number).replace("\nj", f"\n{END}j") + END,
    "clients": lambda number: clients([f"h{client}" for client in range(number)]),
    "clients of one name": lambda number: clients(["h"] * number),
}


def steps(text: str) -> int:
    """Instructions of the interpreter that the parser takes over a text: no clock's, so always as many."""
    taken = 0

    def count(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal taken
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        taken += event == "opcode"
        return count

    parser, lines, before = NormalText(), text.split("\n"), sys.gettrace()
    sys.settrace(count)
    try:
        for line in lines:
            parser.read_line(line)
        parser.finish()
    finally:
        sys.settrace(before)
    return taken


@pytest.mark.parametrize("shape", SHAPES)
def test_each_further_entry_takes_as_long_as_the_one_before(shape: str) -> None:
    few, more, most = (steps(SHAPES[shape](FEW * times)) for times in (1, 2, 3))
    assert most - more == pytest.approx(more - few, rel=0.05)
