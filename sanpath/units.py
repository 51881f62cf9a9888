"""Numbers for people; one printed unit for each quantity, decimal throughout (1 MB = 10^6 bytes)."""

from __future__ import annotations

from collections.abc import Sequence

_MIN_MEGABYTES = 0.05
"""Less is 0.0 in the one decimal of megabytes."""


def bandwidth(bytes_per_second: float) -> str:
    """409.6 MB/s; 0.4 kB/s where that would be none."""
    if bytes_per_second >= 1e9:
        return f"{bytes_per_second / 1e9:,.2f} GB/s"
    if 0 < bytes_per_second < _MIN_MEGABYTES * 1e6:
        return f"{bytes_per_second / 1e3:,.1f} kB/s"
    return f"{bytes_per_second / 1e6:,.1f} MB/s"


def iops(ops_per_second: float) -> str:
    """6,250 IOPS."""
    return f"{ops_per_second:,.0f} IOPS"


_NO_MILLISECONDS = 5e-7
"""Half a nanosecond: what is shorter is a rounding error."""


def duration(seconds: float) -> str:
    """128 ms, 2.56 ms, 0.35 ms, 210 µs below a tenth of a millisecond."""
    milliseconds = seconds * 1e3
    if abs(milliseconds) >= 100:
        return f"{milliseconds:,.0f} ms"
    if abs(milliseconds) >= 10:
        return f"{milliseconds:.1f} ms"
    if abs(milliseconds) >= 0.1 or abs(milliseconds) < _NO_MILLISECONDS:
        return f"{milliseconds:z.2f} ms"
    return f"{seconds * 1e6:z.0f} µs"


def long_duration(seconds: float) -> str:
    """Format a duration of minutes and more: 45 s, 2 min 10 s, 3 h 5 min, 46 days 17 h from two days on."""
    total_seconds = round(seconds)
    if total_seconds < 60:
        return f"{total_seconds} s"
    if total_seconds < 3600:
        return f"{total_seconds // 60} min {total_seconds % 60} s"
    if total_seconds < 2 * 86_400:
        return f"{total_seconds // 3600} h {total_seconds % 3600 // 60} min"
    return f"{total_seconds // 86_400:,} days {total_seconds % 86_400 // 3600} h"


def percent(ratio: float) -> str:
    """97.7 %; 0.05 % below a tenth of one."""
    return f"{ratio:z.{2 if 0 < ratio < 0.001 else 1}%}".replace("%", " %")


def percent_change(ratio: float) -> str:
    """+2.4 %, -0.3 %; +300 % from 100 % on."""
    return f"{100 * ratio:+z,.{0 if ratio >= 0.9995 else 1}f} %"


def percent_rounded(ratio: float) -> str:
    """98 %; 0.4 % below one percent."""
    return f"{ratio:.0%}".replace("%", " %") if ratio >= 0.01 or ratio == 0 else percent(ratio)


def percent_likely(ratio: float) -> str:
    """98 %, and over 99 % where that would round to certainty."""
    return "over 99 %" if 0.995 <= ratio < 1 else percent_rounded(ratio)


def count(number: float) -> str:
    """800; with one decimal, as 31.8, for a fraction below a hundred; 0.012 below a tenth."""
    if 0 < number < 0.1:
        return f"{number:.2g}"
    return f"{number:,.0f}" if number >= 100 or abs(number - round(number)) < 0.05 else f"{number:.1f}"


def kibibytes(size_bytes: float) -> str:
    """64 KiB, 0.5 KiB: the size of an I/O."""
    return f"{round(size_bytes / 1024, 1):g} KiB"


def counted(number: float, noun: str) -> str:
    """1 file, 2 files, 31.8 outstanding I/Os: a number of a noun whose plural ends in s."""
    text = count(number)
    return f"{text} {noun}{'' if text == '1' else 's'}"


def outstanding(number: float) -> str:
    """1 outstanding I/O, 64 outstanding I/Os."""
    return counted(number, "outstanding I/O")


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """A, "A and B", "A, B and C": a list within a sentence. Of more names than `most`: "A, B and 3 more"."""
    if most is not None and len(names) > most:
        return first_of(names, most)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_of(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """A, "A, B", "A, B and 3 more": the first names of a list, and how many follow."""
    remaining = len(names) - most
    return separator.join(names[:most]) + (f" and {remaining} more" if remaining > 0 else "")
