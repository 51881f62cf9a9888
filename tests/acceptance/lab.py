"""Scenarios of the simulated lab as changed copies, recorded in simulated time and diagnosed.

The tests beside this module say of nine load tests whose answer is known what has to be printed, and what must not
be: a module for each of nine rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sanpath.comparison.compare import Comparison, add_checks, compare
from sanpath.diagnose import diagnose, judge_recording
from sanpath.diagnosis.model import Bottleneck, Diagnosis
from sanpath.recording.reading.recording import Recording
from sanpath.views import terminal_report
from sanpath.whatif.what_if import WhatIf, what_if
from sanpath_lab.scenario import Scenario, load_scenario
from sanpath_testbed.defects import Defect, Defects
from sanpath_testbed.record import record

STORY = "four-gigabit-switch"
SHORT: Mapping[str, Any] = {"ramp_seconds": 1.5, "measured_seconds": 6, "gap_seconds": 1}
HOST, ARRAY = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"
SECOND_HOST = "link:esx7/vmhba3--sw1/fc1/8"
TWO_PATHS = ({"hba": "vmhba2", "target": "CT0.FC0"}, {"hba": "vmhba3", "target": "CT1.FC0"})
MDS = {
    "agent": "nx_os",
    "description": "Cisco NX-OS(tm) m9100, Version 8.4(2c), RELEASE SOFTWARE (simulated)",
    "object_id": "1.3.6.1.4.1.9.12.3.1.3.1491",
}
"""A switch that tells of its logins and its credits."""


@dataclass(frozen=True)
class Ran:
    """A recorded test and what sanpath makes of it."""

    place: Path

    @cached_property
    def found(self) -> Diagnosis:
        """The diagnosis."""
        return diagnose(Recording(self.place))

    @cached_property
    def report(self) -> str:
        """The report as it is printed, in one line."""
        return " ".join(terminal_report.render(self.found, 200).split())

    @cached_property
    def relieved(self) -> WhatIf:
        """What `whatif --relieve` says."""
        return what_if(*judge_recording(Recording(self.place)), (), True)

    @property
    def limit(self) -> Bottleneck:
        """The one element that the verdict names."""
        (bottleneck,) = self.found.verdict.bottlenecks
        return bottleneck

    @property
    def causes(self) -> set[str]:
        """Rules that the diagnosis calls a cause."""
        return {f.rule for f in self.found.findings if f.outcome == "hit" and f.role in ("cause", "culprit")}

    @property
    def named(self) -> set[str]:
        """Every element that any step calls a bottleneck."""
        verdicts = [self.found.verdict, *(step.verdict for step in self.found.steps)]
        return {entity for v in verdicts for b in v.bottlenecks for entity in (b.entity, *b.coincident)}

    @property
    def cleared(self) -> set[str]:
        """Elements that are said not to limit."""
        return {cleared.entity for cleared in self.found.cleared}

    @property
    def ops_per_second(self) -> float:
        """Of the last step, reads and writes together."""
        return sum(way.ops_per_second for way in self.found.steps[-1].directions.values())

    def compared(self, after: Ran) -> Comparison:
        """What `compare` says of this run and a later one."""
        return add_checks(compare(self.found, after.found), *judge_recording(Recording(self.place)))


Record = Callable[..., Ran]


def changed(name: str, **changes: Any) -> Scenario:
    """A scenario of the lab with other values; mappings are merged, anything else is replaced."""
    return Scenario.model_validate(_merged(load_scenario(name).model_dump(mode="json"), changes))


def ran(folder: Path, scenario: Scenario, defect: Defect | Defects | None = None) -> Ran:
    """Record a scenario in simulated time."""
    place = folder / f"{scenario.name}.sanpath"
    record(scenario, place, defect)
    return Ran(place)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for key, value in new.items():
        inner = old.get(key)
        both = isinstance(value, Mapping) and isinstance(inner, Mapping)
        merged[key] = _merged(inner, value) if both else value
    return merged


def ports(scenario: Scenario, gigabit: int, *names: str) -> Scenario:
    """The same with ports of hosts and array that can do so much, and their switches; `names`: of these ports only,
    and no switch."""
    data = scenario.model_dump(mode="json")
    for port in (*data["host"]["hbas"], *data["array"]["ports"], *(n["hba"] for n in data["neighbours"])):
        if not names or port["name"] in names:
            port["capable_gigabit"] = gigabit
    for switch in data["switches"]:
        switch["gigabit"] = switch["gigabit"] if names else gigabit
    return Scenario.model_validate(data)


def neighbour(number: int, switch_port: str, target: str, **changes: Any) -> dict[str, Any]:
    """Another host with a volume of its own; `changes` are of its HBA where it has such a value, else of the host."""
    found = load_scenario("slow-drain-host").neighbours[0].model_dump(mode="json")
    found["hba"] |= {"wwpn": f"21:00:00:24:ff:00:00:{number:02x}", "switch_port": switch_port, "drain_ratio": 1.0}
    found |= {"name": f"esx{number}", "target": target}
    found["volume"] |= {
        "name": f"vol{number:02}",
        "id": f"0c9a2f54-51e7-4b0f-8f2e-7d1f2f6c8a{number:02x}",
        "serial": f"5F1C0B7E6A1D4C55000110{number:02X}",
    }
    for key, value in changes.items():
        (found["hba"] if key in found["hba"] else found)[key] = value
    return found
