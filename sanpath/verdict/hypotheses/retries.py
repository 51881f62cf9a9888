"""Damaged or lost frames: commands that time out are aborted and sent again, and each costs far more than an I/O.

A few bad frames a minute can take nearly all of a test's throughput: the I/Os that wait for their time-out fill the
queue. Counters of damage tell it even where nobody reads aborts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from sanpath.facts.table import FactRow, number
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, counted
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import count, duration

_COUNTERS = ("crc_errors_per_second", "errors_per_second")
_OWN = {"array_port": ("crc_errors_per_second", "invalid_words_per_second"), "initiator": ("errors_per_second",)}
"""Fact table → what its devices count of frames that came in damaged."""
_NONE = -3.0
"""Log-odds where counters of damage were read and stood still."""
_RARE = -0.7
"""Log-odds of damage before anything was read: rarer than a queue or a link that is too small."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One where links were read that may have damaged frames, or the host has aborted commands."""
    own = _devices(table)
    # A path whose frames are damaged carries little: it need not count as part of the loaded path.
    ways = {cable.id for path in table.paths for cable in path.cables}
    here = table.facts.tables["link"].select(step=table.load.step, direction=table.load.direction)
    rows = [row for row in here if row["entity"] in ways and _damage(row, own) is not None]
    aborts = _aborts(table)
    if not rows and aborts is None:
        return
    seconds = max(1.0, table.load.seconds or (table.step.end - table.step.start) / 1e6)
    worst = max(rows, key=lambda row: _damage(row, own) or 0.0, default=None)
    bad = (_damage(worst, own) or 0.0) * seconds if worst is not None else 0.0
    evidence = []
    if worst is not None:
        words = f"{count(bad)} damaged frames at {worst['entity']} in {seconds:.0f} s"
        evidence.append(Evidence(words, counted(bad) if bad >= 0.5 else _NONE))
    if aborts is not None:
        gone = aborts * seconds
        evidence.append(Evidence(f"{count(gone)} commands aborted in it", counted(gone) if gone >= 0.5 else _NONE))
    entity = str(worst["entity"]) if worst is not None and bad >= 0.5 else None
    if entity is None:
        return
    explains = table.indices("fabric", "array_door", "below")
    conclude = partial(_conclude, table, evidence)
    yield Claim("bottleneck", "retries", entity, explains, tuple(evidence), "any", conclude, _RARE)


def _damage(row: FactRow, own: Mapping[str, float]) -> float | None:
    """Damaged frames a second, as the switch ports and the device at the end count them; None: nobody does."""
    counted_here = next((number(row, name) for name in _COUNTERS if row[name] is not None), None)
    ends = str(row["entity"]).partition(":")[2].split("--")
    theirs = [rate for device, rate in own.items() if device.partition(":")[2] in ends]
    if counted_here is None and not theirs:
        return None
    return (counted_here or 0.0) + sum(theirs)


def _devices(table: PlaceTable) -> dict[str, float]:
    """What initiators and target ports count themselves: damaged frames a second."""
    found: dict[str, float] = {}
    for kind, names in _OWN.items():
        for row in table.facts.tables[kind].select(step=table.load.step):
            told = [number(row, name) for name in names if row.get(name) is not None]
            if told:
                found[str(row["entity"])] = max(told)
    return found


def _aborts(table: PlaceTable) -> float | None:
    rows = table.facts.tables["device"].select(step=table.load.step)
    told = [number(row, "aborts_per_second") for row in rows if row["aborts_per_second"] is not None]
    return max(told) if told else None


def _conclude(table: PlaceTable, evidence: Sequence[Evidence], named: Sequence[Claim]) -> Conclusion:
    load, entity = table.load, str(named[0].entity)
    wait = sum(table.segments[i].wait[1] for i in named[0].explains)
    because = (
        *(one.words for one in evidence),
        f"about {duration(wait)} of {duration(load.latency_seconds)} are lost between host and array",
    )
    bottleneck = Bottleneck(
        entity=entity,
        kind="retries",
        layer="fabric",
        direction=load.direction,
        wait_at=entity,
        explains=min(1.0, wait / load.latency_seconds),
        because=because,
        overturn_if=("the same latency while its error counters stand still",),
    )
    return Conclusion((bottleneck,), because)
