"""Parses rows of the wide format as blocks, by whole columns, for logs with millions of rows."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from sanpath_collectors.perfmon.pdh import MAX_VALUE, parse_day
from sanpath_collectors.perfmon.rates_to_counters import Matrix, Times

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_SIGNS = np.frombuffer(b"MM/DD/YYYY HH:MM:SS.ffffff", np.uint8)
_SIGNS_AT = (2, 5, 10, 13, 16, 19)
_DIGITS_AT = tuple(at for at in range(len(_SIGNS)) if at not in _SIGNS_AT)
_TIME_LENGTHS = (19, *range(21, 27))
"""Number of octets of a time without a fraction of a second, or with 1 to 6 digits of it."""
_NUMBERS = TypeAdapter(list[float])


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows in which no cell is missing and every cell is quoted.

    `times_us`: time of each row in microseconds since the epoch, in the zone of the columns unless it was `shifted`.
    `text`: the lines. `starts`: offset of each line in the text. `time_length`: octets of a time. `columns`: number
    of cells of a row, including the time.
    """

    times_us: Times
    text: bytes
    starts: NDArray[np.int64]
    time_length: int
    columns: int
    separator: bytes

    def __len__(self) -> int:
        return len(self.times_us)

    def shifted(self, shift_us: int) -> Block:
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
        """Return the values of some columns. None: a value is blank or invalid."""
        values = self._all_values() if 2 * len(columns) >= self.columns else None
        if values is not None:
            values = values[:, [column - 1 for column in columns]]
        elif columns:
            values = self._values(columns)
        # The comparison is also false for NaN.
        return values if values is not None and values.min() >= 0 and values.max() < MAX_VALUE else None

    def _all_values(self) -> Matrix | None:
        json_list = bytearray(self.text)
        octets = np.frombuffer(json_list, np.uint8)
        time_octets = self.time_length + len(b'"",')
        _octet_runs(octets, time_octets)[self.starts] = np.void(
            b'"' * time_octets
        )  # Left out below, like all quotes.
        octets[[0, -1]] = list(b"[]")
        commas = bytes.maketrans(b"\n" + self.separator, b",,")
        return _parse_numbers(json_list.translate(commas, b'"\r'), (len(self), self.columns - 1))

    def _values(self, columns: Sequence[int]) -> Matrix | None:
        cells = self.text.translate(bytes.maketrans(b"\n", self.separator), b'"\r').split(self.separator)
        wanted = chain.from_iterable(cells[column : -1 : self.columns] for column in columns)
        by_column = _parse_numbers(b"[%b]" % b",".join(wanted), (len(columns), len(self)))
        return None if by_column is None else by_column.T


def _parse_numbers(json_list: bytes | bytearray, shape: tuple[int, int]) -> Matrix | None:
    """Parse a JSON list of numbers. None: an entry is not a number."""
    try:
        # A JSON parser is five times as fast as float(), with identical results.
        values = _NUMBERS.validate_json(json_list, strict=True)
    except ValueError:
        return None
    if len(values) != shape[0] * shape[1]:  # In a log with tabs as separators, values may contain commas.
        return None
    return np.frombuffer(struct.pack(f"{len(values)}d", *values), np.float64).reshape(shape)


def parse_block(text: bytes, separator: str, columns: int) -> Block | None:
    """Parse complete lines as a block. None: not all of them are regular rows.

    In regular rows, which all loggers write, each cell is quoted and contains no quote or separator, and all times
    have the same form.
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
    # The numbers of separators and line ends are those of regular rows. Now their positions are checked.
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
    times_us = _parse_times_us(_octet_runs(octets, length)[starts + 1].view(np.uint8).reshape(rows, length))
    return None if times_us is None else Block(times_us, text, starts, length, columns, between)


def _octet_runs(octets: NDArray[np.uint8], length: int) -> NDArray[np.void]:
    """Return for each position the following octets as one value, because copying it is many times faster."""
    return np.ndarray(len(octets) - length + 1, f"V{length}", octets, strides=1)


def _parse_times_us(texts: NDArray[np.uint8]) -> Times | None:
    """Parse times, given as rows of octets, like `pdh.parse_time_us`. None: one of them is not a time."""
    rows, length = texts.shape
    digits = np.ascontiguousarray(texts.T) - np.uint8(ord("0"))  # Octets below "0" become large numbers.
    lowest, highest = digits.min(axis=1), digits.max(axis=1)
    signs_at, digits_at = ([at for at in all_at if at < length] for all_at in (_SIGNS_AT, _DIGITS_AT))
    signs = _SIGNS[signs_at] - np.uint8(ord("0"))
    if highest[digits_at].max() > 9 or (lowest[signs_at] != signs).any() or (highest[signs_at] != signs).any():
        return None
    first_of_day = np.append(0, np.flatnonzero((digits[:10, 1:] != digits[:10, :-1]).any(axis=0)) + 1)
    days = [parse_day(texts[row, :10].tobytes()) for row in first_of_day.tolist()]
    hours, minutes, seconds = _to_numbers(digits[11:13]), _to_numbers(digits[14:16]), _to_numbers(digits[17:19])
    if None in days or hours.max() > 23 or minutes.max() > 59 or seconds.max() > 60:
        return None
    minutes += (np.array(days, np.int64).repeat(np.diff(first_of_day, append=rows)) * 24 + hours) * 60
    times_us: Times = (minutes * 60 + seconds) * 1_000_000 + _to_numbers(digits[20:]) * 10 ** (len(_SIGNS) - length)
    return times_us


def _to_numbers(digits: NDArray[np.uint8]) -> Times:
    """Return the numbers formed by rows of digits, the most significant digit first."""
    total = np.zeros(digits.shape[1], np.int64)
    for digit in digits:
        total = total * 10 + digit
    return total
