"""Families of random scenarios with a label: each varies one fault."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath_lab.families import arrays, caches, ends, links, paths
from sanpath_lab.families.case import Case, Draw, drawn

FAMILIES: Mapping[str, Draw] = {
    draw.__name__.replace("_", "-"): draw
    for draw in (
        ends.healthy,
        ends.demand_limited,
        ends.concurrency,
        ends.generator_cpu,
        ends.zeros,
        ends.lun_queue,
        ends.queue_depth_twin,
        ends.queue_above_link,
        ends.vscsi_queue,
        ends.controller,
        ends.slow_media,
        ends.noisy_volume,
        ends.qos,
        ends.two_faults,
        arrays.two_arrays,
        caches.cache_resident,
        caches.write_cache_full,
        links.slow_host_edge,
        links.slow_array_edge,
        links.isl,
        links.single_path,
        links.unequal_paths,
        links.path_slicing,
        paths.dead_path,
        paths.mru_active_passive,
        links.noisy_port,
        links.slow_drain,
        links.damaged_frames,
        links.busy_port_off_path,
    )
}
"""Family name → function that makes its fault."""


def case(family: str, seed: int) -> Case:
    """Return the case of a family with a seed. Raises KeyError: no family has that name."""
    return drawn(family, seed, FAMILIES[family])
