"""How full each link of a load is: as a switch counts it, as a port at one end counts it, or as the load's bytes
imply.

Every I/O crosses its links in both directions: the responses of writes travel with the data of reads, and the
commands of reads with the data of writes. So the direction closer to its limit counts, even if the payload travels
the other way, and whoever fills it. Uncounted parallel links share the load's bytes. Two different limits are rarely
within a few percent of each other, so a plateau at the joint rate of these links still identifies them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from sanpath.catalogue.link_capacity import Capacity, payload_ratio
from sanpath.facts.fabric.capacities import cable_capacity
from sanpath.facts.fabric.link_measures import filled_ratio
from sanpath.facts.fabric.load_shares import LOADED
from sanpath.facts.table import FactRow, FactValue, number
from sanpath.model import DIRECTIONS
from sanpath.topology.paths import Cable, luns_of, paths_of_luns
from sanpath.topology.paths import cables as all_cables
from sanpath.units import bandwidth, percent
from sanpath.verdict.places.table import PlaceTable

COINCIDENT = 0.03
"""Relative difference up to which ceilings are one bottleneck: relieving only one of them gains nothing."""
_FULL_WINDOW = 0.93
"""Share of a full link's rate from which a window is at the limit."""
_CLEARLY_FULLER_DIFFERENCE = 0.05
"""Difference of utilisation from which only the fuller direction counts: if both are full, each has its own limit."""
SWITCH_ERROR = 0.025
"""Standard error of a switch's byte count: 1 % from the frame model, the rest from agents' caches and late polls."""
_PORT_ERROR = 0.04
"""The same for a port at one end: it counts words or frames, with or without headers."""
_LOAD_ALONE_RATIOS = (0.9, 1.3)
"""Smallest and largest ratio of the bytes of network ports (one, or all together) to the load's at which these ports
carry the load and hardly anything else: headers are a few per cent. sanpath's own choice."""
_MODEL_ERROR = 0.015
"""The same for the bytes that the load implies: the frame model is good to 1 %, and so is throughput."""


@dataclass(frozen=True, slots=True)
class PathLink:
    """A link of a load in one direction, or several similar links that share its bytes.

    `entities`: their names. `filled`: their bytes over those of full links; `filled_by_load`: the same in the load's
    direction. `is_steady`: whether bursts would have shown and did not. `share`: share of the load's bytes on each,
    None: it is not known whether the load crosses them. `ceiling`: bytes a second of the load that they carry when
    full, or the reached bytes if that is not known. `words`: how full they are. `row`: a switch's counts, None: no
    switch counts it. `cables`: of uncounted links; `speed`: of the slowest of them.
    """

    entities: tuple[str, ...]
    side: FactValue
    filled: float
    filled_by_load: float
    is_steady: bool
    share: float | None
    ceiling: float
    words: str
    row: FactRow | None = None
    cables: tuple[Cable, ...] = ()
    speed: Capacity | None = None

    @property
    def error(self) -> float:
        """Standard error of `filled`."""
        return SWITCH_ERROR if self.row is not None else _MODEL_ERROR if self.cables else _PORT_ERROR

    @property
    def utilisation(self) -> float | None:
        """Their bytes over the data rate, as a switch counts them. None: no switch counts them."""
        return number(self.row, "utilisation") if self.row is not None else None

    @property
    def is_at_limit(self) -> bool:
        """Whether nothing more fits on them."""
        return self.filled >= 1 - COINCIDENT


def path_links(table: PlaceTable) -> list[PathLink]:
    """The links that carry a load or may carry it, as far as any source shows how full they are."""
    counted = list(_counted(table))
    rows = [row for row in table.links if filled_ratio(row) is not None]
    ends = {end for row in rows for end in str(row["entity"]).partition(":")[2].split("--")}
    counted_links = {str(row["entity"]) for row in rows}
    at_array = [path.cables[-1] for path in table.paths if path.cables and path.cables[-1].id in counted_links]
    ends |= {port.partition(":")[2] for cable in at_array if cable.side == "array" for port in cable.devices}
    ports = list(_ports(table, ends))
    ends |= {link.entities[0].partition(":")[2] for link in ports}
    return [*counted, *ports, *_uncounted(table, ends)]


def _counted(table: PlaceTable) -> Iterator[PathLink]:
    """The links that a switch counts."""
    by_entity: dict[str, list[tuple[float, FactRow]]] = {}
    for row in (*table.links, *table.opposite_links):
        if (filled := filled_ratio(row)) is not None:
            by_entity.setdefault(str(row["entity"]), []).append((filled, row))
    for entity, directions in by_entity.items():
        ratios, own_row = [filled for filled, _ in directions], directions[0][1]
        filled, row = directions[-1 if ratios[-1] > ratios[0] + _CLEARLY_FULLER_DIFFERENCE else 0]
        share = None if own_row["on_loaded_path"] is None else number(own_row, "share")
        is_counted_often = row["utilisation_max"] is not None
        is_steady = is_counted_often and _is_steady(
            number(row, "utilisation_max") / number(row, "full_ratio"), ratios
        )
        ceiling = number(row, "ceiling_bytes_per_second") or table.load.bytes_per_second
        words = f"{entity} is at {percent(filled)} of what a saturated link carries"
        if row["direction"] != table.load.direction:
            crossing = "writes get their answers" if table.load.direction == "write" else "reads send their commands"
            words += f" in the {row['direction']} direction, in which {crossing}"
        yield PathLink(
            entities=(entity,),
            side=row["side"],
            filled=filled,
            filled_by_load=ratios[0],
            is_steady=is_steady,
            share=share,
            ceiling=ceiling,
            words=words,
            row=row,
        )


def _is_steady(fullest: float, filled: Sequence[float]) -> bool:
    """Whether no window is at the limit, and the directions differ.

    If both directions are about equally full, neither has a full window: reads and writes come in no fixed order, so
    while they queue for one direction, the other is idle. `fullest`: the fullest window; `filled`: the mean of each
    direction.
    """
    return fullest < _FULL_WINDOW and (len(filled) < 2 or max(filled) - min(filled) > _CLEARLY_FULLER_DIFFERENCE)


def _ports(table: PlaceTable, counted: Set[str]) -> Iterator[PathLink]:
    """The ports of the load's hosts and arrays that count their own bytes. `counted`: the ends of counted links."""
    load, initiators, targets = table.load, set(table.initiators), table.targets
    for_storage = {hba for hba in initiators if _is_for_storage(table, hba)}
    others = [row for row in table.rows("initiator") if row["entity"] in initiators - for_storage]
    moved = sum(number(row, f"bytes_per_second_{load.direction}") for row in others)
    carry_load = _LOAD_ALONE_RATIOS[0] <= moved / (load.bytes_per_second or 1.0) <= _LOAD_ALONE_RATIOS[1]
    for kind, side, candidates, used in (
        ("initiator", "host", initiators, for_storage),
        ("array_port", "array", targets or table.array_ports, targets),
    ):
        for row in table.rows(kind):
            entity, filled = str(row["entity"]), number(row, f"filled_ratio_{load.direction}")
            if row.get(f"filled_ratio_{load.direction}") is None or entity not in candidates:
                continue
            share = number(row, f"bytes_per_second_{load.direction}") / (load.bytes_per_second or 1.0)
            is_used = entity in used or len(candidates) == 1
            is_carrier = carry_load or _LOAD_ALONE_RATIOS[0] <= share <= _LOAD_ALONE_RATIOS[1]
            if side == "host" and entity not in used and not is_carrier:
                continue
            if entity.partition(":")[2] in counted or (share < LOADED and not is_used):
                continue
            fullest = row.get(f"filled_ratio_max_{load.direction}")
            both = [number(row, f"filled_ratio_{direction}") for direction in DIRECTIONS]
            is_steady = fullest is not None and _is_steady(float(fullest), both)
            words = f"{entity} counts {percent(filled)} of what a saturated link carries"
            known_share = share if is_used else None
            yield PathLink(
                entities=(entity,),
                side=side,
                filled=filled,
                filled_by_load=filled,
                is_steady=is_steady,
                share=known_share,
                ceiling=load.bytes_per_second,
                words=words,
            )


def _is_for_storage(table: PlaceTable, port: str) -> bool:
    """Whether a host's port is known to carry storage: it has paths, or is not a network port."""
    topology = table.facts.topology
    is_network_port = topology.entities[port].attributes.get("technology") == "ethernet"
    return not is_network_port or bool(topology.related(port, "attached_to", "path"))


def _uncounted(table: PlaceTable, counted_ends: Set[str]) -> Iterator[PathLink]:
    """The uncounted links at the host and at the array, each side together: they share the load's bytes.

    Initiators, and target ports of the load's LUNs, without a known switch port may carry the load as well.
    """
    load = table.load
    if load.operation_bytes is None:
        return
    rows = table.rows("link", direction=load.direction)
    counted = {str(row["entity"]): row for row in rows if row["utilisation"] is not None}
    carried = {row["entity"] for row in table.facts.tables["link"] if row["on_loaded_path"]}
    cables = {cable.id: cable for path in table.paths for cable in path.cables}
    seen = {device for cable in all_cables(table.facts.topology) for device in cable.devices} if cables else set()
    targets = initiators_by_target(table)
    sides: dict[str, Literal["host", "array"]] = dict.fromkeys(table.initiators, "host")
    sides.update(dict.fromkeys(targets, "array"))
    cables |= {
        port: Cable(id=port, switch_port=port, device=port, side=side, facing=side, group=side)
        for port, side in sides.items()
        if port not in seen and port.partition(":")[2] not in counted_ends
    }
    for side in ("host", "array"):
        at_side = [cable for cable in cables.values() if cable.side == side]
        uncounted = [cable for cable in at_side if cable.id not in counted]
        # If some of them carried the load in other steps, only those count.
        links = [cable for cable in uncounted if cable.id in carried] or uncounted
        # A link does not carry the load if all initiators that lead to it count hardly any of the load's bytes.
        leading = {cable.id: _initiators_over(table, cable, targets) for cable in links}
        least = LOADED * load.bytes_per_second
        links = [cable for cable in links if _max_load_bytes(table, leading[cable.id]) >= least] or links
        speeds = [cable_capacity(table.facts.topology, table.facts.tables["link"], cable) for cable in links]
        known_speeds = [speed for speed in speeds if speed is not None]
        if not known_speeds or len(known_speeds) < len(links):
            continue
        # Multipathing gives every path the same load, so the slowest path holds back the others.
        speed = min(known_speeds, key=lambda capacity: capacity.data_bytes_per_second)
        slowest = tuple(cable for cable, own in zip(links, speeds, strict=True) if own == speed)
        counted_rows = [counted[cable.id] for cable in at_side if cable.id in counted]
        elsewhere = sum(number(r, "bytes_per_second") - number(r, "foreign_bytes_per_second") for r in counted_rows)
        initiators = {hba for cable in links for hba in leading[cable.id]}
        moved = min(max(0.0, load.bytes_per_second - elsewhere), _max_load_bytes(table, initiators))
        payload = speed.data_bytes_per_second * payload_ratio(speed.technology, load.operation_bytes)
        ceiling = payload * len(links)
        carriers = f"one link of {speed.name} carries"
        if len(links) > 1:
            faster = " or faster" if len(slowest) < len(links) else ""
            carriers = f"{len(links)} links of {speed.name}{faster} carry together"
        filled, names, share = moved / ceiling, tuple(cable.id for cable in slowest), 1 / len(links)
        words = f"{bandwidth(moved)} of payload = {percent(filled)} of the {bandwidth(ceiling)} that {carriers}"
        yield PathLink(
            entities=names,
            side=side,
            filled=filled,
            filled_by_load=filled,
            is_steady=False,
            share=share,
            ceiling=ceiling,
            words=words,
            cables=slowest,
            speed=speed,
        )


def _initiators_over(table: PlaceTable, cable: Cable, targets: Mapping[str, Set[str]]) -> set[str]:
    """Return the initiators whose paths cross a cable, or lead to a target port without a known switch port."""
    return {path.hba for path in table.paths if cable in path.cables} | targets.get(cable.id, set())


def initiators_by_target(table: PlaceTable) -> dict[str, set[str]]:
    """Target port → initiators with usable paths of the load's LUNs to it. Empty: not known for all LUNs."""
    topology, initiators = table.facts.topology, defaultdict[str, set[str]](set)
    for root in table.load.roots:
        paths = paths_of_luns(topology, topology.behind(luns_of(topology, root), "lun"))
        usable = [path for path in paths if topology.entities[path].attributes.get("usable") is not False]
        ends = [topology.related(path, "targets", "array_port") for path in usable]
        if not ends or not all(ends):
            return {}
        for path, ports in zip(usable, ends, strict=True):
            for port in ports:
                initiators[port] |= set(topology.related(path, "attached_to", "hba"))
    return initiators


def _max_load_bytes(table: PlaceTable, initiators: Set[str]) -> float:
    """Most bytes a second of the load that these initiators can carry, as far as they or the others count their
    own."""
    fact = f"bytes_per_second_{table.load.direction}"
    counted = {str(row["entity"]): number(row, fact) for row in table.rows("initiator") if row.get(fact) is not None}
    others = sum(moved for hba, moved in counted.items() if hba in table.initiators and hba not in initiators)
    most = max(0.0, table.load.bytes_per_second - others)
    return min(most, sum(counted[hba] for hba in initiators)) if initiators and initiators <= counted.keys() else most
