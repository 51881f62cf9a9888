"""Names of the settings that were changed between two runs, and what remains open if several were changed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.comparison.differences import Difference

_NAMES: Mapping[str, tuple[str, str]] = {
    "path_policy": ("path policy", "no downtime"),
    "path_switch_operations": ("I/Os per path", "no downtime"),
    "limit_ops_per_second": ("IOPS limit", "no downtime"),
    "qos_ops_per_second": ("QoS limit", "no downtime"),
    "qos_bytes_per_second": ("QoS limit", "no downtime"),
    "queue_depth": ("queue depth", ""),
    "speed": ("link speed", "takes one path down"),
    "capable_bits_per_second": ("link speed", "takes one path down"),
    "controller_type": ("adapter type", "needs a VM restart"),
}
"""Setting → its name, and what changing it costs (`disruption` of the rules); the cheapest to change first."""
_LABELS = frozenset(
    (
        *("description", "alias", "symbolic_name", "host_name", "domain_id", "serial", "device_number", "pci_device"),
        *("wwnn", "fabric_wwn", "wwid", "uuid", "nqn", "target_nqn", "target_iqn"),
    )
)
"""Settings that only distinguish entities."""
_FOLLOWS = {
    ("", "path_policy_native"): "path_policy",
    ("vdisk", "queue_depth"): "controller_type",
    ("vdisk", "controller"): "controller_type",
}
"""(Kind of entity, or "" for all; setting) → the setting that determines it: if both changed, only that is named."""


def changed_settings(differences: Sequence[Difference]) -> tuple[str, ...]:
    """Names of the settings that differ, each once and sorted, without those that only one run has."""
    settings = [d for d in differences if d.setting not in ("used", *_LABELS) and d.read_only_in is None]
    changed = {(difference.entity, difference.setting) for difference in settings}
    return tuple(sorted({_name(d.setting) for d in settings if not _follows(d, changed)}))


def confounded(differences: Sequence[Difference]) -> str | None:
    """Why no effect can be assigned to a single setting, and which one to change first. None: at most one changed."""
    names = changed_settings(differences)
    if len(names) < 2:
        return None
    order = {name: (number, cost) for number, (name, cost) in enumerate(_NAMES.values())}
    first = min(names, key=lambda name: (order[name][0] if name in order else len(order), name))
    cost = order.get(first, (0, ""))[1]
    return (
        f"{len(names)} settings changed at once ({', '.join(names)}): this comparison cannot show which of them "
        f"helped; change one first: {first}{f' ({cost})' if cost else ''}."
    )


def _name(setting: str) -> str:
    return _NAMES[setting][0] if setting in _NAMES else setting.replace("_", " ")


def _follows(difference: Difference, changed: set[tuple[str, str]]) -> bool:
    kind = difference.entity.partition(":")[0]
    origins = {_FOLLOWS.get((scope, difference.setting)) for scope in ("", kind)}
    return any((difference.entity, origin) in changed for origin in origins if origin is not None)
