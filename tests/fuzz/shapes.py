"""Inputs that an enemy would send to keep a parser busy or to fill the memory: any length of each shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.fuzz.functions import BETWEEN
from tests.fuzz.target import Target

RUNS = {
    "blanks": b" ",
    "tabs": b"\t",
    "newlines": b"\n",
    "Windows newlines": b"\r\n",
    "letters": b"a",
    "digits": b"1",
    "minus signs": b"-",
    "dots": b".",
    "commas": b",",
    "semicolons": b";",
    "colons": b":",
    "bars": b"|",
    "slashes": b"/",
    "backslashes": b"\\",
    "underscores": b"_",
    "quotes": b'"',
    "apostrophes": b"'",
    "parentheses": b"(",
    "brackets": b"[",
    "braces": b"{",
    "tags": b"<",
    "open tags": b"<a ",
    "comments": b"<!--",
    "closed comments": b"<!---->",
    "references": b"&#65;",
    "empty elements": b"<a/>",
    "zero bytes": b"\0",
    "no UTF-8": b"\xff",
    "words": b"a ",
    "numbers": b"1 ",
    "columns": b"1,",
    "quoted columns": b'"a",',
    "settings": b"a=1 ",
    "short lines": b"a\n",
    "lines of columns": b"1,2,3\n",
    "lines of words": b"sda 1 2 3 4\n",
    "keys": b"a: 1\n",
    "list entries": b"- a\n",
    "empty lists": b"[],",
    "small objects": b'{"":0},',
    "aliases": b"&a *a ",
}
NESTED = {
    "nested lists": (b"[", b"]"),
    "nested objects": (b'{"a":', b"}"),
    "nested elements": (b"<a>", b"</a>"),
    "nested parentheses": (b"(", b")"),
    "nested list entries": (b"- ", b""),
}
# What a pattern has begun with before it comes to the run; the begin alone may be enough to be recognised by.
_BEGINNINGS: dict[str, tuple[bytes, ...]] = {
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
_SEEDS = 3


class Shape(NamedTuple):
    """What a run of some size is put behind, and what follows it."""

    name: str
    of_size: Callable[[int], bytes]


def shapes(target: Target, seeds: int = _SEEDS) -> Iterator[Shape]:
    """Every shape alone, behind and inside some of a target's seeds, and lines of these over and over. A target of
    functions has one seed for each."""
    known = sorted(target.seeds, key=len)
    chosen = [known[len(known) * (2 * n + 1) // (2 * seeds)] for n in range(min(seeds, len(known)))]
    if target.headed:
        chosen = list({seed.partition(b"\n")[0]: seed for seed in known}.values())
    heads: dict[str, tuple[bytes, bytes]] = {}
    for number, seed in enumerate(dict.fromkeys(chosen)):
        head, _, body = seed.partition(b"\n") if target.headed else (b"", b"", seed)
        body, between, others = body.partition(BETWEEN) if target.headed else (body, b"", b"")
        before, after = head + b"\n" if target.headed else b"", between + others
        if target.headed or not heads:
            heads[f"alone {number}"] = before, after
        heads[f"behind seed {number}"] = before + body, after
        for place, at in (("inside", len(body) // 2), ("in the text of", body.find(b'"', len(body) // 3) + 1)):
            if not target.headed:
                heads[f"{place} seed {number}"] = before + body[:at], body[at:] + after
        lines = body.rstrip(b"\n").rsplit(b"\n", 1)
        yield Shape(f"last line of seed {number}", _run(before + body, lines[-1] + b"\n", after))
    for number, begin in enumerate(_BEGINNINGS.get(target.name, ())):
        heads[f"behind beginning {number}"] = begin, b""
    for place, (begin, end) in heads.items():
        for name, unit in RUNS.items():
            yield Shape(f"{name} {place}", _run(begin, unit, end))
        for name, (opened, closed) in NESTED.items():
            yield Shape(f"{name} {place}", _nested(begin, opened, closed, end))


def _run(begin: bytes, unit: bytes, end: bytes) -> Callable[[int], bytes]:
    return lambda size: begin + (unit * (size // len(unit) + 1))[:size] + end


def _nested(begin: bytes, opened: bytes, closed: bytes, end: bytes) -> Callable[[int], bytes]:
    def of_size(size: int) -> bytes:
        count = size // len(opened + closed)
        return begin + opened * count + closed * count + end

    return of_size
