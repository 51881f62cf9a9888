"""A full link of the loaded path as what limits."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import SHARED
from sanpath.facts.table import FactRow, number
from sanpath.verdict.evidence import array_calm, flat_over_load, is_full
from sanpath.verdict.judged import Judgement, graded, wait_at
from sanpath.verdict.model import Bottleneck, Grade, Next
from sanpath.verdict.predict import next_limit
from sanpath.verdict.units import bandwidth, count, iops, percent

COINCIDENT = 0.03
"""Ceilings that differ by less are one bottleneck: relieving one alone moves nothing."""
MOSTLY_OTHERS = 0.5
"""Share of a link's bytes from which on it is somebody else who fills it."""
_SHORT = 0.02
"""A link that stays further than this below what a full one reads may be held there by a cap that nobody sees."""


def link_bottleneck(
    facts: Facts, load: LoadFacts, full: Sequence[FactRow], array: FactRow | None, windows: int
) -> Judgement:
    """`full`: the saturated links of the loaded path. The lowest ceiling binds; coincident ones are named with it."""
    lowest = min(map(_ceiling, full))
    binding = [row for row in full if _ceiling(row) <= lowest * (1 + COINCIDENT)]
    # Nearest to the host first: that is where a person can look first.
    binding.sort(key=lambda row: (row["side"] != "host", -round(number(row, "utilisation"), 3), str(row["entity"])))
    first = binding[0]
    calm = flat_over_load(facts, load)
    following = next_limit(facts, load, binding)
    capped = array is None and number(first, "full_ratio") - number(first, "utilisation") > _SHORT
    because = _because(load, first, calm)
    if capped:
        because += ("a little less than a full link reads: without the array's word a cap there is not excluded",)
    known = lowest < float("inf")
    bottleneck = Bottleneck(
        entity=str(first["entity"]),
        kind="link",
        layer=_layer(facts, binding),
        direction=load.direction,
        utilisation=number(first, "utilisation"),
        ceiling_bytes_per_second=lowest if known else None,
        ceiling_ops_per_second=lowest / load.operation_bytes if known and load.operation_bytes else None,
        coincident=tuple(str(row["entity"]) for row in binding[1:]),
        wait_at=wait_at(facts, load, str(first["entity"])),
        explains=_explains(load, following),
        because=because,
        overturn_if=_overturn(first),
    )
    best: Grade = "A" if calm is not None or array_calm(load, array) else "B"
    if others_share(first) > MOSTLY_OTHERS:
        best = "B"
    if capped:
        best = "C"
    return Judgement(
        load, "bottleneck", graded(best, windows), (bottleneck,), because, None, windows, following=following
    )


def others_share(row: FactRow) -> float:
    """Share of a link's bytes that is not the test's."""
    counted = number(row, "bytes_per_second")
    return number(row, "foreign_bytes_per_second") / counted if counted else 0.0


def _ceiling(row: FactRow) -> float:
    """Not known where the load counts no bytes: then it ranks last."""
    return number(row, "ceiling_bytes_per_second") or float("inf")


def _because(load: LoadFacts, row: FactRow, calm: LoadFacts | None) -> tuple[str, ...]:
    counted, capacity = number(row, "bytes_per_second"), number(row, "capacity_bytes_per_second")
    full = f"a full {row['speed']} link reads {percent(number(row, 'full_ratio'))}"
    said = [
        f"{bandwidth(counted)} counted of {bandwidth(capacity)} = {percent(number(row, 'utilisation'))}; {full}",
        f"full in {percent(number(row, 'full_windows_ratio'))} of {count(number(row, 'windows'))} windows",
    ]
    if others_share(row) > SHARED:
        foreign = number(row, "foreign_bytes_per_second")
        said.append(f"{bandwidth(foreign)} of it is not the test's: others use this link as well")
    if calm is not None:
        ratio = load.in_flight_measured / calm.in_flight_measured
        said.append(
            f"{count(calm.in_flight_measured)} I/Os in flight gave {iops(calm.ops_per_second)}, "
            f"{ratio:.1f} times as many gave {iops(load.ops_per_second)}: more load buys only latency"
        )
    return tuple(said)


def _overturn(row: FactRow) -> tuple[str, ...]:
    said = ["a second path that carries bytes of the test while the IOPS stay"]
    if others_share(row) <= SHARED:
        said.append("bytes of another host on this link: none were seen beyond 5 %")
    if row["technology"] == "fibre_channel":
        said.append("time without transmit credit on its ports, which would name a slow device behind it")
    return tuple(said)


def _layer(facts: Facts, binding: Sequence[FactRow]) -> str:
    """The layer of a full link is that of its end with the lower capability; if both are equal, the array's front end
    when every array port in use is full, else the fabric."""
    if any(row["side"] == "switch" or row["switch_is_slower"] is not False for row in binding):
        return "fabric"
    first = binding[0]
    if number(first, "capable_high_bits_per_second") > number(first, "negotiated_bits_per_second") * 1.01:
        return "host" if first["side"] == "host" else "array_front"
    here = {"step": first["step"], "direction": first["direction"]}
    ports = facts.tables["link"].select(**here, on_loaded_path=True, side="array")
    return "array_front" if ports and all(is_full(row) for row in ports) else "fabric"


def _explains(load: LoadFacts, following: Next | None) -> float | None:
    """(R - R without the limit) / R, with R without it at the same number in flight, by what limits next."""
    if following is None:
        return None
    return min(1.0, max(0.0, 1 - following.predicted_latency_seconds[0] / load.latency_seconds))
