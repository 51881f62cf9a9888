"""Compares the entered figures: several sources of one quantity, with measurements, and with what follows from
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.facts.figures.computed import Key, computed
from sanpath.facts.figures.measured import Measurements
from sanpath.facts.figures.model import (
    Disagreement,
    FigureComparison,
    FigureValue,
    amount,
    disagreement,
    disagreements,
)
from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.table import WHOLE_RUN, FactRow
from sanpath.model import Event

_PARTS = ("reduction_stage",)
"""Quantities of which an entity has several values, one for each of its parts: these are not compared with each
other."""
_INPUTS = ("copies", "miss_ratio", "latency_limit", "capacity", "transfer")
"""Quantities that are entered only as inputs of other figures."""
_BITS_FOR_BYTES = (7.6, 8.6)
"""Range of the factor between bits and bytes, also where one figure is in powers of 1,024 (8 x 1.049)."""


def figure_comparisons(events: SourceEvents, measurements: Measurements) -> list[FigureComparison]:
    """Return one comparison for each entity, quantity, step and direction, in the order in which they were entered.

    A quantity that is only an input of other figures is left out, unless several sources give it.
    """
    by_entity: dict[str, dict[Key, list[FigureValue]]] = {}
    tasks: set[tuple[str, Key]] = set()
    for event in [event for _, event in events if event.name == "figure"]:
        entity, key, value = _entry(event)
        by_entity.setdefault(entity, {}).setdefault(key, []).append(value)
        if (transfer := _throughput_of_task(event)) is not None:
            task_key = ("throughput", "bytes_per_second", key[2], key[3])
            by_entity[entity].setdefault(task_key, []).append(transfer)
            tasks.add((entity, task_key))
    comparisons = []
    for entity, groups in by_entity.items():
        stated: dict[str, list[tuple[str, FigureValue]]] = {}
        for (quantity, unit, _, _), values in groups.items():
            stated.setdefault(quantity, []).extend((unit, value) for value in values)
        for key, value in [*computed(entity, stated, measurements), *_io_sizes(groups)]:
            groups.setdefault(key, []).append(value)
        for key, values in groups.items():
            if key[0] not in _PARTS and (key[0] not in _INPUTS or len(values) > 1):
                comparisons.append(_comparison(entity, key, values, measurements, (entity, key) in tasks))
    return comparisons


def figure_rows(comparisons: Sequence[FigureComparison]) -> Iterator[FactRow]:
    """Yield one row for each comparison."""
    for comparison in comparisons:
        values = _comparable(comparison.quantity, comparison.values)
        apart = disagreement(values)
        in_bits = None if apart is None else _bits_for_bytes(comparison.unit, values)
        yield {
            "entity": comparison.entity,
            "step": comparison.step or WHOLE_RUN,
            "direction": comparison.direction or "both",
            "quantity": comparison.quantity.replace("_", " "),
            "lower": None if apart is None else _text(comparison.unit, apart.lower),
            "higher": None if apart is None else _text(comparison.unit, apart.higher),
            "ratio": comparison.ratio or 1.0,
            "bits_for_bytes": None if apart is None else in_bits is not None,
            "in_bits": None if in_bits is None else _text(comparison.unit, in_bits.lower),
            "in_bytes": None if in_bits is None else _text(comparison.unit, in_bits.higher),
            "used_ratio": comparison.used_ratio,
            "is_ceiling": comparison.quantity in ("ceiling", "drive_ceiling"),
            "is_timed_task": comparison.is_timed_task,
            "stated": _text(comparison.unit, comparison.values[0]),
            "measured": next((_text(comparison.unit, v) for v in comparison.values if v.origin == "measured"), None),
        }


def _comparison(
    entity: str, key: Key, values: list[FigureValue], measurements: Measurements, is_timed_task: bool
) -> FigureComparison:
    quantity, unit, step, direction = key
    used_ratio = None
    measured = measurements.of_load(entity, quantity, unit, step, direction)
    measured = measured or measurements.of_node(entity, quantity, step)
    if measured is not None:
        values.append(FigureValue(*measured, "this recording", "measured"))
    elif entity.startswith("load:") and quantity == "throughput" and unit == "bytes_per_second":
        is_timed_task = True
        if (highest := measurements.highest(direction)) is not None:
            used_ratio = max(value.high for value in values) / highest
    if quantity == "achieved_throughput" and (achieved := measurements.achieved(entity)) is not None:
        values.append(FigureValue(achieved, achieved, "the load's own report", "measured"))
    if quantity == "ceiling":
        through = measurements.highest_through(entity, unit, direction)
        if through is not None:
            values.append(FigureValue(through, through, "highest of a step", "measured"))
    if quantity in ("ceiling", "drive_ceiling"):
        limits = [value.high for value in values if value.origin != "measured" and value.high]
        used = [value.high for value in values if value.origin == "measured"]
        used_ratio = max(used) / max(limits) if used and limits else None
    if quantity == "crossed":
        tasks = [value.low for value in values if value.origin == "computed" and value.low]
        used_ratio = max(value.high for value in values if value.origin == "stated") / min(tasks) if tasks else None
    apart = disagreement(_comparable(quantity, values))
    ratio = None if apart is None else apart.ratio
    return FigureComparison(entity, quantity, unit, step, direction, tuple(values), ratio, used_ratio, is_timed_task)


def _comparable(quantity: str, values: Sequence[FigureValue]) -> list[FigureValue]:
    """Return the values that contradict each other if they differ. A measured throughput below a ceiling is no
    contradiction, and neither are fewer bytes on the wire than a task moved."""
    if quantity == "crossed":
        return [value for value in values if value.origin == "stated"]
    is_ceiling = quantity in ("ceiling", "drive_ceiling")
    return [value for value in values if not (is_ceiling and value.origin == "measured")]


def _entry(event: Event) -> tuple[str, Key, FigureValue]:
    detail = event.detail
    quantity, unit = str(detail.get("quantity")), str(detail.get("unit"))
    if quantity == "share_within":
        unit = f"{unit} within {_number(event, 'within_seconds') * 1e3:.4g} ms"
    key = (quantity, unit, _optional(event, "step"), _optional(event, "direction"))
    source = str(detail.get("source"))
    value = FigureValue(_number(event, "low"), _number(event, "high"), source, "stated", _number(event, "rounding"))
    return str(detail.get("entity")), key, value


def _throughput_of_task(event: Event) -> FigureValue | None:
    shortest, longest = _number(event, "shortest_seconds"), _number(event, "longest_seconds")
    if not shortest or not longest:
        return None
    moved = FigureValue(_number(event, "low"), _number(event, "high"), "", "stated")
    seconds = FigureValue(shortest, longest, "", "stated")
    text = f"{amount('bytes', moved)} in {_seconds(seconds)} ({event.detail.get('source')})"
    return FigureValue(moved.low / longest, moved.high / shortest, text, "computed")


def _io_sizes(groups: Mapping[Key, Sequence[FigureValue]]) -> Iterator[tuple[Key, FigureValue]]:
    """Yield the size of an I/O where throughput was entered in bytes and in I/Os. Only the first figure of each is
    used: later ones may be of another mix of I/O."""
    for (quantity, unit, step, direction), values in groups.items():
        operations = groups.get((quantity, "ops_per_second", step, direction), ())
        if quantity == "throughput" and unit == "bytes_per_second" and operations and operations[0].low:
            moved, rate = values[0], operations[0]
            size = FigureValue(
                moved.low / rate.high,
                moved.high / rate.low,
                f"{amount(unit, moved)} / {amount('ops_per_second', rate)}",
                "computed",
                moved.rounding / rate.high + moved.high * rate.rounding / rate.low**2,
            )
            yield ("io_size", "bytes", step, direction), size


def _seconds(value: FigureValue) -> str:
    return f"{value.low:.4g} s" if value.low == value.high else f"{value.low:.4g} to {value.high:.4g} s"


def _bits_for_bytes(unit: str, values: Sequence[FigureValue]) -> Disagreement | None:
    """The first pair of figures that differ by the factor between bits and bytes, even if other pairs lie further
    apart."""
    low, high = _BITS_FOR_BYTES
    pairs = disagreements(values) if unit == "bytes_per_second" else []
    return next((pair for pair in pairs if low <= pair.middle_ratio <= high), None)


def _text(unit: str, value: FigureValue) -> str:
    return f"{amount(unit, value)} ({value.source})"


def _number(event: Event, name: str) -> float:
    value = event.detail.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _optional(event: Event, name: str) -> str | None:
    value = event.detail.get(name)
    return None if value is None else str(value)
