"""Rows of the wide format as blocks: whole columns at a time, for logs of millions of rows."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from sanpath_collectors.perfmon.pdh import MAX_VALUE, day
from sanpath_collectors.perfmon.sums import Matrix, Times

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_SIGNS = np.frombuffer(b"MM/DD/YYYY HH:MM:SS.ffffff", np.uint8)
_SIGNS_AT = (2, 5, 10, 13, 16, 19)
_DIGITS_AT = tuple(at for at in range(len(_SIGNS)) if at not in _SIGNS_AT)
_TIME_LENGTHS = (19, *range(21, 27))
"""Octets of a time without a fraction of a second, or with 1 to 6 digits of it."""
_NUMBERS = TypeAdapter(list[float])


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows in which no cell is missing and every cell is quoted.

    `times_us`: of each row, microseconds since the epoch, in the zone of the columns unless `moved`. `text`: the
    lines. `starts`: where each line starts. `time_length`: octets of a time. `columns`: cells of a row, including the
    time.
    """

    times_us: Times
    text: bytes
    starts: NDArray[np.int64]
    time_length: int
    columns: int
    separator: bytes

    def __len__(self) -> int:
        return len(self.times_us)

    def moved(self, shift_us: int) -> Block:
        """Return the block with shifted times."""
        return replace(self, times_us=self.times_us + shift_us)

    def halves(self) -> tuple[Block, Block]:
        """Return the first and the second half."""
        middle = len(self) // 2
        cut, starts = int(self.starts[middle]), self.starts[middle:]
        first = replace(self, times_us=self.times_us[:middle], text=self.text[:cut], starts=self.starts[:middle])
        return first, replace(self, times_us=self.times_us[middle:], text=self.text[cut:], starts=starts - cut)

    def rows(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield time and cells of each row."""
        for time_us, line in zip(self.times_us.tolist(), self.text.splitlines(), strict=True):
            yield time_us, line[1:-1].split(b'"%b"' % self.separator)

    def matrix(self, columns: Sequence[int]) -> Matrix | None:
        """Return the values of some columns. None: one of them is blank or invalid."""
        values = self._every_value() if 2 * len(columns) >= self.columns else None
        if values is not None:
            values = values[:, [column - 1 for column in columns]]
        elif columns:
            values = self._values(columns)
        # False for NaN as well.
        return values if values is not None and values.min() >= 0 and values.max() < MAX_VALUE else None

    def _every_value(self) -> Matrix | None:
        listed = bytearray(self.text)
        octets = np.frombuffer(listed, np.uint8)
        of_time = self.time_length + len(b'"",')
        _octet_runs(octets, of_time)[self.starts] = np.void(b'"' * of_time)  # Left out below, like all quotes.
        octets[[0, -1]] = list(b"[]")
        commas = bytes.maketrans(b"\n" + self.separator, b",,")
        return _numbers(listed.translate(commas, b'"\r'), (len(self), self.columns - 1))

    def _values(self, columns: Sequence[int]) -> Matrix | None:
        cells = self.text.translate(bytes.maketrans(b"\n", self.separator), b'"\r').split(self.separator)
        wanted = chain.from_iterable(cells[column : -1 : self.columns] for column in columns)
        by_column = _numbers(b"[%b]" % b",".join(wanted), (len(columns), len(self)))
        return None if by_column is None else by_column.T


def _numbers(listed: bytes | bytearray, shape: tuple[int, int]) -> Matrix | None:
    """Parse a JSON list of numbers. None: an entry is not a number."""
    try:
        # A JSON parser reads a number in a fifth of the time of float(), to the same digit.
        values = _NUMBERS.validate_json(listed, strict=True)
    except ValueError:
        return None
    if len(values) != shape[0] * shape[1]:  # In a log with tabs, values may contain commas.
        return None
    return np.frombuffer(struct.pack(f"{len(values)}d", *values), np.float64).reshape(shape)


def block_of(text: bytes, separator: str, columns: int) -> Block | None:
    """Return complete lines as a block. None: some of them are not rows as all loggers write them.

    Each cell is quoted and has no quote or separator inside; all times have the same form.
    """
    between, end = separator.encode(), b"\r\n" if text.endswith(b"\r\n") else b"\n"
    octets = np.frombuffer(text, np.uint8)
    rows = np.count_nonzero(octets == _NEWLINE)
    quotes = np.flatnonzero(octets == _QUOTE)
    if (
        columns < 2
        or len(quotes) != rows * 2 * columns
        or np.count_nonzero(octets == _RETURN) != rows * end.count(b"\r")
        or np.count_nonzero(octets == ord(between)) != rows * (columns - 1)
    ):
        return None
    # With as many separators and line ends as regular rows have, all are at expected places, or some are not.
    opening, closing = (quotes.reshape(rows, 2 * columns)[:, first::2] for first in (0, 1))
    starts, ends = opening[:, 0], closing[:, -1] + len(end)
    length = int(closing[0, 0]) - 1
    is_regular = (
        length in _TIME_LENGTHS
        and (closing[:, 0] - starts == length + 1).all()
        and (starts == np.append(0, ends[:-1] + 1)).all()
        and ends[-1] == len(text) - 1
        and (octets[ends] == _NEWLINE).all()
        and (octets[ends + 1 - len(end)] == end[0]).all()
        and (opening[:, 1:] - closing[:, :-1] == len(b'",')).all()
        and (octets[closing[:, :-1] + 1] == ord(between)).all()
    )
    if not is_regular:
        return None
    times_us = _times_us(_octet_runs(octets, length)[starts + 1].view(np.uint8).reshape(rows, length))
    return None if times_us is None else Block(times_us, text, starts, length, columns, between)


def _octet_runs(octets: NDArray[np.uint8], length: int) -> NDArray[np.void]:
    """Return, for each position, the following octets as one value, which is copied many times faster."""
    return np.ndarray(len(octets) - length + 1, f"V{length}", octets, strides=1)


def _times_us(texts: NDArray[np.uint8]) -> Times | None:
    """Parse a row of octets for each time, as `pdh.time_us` does. None: one of them is not a time."""
    rows, length = texts.shape
    digits = np.ascontiguousarray(texts.T) - np.uint8(ord("0"))  # Octets below "0" become large numbers.
    lowest, highest = digits.min(axis=1), digits.max(axis=1)
    signs_at, digits_at = ([at for at in all_at if at < length] for all_at in (_SIGNS_AT, _DIGITS_AT))
    signs = _SIGNS[signs_at] - np.uint8(ord("0"))
    if highest[digits_at].max() > 9 or (lowest[signs_at] != signs).any() or (highest[signs_at] != signs).any():
        return None
    first_of_day = np.append(0, np.flatnonzero((digits[:10, 1:] != digits[:10, :-1]).any(axis=0)) + 1)
    days = [day(texts[row, :10].tobytes()) for row in first_of_day.tolist()]
    hours, minutes, seconds = _number(digits[11:13]), _number(digits[14:16]), _number(digits[17:19])
    if None in days or hours.max() > 23 or minutes.max() > 59 or seconds.max() > 60:
        return None
    minutes += (np.array(days, np.int64).repeat(np.diff(first_of_day, append=rows)) * 24 + hours) * 60
    times_us: Times = (minutes * 60 + seconds) * 1_000_000 + _number(digits[20:]) * 10 ** (len(_SIGNS) - length)
    return times_us


def _number(digits: NDArray[np.uint8]) -> Times:
    """Return the numbers formed by rows of digits, most significant first."""
    total = np.zeros(digits.shape[1], np.int64)
    for digit in digits:
        total = total * 10 + digit
    return total
