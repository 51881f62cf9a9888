"""Changes of a draw that leave its truth as it is, and whether the verdict stays as well: metamorphic relations."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from sanpath import diagnose
from sanpath.model import Rows, Thing
from sanpath.plugin import Item
from sanpath.recording.read import Recording
from sanpath.verdict.model import Diagnosis
from sanpath_lab.generator import Drawn
from sanpath_lab.generator.confirm import confirmed
from sanpath_lab.generator.faults import FAULTS
from sanpath_lab.generator.reading import Reading
from sanpath_lab.generator.variants import VARIANTS, new_names, renamed
from sanpath_lab.scenario import Scenario
from sanpath_testbed.defects import Defect, Defects, as_tested
from sanpath_testbed.record import record

RENAMED, SHIFTED, COARSER = "sources renamed", "clocks shifted", "polled coarser"
DROPPED, UNDERCOUNTED = "a source dropped", "a link counted 3 % low"
RELATIONS = (*VARIANTS, RENAMED, SHIFTED, COARSER, DROPPED, UNDERCOUNTED)
"""Every relation by name."""
_LOW = 0.97
_SEVERAL = ("concurrency", "demand", "healthy")
"""Faults that one step alone cannot show."""


class BentReading(Defects):
    """A reading without some of its sources, and with a switch port that counts its bytes low.

    `dropped`: names of sources; `low_port`: a switch port as a scenario names it, None: all count right.
    """

    def __init__(
        self,
        scenario: Scenario,
        defect: Defect | None,
        reading: Reading,
        dropped: frozenset[str] = frozenset(),
        low_port: str | None = None,
    ) -> None:
        super().__init__(scenario, defect, reading)
        self._dropped = dropped
        self._low_switch, _, self._low_label = (low_port or "").partition("/")
        self._low_id: str | None = None

    @property
    def unread(self) -> set[str]:
        """Names of the sources that are not read at all."""
        return super().unread | self._dropped

    def bent(self, source: str, item: Item) -> Iterator[Item]:
        """What is recorded instead of an item."""
        if source == self._low_switch:
            item = self._lowered(item)
        yield from super().bent(source, item)

    def _lowered(self, item: Item) -> Item:
        if isinstance(item, Thing) and item.kind == "switch_port" and item.label == self._low_label:
            self._low_id = item.local_id
        if not isinstance(item, Rows) or item.table.kind != "switch_port" or self._low_id not in item.entity:
            return item
        row = item.entity.index(self._low_id)
        values = dict(item.values)
        for metric in values.keys() & {"bytes_rx_total", "bytes_tx_total"}:
            counts = list(values[metric])
            if (count := counts[row]) is not None:
                counts[row] = int(count * _LOW)
            values[metric] = counts
        return replace(item, values=values)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What of a verdict is to stay. `accused`: the element named first, with all that cannot be told from it."""

    kind: str
    accused: frozenset[str]


@dataclass(frozen=True, slots=True)
class Survival:
    """A relation tried on a draw. `tried` False: the draw has no such variant, or the simulation does not confirm
    that its truth is the same. `kind`, `element`: whether they stayed; `before`, `after`: the verdicts in words."""

    relation: str
    seed: int
    fault: str
    tried: bool
    kind: bool = False
    element: bool = False
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class _Changed:
    """`names`: old names and the new ones."""

    scenario: Scenario
    defects: Defects
    names: Mapping[str, str]


def survivals(drawn: Drawn, relations: Sequence[str] = RELATIONS) -> list[Survival]:
    """Each relation tried on a draw."""
    before = _verdict(_diagnosed(drawn.scenario, Defects(drawn.scenario, None, drawn.reading)))
    return [_survival(drawn, relation, before) for relation in relations]


def _survival(drawn: Drawn, relation: str, before: Verdict) -> Survival:
    changed = _changed(drawn, relation, before)
    if changed is None:
        return Survival(relation, drawn.seed, drawn.fault, False)
    after = _verdict(_diagnosed(changed.scenario, changed.defects))
    accused = frozenset(renamed_element(name, changed.names) for name in before.accused)
    same = bool(accused & after.accused) or not (accused or after.accused)
    told = (_words(before), _words(after))
    return Survival(relation, drawn.seed, drawn.fault, True, before.kind == after.kind, same, *told)


def renamed_element(name: str, names: Mapping[str, str]) -> str:
    """An element of a verdict with the new names of its devices, the ends of a link in the order of their names."""
    kind, separator, own = name.partition(":")
    ends = ("/".join(names.get(part, part) for part in end.split("/")) for end in own.split("--"))
    return f"{kind}{separator}{'--'.join(sorted(ends))}"


def _changed(drawn: Drawn, relation: str, before: Verdict) -> _Changed | None:
    scenario, reading = drawn.scenario, drawn.reading
    random = Random(f"{relation}/{drawn.seed}")  # noqa: S311  a drawing, not secrets
    match relation:
        case _ if relation in VARIANTS:
            variant = None
            if relation != "last step only" or drawn.fault not in _SEVERAL:
                variant = VARIANTS[relation](scenario, random)
            fault = FAULTS[drawn.fault]
            if variant is None or confirmed(variant, fault.relief, fault.waits) is None:
                return None
            return _Changed(variant, Defects(variant, None, reading), {})
        case _ if relation == RENAMED:
            names = new_names(scenario)
            other = renamed(scenario, names)
            return _Changed(other, Defects(other, None, reading), names)
        case _ if relation == SHIFTED:
            return _Changed(scenario, Defects(scenario, "skew", reading), {})
        case _ if relation == COARSER:
            longer = as_tested(scenario, "coarse")
            return _Changed(longer, Defects(longer, "coarse", reading), {})
        case _ if relation == DROPPED:
            # Where something is unread already, what is left may not be enough to tell.
            spare = [] if reading.unread else _unnamed(scenario, before)
            dropped = frozenset({random.choice(spare)}) if spare else frozenset()
            return _Changed(scenario, BentReading(scenario, None, reading, dropped), {}) if dropped else None
        case _:
            low = scenario.host.hbas[0].switch_port
            return None if "switches" in reading.unread else _low(scenario, reading, low)


def _low(scenario: Scenario, reading: Reading, port: str) -> _Changed:
    at_fault = [one.removeprefix("switch_port:") for one in scenario.truth.bottlenecks if "switch_port:" in one]
    return _Changed(scenario, BentReading(scenario, None, reading, low_port=(at_fault or [port])[0]), {})


def _unnamed(scenario: Scenario, before: Verdict) -> list[str]:
    """Sources that the verdict does not name."""
    sources = [*(switch.name for switch in scenario.fabric_switches), *(array.name for array in scenario.arrays)]
    named = {part for name in before.accused for end in name.partition(":")[2].split("--") for part in end.split("/")}
    return [source for source in sources if source not in named]


def _diagnosed(scenario: Scenario, defects: Defects) -> Diagnosis:
    with tempfile.TemporaryDirectory(prefix="sanpath-testbed-") as folder:
        place = Path(folder) / "case.sanpath"
        record(scenario, place, defects)
        return diagnose.diagnose(Recording(place))


def _verdict(diagnosis: Diagnosis) -> Verdict:
    first = next(iter(diagnosis.verdict.bottlenecks), None)
    named = (first.entity, *first.coincident) if first is not None else ()
    return Verdict(diagnosis.verdict.kind, frozenset(renamed_element(name, {}) for name in named))


def _words(verdict: Verdict) -> str:
    return " ".join((verdict.kind, *sorted(verdict.accused)))
