"""The fact table, which rules and verdict read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

FactValue = float | str | bool | None
FactRow = Mapping[str, FactValue]
WHOLE_RUN = "whole run"
"""The step of facts that hold for the entire run, and of a run without steps."""
_INDEXED = ("entity", "step")
"""Columns with an index, the most selective one first."""


@dataclass(frozen=True, slots=True)
class FactTable:
    """Facts of one entity kind.

    Each row has `entity`, `step`, `direction` and the facts of catalogue/facts.yaml. None: not known. A fact that no
    row has is not known either.
    """

    rows: tuple[FactRow, ...]
    _indices: dict[str, Mapping[FactValue, Sequence[FactRow]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __iter__(self) -> Iterator[FactRow]:
        return iter(self.rows)

    def select(self, **equal: FactValue) -> list[FactRow]:
        """Return the rows whose columns have these values."""
        indexed = next((name for name in _INDEXED if name in equal), None)
        rows = list(self.rows if indexed is None else self._rows_by(indexed).get(equal[indexed], ()))
        for name, value in equal.items():
            if name != indexed:
                rows = [row for row in rows if row.get(name) == value]
        return rows

    def _rows_by(self, name: str) -> Mapping[FactValue, Sequence[FactRow]]:
        if name not in self._indices:
            index: dict[FactValue, list[FactRow]] = {}
            for row in self.rows:
                index.setdefault(row.get(name), []).append(row)
            self._indices[name] = index
        return self._indices[name]


def number(row: FactRow, fact: str) -> float:
    """Return a fact as a number; 0.0 if it is not known. Where "not known" differs from 0, read the fact itself."""
    value = row.get(fact)
    return float(value) if isinstance(value, int | float) else 0.0
