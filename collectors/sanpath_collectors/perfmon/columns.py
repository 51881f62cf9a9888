"""The plan for a log of Windows' counters: machine by machine, what its columns tell of which thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sanpath_collectors.perfmon import objects
from sanpath_collectors.perfmon.machine import Machine
from sanpath_collectors.perfmon.names import folded, vocabulary
from sanpath_collectors.perfmon.pdh import CounterPath
from sanpath_collectors.perfmon.plan import Plan

_NAMED = 12
"""So many unknown names are told."""
_ADVICE = (
    r"collect by English names (Get-CimInstance Win32_PerfRawData_PerfDisk_PhysicalDisk; the list is "
    r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib\009), or add these to names.yaml"
)


def plan(names: Iterable[str], host: str, called: str | None = None) -> Plan:
    """What columns tell. `names`: of all columns, the first of them that of the time. `host`: what the machine is
    called where the names do not say, `called`: what it is called whatever they say, if it is one."""
    made = Plan()
    unknown: dict[str, None] = {}
    words = vocabulary()

    def known(path: CounterPath) -> tuple[str, str] | None:
        object_name = words.object(path.object)
        counter = words.counter(object_name, path.counter)
        if counter in objects.USED.get(object_name, ()):
            return object_name, counter
        if object_name not in objects.USED:
            unknown[path.object] = None
        elif object_name != folded(path.object):
            unknown[rf"{path.object}\{path.counter}"] = None
        return None

    machines = made.find(names, host, known)
    if called is not None and len(machines) == 1:
        machines = {called: machines.popitem()[1]}
    for machine_name, found in machines.items():
        if missing := Machine(made, machine_name, found).add():
            made.warnings.append(("counters-missing", _missing(machine_name, missing, list(unknown))))
    return made


def _missing(machine: str, missing: Sequence[str], unknown: Sequence[str]) -> str:
    nothing = len(missing) == len(objects.NEEDED)
    text = f"{machine}: of its disks there is no {'counter' if nothing else ', no '.join(missing)}"
    if unknown:
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        text += f"; names that are not known: {', '.join(unknown[:_NAMED])}{more}; if one of them is: {_ADVICE}"
    return text
