"""Rows of the wide format taken together: whole columns at a time, for logs of millions of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from sanpath_collectors.perfmon.pdh import MOST, day
from sanpath_collectors.perfmon.sums import Matrix, Times

_QUOTE, _RETURN, _NEWLINE = b'"\r\n'
_SIGNS = np.frombuffer(b"MM/DD/YYYY HH:MM:SS.ffffff", np.uint8)
_SIGNS_AT = (2, 5, 10, 13, 16, 19)
_DIGITS_AT = tuple(at for at in range(len(_SIGNS)) if at not in _SIGNS_AT)
_NUMBERS = TypeAdapter(list[float])


@dataclass(frozen=True, slots=True)
class Block:
    """Several rows that follow each other and have all cells, each of them quoted.

    `times_us`: of each row, microseconds since the epoch, in the zone of the columns unless `moved`. `text`: the
    lines. `starts`: where each of them starts. `time_length`: octets of a time. `columns`: cells of a row, with that
    of the time.
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
        """Return the block with other times."""
        return replace(self, times_us=self.times_us + shift_us)

    def halves(self) -> tuple[Block, Block]:
        """Return the first half and the second."""
        middle = len(self) // 2
        at, starts = int(self.starts[middle]), self.starts[middle:]
        first = replace(self, times_us=self.times_us[:middle], text=self.text[:at], starts=self.starts[:middle])
        return first, replace(self, times_us=self.times_us[middle:], text=self.text[at:], starts=starts - at)

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
        return values if values is not None and values.min() >= 0 and values.max() < MOST else None

    def _every_value(self) -> Matrix | None:
        octets = np.frombuffer(bytearray(self.text), np.uint8)
        # Times are overwritten with quotes, which are left out.
        octets[self.starts[:, np.newaxis] + np.arange(self.time_length + len(b'"",'))] = _QUOTE
        listed = octets.tobytes().translate(bytes.maketrans(b"\n" + self.separator, b",,"), b'"\r')
        return _numbers(listed[:-1], (len(self), self.columns - 1))

    def _values(self, columns: Sequence[int]) -> Matrix | None:
        cells = self.text.translate(bytes.maketrans(b"\n", self.separator), b'"\r').split(self.separator)
        wanted = chain.from_iterable(cells[column : -1 : self.columns] for column in columns)
        by_column = _numbers(b",".join(wanted), (len(columns), len(self)))
        return None if by_column is None else by_column.T


def _numbers(listed: bytes, shape: tuple[int, int]) -> Matrix | None:
    """Parse numbers with commas between them. None: one of them is none."""
    try:
        # A parser of JSON reads a number in a fifth of the time of float(), to the same digit.
        values = _NUMBERS.validate_json(b"[%b]" % listed, strict=True)
    except ValueError:
        return None
    is_complete = len(values) == shape[0] * shape[1]  # In a log with tabs, values may have commas inside.
    return np.fromiter(values, np.float64, len(values)).reshape(shape) if is_complete else None


def block_of(text: bytes, separator: str, columns: int) -> Block | None:
    """Return complete lines as a block. None: not all of them are rows as all loggers write them.

    Each cell is quoted and has no quote or separator inside; all times have the same form.
    """
    octets = np.frombuffer(text, np.uint8)
    ends, is_quote, is_separator = np.flatnonzero(octets == _NEWLINE), octets == _QUOTE, octets == ord(separator)
    rows = len(ends)
    if np.count_nonzero(is_quote) != 2 * columns * rows or np.count_nonzero(is_separator) != (columns - 1) * rows:
        return None
    quotes = np.flatnonzero(is_quote).reshape(rows, columns, 2)
    opened, closed = quotes[:, :, 0], quotes[:, :, 1]
    starts = np.append(0, ends[:-1] + 1)
    returns = int(ends[0] - closed[0, -1]) - 1
    is_regular = (
        returns in (0, 1)
        and np.array_equal(opened[:, 0], starts)
        and np.array_equal(closed[:, -1], ends - 1 - returns)
        and np.count_nonzero(octets == _RETURN) == returns * rows
        and (octets[ends - 1] == _RETURN).all() == bool(returns)
        and (opened[:, 1:] - closed[:, :-1] == 2).all()
        and is_separator[closed[:, :-1] + 1].all()
    )
    lengths = closed[:, 0] - starts - 1
    if not is_regular or (lengths != lengths[0]).any():
        return None
    times_us = _times_us(octets[starts[:, np.newaxis] + np.arange(1, lengths[0] + 1)])
    return None if times_us is None else Block(times_us, text, starts, int(lengths[0]), columns, separator.encode())


def _times_us(texts: NDArray[np.uint8]) -> Times | None:
    """Parse what `pdh.time_us` does, a row of octets for each time. None: one of them is not a time."""
    length = texts.shape[1]
    if length not in (19, *range(21, 27)):
        return None
    digits = texts.T.astype(np.int64) - ord("0")
    digits_at, signs_at = ([at for at in all_at if at < length] for all_at in (_DIGITS_AT, _SIGNS_AT))
    if digits[digits_at].min() < 0 or digits[digits_at].max() > 9 or (texts[:, signs_at] != _SIGNS[signs_at]).any():
        return None
    _, at, day_of_row = np.unique(_number(digits[[6, 7, 8, 9, 0, 1, 3, 4]]), return_index=True, return_inverse=True)
    days = [day(texts[row, :10].tobytes()) for row in at.tolist()]
    hours, minutes, seconds = _number(digits[11:13]), _number(digits[14:16]), _number(digits[17:19])
    if None in days or hours.max() > 23 or minutes.max() > 59 or seconds.max() > 60:
        return None
    minutes += (np.array(days, dtype=np.int64)[day_of_row] * 24 + hours) * 60
    times_us: Times = (minutes * 60 + seconds) * 1_000_000 + _number(digits[20:]) * 10 ** (len(_SIGNS) - length)
    return times_us


def _number(digits: Times) -> Times:
    """Return the numbers that rows of digits make, the highest first."""
    total = np.zeros(digits.shape[1], np.int64)
    for digit in digits:
        total = total * 10 + digit
    return total
