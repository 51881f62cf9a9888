"""Families of paths as a hypervisor reports them: which can carry I/O, and whether the path policy is suitable."""

from __future__ import annotations

from sanpath_lab.families.case import Label
from sanpath_lab.families.links import CAUSES_ELSEWHERE, fill
from sanpath_lab.families.san import San

_POLICY = ("single-path-in-use", "policy-uses-one-path", "round-robin-batch-large", "path-serialised")
"""Rules that accuse the path policy."""


def dead_path(san: San) -> Label:
    """A path has been lost, and Round Robin spreads the load over the rest: it fills the link of most of them, or is
    too little to fill any."""
    san.vcenter, san.paths_each = True, san.random.choice((1, 2))
    dead, speed = san.random.randrange(2), san.random.choice((4, 8))
    san.path_states[dead, san.random.randrange(san.paths_each)] = "dead"
    if san.random.random() < 0.3:
        san.threads, san.outstanding = san.random.choice(((1, 2), (1, 2, 4))), 1
        return san.truth(
            "concurrency_limited", "load", findings=["paths-down"], forbidden=["link-full", *_POLICY]
        ), None
    san.host_gigabit = [speed, speed]
    fill(san, speed)
    label = {"findings": ["paths-down", "link-full"], "forbidden": (*CAUSES_ELSEWHERE, *_POLICY)}
    return san.truth("bottleneck", "host", san.host_port(1 - dead), **label), {"host_gigabit": [2 * speed, 2 * speed]}


def mru_active_passive(san: San) -> Label:
    """Most Recently Used keeps to one path. The other path leads to the controller that does not serve the volume,
    so it cannot relieve the full link. Such an array is not read."""
    san.vcenter, san.access, san.path_policy = True, "active/passive", "most_recently_used"
    standby, speed = san.random.randrange(2), san.random.choice((4, 8))
    san.path_states[standby, 0] = "standby"
    ends = san.random.choice((san.host_gigabit, san.array_gigabit))
    at_host = ends is san.host_gigabit
    ends[:] = [speed, speed]
    fill(san, speed)
    port = san.host_port(1 - standby) if at_host else san.array_port(1 - standby)
    label = {"findings": ["link-full"], "forbidden": (*CAUSES_ELSEWHERE, *_POLICY)}
    truth = san.truth("bottleneck", "host" if at_host else "array_front", port, **label)
    return truth, {"host_gigabit" if at_host else "array_gigabit": [2 * speed, 2 * speed]}
