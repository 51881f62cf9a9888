"""Parses the settings of a timespan from the command line, for results without a section of input parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sanpath_collectors.diskspd.settings import Fill, Span, Target
from sanpath_collectors.diskspd.values import parse_count, parse_number, parse_size_bytes

_OPTION = re.compile(r"(?:^|\s)(?:-|/(?![\w.-]+/))([A-Za-z])(\S*)")
"""An option. With more than one slash it is a path of Linux."""
_REST = re.compile(r"\s\d?[>|].*")
"""What the shell does with the output."""


def parse_options(line: str) -> dict[str, str]:
    """Option letter → its value; the values of a repeated option are joined with a space.

    >>> parse_options("diskspd.exe -b4K -Suw -r4K -rs50 D:/a.dat")
    {'b': '4K', 'S': 'uw', 'r': '4K s50'}
    """
    given: dict[str, str] = {}
    for letter, value in _OPTION.findall(line):
        given[letter] = f"{given[letter]} {value}" if letter in given else value
    return given


def has_target(line: str) -> bool:
    """Whether a command line, without the name of the program, names a file or device to test.

    >>> has_target("-b4K -o8 D:/a.dat > a.txt"), has_target("-b4K -o8 > a.txt"), has_target("-d60 /dev/sdb")
    (True, False, True)
    """
    return bool(_OPTION.sub("", _REST.sub("", line)).strip())


def is_rate_limited(given: Mapping[str, str]) -> bool:
    """Whether a rate limit (-g) or a think time (-j) is configured."""
    return "g" in given or (parse_number(given.get("j")) or 0) > 0


def parse_command_line(line: str) -> Span:
    """The settings, with DiskSpd's defaults (help text of 2.2): -b64K -o2 -t1 -w0 -d10 -W5.

    There is one target, without a path, which represents all targets.
    """
    given = parse_options(line)
    pool = parse_count(given.get("F")) or None
    target = Target(
        block_bytes=parse_size_bytes(given.get("b", "64K")),
        read_ratio=1 - min(100.0, parse_number(given.get("w", "0")) or 0.0) / 100,
        random_ratio=_parse_random_ratio(given.get("r")),
        outstanding=parse_count(given.get("o", "2")),
        threads=None if pool else parse_count(given.get("t", "1")),
        direct=_is_direct(given),
        write_through="h" in given or bool(set(given.get("S", "")) & set("hw")),
        fill=_parse_fill(given.get("Z")),
        rate_limited=is_rate_limited(given),
        mapped="m" in given.get("S", ""),
    )
    return Span(
        seconds=parse_number(given.get("d", "10")),
        warmup_seconds=parse_number(given.get("W", "5")),
        cooldown_seconds=parse_number(given.get("C", "0")) or 0.0,
        pool_threads=pool,
        pool_outstanding=parse_count(given.get("O")) or None,
        targets=[target],
    )


def _parse_random_ratio(given: str | None) -> float:
    if given is None:
        return 0.0
    percent = re.search(r"\bs(\d{1,3})", given)
    return min(100, int(percent[1])) / 100 if percent else 1.0


def _is_direct(given: Mapping[str, str]) -> bool:
    # -S alone is -Su; b: cached, h: -Suw, r: bypasses the local cache, m: memory mapped (DiskSpd's help text).
    return "h" in given or ("S" in given and (not given["S"] or bool(set(given["S"]) & set("hur"))))


def _parse_fill(given: str | None) -> Fill | None:
    if given is None:
        return "repeating"
    # -Z<size>,<file>: the content of the file is unknown.
    return "zeros" if not given else None if "," in given else "random"
