"""Multipath maps as dmsetup and multipathd tell of them: policy, path groups and the state of each path. No I/O.

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
_POLICIES = {
    "round-robin": "round_robin",
    "queue-length": "queue_length",
    "queue-depth": "queue_length",
    "service-time": "service_time",
    "historical-service-time": "service_time",
    "numa": "numa",
}
"""What dm-multipath and NVMe (iopolicy) call it → what sanpath calls it on every platform."""


@dataclass(frozen=True, slots=True)
class Group:
    """Paths that are used together. Of several groups one is in use, the others are for when it fails.

    `selector`: which path of the group takes the next I/O, "service-time 0"; `state`: "active", "enabled" or
    "disabled"; `paths`: device number, "8:16" → "active", "failed" or what else it is called. "": not known.
    `repeat`: I/Os that one path takes in a row.
    """

    selector: str = ""
    state: str = ""
    paths: Mapping[str, str] = field(default_factory=dict)
    repeat: int | None = None


Maps = Mapping[str, Sequence[Group]]
"""Map → its groups, in the order in which they are preferred."""

ReadGroup = Callable[[Iterator[str]], Group]


def of_dmsetup(table: str, status: str) -> Maps:
    """Maps as `dmsetup table` and `dmsetup status` tell of them. A line that makes no sense is left out."""
    states = dict(_maps(status, _status_group))
    found = {}
    for name, groups in _maps(table, _table_group):
        now = states.get(name, [])
        if [list(group.paths) for group in now] == [list(group.paths) for group in groups]:
            groups = [replace(group, state=n.state, paths=n.paths) for group, n in zip(groups, now, strict=True)]
        found[name] = groups
    return found


def of_multipathd(output: str) -> Maps | None:
    """Maps as `multipathd show maps json` tells of them; None when it does not."""
    try:
        return {said["name"]: [_said_group(group) for group in said["path_groups"]] for said in _json_maps(output)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def path_states(maps: Maps) -> dict[str, str]:
    """Device number → state of the path."""
    return {number: state for groups in maps.values() for group in groups for number, state in group.paths.items()}


def states_of_dmsetup(status: str) -> dict[str, str]:
    """Device number → state of the path, of `dmsetup status` alone."""
    return path_states(dict(_maps(status, _status_group)))


def policy(groups: Sequence[Group]) -> str | None:
    """Which paths carry I/O, in the words that all platforms share; None: not known, or none of them."""
    if len(groups) > 1 and all(len(group.paths) == 1 for group in groups):
        return "failover_only"
    return next((policy_named(group.selector) for group in groups), None)


def policy_named(native: str) -> str | None:
    """The shared word for a path selector or an NVMe iopolicy.

    >>> policy_named("service-time 0"), policy_named("io-affinity 0")
    ('service_time', None)
    """
    return _POLICIES.get(native.partition(" ")[0])


def policy_native(groups: Sequence[Group]) -> str | None:
    """The same in Linux's own words.

    >>> policy_native([Group("service-time 0", paths={"8:0": "", "8:16": ""}), Group(paths={"8:32": ""})])
    'service-time 0, groups of 2 and 1 paths'
    """
    if not groups:
        return None
    sizes = [str(len(group.paths)) for group in groups]
    return f"{groups[0].selector}, group{'s' * (len(sizes) > 1)} of {' and '.join(sizes)} paths"


def _maps(output: str, group: ReadGroup) -> Iterator[tuple[str, list[Group]]]:
    for line in output.splitlines():
        name, _, rest = line.partition(": ")
        words = iter(rest.split()[2:])
        try:
            if next(words) == "multipath":
                yield name, _groups(words, group)
        except (StopIteration, ValueError):
            continue


def _groups(words: Iterator[str], group: ReadGroup) -> list[Group]:
    for _ in range(2):  # features and hardware handler
        _some(words, int(next(words)))
    number = int(next(words))
    next(words)  # the group to begin with
    return [group(words) for _ in range(number)]


def _table_group(words: Iterator[str]) -> Group:
    name = next(words)
    arguments = int(next(words))
    selector = " ".join([name, str(arguments), *_some(words, arguments)])
    paths, each = int(next(words)), int(next(words))
    found, repeat = {}, None
    for _ in range(paths):
        found[next(words)] = ""
        given = _some(words, each)
        repeat = int(given[0]) if given else None
    return Group(selector, "", found, repeat)


def _status_group(words: Iterator[str]) -> Group:
    state = _GROUP_STATES.get(next(words), "")
    _some(words, int(next(words)))
    paths, each = int(next(words)), int(next(words))
    found = {}
    for _ in range(paths):
        number = next(words)
        found[number] = _PATH_STATES.get(next(words), "")
        _some(words, 1 + each)  # how often it has failed, and the selector's own figures
    return Group("", state, found)


def _some(words: Iterator[str], number: int) -> list[str]:
    return [next(words) for _ in range(number)]


def _json_maps(output: str) -> list[Any]:
    return list(read_json(output)["maps"])


def _said_group(said: Mapping[str, Any]) -> Group:
    paths = {path["dev_t"]: _said_state(path) for path in said.get("paths", ())}
    return Group(str(said["selector"]), str(said.get("dm_st", "")), paths)


def _said_state(path: Mapping[str, Any]) -> str:
    """A ghost is a path of a passive controller: it is not failed, and carries nothing."""
    return "ghost" if path.get("chk_st") == "ghost" else str(path.get("dm_st", ""))
