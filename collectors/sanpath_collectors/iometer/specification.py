"""An access specification: what kind of I/O a worker does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath_collectors.iometer.numbers import number

_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class AccessLine:
    """One kind of I/O within a specification. `share`: of the I/Os. `delay_ms`: wait between bursts of I/Os."""

    block_bytes: int
    share: float
    read_ratio: float
    random_ratio: float
    delay_ms: float
    align_bytes: int


def access_line(cells: Sequence[str]) -> AccessLine | None:
    """`size,% of size,% reads,% random,delay,burst,align,reply` as numbers; None: it is none.

    >>> access_line("65536,100,67,100,0,1,4096,0".split(","))
    AccessLine(block_bytes=65536, share=1.0, read_ratio=0.67, random_ratio=1.0, delay_ms=0.0, align_bytes=4096)
    """
    told = [number(cell) for cell in cells[:_COLUMNS]]
    numbers = [value for value in told if value is not None]
    if len(numbers) < _COLUMNS or not 0 < numbers[0] < 1 << 40 or not all(0 <= n <= 100 for n in numbers[1:4]):
        return None
    size, share, reads, random, delay, _, align, _ = numbers
    return AccessLine(round(size), share / 100, reads / 100, random / 100, delay, round(align))


@dataclass(frozen=True, slots=True)
class Specification:
    """All of a specification's lines; the mix of them is what a worker does."""

    name: str
    lines: tuple[AccessLine, ...] = ()

    @property
    def block_bytes(self) -> int | None:
        """Size of an I/O; None: there are several, or none is told."""
        sizes = {line.block_bytes for line in self.lines if line.share}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def read_ratio(self) -> float | None:
        """Share of reads."""
        return self._mean([line.read_ratio for line in self.lines])

    @property
    def random_ratio(self) -> float | None:
        """Share of random accesses."""
        return self._mean([line.random_ratio for line in self.lines])

    @property
    def is_limited(self) -> bool:
        """Whether it waits between bursts."""
        return any(line.delay_ms > 0 for line in self.lines if line.share)

    @property
    def extras(self) -> Mapping[str, Scalar]:
        """What a person would look for that no other generator has a word for."""
        aligned = {line.align_bytes for line in self.lines if line.share}
        align = {"align_bytes": aligned.pop()} if len(aligned) == 1 and aligned != {0} else {}
        return {"access_specification": self.name, **align} if self.name else align

    def _mean(self, values: Sequence[float]) -> float | None:
        total = sum(line.share for line in self.lines)
        weighted = sum(value * line.share for value, line in zip(values, self.lines, strict=True))
        return round(weighted / total, 6) if total else None
