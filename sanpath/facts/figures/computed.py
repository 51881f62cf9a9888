"""Computes what follows from the figures that a person entered for one entity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from sanpath.facts.figures.measured import Measurements
from sanpath.facts.figures.model import FigureValue, amount

Key = tuple[str, str, str | None, str | None]
"""Quantity, unit, step and direction; None: all steps, both directions."""
_GIGABYTE = 1e9


def computed(
    entity: str, stated: Mapping[str, Sequence[tuple[str, FigureValue]]], measurements: Measurements
) -> Iterator[tuple[Key, FigureValue]]:
    """Yield what follows for an entity. `stated`: quantity → (unit, value) in the order in which they were entered.

    Values of one quantity that disagree give a range.
    """
    rules: Sequence[Callable[..., Iterator[tuple[Key, FigureValue]]]] = (
        _reduction,
        _capacity,
        _drives,
        _cost,
        _task_bytes,
    )
    for rule in rules:
        yield from rule(entity, stated, measurements)


def _reduction(
    _entity: str, stated: Mapping[str, Sequence[tuple[str, FigureValue]]], _measurements: Measurements
) -> Iterator[tuple[Key, FigureValue]]:
    """Total data reduction: the product of the reductions of all stages, because each stage reduces the output of the
    one before it."""
    stages = [value for _, value in stated.get("reduction_stage", ())]
    remaining = [
        prod(1 - share for share in shares) for shares in zip(*((v.low, v.high) for v in stages), strict=True)
    ]
    if stages and all(share > 0 for share in remaining):
        factors = " x ".join(f"{1 - value.low:.4g}" for value in stages)
        yield (
            ("reduction", "ratio", None, None),
            FigureValue(1 / remaining[0], 1 / remaining[-1], f"1 / ({factors})", "computed"),
        )


def _capacity(
    _entity: str, stated: Mapping[str, Sequence[tuple[str, FigureValue]]], _measurements: Measurements
) -> Iterator[tuple[Key, FigureValue]]:
    for _, raw in stated.get("capacity", ()):
        for _, copies in stated.get("copies", ()):
            if copies.low:
                text = f"{amount('bytes', raw)} / {amount('count', copies)} copies"
                value = FigureValue(raw.low / copies.high, raw.high / copies.low, text, "computed")
                yield ("usable_capacity", "bytes", None, None), value


def _drives(
    entity: str, stated: Mapping[str, Sequence[tuple[str, FigureValue]]], measurements: Measurements
) -> Iterator[tuple[Key, FigureValue]]:
    """I/Os that reach the drives: each write once for each copy, each read only if it misses the cache."""
    if "drive_ceiling" not in stated or "miss_ratio" not in stated:
        return
    misses = [value for _, value in stated["miss_ratio"]]
    copies = [value for _, value in stated.get("copies", ())] or [FigureValue(1.0, 1.0, "", "stated")]
    low, high = (
        measurements.drive_operations(entity, *ends)
        for ends in ((misses[0].low, copies[0].low), (misses[-1].high, copies[-1].high))
    )
    if low is not None and high is not None:
        text = f"most in a step: {misses[0].low:.4g} of the reads, and {copies[0].low:.4g} copies of each write"
        yield ("drive_ceiling", "ops_per_second", None, None), FigureValue(low, high, text, "measured")


def _task_bytes(
    _entity: str, stated: Mapping[str, Sequence[tuple[str, FigureValue]]], _measurements: Measurements
) -> Iterator[tuple[Key, FigureValue]]:
    """The bytes that a timed task moved, for comparison with the bytes that crossed the wire meanwhile."""
    for _, moved in stated.get("transfer", ()) if "crossed" in stated else ():
        yield ("crossed", "bytes", None, None), FigureValue(moved.low, moved.high, f"of {moved.source}", "computed")


def _cost(
    _entity: str, stated: Mapping[str, Sequence[tuple[str, FigureValue]]], measurements: Measurements
) -> Iterator[tuple[Key, FigureValue]]:
    capacities = stated.get("usable_capacity") or stated.get("capacity", ())
    limit = next((value.high for _, value in stated.get("latency_limit", ())), None)
    operations = measurements.best_operations(limit)
    for unit, price in stated.get("price", ()):
        currency, _, each_byte = unit.partition("/")
        size = capacities[0][1].low if capacities else None
        if each_byte:
            low, high = ((end * size if size else None) for end in (price.low, price.high))
            if low is not None and high is not None:
                text = f"{amount(unit, price)} x {amount('bytes', capacities[0][1])}"
                yield ("price", currency, None, None), FigureValue(low, high, text, "computed")
        else:
            low, high = price.low, price.high
            if size:
                text = f"{amount(currency, price)} / {amount('bytes', capacities[0][1])}"
                value = FigureValue(price.low / size * _GIGABYTE, price.high / size * _GIGABYTE, text, "computed")
                yield ("cost_per_gigabyte", f"{currency}/GB", None, None), value
        if operations and low is not None and high is not None:
            text = f"at {operations:,.0f} IOPS" + (f" within {limit * 1e3:.4g} ms" if limit else "")
            value = FigureValue(low / operations, high / operations, text, "computed")
            yield ("cost_per_operation", f"{currency} for each I/O a second", None, None), value
