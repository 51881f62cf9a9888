"""A fact table: what rules and verdict read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

FactValue = float | str | bool | None
FactRow = Mapping[str, FactValue]


@dataclass(frozen=True, slots=True)
class FactTable:
    """Facts of one entity kind.

    Each row has `entity`, `step` and `direction` and the facts of catalogue/facts.yaml. None: not known. A fact that
    no row has is unknown as well.
    """

    kind: str
    rows: tuple[FactRow, ...]

    def __iter__(self) -> Iterator[FactRow]:
        return iter(self.rows)

    def select(self, **equal: FactValue) -> list[FactRow]:
        """The rows whose columns have these values."""
        return [row for row in self.rows if all(row.get(name) == value for name, value in equal.items())]


def number(row: FactRow, fact: str) -> float:
    """A fact as a number; 0.0 when it is not known, so ask for the fact itself where that makes a difference."""
    value = row.get(fact)
    return float(value) if isinstance(value, int | float) else 0.0
