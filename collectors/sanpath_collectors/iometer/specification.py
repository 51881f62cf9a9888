"""An access specification: the kinds of I/O of a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath.plugin import common_value
from sanpath_collectors.iometer.numbers import parse_number

SECTOR_BYTES = 512
"""Size of a sector. Iometer gives the size of areas in sectors, and aligns I/Os to sectors by default."""
_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class AccessLine:
    """One kind of I/O of a specification. `share`: its share of the I/Os, as a ratio; `delay_ms`: delay between
    bursts of I/Os."""

    block_bytes: int
    share: float
    read_ratio: float
    random_ratio: float
    delay_ms: float
    align_bytes: int


def parse_access_line(cells: Sequence[str]) -> AccessLine | None:
    """Parse `size,% of size,% reads,% random,delay,burst,align,reply`; None: malformed.

    >>> parse_access_line("65536,100,67,100,0,1,4096,0".split(","))
    AccessLine(block_bytes=65536, share=1.0, read_ratio=0.67, random_ratio=1.0, delay_ms=0.0, align_bytes=4096)
    """
    values = [parse_number(cell) for cell in cells[:_COLUMNS]]
    numbers = [value for value in values if value is not None]
    if len(numbers) < _COLUMNS or not 0 < numbers[0] < 1 << 40 or not all(0 <= n <= 100 for n in numbers[1:4]):
        return None
    size, share, reads, random, delay, _, align, _ = numbers
    return AccessLine(round(size), share / 100, reads / 100, random / 100, delay, round(align))


@dataclass(frozen=True, slots=True)
class Specification:
    """A specification with its lines. A worker does a mix of them."""

    name: str
    lines: tuple[AccessLine, ...] = ()

    @property
    def block_bytes(self) -> int | None:
        """Size of an I/O; None: several sizes, or unknown."""
        return common_value(line.block_bytes for line in self.lines if line.share)

    @property
    def read_ratio(self) -> float | None:
        """Ratio of reads; None: unknown."""
        return self._mean([line.read_ratio for line in self.lines])

    @property
    def random_ratio(self) -> float | None:
        """Ratio of random accesses; None: unknown."""
        return self._mean([line.random_ratio for line in self.lines])

    @property
    def align_bytes(self) -> int | None:
        """Alignment of the addresses of its I/Os; None: several, or unknown."""
        return common_value(line.align_bytes or SECTOR_BYTES for line in self.lines if line.share)

    @property
    def is_limited(self) -> bool:
        """Whether it has a delay between bursts."""
        return any(line.delay_ms > 0 for line in self.lines if line.share)

    @property
    def attributes(self) -> Mapping[str, Scalar]:
        """Attributes of a load that only Iometer has."""
        align_bytes = common_value(line.align_bytes for line in self.lines if line.share)
        align = {"align_bytes": align_bytes} if align_bytes else {}
        return {"access_specification": self.name, **align} if self.name else align

    def _mean(self, values: Sequence[float]) -> float | None:
        total = sum(line.share for line in self.lines)
        weighted = sum(value * line.share for value, line in zip(values, self.lines, strict=True))
        return round(weighted / total, 6) if total else None
