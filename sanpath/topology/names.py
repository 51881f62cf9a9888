"""The short name of an entity, its kind as a noun, and sentences with nouns instead of ids."""

from __future__ import annotations

import re

_NOUNS = {
    "load": "load",
    "vm": "VM",
    "vdisk": "virtual disk",
    "host": "host",
    "hba": "HBA",
    "lun": "LUN",
    "cgroup": "control group",
    "path": "path",
    "switch": "switch",
    "switch_port": "switch port",
    "tcp_connection": "TCP connection",
    "link": "link",
    "array": "array",
    "controller": "controller",
    "array_port": "target port",
    "volume": "volume",
    "media": "media",
    "cluster_node": "cluster node",
    "source": "source",
}
_NETWORK_PORT = re.compile(r"(eth|en[ops]\d|enx|em\d|p\d+p\d|bond|team|vmnic|iqn\.).*", re.IGNORECASE)
_HBA = re.compile(r"(vmhba|vhba|hba|fc).*|host\d+|[0-9a-f]{16}|([0-9a-f]{2}:){7}[0-9a-f]{2}", re.IGNORECASE)
"""Names of host ports in operating systems and fabrics, such as the WWPN for Fibre Channel."""
IDENTIFIER = re.compile(r"(naa|eui|t10|uuid|iqn|nqn)[.:].*|[0-9a-f:]+")
"""Names that no person chose."""
_ENTITY = re.compile(rf"(?<![\w:./-])({'|'.join(sorted(_NOUNS, key=len, reverse=True))}):(?=\w)")
"""The beginning of an entity's id within a sentence."""


def short_name(entity: str) -> str:
    """Return the name of an entity without its kind; for a link its two ends: sw1/fc1/7 - fa1/CT0.FC0."""
    return (entity.partition(":")[2] or entity).replace("--", " - ")


def noun(entity: str, technology: object = None) -> str:
    """The kind of an entity in words: switch port, array. A port of a host is an HBA or a network port, by its
    technology, or if that is unknown by its name; a block device named by its identifier is a LUN."""
    kind, _, name = entity.partition(":")
    own = name.rpartition("/")[2]
    if kind == "hba":
        return _initiator(own, technology)
    if kind == "lun":
        return "LUN" if IDENTIFIER.fullmatch(own) else "device"
    return _NOUNS.get(kind, kind.replace("_", " "))


def _initiator(name: str, technology: object) -> str:
    # ESXi calls its adapters of iSCSI and FCoE vmhba as well, and FCoE runs over Ethernet.
    if technology == "fibre_channel" or _HBA.fullmatch(name):
        return "HBA"
    return "network port" if technology == "ethernet" or _NETWORK_PORT.fullmatch(name) else "initiator port"


def named(noun_words: str, name: str) -> str:
    """A name after its noun, but "array1" and not "array array1"."""
    has_noun = re.match(rf"{re.escape(noun_words)}(?![a-z])", name, re.IGNORECASE)
    return name if has_noun else f"{noun_words} {name}"


def in_words(text: str) -> str:
    """A sentence with nouns in place of the kinds of entity ids: `lun:db1/sda` becomes "device db1/sda"."""
    parts, position = [], 0
    for found in _ENTITY.finditer(text):
        entity = re.split(r"[\s,;)]", text[found.start() :], maxsplit=1)[0]
        name = text[found.end() : found.start() + len(entity)]
        before = named(noun(entity.rstrip(".:")), name).removesuffix(name)
        if found[1] in ("link", "tcp_connection"):
            name = name.replace("--", " - ")
        parts += [text[position : found.start()], before, name]
        position = found.start() + len(entity)
    return "".join([*parts, text[position:]])
