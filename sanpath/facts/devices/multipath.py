"""Facts of multipath devices: the paths to a LUN, whether they work, and how the policy spreads the I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sanpath.catalogue.values import SINGLE_PATH_POLICIES
from sanpath.facts.devices.local_drives import local_drives
from sanpath.facts.host.tested_machines import (
    UnderTest,
    as_bool,
    as_number,
    as_text,
    device_names,
    gauge,
    in_flight,
    is_always,
    platform,
    rate,
)
from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.table import FactRow, FactValue
from sanpath.model import Event, Scalar, Step
from sanpath.topology.paths import switch_of
from sanpath.topology.topology import Topology

_STANDBY = ("standby", "ghost", "passive", "disabled")
"""Prefixes of the states of a path that works but carries no I/O, because its controller does not own the LUN."""
_NON_OPTIMISED = ("active/non-optimized", "active/unoptimized", "non-optimized")
_OPTIMISED = ("active/optimized", "optimized")
_EQUIVALENT = {"active/active": True, "active_active": True, "symmetric": True, "active/passive": False}
"""Access mode as host or array report it → whether all working paths are equivalent."""
_FLAPPING_CHANGES = 2
"""Number of state changes from which a path flaps: a single change means that it failed, or was repaired."""


@dataclass(frozen=True, slots=True)
class _ConfiguredPath:
    """A path according to the inventory. `device`: its block device, on Linux. `usable`: whether it can carry I/O.

    `worked`: whether it could carry I/O at some time of the run. None: unknown."""

    entity: str
    label: str
    state: str
    hba: str | None
    port: str | None
    target: str | None
    device: str | None
    usable: bool | None
    worked: bool


@dataclass(frozen=True, slots=True)
class _Path:
    """A path in one step. `usable`: share of the step in which it could carry I/O.

    `ops`: I/Os a second in the direction of the main load. `seconds`: their latency by a clock of the path. `speed`:
    speed of its slower end in bits a second. None: unknown."""

    configured: _ConfiguredPath
    usable: float | None
    ops: float | None
    seconds: float | None
    speed: float | None

    @property
    def standby(self) -> bool:
        return self.configured.state.startswith(_STANDBY)

    @property
    def lost(self) -> bool:
        return self.usable is not None and not is_always(self.usable) and self.configured.worked

    @property
    def changing(self) -> bool:
        """Return whether it could carry I/O in only a part of the step."""
        return self.lost and bool(self.usable)

    @property
    def works(self) -> bool:
        return self.usable is not None and is_always(self.usable)


def multipath_rows(
    topology: Topology, steps: Sequence[UnderTest], events: SourceEvents, times: Mapping[str, Step]
) -> Iterator[FactRow]:
    """Yield one row for each LUN with paths and each step, in the direction of the main load. `times`: name of a step
    → the step, with its start and end."""
    changes = [(source, event) for source, event in events if event.name == "path-state"]
    changed = {(source, event.detail.get("path")) for source, event in changes}
    of_path: defaultdict[str | None, list[Event]] = defaultdict(list)
    for source, event in sorted(changes, key=lambda change: change[1].seen):
        of_path[topology.known_as.get((source, "path", str(event.detail.get("path"))))].append(event)
    configured: dict[str, list[_ConfiguredPath]] = {}
    for lun in dict.fromkeys(lun for step in steps for lun in step.devices):
        configured[lun] = [
            _configured_path(topology, steps, path, changed) for path in topology.related(lun, "member_of", "path")
        ]
    for step in steps:
        name = step.load.step
        for lun in step.devices:
            attributes = topology.entities[lun].attributes
            as_in_step = (_as_in(path, of_path.get(path.entity, ()), times[name]) for path in configured[lun])
            paths = [_path(topology, step, path) for path in as_in_step]
            if not paths and as_number(attributes.get("paths")) is None:
                continue
            # A host's own drive cannot have a second path.
            if max(len(paths), as_number(attributes.get("paths")) or 0) <= 1 and local_drives(topology, [lun]):
                continue
            samples = step.samples_of(lun)
            yield {
                "entity": lun,
                "step": step.load.step,
                "direction": step.load.direction,
                "windows": min((sample.windows for sample in samples), default=0),
                "platform": platform(topology, lun),
                **_names(topology, lun),
                **_policy(topology, lun, paths),
                **_states(paths, as_number(attributes.get("paths")), as_number(attributes.get("paths_active"))),
                **_flapping(topology, paths, changes, times[step.load.step]),
                **_ends(topology, [path for path in paths if path.works]),
                **_spread(paths),
                "in_flight": in_flight(samples),
                "busiest_utilisation": step.busiest_utilisation,
            }


def _configured_path(
    topology: Topology, steps: Sequence[UnderTest], path: str, changed: Container[tuple[str, Scalar]]
) -> _ConfiguredPath:
    entity = topology.entities[path]
    attributes = entity.attributes
    port = next(iter(topology.related(path, "targets", "array_port")), None)
    worked = any(name in changed for name in entity.known_as) or any(
        gauge(step.samples_of(path), "path_usable") for step in steps
    )
    devices = (topology.known_as.get((source, "lun", str(attributes.get("device")))) for source, _ in entity.known_as)
    return _ConfiguredPath(
        path,
        entity.label,
        str(attributes.get("state") or "").lower(),
        next(iter(topology.related(path, "attached_to", "hba")), None),
        port,
        port or as_text(attributes.get("target")) or as_text(attributes.get("controller")),
        next((lun for lun in devices if lun is not None), None),
        as_bool(attributes.get("usable")),
        worked,
    )


def _as_in(path: _ConfiguredPath, changes: Sequence[Event], step: Step) -> _ConfiguredPath:
    """Return a path with the state that it had for most of a step: the inventory knows the latest one only.
    `changes`: of its state, in the order of time."""
    if not changes:
        return path
    limits = [step.start, *(min(max(event.seen, step.start), step.end) for event in changes), step.end]
    states = [str(changes[0].detail.get("from") or ""), *(str(event.detail.get("to") or "") for event in changes)]
    lengths: Counter[str] = Counter()
    for state, (begin, end) in zip(states, pairwise(limits), strict=True):
        lengths[state.lower()] += end - begin
    return replace(path, state=max(lengths, key=lengths.__getitem__))


def _path(topology: Topology, step: UnderTest, configured: _ConfiguredPath) -> _Path:
    usable = gauge(step.samples_of(configured.entity), "path_usable")
    if usable is None and configured.usable is not None:
        usable = float(configured.usable)
    samples = [*step.samples_of(configured.entity), *step.samples_of(configured.device)]
    ops = rate(samples, f"ops_{step.load.direction}_total")
    waited = rate(samples, f"latency_seconds_{step.load.direction}_total")
    seconds = waited / ops if ops and waited else None
    ends = [end for end in (configured.hba, configured.port) if end is not None]
    speeds = [speed for end in ends if (speed := _speed(topology, step, end)) is not None]
    return _Path(configured, usable, ops, seconds, min(speeds, default=None))


def _speed(topology: Topology, step: UnderTest, port: str) -> float | None:
    """Return the speed of a path's end: as it reports it, or else as the switch port does that it is connected to."""
    at_switch = (
        p for relation in ("cabled_to", "logged_in") for p in topology.related(port, relation, "switch_port")
    )
    for end in (port, *at_switch):
        reported = gauge(step.samples_of(end), "link_speed_bits_per_second")
        if speed := reported or as_number(topology.entities[end].attributes.get("speed_bits_per_second")):
            return speed
    return None


def _names(topology: Topology, lun: str) -> dict[str, FactValue]:
    return {**device_names(topology, lun), "map": as_text(topology.entities[lun].attributes.get("map"))}


def _policy(topology: Topology, lun: str, paths: Sequence[_Path]) -> dict[str, FactValue]:
    attributes = topology.entities[lun].attributes
    policy = as_text(attributes.get("path_policy"))
    return {
        "policy": policy,
        "policy_native": as_text(attributes.get("path_policy_native")),
        "one_path_policy": None if policy is None else policy in SINGLE_PATH_POLICIES,
        "equal_paths": _has_equal_paths(topology, lun, paths),
        "switch_operations": as_number(attributes.get("path_switch_operations")),
    }


def _has_equal_paths(topology: Topology, lun: str, paths: Sequence[_Path]) -> bool | None:
    """Return whether the array serves I/O equally well over all working paths.

    None: neither the host nor the array reports that."""
    usable = [path.configured.state for path in paths if path.works]
    if any(state.startswith(_NON_OPTIMISED) for state in usable):
        return False
    if usable and all(state.startswith(_OPTIMISED) for state in usable):
        return True
    attributes = topology.entities[lun].attributes
    volumes = topology.related(lun, "backed_by", "volume")
    arrays = [array for volume in volumes for array in topology.related(volume, "member_of", "array")]
    modes = [topology.entities[array].attributes.get("array_access") for array in arrays]
    return next(
        (_EQUIVALENT[str(mode)] for mode in (*modes, attributes.get("path_access")) if str(mode) in _EQUIVALENT), None
    )


def _states(paths: Sequence[_Path], count: float | None, active: float | None) -> dict[str, FactValue]:
    lost = [path for path in paths if path.lost]
    all_known = bool(paths) and all(path.usable is not None for path in paths)
    down = [path for path in paths if path.usable == 0 and not path.configured.worked and not path.standby]
    return {
        "paths": float(len(paths)) if paths else count,
        "usable_paths": float(sum(path.works for path in paths)) if all_known else active if not paths else None,
        "lost_paths": float(len(lost)) if all_known else None,
        "lost_path": lost[0].configured.label if lost else None,
        "changing_paths": float(sum(path.changing for path in paths)) if all_known else None,
        "down_paths": float(len(down)) if all_known else None,
        "waiting_paths": float(sum(path.standby and path.usable is None for path in paths)) if paths else None,
        "standby_paths": float(sum(path.standby for path in paths)) if paths else None,
    }


def _flapping(topology: Topology, paths: Sequence[_Path], changes: SourceEvents, step: Step) -> dict[str, FactValue]:
    """Return facts of paths that flap around a step. If a path was down only between two polls, only its change
    events show it, and these are seen one poll later."""
    length = step.end - step.start
    near = [
        topology.known_as.get((source, "path", str(event.detail.get("path"))))
        for source, event in changes
        if step.start - length <= event.seen <= step.end + length
    ]
    counts = {path.configured.label: near.count(path.configured.entity) for path in paths}
    flapping = [label for label, count in counts.items() if count >= _FLAPPING_CHANGES]
    return {
        "flapping_paths": float(len(flapping)) if paths else None,
        "flapping_path": max(flapping, key=lambda label: counts[label], default=None),
    }


def _ends(topology: Topology, paths: Sequence[_Path]) -> dict[str, FactValue]:
    """Return facts of the ends of the working paths. None: unknown for some of them."""
    hbas, targets = [path.configured.hba for path in paths], [path.configured.target for path in paths]
    speeds = [path.speed for path in paths if path.speed is not None]
    all_speeds = len(speeds) == len(paths)
    return {
        "initiators": _number(hbas),
        "target_ports": _number(targets),
        "fabrics": _fabrics(topology, [hba for hba in hbas if hba is not None]) if None not in hbas else None,
        "slowest_bits_per_second": min(speeds, default=None) if all_speeds else None,
        "fastest_bits_per_second": max(speeds, default=None) if all_speeds else None,
    }


def _number(ends: Sequence[str | None]) -> float | None:
    return float(len(set(ends))) if ends and None not in ends else None


def _fabrics(topology: Topology, hbas: Sequence[str]) -> float | None:
    """Count the fabrics of initiator ports by the fabric's name.

    Ports of one switch are in one fabric. None: unknown."""
    names = {as_text(topology.entities[hba].attributes.get("fabric_wwn")) for hba in hbas}
    if names and None not in names:
        return float(len(names))
    ports = [next(iter(topology.related(hba, "logged_in", "switch_port")), None) for hba in hbas]
    switches = {switch_of(topology, port) if port is not None else None for port in ports}
    return 1.0 if len(switches) == 1 and None not in switches else None


def _spread(paths: Sequence[_Path]) -> dict[str, FactValue]:
    """Return facts of the spread of I/Os over the paths. None, or left out: not all working paths count their
    I/Os."""
    used = [path for path in paths if path.works or path.ops]
    total = sum(path.ops or 0.0 for path in used)
    has_state = [path.configured.state.startswith((*_OPTIMISED, *_NON_OPTIMISED)) for path in used]
    non_optimised = [path for path in used if path.configured.state.startswith(_NON_OPTIMISED)]
    if not total or any(path.ops is None for path in used):
        return {"non_optimised_share": 0.0 if used and all(has_state) and not non_optimised else None}
    return {
        "non_optimised_share": sum(path.ops or 0.0 for path in non_optimised) / total if all(has_state) else None,
        "detour_ratio": _detour_ratio(used, non_optimised) if all(has_state) else None,
    }


def _detour_ratio(used: Sequence[_Path], non_optimised: Sequence[_Path]) -> float | None:
    """Return the ratio of the mean latency over non-optimised paths to that over the other paths. None: not all paths
    that carry I/O are timed, or all are of the same kind."""
    carrying = [path for path in used if path.ops]
    seconds = [
        sum((path.ops or 0.0) * (path.seconds or 0.0) for path in paths) / sum(path.ops or 0.0 for path in paths)
        for is_detour in (True, False)
        if (paths := [path for path in carrying if (path in non_optimised) == is_detour])
    ]
    return seconds[0] / seconds[1] if len(seconds) == 2 and all(path.seconds for path in carrying) else None
