"""Builds the plan for a log of Windows' counters: for each machine, the entities and metrics in its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sanpath.plugin import name_list
from sanpath_collectors.perfmon import objects
from sanpath_collectors.perfmon.machine import Machine
from sanpath_collectors.perfmon.names import fold, load_vocabulary
from sanpath_collectors.perfmon.pdh import CounterPath
from sanpath_collectors.perfmon.plan import Plan

_DISKS = ("physicaldisk", "logicaldisk")
_MAX_NAMES = 12
"""Largest number of unknown names in a message."""
_NAMES_ADVICE = (
    r"collect by English names (Get-CimInstance Win32_PerfRawData_PerfDisk_PhysicalDisk; the list is "
    r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib\009), or add these to names.yaml"
)
COUNTERS_ADVICE = (
    r'repeat the test, and collect all counters of its disks: typeperf "\PhysicalDisk(*)\*" -si 1 -o disks.csv'
)
MISSING_COUNTERS = "counters-missing"


def build_plan(names: Iterable[str], host: str, host_name: str | None = None) -> Plan:
    """Return the plan for a log.

    `names`: names of all columns, beginning with the time. `host`: name of the machine if the column names contain
    none. `host_name`: overrides the machine's name in the log, if the log has only one machine.
    """
    result = Plan()
    unknown: dict[str, None] = {}
    known: set[str] = set()
    words = load_vocabulary()

    def used_counter(path: CounterPath) -> tuple[str, str] | None:
        object_name = words.object(path.object)
        counter = words.counter(object_name, path.counter)
        known.add(object_name)
        if counter in objects.USED_COUNTERS.get(object_name, ()):
            return object_name, counter
        if object_name not in objects.USED_COUNTERS:
            unknown[path.object] = None
        elif object_name != fold(path.object):
            unknown[rf"{path.object}\{path.counter}"] = None
        return None

    machines = result.find_columns(names, host, host_name, used_counter)
    for machine_name, objects_of_machine in machines.items():
        if missing := Machine(result, machine_name, objects_of_machine).add():
            # If the objects of disks are known, no unknown object can be that of disks.
            unknown_names = [name for name in unknown if "\\" in name or known.isdisjoint(_DISKS)]
            result.warnings.append((MISSING_COUNTERS, _missing_text(machine_name, missing, unknown_names)))
    return result


def _missing_text(machine: str, missing: Sequence[str], unknown: Sequence[str]) -> str:
    text = f"{machine}: its disks have no {', no '.join(missing)}"
    if len(missing) == len(objects.REQUIRED_COUNTERS):
        text = f"{machine}: no counter tells the reads of its disks from the writes: {', '.join(missing)}"
    if unknown:
        text += f"; names that are not known: {name_list(unknown, _MAX_NAMES)}; if one of them is: {_NAMES_ADVICE}"
    return text
