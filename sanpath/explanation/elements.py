"""How busy each element was: what the tables of a report and a screen show beside the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from sanpath.diagnosis.model import ElementUse
from sanpath.facts.compute import Facts
from sanpath.facts.table import FactRow, number


def elements(facts: Facts) -> Iterator[ElementUse]:
    """Links, those of the loaded path first, the busiest of them first."""
    certain = {True: 0, None: 1, False: 2}
    for row in sorted(
        facts.tables["link"],
        key=lambda r: (certain[cast(bool | None, r["on_loaded_path"])], -number(r, "utilisation"), str(r["entity"])),
    ):
        yield ElementUse(
            entity=str(row["entity"]),
            kind="link",
            step=str(row["step"]),
            direction=str(row["direction"]),
            on_loaded_path=cast(bool | None, row["on_loaded_path"]),
            speed=cast(str | None, row["speed"]),
            utilisation=_optional(row, "utilisation"),
            bytes_per_second=_optional(row, "bytes_per_second"),
            capacity_bytes_per_second=_optional(row, "capacity_bytes_per_second"),
            full_windows_ratio=_optional(row, "full_windows_ratio"),
            share=_optional(row, "share"),
            foreign_bytes_per_second=_optional(row, "foreign_bytes_per_second"),
        )


def _optional(row: FactRow, fact: str) -> float | None:
    return None if row.get(fact) is None else number(row, fact)
