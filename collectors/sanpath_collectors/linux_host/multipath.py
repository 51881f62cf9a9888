"""Parses multipath maps from dmsetup and multipathd: policy, path groups and the state of each path. No I/O.

A line of `dmsetup table` and of `dmsetup status` (drivers/md/dm-mpath.c, multipath_status):

    mpatha: 0 8388608 multipath 0 1 alua 2 1 service-time 0 2 1 8:16 1 8:32 1 service-time 0 1 1 8:48 1
    mpatha: 0 8388608 multipath 2 0 0 0 2 1 A 0 2 2 8:16 A 0 0 1 8:32 F 3 0 1 E 0 1 2 8:48 A 0 0 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sanpath.plugin import read_json

_GROUP_STATES = {"A": "active", "E": "enabled", "D": "disabled"}
_PATH_STATES = {"A": "active", "F": "failed"}
_POLICY_OF_SELECTOR = {
    "round-robin": "round_robin",
    "queue-length": "queue_length",
    "queue-depth": "queue_length",
    "service-time": "service_time",
    "historical-service-time": "service_time",
    "numa": "numa",
}
"""Path selector of dm-multipath, or iopolicy of NVMe → sanpath's name of the policy on every platform."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of paths that are used together. Only one group is in use; the others are for failover.

    `selector`: how the path of the next I/O is selected, "service-time 0"; `state`: "active", "enabled" or
    "disabled"; `paths`: device number, "8:16" → "active", "failed" or another state. "": unknown. `repeat`: number of
    consecutive I/Os on one path; None: unknown.
    """

    selector: str = ""
    state: str = ""
    paths: Mapping[str, str] = field(default_factory=dict)
    repeat: int | None = None


Maps = Mapping[str, Sequence[Group]]
"""Map → its groups, in order of preference."""

GroupParser = Callable[[Iterator[str]], Group]


def parse_dmsetup(table: str, status: str) -> Maps:
    """Parse the output of `dmsetup table` and `dmsetup status`. Malformed lines are left out."""
    states = dict(_parse_maps(status, _parse_status_group))
    maps = {}
    for name, groups in _parse_maps(table, _parse_table_group):
        status_groups = states.get(name, [])
        if [list(group.paths) for group in status_groups] == [list(group.paths) for group in groups]:
            groups = [
                replace(group, state=n.state, paths=n.paths) for group, n in zip(groups, status_groups, strict=True)
            ]
        maps[name] = groups
    return maps


def parse_multipathd(output: str) -> Maps | None:
    """Parse the output of `multipathd show maps json`; None: another format."""
    try:
        return {entry["name"]: [_json_group(group) for group in entry["path_groups"]] for entry in _json_maps(output)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def path_states(maps: Maps) -> dict[str, str]:
    """Device number → state of the path."""
    return {
        device_number: state
        for groups in maps.values()
        for group in groups
        for device_number, state in group.paths.items()
    }


def parse_dmsetup_states(status: str) -> dict[str, str]:
    """Device number → state of the path, from `dmsetup status` alone."""
    return path_states(dict(_parse_maps(status, _parse_status_group)))


def policy(groups: Sequence[Group]) -> str | None:
    """The platform-independent name of the multipath policy; None: unknown, or it has none."""
    if len(groups) > 1 and all(len(group.paths) == 1 for group in groups):
        return "failover_only"
    return next((policy_of_selector(group.selector) for group in groups), None)


def policy_of_selector(selector: str) -> str | None:
    """The platform-independent name of a path selector or an NVMe iopolicy; None: it has none.

    >>> policy_of_selector("service-time 0"), policy_of_selector("io-affinity 0")
    ('service_time', None)
    """
    return _POLICY_OF_SELECTOR.get(selector.partition(" ")[0])


def native_policy(groups: Sequence[Group]) -> str | None:
    """The multipath policy in Linux's terms; None: unknown.

    >>> native_policy([Group("service-time 0", paths={"8:0": "", "8:16": ""}), Group(paths={"8:32": ""})])
    'service-time 0, groups of 2 and 1 paths'
    """
    if not groups:
        return None
    sizes = [str(len(group.paths)) for group in groups]
    return f"{groups[0].selector}, group{'s' * (len(sizes) > 1)} of {' and '.join(sizes)} paths"


def _parse_maps(output: str, parse_group: GroupParser) -> Iterator[tuple[str, list[Group]]]:
    for line in output.splitlines():
        name, _, text = line.partition(": ")
        fields = iter(text.split()[2:])
        try:
            if next(fields) == "multipath":
                yield name, _parse_groups(fields, parse_group)
        except (StopIteration, ValueError):
            continue


def _parse_groups(fields: Iterator[str], parse_group: GroupParser) -> list[Group]:
    for _ in range(2):  # features and hardware handler
        _pop(fields, int(next(fields)))
    group_count = int(next(fields))
    next(fields)  # the initial group
    return [parse_group(fields) for _ in range(group_count)]


def _parse_table_group(fields: Iterator[str]) -> Group:
    name = next(fields)
    arguments = int(next(fields))
    selector = " ".join([name, str(arguments), *_pop(fields, arguments)])
    paths, fields_per_path = int(next(fields)), int(next(fields))
    states, repeat = {}, None
    for _ in range(paths):
        states[next(fields)] = ""
        arguments_of_path = _pop(fields, fields_per_path)
        # The argument of an unknown selector, such as io-affinity with its processors, may be anything.
        repeat = int(arguments_of_path[0]) if arguments_of_path and name in _POLICY_OF_SELECTOR else None
    return Group(selector, "", states, repeat)


def _parse_status_group(fields: Iterator[str]) -> Group:
    state = _GROUP_STATES.get(next(fields), "")
    _pop(fields, int(next(fields)))
    paths, fields_per_path = int(next(fields)), int(next(fields))
    states = {}
    for _ in range(paths):
        device_number = next(fields)
        states[device_number] = _PATH_STATES.get(next(fields), "")
        _pop(fields, 1 + fields_per_path)  # number of failures, and the selector's values
    return Group("", state, states)


def _pop(fields: Iterator[str], count: int) -> list[str]:
    return [next(fields) for _ in range(count)]


def _json_maps(output: str) -> list[Any]:
    # The output of an interactive multipathd begins with its prompt.
    return list(read_json(output[output.index("{") : output.rindex("}") + 1])["maps"])


def _json_group(entry: Mapping[str, Any]) -> Group:
    paths = {path["dev_t"]: _json_state(path) for path in entry.get("paths", ())}
    return Group(str(entry["selector"]), str(entry.get("dm_st", "")), paths)


def _json_state(path: Mapping[str, Any]) -> str:
    """State of a path. A ghost is a path to a passive controller: it has not failed, but carries no I/O."""
    return "ghost" if path.get("chk_st") == "ghost" else str(path.get("dm_st", ""))
