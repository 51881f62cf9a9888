"""Facts of multipath devices: how many ways lead to a LUN, whether they work, and how the policy spreads the I/O."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from sanpath.facts.host.under_test import UnderTest, always, figure, gauge, in_flight, platform, rate, text, truth
from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.table import FactRow, FactValue
from sanpath.model import Scalar
from sanpath.topology.identity import Topology
from sanpath.topology.paths import switch_of

_ONE_AT_A_TIME = ("most_recently_used", "fixed", "failover_only")
_STANDBY = ("standby", "ghost", "passive", "disabled")
"""How states begin in which a path works and carries nothing: it leads to a controller that does not own the LUN."""
_NON_OPTIMISED = ("active/non-optimized", "active/unoptimized", "non-optimized")
_OPTIMISED = ("active/optimized", "optimized")
_ALIKE = {"active/active": True, "active_active": True, "symmetric": True, "active/passive": False}
"""What host or array say of its access → whether all paths that work are as good as each other."""
_IDLE = 0.01
"""A path with a smaller share of the I/Os than this carries nothing."""


@dataclass(frozen=True, slots=True)
class _Way:
    """A path as it is set up. `device`: the block device that it is of its own, on Linux; `worked`: I/O could go over
    it at some time of the run; `usable`: whether it can, as the inventory says. None: not known."""

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
    """A path in one step. `usable`: share of the step in which I/O could go over it; `ops`: I/Os a second over it in
    the direction of the main load; `speed`: of its slower end, bits a second. None: not known."""

    way: _Way
    usable: float | None
    ops: float | None
    speed: float | None

    @property
    def standby(self) -> bool:
        return self.way.state.startswith(_STANDBY)

    @property
    def lost(self) -> bool:
        return self.usable is not None and not always(self.usable) and self.way.worked

    @property
    def works(self) -> bool:
        return self.usable is not None and always(self.usable)


def multipath_rows(topology: Topology, steps: Sequence[UnderTest], events: SourceEvents) -> Iterator[FactRow]:
    """One row a LUN that is reached over paths and a step, in the direction of the main load."""
    changed = {(source, event.detail.get("path")) for source, event in events if event.name == "path-state"}
    ways: dict[str, list[_Way]] = {}
    for lun in dict.fromkeys(lun for step in steps for lun in step.devices):
        ways[lun] = [_way(topology, steps, path, changed) for path in topology.related(lun, "member_of", "path")]
    for step in steps:
        for lun in step.devices:
            about, paths = topology.entities[lun].attributes, [_path(topology, step, way) for way in ways[lun]]
            if not paths and figure(about.get("paths")) is None:
                continue
            samples = step.of(lun)
            yield {
                "entity": lun,
                "step": step.load.step,
                "direction": step.load.direction,
                "windows": min((sample.windows for sample in samples), default=0),
                "platform": platform(topology, lun),
                **_names(topology, lun),
                **_policy(topology, lun, paths),
                **_states(paths, figure(about.get("paths")), figure(about.get("paths_active"))),
                **_ends(topology, [path for path in paths if path.works]),
                **_spread(paths),
                "in_flight": in_flight(samples),
                "busiest_utilisation": step.busiest_utilisation,
            }


def _way(topology: Topology, steps: Sequence[UnderTest], path: str, changed: Container[tuple[str, Scalar]]) -> _Way:
    entity = topology.entities[path]
    about = entity.attributes
    port = next(iter(topology.related(path, "targets", "array_port")), None)
    worked = any(name in changed for name in entity.known_as) or any(gauge(s.of(path), "path_usable") for s in steps)
    local = (topology.known_as.get((source, "lun", str(about.get("device")))) for source, _ in entity.known_as)
    return _Way(
        path,
        entity.label,
        str(about.get("state") or "").lower(),
        next(iter(topology.related(path, "attached_to", "hba")), None),
        port,
        port or text(about.get("target")) or text(about.get("controller")),
        next((lun for lun in local if lun is not None), None),
        truth(about.get("usable")),
        worked,
    )


def _path(topology: Topology, step: UnderTest, way: _Way) -> _Path:
    usable = gauge(step.of(way.entity), "path_usable")
    if usable is None and way.usable is not None:
        usable = float(way.usable)
    counter = f"ops_{step.load.direction}_total"
    ops = rate(step.of(way.entity), counter)
    if ops is None:
        ops = rate(step.of(way.device), counter)
    ends = [end for end in (way.hba, way.port) if end is not None]
    speeds = [speed for end in ends if (speed := _speed(topology, step, end)) is not None]
    return _Path(way, usable, ops, min(speeds, default=None))


def _speed(topology: Topology, step: UnderTest, port: str) -> float | None:
    told = gauge(step.of(port), "link_speed_bits_per_second")
    return told or figure(topology.entities[port].attributes.get("speed_bits_per_second"))


def _names(topology: Topology, lun: str) -> dict[str, FactValue]:
    entity = topology.entities[lun]
    device = [name for name in entity.ids.get("device", ()) if not name.startswith(("naa.", "eui."))]
    subsystem = next(iter(device), "")
    return {
        "naa": next(iter(entity.ids.get("naa", ())), None),
        "device": subsystem or None,
        "map": text(entity.attributes.get("map")),
        "nvme": subsystem.startswith("nvme") if subsystem else None,
    }


def _policy(topology: Topology, lun: str, paths: Sequence[_Path]) -> dict[str, FactValue]:
    about = topology.entities[lun].attributes
    policy = text(about.get("path_policy"))
    return {
        "policy": policy,
        "policy_native": text(about.get("path_policy_native")),
        "one_path_policy": None if policy is None else policy in _ONE_AT_A_TIME,
        "equal_paths": _equal(topology, lun, paths),
        "switch_operations": figure(about.get("path_switch_operations")),
    }


def _equal(topology: Topology, lun: str, paths: Sequence[_Path]) -> bool | None:
    """Whether the array serves I/O alike over all paths that work. None: neither host nor array tells."""
    usable = [path.way.state for path in paths if path.works]
    if any(state.startswith(_NON_OPTIMISED) for state in usable):
        return False
    if usable and all(state.startswith(_OPTIMISED) for state in usable):
        return True
    about = topology.entities[lun].attributes
    volumes = topology.related(lun, "backed_by", "volume")
    arrays = [array for volume in volumes for array in topology.related(volume, "member_of", "array")]
    said = [topology.entities[array].attributes.get("array_access") for array in arrays]
    return next((_ALIKE[str(word)] for word in (*said, about.get("path_access")) if str(word) in _ALIKE), None)


def _states(paths: Sequence[_Path], number: float | None, active: float | None) -> dict[str, FactValue]:
    lost = [path for path in paths if path.lost]
    known = bool(paths) and all(path.usable is not None for path in paths)
    down = [path for path in paths if path.usable == 0 and not path.way.worked and not path.standby]
    return {
        "paths": float(len(paths)) if paths else number,
        "usable_paths": float(sum(path.works for path in paths)) if known else active if not paths else None,
        "lost_paths": float(len(lost)) if known else None,
        "lost_path": lost[0].way.label if lost else None,
        "down_paths": float(len(down)) if known else None,
        "standby_paths": float(sum(path.standby for path in paths)) if paths else None,
    }


def _ends(topology: Topology, paths: Sequence[_Path]) -> dict[str, FactValue]:
    """Where the paths that work begin and end. None: it is not known of all of them."""
    hbas, targets = [path.way.hba for path in paths], [path.way.target for path in paths]
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
    """Fabrics that initiator ports have logged in to, by the fabric's name; ports of one switch share its fabric."""
    names = {text(topology.entities[hba].attributes.get("fabric_wwn")) for hba in hbas}
    if names and None not in names:
        return float(len(names))
    ports = [next(iter(topology.related(hba, "logged_in", "switch_port")), None) for hba in hbas]
    switches = {switch_of(topology, port) if port is not None else None for port in ports}
    return 1.0 if len(switches) == 1 and None not in switches else None


def _spread(paths: Sequence[_Path]) -> dict[str, FactValue]:
    """How the I/Os are spread over the paths. None: the I/Os of a path that works are not counted."""
    used = [path for path in paths if path.works or path.ops]
    total = sum(path.ops or 0.0 for path in used)
    side = [path.way.state.startswith((*_OPTIMISED, *_NON_OPTIMISED)) for path in used]
    off = [path for path in used if path.way.state.startswith(_NON_OPTIMISED)]
    if not total or any(path.ops is None for path in used):
        return {"non_optimised_share": 0.0 if used and all(side) and not off else None}
    return {
        "busiest_path_share": max(path.ops or 0.0 for path in used) / total,
        "idle_paths": float(sum((path.ops or 0.0) < _IDLE * total for path in used)),
        "non_optimised_share": sum(path.ops or 0.0 for path in off) / total if all(side) else None,
    }
