"""Joins the reports of all sources into entities under one name each, with the evidence, and reports failed joins."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from sanpath.model import Entity, Link, Scalar, SourceEntity, SourceLink
from sanpath.recording.format.layout import CONFIG
from sanpath.topology.keys import INITIATOR_KEYS, TRUST, Local, label_of, normalise
from sanpath.topology.logins import (
    drop_wrong_guesses,
    keep_nearest_logins,
    move_to_members,
    wwpn_without_name,
)
from sanpath.topology.machine_names import spell_machine, spellings
from sanpath.topology.port_descriptions import connect_described
from sanpath.topology.result_files import link_to_only_machine, repeat_for_numbered_loads
from sanpath.topology.same_entity import same_entities
from sanpath.topology.topology import SAME_TRAFFIC, Topology, Unjoined
from sanpath.topology.vm_moves import Report, links_at

_LOCAL_KINDS = ("switch_port", "array_port", "controller", "volume", "media", "path")
"""Kinds whose names are unique only within their device."""
_DECLARABLE_KINDS = ("load", "vm", "vdisk", "host", "hba", "lun")
"""Kinds that only the configuration may declare."""
_MACHINES = ("host", "vm")
"""Kinds of machines."""
_PARTS_OF_MACHINES = ("hba", "lun", "vdisk", "cgroup")
"""Kinds whose names may begin with the machine's name and a slash."""


def resolve(inventory: Iterable[Report], moment_us: int | None = None) -> Topology:
    """Join the reports of all sources. A later report of a source replaces its earlier ones.

    A virtual machine that has moved is placed on the host where it ran at `moment_us`, on the recorder's clock; None:
    at the end."""
    inventory = list(inventory)
    entities = {
        (source, item.kind, item.local_id): item for source, _, item in inventory if isinstance(item, SourceEntity)
    }
    links = links_at(inventory, moment_us)
    _add_configured(entities, links)
    links |= {(CONFIG, link): None for link in repeat_for_numbered_loads(entities, links)}
    for source, item in list(link_to_only_machine(entities, links)):
        if isinstance(item, SourceEntity):
            entities[source, item.kind, item.local_id] = item
        else:
            links[source, item] = None
    entities = drop_wrong_guesses(entities)
    names = _names(entities, links)
    topology = Topology()
    _make_entities(topology, entities, names, links, _duplicate_ports(entities, links))
    _join_guests(topology)
    _make_links(topology, links)
    _attach_initiators(topology)
    connect_described(topology)
    _link_luns_to_volumes(topology)
    _link_guest_devices(topology)
    topology.index_kinds()
    return topology


def _add_configured(entities: dict[Local, SourceEntity], links: Iterable[tuple[str, SourceLink]]) -> None:
    """Add entities named only in links of the configuration."""
    for source, link in links:
        for kind, name in (link.from_end, link.to_end):
            if source == CONFIG and kind in _DECLARABLE_KINDS:
                entities.setdefault((CONFIG, kind, name), SourceEntity(kind, name, name, {"name": (name,)}))


def _names(entities: Mapping[Local, SourceEntity], links: Iterable[tuple[str, SourceLink]]) -> dict[Local, str]:
    """Return report → entity name: ports and volumes after their device, disks after their machine. A switch or array
    is named after its source, unless the source reports several. A port with only a known WWPN is named by it."""
    machines = {
        link.from_end[1]: link.to_end[1]
        for _, link in links
        if link.relation == "runs_on" and link.from_end[0] == "load" and link.to_end[0] in ("vm", "host")
    }
    attached = {
        (source, *link.from_end): link.to_end[1]
        for source, link in links
        if link.relation == "attached_to" and link.to_end[0] in _MACHINES
    }
    devices = Counter((source, kind) for source, kind, _ in entities if kind in ("switch", "array"))
    device_labels = {
        (source, *link.from_end): label_of(entities, (source, *link.to_end))
        for source, link in links
        if link.relation == "member_of" and devices[source, link.to_end[0]] > 1
    }
    names = {}
    for local, entity in entities.items():
        source, kind, local_id = local
        label = entity.label or local_id
        if source == CONFIG:
            names[local] = local_id
        elif kind in ("switch", "array"):
            names[local] = source if devices[source, kind] == 1 else label
        elif (wwpn := wwpn_without_name(entity)) is not None:
            names[local] = wwpn
        elif kind in _LOCAL_KINDS:
            names[local] = f"{device_labels.get(local, source)}/{label}"
        elif "device" in entity.ids and source in machines:
            names[local] = f"{machines[source]}/{entity.ids['device'][0]}"
        elif kind == "lun" and local in attached and (label,) == tuple(entity.ids.get("device", ())):
            names[local] = f"{attached[local]}/{label}"
        else:
            names[local] = label
    return _unify_spellings(names)


def _unify_spellings(names: Mapping[Local, str]) -> dict[Local, str]:
    """Spell machines alike in all names: as the configuration does, else a hypervisor, else the first source."""
    of_machines = sorted(
        (source != CONFIG, kind == "host", source, name)
        for (source, kind, _), name in names.items()
        if kind in _MACHINES
    )
    known = spellings(name for *_, name in of_machines)
    return {
        local: spell_machine(name, known) if local[1] in _MACHINES or local[1] in _PARTS_OF_MACHINES else name
        for local, name in names.items()
    }


def _duplicate_ports(
    entities: Mapping[Local, SourceEntity], links: Iterable[tuple[str, SourceLink]]
) -> list[tuple[Local, Local]]:
    """Return pairs of ports, and of their switches, that are the same although two sources read them.

    A cable has one end: if two sources report the same WWPN at ports of the same name, they read the same switch.
    """
    first_ports: dict[tuple[str, str], Local] = {}
    pairs = []
    for source, link in links:
        port = (source, *link.to_end)
        wwpn = normalise("wwpn", link.from_end[1]) if link.from_end[0] == "wwpn" else None
        if link.relation != "logged_in" or wwpn is None or port not in entities:
            continue
        first_port = first_ports.setdefault((wwpn, entities[port].label), port)
        if first_port[0] != source and not _have_different_wwpns(entities[first_port], entities[port]):
            pairs.append((first_port, port))
            pairs += [
                (switch, duplicate)
                for switch in entities
                for duplicate in entities
                if switch[1] == duplicate[1] == "switch" and (switch[0], duplicate[0]) == (first_port[0], source)
            ]
    return pairs


def _have_different_wwpns(first: SourceEntity, second: SourceEntity) -> bool:
    """Return whether the ports' own WWPNs differ: both ends of an uplink report the logins that pass it."""
    first_wwpns, second_wwpns = (
        {normalise("wwpn", v) for v in entity.ids.get("wwpn", ())} for entity in (first, second)
    )
    return bool(first_wwpns and second_wwpns) and first_wwpns.isdisjoint(second_wwpns)


def _make_entities(
    topology: Topology,
    entities: Mapping[Local, SourceEntity],
    names: Mapping[Local, str],
    links: Iterable[tuple[str, SourceLink]],
    duplicates: Iterable[tuple[Local, Local]],
) -> None:
    groups = same_entities(entities, names, links, duplicates)
    for local in entities:
        if local in topology.known_as:
            continue
        members = sorted(
            groups.get(local, (local,)),
            key=lambda n: (n[0] not in (CONFIG, SAME_TRAFFIC), wwpn_without_name(entities[n]) is not None, n),
        )
        entity = _entity([(local, entities[local]) for local in members], names[members[0]])
        topology.entities[entity.id] = entity
        topology.known_as.update(dict.fromkeys(members, entity.id))


def _entity(members: list[tuple[Local, SourceEntity]], name: str) -> Entity:
    kind = members[0][1].kind
    ids: dict[str, list[str]] = defaultdict(list)
    attributes: dict[str, Scalar] = {}
    for _, entity in members:
        for key, values in entity.ids.items():
            ids[key].extend(
                normal for value in values if (normal := normalise(key, value)) and normal not in ids[key]
            )
        for attribute, value in entity.attributes.items():
            if attributes.get(attribute) is None:
                attributes[attribute] = value
    source_ids = tuple((source, local_id) for (source, _, local_id), _ in members)
    return Entity(f"{kind}:{name}", kind, name, {k: tuple(value) for k, value in ids.items()}, attributes, source_ids)


def _join_guests(topology: Topology) -> None:
    """Join each guest that is read as a host to the virtual machine of its name.

    The name is one that a hypervisor reports, or that sanpath.yaml declares, unless sanpath.yaml also declares a host
    of that name.
    """
    vms = {vm.label: vm.id for vm in topology.of_kind("vm")}
    for host in topology.of_kind("host"):
        vm = topology.entities.get(vms.get(host.label, ""))
        declared = {source for source, _ in host.known_as} == {CONFIG}
        if vm is None or (declared and all(source == CONFIG for source, _ in vm.known_as)):
            continue
        topology.known_as.update((local, vm.id) for local, id_ in list(topology.known_as.items()) if id_ == host.id)
        attributes = {**host.attributes, **{name: v for name, v in vm.attributes.items() if v is not None}}
        topology.entities[vm.id] = replace(vm, attributes=attributes, known_as=(*vm.known_as, *host.known_as))
        del topology.entities[host.id]


def _make_links(topology: Topology, source_links: Iterable[tuple[str, SourceLink]]) -> None:
    by_key: dict[tuple[str, str], str] = {}
    # A host has the WWPNs of its ports, too. Ports are indexed last, so that a WWPN refers to the port.
    for entity in sorted(topology.entities.values(), key=lambda e: e.kind in ("hba", "array_port")):
        for key, values in entity.ids.items():
            if key != "name":
                by_key.update(((key, value), entity.id) for value in values)
    evidence: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for source, link in source_links:
        ends = [_entity_at_end(topology, by_key, source, *end) for end in (link.from_end, link.to_end)]
        if link.relation == "zoned_with" and [e and topology.entities[e].kind for e in ends] != ["hba", "array_port"]:
            # A zone may list two ports of the same role, and ports unknown to the name server.
            continue
        for end, end_id in zip((link.from_end, link.to_end), ends, strict=True):
            # An Ethernet switch learns every address in the network: those without an entity are not reported.
            if end_id is None and (link.relation, end[0]) != ("logged_in", "mac"):
                topology.unjoined.append(_unjoined(topology, source, end, link))
        if link.relation == "targets" and ends[0] and ends[1] is None and link.to_end[0] in (*TRUST, "volume"):
            topology.with_unread_target.add(ends[0])
            if link.to_end[0] == "volume":
                topology.with_unread_volume.add(ends[0])
        if ends[0] and ends[1] and ends[0] != ends[1]:
            evidence[link.relation, ends[0], ends[1]].append(f"{source}: {link.evidence}")
    topology.unjoined = list(dict.fromkeys(topology.unjoined))
    links = [Link(*key, tuple(dict.fromkeys(texts))) for key, texts in evidence.items()]
    kinds = {entity.id: entity.kind for entity in topology.entities.values()}
    for joined in keep_nearest_logins(move_to_members(links, kinds), kinds):
        topology.add_link(joined)


def _entity_at_end(
    topology: Topology, by_key: Mapping[tuple[str, str], str], source: str, kind: str, value: str
) -> str | None:
    if (entity := topology.known_as.get((source, kind, value))) is not None:
        return entity
    if f"{kind}:{value}" in topology.entities:
        return f"{kind}:{value}"
    normal = normalise(kind, value)
    return by_key.get((kind, normal)) if normal else None


def _unjoined(topology: Topology, source: str, end: tuple[str, str], link: SourceLink) -> Unjoined:
    kind, value = end
    subject = f"{kind} {value} ({source}: {link.evidence})"
    if source == SAME_TRAFFIC:
        return Unjoined(subject, "no source reports it")
    if kind in TRUST:
        return Unjoined(subject, f"no source reports anything with this {kind}")
    similar = get_close_matches(f"{kind}:{value}", [i for i in topology.entities if i.startswith(f"{kind}:")], n=1)
    return Unjoined(subject, f"no source has it; did you mean {similar[0]}?" if similar else "no source has it")


def _attach_initiators(topology: Topology) -> None:
    """Attach each initiator port without a host to the host that lists its identifier, as arrays do, or that the
    configuration names before it: HOST/PORT."""
    hosts = {
        (key, value): host.id
        for host in topology.of_kind("host")
        for key in INITIATOR_KEYS
        for value in host.ids.get(key, ())
    }
    for hba in topology.of_kind("hba"):
        listed = [
            hosts[key, value] for key in INITIATOR_KEYS for value in hba.ids.get(key, ()) if (key, value) in hosts
        ]
        if topology.related(hba.id, "attached_to", "host"):
            continue
        named = f"host:{hba.label.partition('/')[0]}"
        if listed:
            topology.add_link(Link("attached_to", hba.id, listed[0], ("the host's list of initiators",)))
        elif named in topology.entities and all(source == CONFIG for source, _ in hba.known_as):
            topology.add_link(Link("attached_to", hba.id, named, (f"{CONFIG}: its name",)))


def _link_luns_to_volumes(topology: Topology) -> None:
    """Link each LUN to the volume with its SCSI or NVMe identifier.

    Linux names an NVMe namespace by its UUID if it has one, otherwise by its NGUID (sysfs, wwid)."""
    volumes = {
        value: volume.id
        for volume in topology.of_kind("volume")
        for key in ("naa", "eui")
        for value in volume.ids.get(key, ())
    }
    volumes |= {
        f"uuid.{uuid}".lower(): volume.id
        for volume in topology.of_kind("volume")
        if (uuid := volume.attributes.get("uuid"))
    }
    for lun in topology.of_kind("lun"):
        identifiers = [*lun.ids.get("naa", ()), *lun.ids.get("eui", ())]
        wwid = str(lun.attributes.get("wwid")).lower()
        if wwid.startswith("uuid.") and wwid in volumes and not _is_path(topology, lun):
            identifiers.append(wwid)
        for identifier in identifiers:
            if identifier in volumes:
                topology.add_link(Link("backed_by", lun.id, volumes[identifier], (f"identifier {identifier}",)))
            # A host also has local disks, so only LUNs named by the test or the configuration are reported.
            elif topology.related(lun.id, "targets") or any(source == CONFIG for source, _ in lun.known_as):
                topology.unjoined.append(
                    Unjoined(f"{lun.id} ({identifier})", "no array presents a volume with this identifier")
                )


def _is_path(topology: Topology, lun: Entity) -> bool:
    """Return whether a block device is a path of another one with the same identifier."""
    return any(
        link.from_entity == lun.id
        and topology.entities[link.to_entity].kind == "lun"
        and topology.entities[link.to_entity].attributes.get("wwid") == lun.attributes.get("wwid")
        for link in topology.links
        if link.relation == "member_of"
    )


def _link_guest_devices(topology: Topology) -> None:
    """Link each block device of a guest to the virtual disk with its serial number or identifier.

    Both are unique only within a machine, because images are copied with their settings: so they are no join keys.
    """
    for disk in topology.of_kind("vdisk"):
        machines = {topology.entities[vm].label for vm in topology.related(disk.id, "attached_to", "vm")}
        for lun in topology.of_kind("lun") if machines else ():
            if lun.label.partition("/")[0] not in machines:
                continue
            serial, naa = disk.attributes.get("serial"), disk.attributes.get("naa")
            if serial and serial == lun.attributes.get("serial"):
                topology.add_link(Link("backed_by", lun.id, disk.id, (f"serial number {serial}",)))
            elif naa and naa in lun.ids.get("naa", ()):
                topology.add_link(Link("backed_by", lun.id, disk.id, (f"identifier {naa}",)))
